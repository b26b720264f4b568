"use strict";
// All states are in the page, or are computed in it; these scripts turn the bodies, and link scenes, charts and time.

const byId = (id) => document.getElementById(id);
const data = JSON.parse(byId("data").textContent);
const KINDS = { f4: Float32Array, f8: Float64Array, i2: Int16Array, i4: Int32Array, u1: Uint8Array };
const BLUE = "#0072B2", VERMILION = "#D55E00", GREEN = "#009E73", PURPLE = "#CC79A7", SKY = "#56B4E9", GRAY = "#8a8a8a";
const M_COLOR = "#1f8fd6", W_COLOR = VERMILION;  // blue is lighter than in charts, to be seen on a dark panel

function numbers(packed) {
  const bytes = Uint8Array.from(atob(packed.base64), (letter) => letter.charCodeAt(0));
  return new KINDS[packed.kind](bytes.buffer);
}

function digits(x, significant = 4) {
  if (x === 0) return "0";
  if (!Number.isFinite(x)) return "∞";
  const text = Math.abs(x) >= 1e5 || Math.abs(x) < 1e-3 ? x.toExponential(significant - 1) : x.toPrecision(significant);
  const [figures, power] = text.replace(/^-/, "−").split("e");
  return power ? `${figures} × 10${raised(Number(power))}` : figures;
}

const raised = (power) => [...String(power)].map((sign) => (sign === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[sign])).join("");

const norm = (v) => Math.hypot(...v);
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const scaled = (v, by) => v.map((x) => x * by);
const unit = (v) => { const size = norm(v); return size > 0 ? scaled(v, 1 / size) : [0, 0, 1]; };

function turn(q, v) {  // the vector v of body axes, in space axes
  const [w, ...u] = q, a = cross(u, v), b = cross(u, a);
  return [0, 1, 2].map((k) => v[k] + 2 * (w * a[k] + b[k]));
}

// ---- motions: where states come from. `at(clock)` returns time, attitudes, places, momenta and angular velocities of all
// bodies; vectors are in body axes, in units of `mScale` and `wScale`.

class StoredMotion {
  constructor() {
    this.times = numbers(data.t);
    this.last = this.times.length - 1;
    this.elapsed = this.times.map((t) => Math.abs(t - this.times[0]));
    this.duration = this.elapsed[this.last];
    this.count = data.count;
    this.attitudes = numbers(data.q);
    this.places = numbers(data.x);
    this.fixed = this.places.length === 3 * this.count;  // one place for each body, or one for each frame
    this.momenta = data.m && numbers(data.m);
    this.velocities = data.omega && numbers(data.omega);
    this.mScale = data.mScale;
    this.wScale = data.omegaScale;
    this.inertia = data.inertia;
  }

  positionOf(clock) {  // as frames, with a fraction
    let low = 0, high = this.last;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.elapsed[middle] <= clock) low = middle; else high = middle;
    }
    return low + Math.min(1, Math.max(0, (clock - this.elapsed[low]) / (this.elapsed[high] - this.elapsed[low])));
  }

  split(position) {  // frame and part of the way to the next one
    const frame = Math.min(Math.floor(position), this.last - 1), part = position - frame;
    return [frame, data.even ? part : Math.round(part)];
  }

  timeAt(position) {
    const [i, part] = this.split(position);
    return this.times[i] + part * (this.times[i + 1] - this.times[i]);
  }

  between(array, body, position) {
    const [i, part] = this.split(position), a = 3 * (i * this.count + body), b = a + 3 * this.count;
    return [0, 1, 2].map((k) => array[a + k] + part * (array[b + k] - array[a + k]));
  }

  attitude(body, position) {
    const [i, part] = this.split(position), all = this.attitudes, a = 4 * (i * this.count + body), b = a + 4 * this.count;
    let cosine = 0;
    for (let k = 0; k < 4; k++) cosine += all[a + k] * all[b + k];
    const sign = cosine < 0 ? -1 : 1, angle = Math.acos(Math.min(1, cosine * sign)), sine = Math.sin(angle);
    const from = sine < 1e-4 ? 1 - part : Math.sin((1 - part) * angle) / sine;  // at an even rate, the shorter way
    const to = sign * (sine < 1e-4 ? part : Math.sin(part * angle) / sine);
    const q = [0, 1, 2, 3].map((k) => from * all[a + k] + to * all[b + k]);
    return scaled(q, 1 / norm(q));
  }

  place(body, position) {
    if (this.fixed) return [0, 1, 2].map((k) => this.places[3 * body + k]);
    const at = this.between(this.places, body, position);
    // wrapped into the box after the interpolation, so that bodies that cross its border do not fly across it
    return data.box ? at.map((c, k) => c - data.box[k] * Math.round(c / data.box[k])) : at;
  }

  at(clock) {
    const position = this.positionOf(clock), each = (value) => Array.from({ length: this.count }, (_, body) => value(body));
    return {
      time: this.timeAt(position),
      q: each((body) => this.attitude(body, position)),
      x: each((body) => this.place(body, position)),
      m: this.momenta && each((body) => this.between(this.momenta, body, position)),
      w: this.velocities && each((body) => this.between(this.velocities, body, position)),
    };
  }

  // Curves of the tip of a vector: in the body and in space, with the clock at each point.
  curves(body, most) {
    const step = Math.max(1, Math.ceil(this.times.length / most)), result = { clocks: [], body: [], space: [], energy: 0, outer: 0 };
    for (let i = 0; i <= this.last; i += step) {
      const w = this.between(this.velocities, body, i), m = this.between(this.momenta, body, i);
      result.clocks.push(this.elapsed[i]);
      result.body.push(...w);
      result.space.push(...turn(this.attitude(body, i), w));
      result.energy = Math.max(result.energy, dot(m, w));
      if (norm(m) > 0) result.outer = Math.max(result.outer, norm(cross(m, w)) / norm(m));
    }
    return result;
  }

  trace(body, vector, most) {  // of a point fixed in the body
    const step = Math.max(1, Math.ceil(this.times.length / most)), result = { clocks: [], points: [] };
    for (let i = 0; i <= this.last; i += step) {
      const at = this.place(body, i), tip = turn(this.attitude(body, i), vector);
      result.clocks.push(this.elapsed[i]);
      result.points.push(...tip.map((c, k) => at[k] + data.size * c));
    }
    return result;
  }
}
