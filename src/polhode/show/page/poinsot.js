// ---- Poinsot's construction: omega lies on the ellipsoid omega . I omega = 2T, which turns with the body; the plane that
// touches it there stands across m at the distance 2T/|m|. Free, both T and m stay: the ellipsoid rolls on a fixed plane.

const POINTS = 1200;  // of a curve
const poinsot = { body: 0 };

function spaceVector(vectors, body, frame) { return turn(matrix(attitude(body, frame)), between(vectors, 3, body, frame)); }

function preparePoinsot(body) {
  const step = Math.max(1, Math.ceil(times.length / POINTS)), frames = [];
  for (let i = 0; i < times.length; i += step) frames.push(i);
  const curves = { polhode: new Points(frames.length), herpolhode: new Points(frames.length) };
  let energy = 0, outer = 0;
  frames.forEach((i, n) => {
    const w = between(velocities, 3, body, i), m = between(momenta, 3, body, i), at = spaceVector(velocities, body, i);
    curves.herpolhode.put(n, new Float32Array(at), UPRIGHT, 1, ORIGIN);
    energy = Math.max(energy, dot(m, w));
    if (norm(m) > 0) outer = Math.max(outer, norm(cross(m, w)) / norm(m));
  });
  const ellipsoid = numbers(data.ellipsoids[body]);
  const semi = Math.sqrt(energy) * Math.max(...ellipsoid.map(Math.abs)), size = Math.max(semi, 1.05);
  Object.assign(poinsot, { body, frames, curves, ellipsoid, size, half: Math.max(1.2 * outer, 0.55 * size) });
  poinsot.own = new Float32Array(frames.flatMap((i) => between(velocities, 3, body, i)));
  poinsot.surface = new Points(ellipsoid.length / 3);
  poinsot.arrow = arrowTemplate(0.018 * size);
  poinsot.plane = new Points(4);
  poinsot.tips = [0, 1].map(() => new Points(poinsot.arrow.vertices.length / 3));
}

function placePoinsot(position) {
  const { body, curves, surface, plane, half, frames } = poinsot, Q = matrix(attitude(body, position));
  const m = turn(Q, between(momenta, 3, body, position)), w = turn(Q, between(velocities, 3, body, position));
  const twice = Math.max(0, dot(m, w)), size = norm(m);
  surface.put(0, poinsot.ellipsoid, Q, Math.sqrt(twice), ORIGIN);
  curves.polhode.put(0, poinsot.own, Q, 1, ORIGIN);
  const up = size > 0 ? m.map((c) => c / size) : [0, 0, 1], foot = up.map((c) => (size > 0 ? c * twice / size : 0));
  const frame = alongZ(up), corners = new Float32Array([-half, -half, 0, half, -half, 0, half, half, 0, -half, half, 0]);
  plane.put(0, corners, frame, 1, foot);
  poinsot.tips[0].put(0, poinsot.arrow.vertices, alongZ(foot), 1, ORIGIN);
  poinsot.tips[1].put(0, poinsot.arrow.vertices, alongZ(w), 1, ORIGIN);
  const done = Math.max(1, frames.findLastIndex((i) => i <= position + 1e-9) + 1), curve = curves.herpolhode;
  return [surface, plane, ...poinsot.tips, curves.polhode,
    { x: curve.x.subarray(0, done), y: curve.y.subarray(0, done), z: curve.z.subarray(0, done) }];
}

function poinsotTraces() {
  const [surface, plane, m, w, polhode, done] = placePoinsot(0), mode = data.even ? "lines" : "markers";
  const curve = (points, color, width) => ({ type: "scatter3d", mode, x: points.x, y: points.y, z: points.z,
    hoverinfo: "skip", line: { color, width }, marker: { color, size: width / 2 } });
  const whole = poinsot.curves.herpolhode;
  return [
    meshTrace(surface, numbers(data.sphere), { color: SKY, opacity: 0.35, flatshading: false }),
    meshTrace(plane, [0, 1, 2, 0, 2, 3], { color: "#999999", opacity: 0.35 }),
    meshTrace(m, poinsot.arrow.faces, { color: BLUE }), meshTrace(w, poinsot.arrow.faces, { color: VERMILION }),
    curve(polhode, GREEN, 6), curve(done, PURPLE, 5), curve(whole, "#b0b0b0", 2),
  ];
}

// m points up on the screen: the plane lies above the ellipsoid, seen from above
function poinsotCamera() {
  const m = spaceVector(momenta, poinsot.body, 0), frame = alongZ(norm(m) > 0 ? m.map((c) => c / norm(m)) : [0, 0, 1]);
  const point = (a, b, c) => {
    const [x, y, z] = [0, 3, 6].map((row) => a * frame[row] + b * frame[row + 1] + c * frame[row + 2]);
    return { x, y, z };
  };
  return { up: point(0, 0, 1), eye: point(1.4, 1.2, 0.9), center: point(0, 0, 0.05) };
}

async function openPoinsot(body) {
  preparePoinsot(body);
  const range = [0, 1, 2].map(() => [-1.15 * poinsot.size, 1.15 * poinsot.size]);
  await drawing("poinsot", poinsotTraces(), { range }, poinsotCamera());
}

function poinsotLegend() {
  if (!data.free) byId("poinsot-caption").textContent = "Poinsot's construction, at each instant";
  legend("poinsot-legend", [["m", BLUE, "solid"], ["ω", VERMILION, "solid"],
    [data.free ? "polhode" : "ω in the body", GREEN, "solid"], [data.free ? "herpolhode" : "ω in space", PURPLE, "solid"],
    [data.free ? "invariable plane" : "plane across m", "#c4c4c4", "filled"]]);
}

function drawPoinsot(position) { return restyle("poinsot", [0, 1, 2, 3, 4, 5], placePoinsot(position)); }
