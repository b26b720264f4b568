// ---- the live page: sliders determine a free body, and its motion is evaluated in closed form

const SLIDERS = ["side-1", "side-2", "side-3", "moment-1", "moment-2", "moment-3", "spin", "nudge", "toward", "yaw", "pitch", "roll"];
const TURNS = 40, PERIODS = 2, STEPS = 1000;  // of the time shown, whichever ends first; of the slider of time
const RADIAN = Math.PI / 180;
const THINNEST = 0.04;  // of the largest extent, so that flat bodies stay visible

const valueOf = (id) => Number(byId(id).value);
const momentsOf = (second) => [second[1] + second[2], second[0] + second[2], second[0] + second[1]];
const secondOf = (I) => { const half = 0.5 * (I[0] + I[1] + I[2]); return I.map((x) => half - x); };

function attitudeOf(yaw, pitch, roll) {  // about z, then the new y, then the new x
  const about = (axis, angle) => { const q = [Math.cos(angle / 2), 0, 0, 0]; q[axis] = Math.sin(angle / 2); return q; };
  return multiply(multiply(about(3, yaw * RADIAN), about(2, pitch * RADIAN)), about(1, roll * RADIAN));
}

function anglesOf(q) {
  const [x, y, z] = [[1, 0, 0], [0, 1, 0], [0, 0, 1]].map((axis) => turn(q, axis));
  const pitch = Math.asin(Math.max(-1, Math.min(1, -x[2])));
  const level = Math.hypot(x[0], x[1]) < 1e-9;  // gimbal lock: yaw takes all
  const yaw = level ? Math.atan2(-y[0], y[1]) : Math.atan2(x[1], x[0]), roll = level ? 0 : Math.atan2(y[2], z[2]);
  return [yaw, pitch, roll].map((angle) => angle / RADIAN);
}

// A spin about the axis of the least (0), middle (1) or greatest (2) moment, turned by `nudge` toward another axis.
function directionOf(moments, rank, nudge, toward) {
  const axis = [0, 1, 2].sort((i, j) => moments[i] - moments[j])[rank], v = [0, 0, 0];
  v[axis] = Math.cos(nudge * RADIAN);
  v[(axis + 1) % 3] = Math.sin(nudge * RADIAN) * Math.cos(toward * RADIAN);
  v[(axis + 2) % 3] = Math.sin(nudge * RADIAN) * Math.sin(toward * RADIAN);
  return v;
}

class LiveMotion {
  constructor() {
    this.count = 1;
    this.last = STEPS;
    this.read();
  }

  read() {
    const three = (name) => [1, 2, 3].map((k) => valueOf(`${name}-${k}`));
    const bySides = byId("by-sides").checked;
    const moments = bySides ? momentsOf(three("side").map((a) => a * a / 12)) : three("moment");
    const w = scaled(directionOf(moments, valueOf("axis"), valueOf("nudge"), valueOf("toward")), valueOf("spin"));
    const q = attitudeOf(valueOf("yaw"), valueOf("pitch"), valueOf("roll"));
    this.free = new FreeMotion(moments, w.map((x, k) => x * moments[k]), q);
    this.offset = 0;
    this.duration = this.span(norm(w));
    const period = this.free.period, around = period > 0 && period < Infinity ? period : this.duration;
    this.polhode = Array.from({ length: 601 }, (_, k) => this.free.at(k / 600 * around));
    this.mScale = [this.free.G || 1];
    this.wScale = [Math.max(...this.polhode.map((s) => norm(s.w))) || 1];
    this.inertia = [{ moments: moments.map((I) => I * this.wScale[0] / this.mScale[0]), axes: [1, 0, 0, 0] }];
  }

  span(speed) {
    if (speed === 0) return 1;
    const turns = TURNS * 2 * Math.PI / speed, { period } = this.free;
    return period > 0 && period < Infinity ? Math.min(turns, PERIODS * period) : turns / 4;
  }

  positionOf(clock) { return clock / this.duration * STEPS; }

  clockOf(position) { return position / STEPS * this.duration; }

  shown({ m, q, w }) { return { q, m: scaled(m, 1 / this.mScale[0]), w: scaled(w, 1 / this.wScale[0]) }; }

  at(clock) {
    const time = this.offset + clock, { q, m, w } = this.shown(this.free.at(time));
    return { time, q: [q], x: [[0, 0, 0]], m: [m], w: [w] };
  }

  curves(body, most) {
    const result = { clocks: [], body: [], space: [], energy: 0, outer: 0 };
    for (const state of this.polhode) result.body.push(...this.shown(state).w);
    for (let i = 0; i <= most; i++) {
      const { q, m, w } = this.shown(this.free.at(this.offset + i / most * this.duration));
      result.clocks.push(i / most * this.duration);
      result.space.push(...turn(q, w));
      result.energy = Math.max(result.energy, dot(m, w));
      if (norm(m) > 0) result.outer = Math.max(result.outer, norm(cross(m, w)) / norm(m));
    }
    return result;
  }

  columns(count = 500) {  // of the charts: energy is constant, momentum in the body and in space
    const times = Array.from({ length: count + 1 }, (_, i) => this.offset + i / count * this.duration);
    const states = times.map((t) => this.free.at(t)), inSpace = states.map((s) => turn(s.q, s.w));
    return { times, m: [0, 1, 2].map((k) => states.map((s) => s.m[k])), w: [0, 1, 2].map((k) => inSpace.map((w) => w[k])) };
  }
}

class Live {
  constructor() {
    this.shapes = data.live.shapes;
    for (const name of Object.keys(this.shapes)) byId("shape").append(new Option(this.shapes[name].title, name));
    this.begin();
    this.motion = new LiveMotion();
    byId("shape").addEventListener("change", () => { this.choose(byId("shape").value); this.changed(); });
    byId("axis").addEventListener("change", () => { this.upright(); this.changed(); });
    for (const id of SLIDERS) byId(id).addEventListener("input", () => this.changed());
    for (const id of ["by-sides", "by-moments"]) byId(id).addEventListener("change", () => this.switchMode());
  }

  begin() {
    const { shape, moments, spin, axis, nudge, toward, q } = data.live.start;
    byId("shape").value = shape;
    this.setMoments(moments || this.shapes[shape].moments);
    if (moments) byId("by-moments").checked = true;  // sides would not do for flat bodies
    byId("axis").value = axis;
    Object.entries({ spin, nudge, toward }).forEach(([id, value]) => this.set(id, value));
    if (q) anglesOf(q).forEach((angle, k) => this.set(["yaw", "pitch", "roll"][k], angle));
    else this.upright();
    this.switchMode(false);
  }

  set(id, value) {  // sliders reach as far as their values do
    const slider = byId(id);
    if (value > Number(slider.max)) slider.max = 1.5 * value;
    if (value < Number(slider.min)) slider.min = 0.5 * value;
    slider.value = value;
  }

  setMoments(moments) {
    const largest = Math.max(...moments);
    moments.forEach((I, k) => {
      byId(`moment-${k + 1}`).max = 1.6 * largest;
      byId(`moment-${k + 1}`).min = 0.02 * largest;
      this.set(`moment-${k + 1}`, I);
    });
    const sides = this.second(moments).map((x) => Math.sqrt(12 * x)), longest = Math.max(...sides);
    sides.forEach((side, k) => {
      byId(`side-${k + 1}`).max = 1.6 * longest;
      byId(`side-${k + 1}`).min = THINNEST * longest;
      this.set(`side-${k + 1}`, side);
    });
  }

  second(moments) {
    const second = secondOf(moments), largest = Math.max(...second);
    return second.map((x) => Math.max(x, THINNEST ** 2 * largest));
  }

  choose(shape) {
    this.setMoments(this.shapes[shape].moments);
    this.upright();
  }

  upright() {  // the chosen axis of the body points up
    const moments = [1, 2, 3].map((k) => valueOf(`moment-${k}`)), axis = directionOf(moments, valueOf("axis"), 0, 0);
    const q = new THREE.Quaternion().setFromUnitVectors(new THREE.Vector3(...axis), Z);
    anglesOf([q.w, q.x, q.y, q.z]).forEach((angle, k) => this.set(["yaw", "pitch", "roll"][k], angle));
  }

  switchMode(changed = true) {
    const bySides = byId("by-sides").checked;
    byId("sides").hidden = !bySides;
    byId("moments").hidden = bySides;
    if (changed) this.changed();
  }

  // Both sets of sliders show the same body; the one in use leads.
  follow() {
    const { inertia } = this.motion.free;
    const other = byId("by-sides").checked ? ["moment", inertia] : ["side", this.second(inertia).map((x) => Math.sqrt(12 * x))];
    other[1].forEach((value, k) => this.set(`${other[0]}-${k + 1}`, value));
    for (const id of SLIDERS) byId(`${id}-value`).textContent = this.text(id);
  }

  text(id) {
    const unit = id === "spin" ? " rad/s" : /side|moment/.test(id) ? "" : "°";
    return `${Number(valueOf(id).toPrecision(3))}${unit}`.replace("-", "−");
  }

  // The shape is stretched along its axes until it has the moments.
  stretch() {
    const shape = this.shapes[byId("shape").value], second = this.second(this.motion.free.inertia), own = secondOf(shape.moments);
    const by = second.map((x, k) => Math.sqrt(x / own[k])), vertices = numbers(shape.vertices);
    let radius = 0;
    for (let i = 0; i < vertices.length; i += 3) radius = Math.max(radius, Math.hypot(by[0] * vertices[i], by[1] * vertices[i + 1], by[2] * vertices[i + 2]));
    return scaled(by, 1 / radius);
  }

  show() {
    this.follow();
    this.facts();
    if (scenes.space) {
      const { space, poinsot, map } = scenes, name = byId("shape").value;
      if (this.drawn !== name) {
        for (const group of space.groups) space.stage.scene.remove(group.mesh);
        space.groups = [{ members: [0], mesh: space.instances(geometryOf(this.shapes[name]), 1) }];
        this.drawn = name;
      }
      space.groups[0].stretch = this.stretch();
      poinsot.choose(0);
      map.choose(this.motion);
    }
    this.chart();
  }

  chart() {
    const { times, m, w } = this.motion.columns();
    charts.forEach((chart, n) => {
      const columns = n === 0 ? m : w, most = Math.max(...columns.flat().map(Math.abs)) || 1;
      chart.set(times, columns, [-1.1 * most, 1.1 * most]);
    });
  }

  facts() {
    const { free, offset, duration } = this.motion, flips = free.flips(offset, offset + duration), energy = 0.5 * dot(free.m, free.m.map((x, k) => x / free.inertia[k]));
    const physical = Math.max(...free.inertia) <= 0.5 * (free.inertia[0] + free.inertia[1] + free.inertia[2]) * (1 + 1e-9);
    byId("physics").textContent = describe(free) + (physical ? "" : " No real body has such moments: one is larger than the sum of the others.");
    const facts = { regime: REGIMES[free.regime], period: free.period === 0 ? "none: m is constant in the body" : free.period === Infinity ? "infinite" : `${digits(free.period)} s`,
      flips: flips.length ? `${flips.slice(0, 4).map((t) => digits(t, 3)).join(", ")}${flips.length > 4 ? ", …" : ""} s` : "none",
      inertia: free.inertia.map((x) => digits(x, 3)).join(", "), momentum: digits(free.G), energy: digits(energy) };
    Object.entries(facts).forEach(([id, text]) => { byId(`fact-${id}`).textContent = text; });
  }

  changed() {
    this.motion.read();
    state.clock = 0;
    this.show();
    refresh();
  }

  onward() {  // the next stretch of time
    this.motion.offset += this.motion.duration;
    this.facts();
    scenes.poinsot?.choose(0);
    this.chart();
  }
}

const REGIMES = { rest: "at rest", spherical: "spherical: three equal moments", steady: "steady spin", symmetric: "symmetric: two equal moments",
  around_min: "m circles the axis of least inertia", around_max: "m circles the axis of greatest inertia", separatrix: "separatrix" };

function describe(free, unit = "s", tick = 1) {
  const { regime } = free, period = tick * free.period, every = `${digits(period / 2, 3)} ${unit}`.trim(), once = `${digits(period, 3)} ${unit}`.trim();
  if (regime === "rest") return "Nothing turns the body: it is at rest.";
  if (regime === "spherical") return "All moments are equal: whatever the axis, the spin goes on about it unchanged.";
  if (regime === "steady") {
    const middle = free.start[1] !== 0 && free.start[0] === 0 && free.start[2] === 0 && free.w12 > 0 && free.w23 > 0;
    return middle ? "A spin exactly about the middle axis goes on forever, like a pencil on its tip: the slightest nudge makes the body flip."
      : "A spin about a principal axis goes on unchanged, and a small nudge only makes it wobble.";
  }
  if (regime === "symmetric") return `Two moments are equal: the angular velocity circles the symmetry axis once in ${once}, at a constant rate.`;
  if (regime === "separatrix") return "Just between two kinds of motion: the body turns over once, and then settles on its middle axis forever.";
  if (free.flips(-free.period, free.period).length) return `A spin about the middle axis is unstable: the body turns over every ${every}, while the angular momentum m stays where it is.`;
  return `The angular momentum m stays fixed in space; seen from the body it circles the axis of ${regime === "around_min" ? "least" : "greatest"} inertia once in ${once}: a stable wobble.`;
}
