"use strict";
// Attitudes of all frames are in the page; this turns the bodies, and links scene, charts and time.
const BLUE = "#0072B2", VERMILION = "#D55E00", GREEN = "#009E73", PURPLE = "#CC79A7", SKY = "#56B4E9";
const ARROWS = [1.35, 1.1], SIDES = 10;  // lengths of the longest m and omega, to be told apart; corners of a shaft

const byId = (id) => document.getElementById(id);
const data = JSON.parse(byId("data").textContent);
const KINDS = { f4: Float32Array, f8: Float64Array, i4: Int32Array };

function numbers(packed) {
  const bytes = Uint8Array.from(atob(packed.base64), (letter) => letter.charCodeAt(0));
  return new KINDS[packed.kind](bytes.buffer);
}

// Plotly reads some HTML in its texts: what is not ours must not look like it.
const plain = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
const digits = (x) => (x === 0 ? "0" : Math.abs(x) >= 1e5 || Math.abs(x) < 1e-3 ? x.toExponential(3) : x.toPrecision(5));

// ---- states

const times = numbers(data.t), attitudes = numbers(data.q), count = data.count, last = times.length - 1;
const elapsed = times.map((t) => Math.abs(t - times[0]));
const places = numbers(data.x), fixed = places.length === 3 * count;  // one place for each body, or one for each frame
const momenta = data.m && numbers(data.m), velocities = data.omega && numbers(data.omega);

function between(array, width, body, position) {
  const i = Math.min(Math.floor(position), last - 1), part = data.even ? position - i : Math.round(position - i);
  const a = width * (i * count + body), b = a + width * count;
  return Array.from({ length: width }, (_, k) => array[a + k] + part * (array[b + k] - array[a + k]));
}

function attitude(body, position) {
  const i = Math.min(Math.floor(position), last - 1), part = data.even ? position - i : Math.round(position - i);
  const a = attitudes.subarray(4 * (i * count + body), 4 * (i * count + body) + 4);
  const b = attitudes.subarray(4 * ((i + 1) * count + body), 4 * ((i + 1) * count + body) + 4);
  let cosine = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
  const sign = cosine < 0 ? -1 : 1;
  cosine = Math.min(1, cosine * sign);
  const angle = Math.acos(cosine), sine = Math.sin(angle);
  const from = sine < 1e-4 ? 1 - part : Math.sin((1 - part) * angle) / sine;  // at an even rate, the shorter way
  const to = sign * (sine < 1e-4 ? part : Math.sin(part * angle) / sine);
  const q = [0, 1, 2, 3].map((k) => from * a[k] + to * b[k]), norm = Math.hypot(...q);
  return q.map((x) => x / norm);
}

function matrix([w, x, y, z]) {  // body to space, rows after each other
  return [
    1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
    2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
    2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y),
  ];
}

const turn = (Q, [x, y, z]) => [0, 3, 6].map((r) => Q[r] * x + Q[r + 1] * y + Q[r + 2] * z);
const norm = (v) => Math.hypot(...v);
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];

// ---- meshes

class Points {
  constructor(length) { [this.x, this.y, this.z] = [0, 1, 2].map(() => new Float32Array(length)); this.length = length; }
  put(from, vertices, Q, scale, at) {
    for (let i = 0, k = 0; k < vertices.length; i++, k += 3) {
      const [x, y, z] = turn(Q, vertices.subarray(k, k + 3));
      this.x[from + i] = at[0] + scale * x; this.y[from + i] = at[1] + scale * y; this.z[from + i] = at[2] + scale * z;
    }
  }
}

const UPRIGHT = [1, 0, 0, 0, 1, 0, 0, 0, 1], ORIGIN = [0, 0, 0];

function meshTrace(points, faces, more) {
  const [i, j, k] = [0, 1, 2].map((c) => faces.filter((_, n) => n % 3 === c));
  const lighting = { ambient: 0.65, diffuse: 0.55, specular: 0.1, roughness: 0.9, fresnel: 0,
    facenormalsepsilon: 1e-20, vertexnormalsepsilon: 1e-20 };  // small bodies catch light, too
  return { type: "mesh3d", x: points.x, y: points.y, z: points.z, i, j, k, flatshading: true, hoverinfo: "skip", lighting,
    lightposition: { x: 3000, y: -6000, z: 9000 }, ...more };
}

// An arrow along z of length 1: shaft and head. `width` is that of the shaft.
function arrowTemplate(width) {
  const rings = [[width, 0], [width, 0.82], [2.6 * width, 0.82], [0, 1]];
  const vertices = [], faces = [];
  rings.forEach(([r, h], ring) => {
    for (let s = 0; s < SIDES; s++) {
      const angle = 2 * Math.PI * s / SIDES;
      vertices.push(r * Math.cos(angle), r * Math.sin(angle), h);
      if (ring) {
        const a = (ring - 1) * SIDES, b = ring * SIDES, next = (s + 1) % SIDES;
        faces.push(a + s, a + next, b + next, a + s, b + next, b + s);
      }
    }
  });
  return { vertices: new Float32Array(vertices), faces };
}

// The matrix that takes the arrow to vector v; its width does not grow with its length.
function alongZ(v) {
  const size = norm(v);
  if (size === 0) return [0, 0, 0, 0, 0, 0, 0, 0, 0];
  const e3 = v.map((c) => c / size), least = e3.map(Math.abs).indexOf(Math.min(...e3.map(Math.abs)));
  const side = cross(e3, [0, 1, 2].map((k) => (k === least ? 1 : 0))), e1 = side.map((c) => c / norm(side));
  const e2 = cross(e3, e1);
  return [0, 1, 2].flatMap((k) => [e1[k], e2[k], v[k]]);
}

function drawing(id, traces, layout, camera) {
  const axis = { showticklabels: false, showspikes: false, title: { text: "" }, gridcolor: "#e3e3e3", zeroline: false,
    showbackground: true, backgroundcolor: "#fafafa" };
  const [x, y, z] = layout.range.map(([low, high]) => (high - low) / (layout.range[2][1] - layout.range[2][0]));
  const scene = { aspectmode: "manual", aspectratio: { x, y, z }, camera, uirevision: "kept", dragmode: "orbit" };
  ["x", "y", "z"].forEach((name, k) => {
    scene[`${name}axis`] = { ...axis, range: layout.range[k], ...(layout.axes || {}), autorange: false };
    if (layout.axes) scene[`${name}axis`].title = { text: name };
  });
  const look = { margin: { l: 0, r: 0, t: 0, b: 0 }, showlegend: false, scene, uirevision: "kept", paper_bgcolor: "#fff" };
  return Plotly.newPlot(id, traces, look, { responsive: true, displaylogo: false, displayModeBar: false });
}

function restyle(id, numbersOfTraces, points) {
  const of = (name) => points.map((p) => p[name]);
  return Plotly.restyle(id, { x: of("x"), y: of("y"), z: of("z") }, numbersOfTraces);
}

function legend(id, entries) {
  for (const [text, color, style] of entries) {
    const entry = document.createElement("span"), mark = document.createElement("i");
    if (style === "filled") { mark.className = "filled"; mark.style.background = color; }
    else { mark.style.borderTopColor = color; mark.style.borderTopStyle = style === "solid" ? "solid" : style === "dot" ? "dotted" : "dashed"; }
    entry.append(mark, text);
    byId(id).append(entry);
  }
}
