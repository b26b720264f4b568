// ---- the free rigid body in closed form: formulas (1)-(5) at the head of polhode/kernels/exact/euler.py, in doubles.
// Carlson's integrals replace the series and the doublings of the compiled kernel; 1e-10 is enough for a screen.

const ESCAPED = 350;  // lambda after which a body on the separatrix rests on its middle axis

function carlsonRC1(e) {  // R_C(1, 1 + e)
  if (Math.abs(e) < 1e-4) return 1 - e * (1 / 3 - e * (1 / 5 - e / 7));
  return e > 0 ? Math.atan(Math.sqrt(e)) / Math.sqrt(e) : Math.atanh(Math.sqrt(-e)) / Math.sqrt(-e);
}

function carlsonRF(x, y, z) {
  for (let n = 0; n < 60; n++) {
    const mean = (x + y + z) / 3, X = 1 - x / mean, Y = 1 - y / mean, Z = -X - Y;
    if (Math.max(Math.abs(X), Math.abs(Y), Math.abs(Z)) < 1e-3) {
      const e2 = X * Y - Z * Z, e3 = X * Y * Z;
      return (1 - e2 / 10 + e3 / 14 + e2 * e2 / 24 - 3 * e2 * e3 / 44) / Math.sqrt(mean);
    }
    const shift = Math.sqrt(x * y) + Math.sqrt(x * z) + Math.sqrt(y * z);
    [x, y, z] = [(x + shift) / 4, (y + shift) / 4, (z + shift) / 4];
  }
  return Infinity;
}

function carlsonRJ(x, y, z, p) {
  const first = (x + y + z + 2 * p) / 5, delta = (p - x) * (p - y) * (p - z), x0 = x, y0 = y, z0 = z;
  const spread = Math.max(Math.abs(first - x), Math.abs(first - y), Math.abs(first - z), Math.abs(first - p));
  let mean = first, power = 1, sum = 0;
  while (power * spread > 2e-3 * Math.abs(mean)) {
    const [a, b, c, d] = [x, y, z, p].map(Math.sqrt), shift = a * b + a * c + b * c;
    const D = (d + a) * (d + b) * (d + c);
    sum += power / D * carlsonRC1(power ** 3 * delta / (D * D));
    [x, y, z, p, mean] = [x, y, z, p, mean].map((value) => (value + shift) / 4);
    power /= 4;
  }
  const X = (first - x0) * power / mean, Y = (first - y0) * power / mean, Z = (first - z0) * power / mean;
  const P = -(X + Y + Z) / 2, E2 = X * Y + X * Z + Y * Z - 3 * P * P, E3 = X * Y * Z + 2 * E2 * P + 4 * P ** 3;
  const E4 = (2 * X * Y * Z + E2 * P + 3 * P ** 3) * P, E5 = X * Y * Z * P * P;
  const series = 1 - 3 * E2 / 14 + E3 / 6 + 9 * E2 * E2 / 88 - 3 * E4 / 22 - 9 * E2 * E3 / 52 + 3 * E5 / 26;
  return power * series / (mean * Math.sqrt(mean)) + 6 * sum;
}

const completeK = (kc) => (kc > 0 ? carlsonRF(0, kc * kc, 1) : Infinity);

// sn, cn, dn of u for |u| <= K, each with all its digits also next to the separatrix; kc is the complementary modulus.
function jacobi(u, kc) {
  const v = completeK(kc) - Math.abs(u);
  if (kc > 0 && Math.abs(u) > v) {  // nearer to K than to 0
    const [sn, cn, dn] = jacobi(v, kc);
    return [Math.sign(u) * cn / dn, kc * sn / dn, kc / dn];
  }
  if (kc < 1e-17) return [Math.tanh(u), 1 / Math.cosh(u), 1 / Math.cosh(u)];
  if (kc > 0.8) return slowJacobi(u, kc);
  const k = Math.sqrt((1 - kc) * (1 + kc)), next = (kc / (1 + k)) ** 2, root = 1 + next;  // ascending Landen
  const [sn, cn, dn] = jacobi(u / root, next), square = 4 * k / (1 + k) ** 2;
  return [root * sn * cn / dn, root / square * (dn * dn - next) / dn, (1 - next) / square * (dn * dn + next) / dn];
}

function slowJacobi(u, kc) {  // descending Landen
  if (1 - kc < 1e-16) return [Math.sin(u), Math.cos(u), 1];
  const k = Math.sqrt((1 - kc) * (1 + kc)), next = k * k / (1 + kc) ** 2, root = 1 + next;
  const [sn, cn, dn] = slowJacobi(u / root, Math.sqrt((1 - next) * (1 + next))), N = 1 + next * sn * sn;
  return [root * sn / N, cn * dn / N, (1 - next * sn * sn) / N];
}

function multiply([a, b, c, d], [w, x, y, z]) {
  return [a * w - b * x - c * y - d * z, a * x + b * w + c * z - d * y, a * y - b * z + c * w + d * x, a * z + b * y - c * x + d * w];
}

// The motion of a body with principal moments I from momentum m (body axes) and attitude q, as a function of time.
class FreeMotion {
  constructor(inertia, m, q = [1, 0, 0, 0]) {
    Object.assign(this, { inertia, m, q });
    this.order = [0, 1, 2].sort((i, j) => inertia[i] - inertia[j]);  // axes from the least moment to the greatest
    const [i, j] = this.order;
    this.sign = (j - i + 3) % 3 === 1 ? 1 : -1;  // an odd permutation with all signs changed is a rotation
    this.start = this.sorted(m);
    this.I = this.order.map((k) => inertia[k]);
    const [I1, I2, I3] = this.I, [m1, m2, m3] = this.start;
    this.G = Math.hypot(m1, m2, m3);
    this.w23 = (I3 - I2) / (I2 * I3);
    this.w13 = (I3 - I1) / (I1 * I3);
    this.w12 = (I2 - I1) / (I1 * I2);
    this.D = (this.w13 / (I1 * I2 * I3)) * ((I2 - I1) * I3 * m1 * m1 - (I3 - I2) * I1 * m3 * m3);
    this.C3 = this.w13 * m1 * m1 + this.w23 * m2 * m2;
    this.C1 = this.w12 * m2 * m2 + this.w13 * m3 * m3;
    this.rate = Math.sqrt(this.D >= 0 ? this.w12 * this.C3 : this.w23 * this.C1);  // lambda for the unit of time 1
    this.kc = this.rate > 0 ? Math.min(1, Math.sqrt(Math.abs(this.D)) / this.rate) : 1;
    this.regime = this.findRegime();
    const turning = ["symmetric", "around_min", "around_max", "separatrix"].includes(this.regime);
    this.period = turning ? 4 * completeK(this.kc) / this.rate : 0;
    this.refer(turning);
  }

  // (2)-(5) lose digits next to the separatrix, but not if they start where m2 = 0: states are computed from there.
  refer(turning) {
    this.from = { time: 0, m: this.start, q: this.q };
    if (!turning) return;
    const time = this.middle().first, [m1, m2, m3] = this.start, around1 = this.D >= 0;
    const sign = m2 === 0 ? 0 : Math.sign(m2) * Math.sign(-time) * Math.sign(around1 ? m1 : m3);
    const first = Math.sqrt(this.C3 / this.w13), third = Math.sqrt(this.C1 / this.w13);
    const m = around1 ? [Math.sign(m1) * first, 0, (sign || Math.sign(m3)) * third]
      : [(sign || Math.sign(m1)) * first, 0, Math.sign(m3) * third];
    this.from = { time, m, q: [1, 0, 0, 0] };
    const [w, x, y, z] = this.at(0).q;
    this.from.q = multiply(this.q, [w, -x, -y, -z]);
  }

  sorted(v) { return this.order.map((k) => this.sign * v[k]); }

  unsorted(v) {
    const result = [0, 0, 0];
    this.order.forEach((k, n) => { result[k] = this.sign * v[n]; });
    return result;
  }

  findRegime() {
    const [m1, m2, m3] = this.start;
    if (this.G === 0) return "rest";
    if (this.w13 === 0) return "spherical";
    const off1 = this.w23 === 0 || m2 === 0 || m3 === 0, off3 = this.w12 === 0 || m1 === 0 || m2 === 0;
    if (off1 && (m1 === 0 || m3 === 0) && off3) return "steady";
    if (this.w23 === 0 || this.w12 === 0) return "symmetric";
    return this.D === 0 ? "separatrix" : this.D > 0 ? "around_min" : "around_max";
  }

  // S, C, D_ of (1) at the time 1, and the integral of (4)
  arc(n, lambda) {
    if (lambda === 0) return [1, 1, 1, carlsonRJ(1, 1, 1, 1 + n) / 3];
    const K = completeK(this.kc), l2 = lambda * lambda;
    let turns = 0, integral = 0, u = lambda;
    if (K < Infinity) {
      turns = Math.round(lambda / (2 * K));
      u = lambda - turns * 2 * K;
      if (turns !== 0) integral = turns * 2 / 3 * carlsonRJ(0, this.kc * this.kc, 1, 1 + n / l2) / (l2 * lambda);
    }
    if (Math.abs(u) > ESCAPED) {
      integral += (u - Math.sign(u) * ESCAPED) / lambda / (l2 + n);
      u = Math.sign(u) * ESCAPED;
    }
    let [sn, cn, dn] = jacobi(u, this.kc);
    const first = this.D >= 0 ? cn : dn, second = this.D >= 0 ? dn : cn, S = sn / lambda;
    integral += S ** 3 / 3 * carlsonRJ(first * first, second * second, 1, 1 + n * S * S);
    if (turns % 2 !== 0) [sn, cn] = [-sn, -cn];
    return [sn / lambda, this.D >= 0 ? cn : dn, this.D >= 0 ? dn : cn, integral];
  }

  at(time) {
    if (this.regime === "rest") return { m: [...this.m], q: [...this.q], w: [0, 0, 0] };
    const t = (time - this.from.time) / 2, [m1, m2, m3] = this.from.m, [I1, , I3] = this.I;
    const al = this.w23 * t, be = this.w13 * t, ga = this.w12 * t, C3 = this.C3 * t, C1 = this.C1 * t;
    const axis3 = Math.abs(C3) <= Math.abs(C1), n = axis3 ? al * C3 : ga * C1, p = ga * C3;
    const [s, c, d, integral] = this.arc(n, this.rate * Math.abs(t));
    const b1 = m1 * d, b2 = m2 + be * m1 * m3 * s, b3 = m3 * c;  // (2); m2 is zero, or else m is constant
    const twice = 2 * s / (c * c + p * s * s * d * d);  // N = 1 - p r s^4 as a sum
    const end = [m1 - twice * al * c * b2 * b3, m2 + twice * be * b1 * b3, m3 - twice * ga * d * b1 * b2];  // (3)
    const theta = be * n * integral;  // (4)
    const angle = this.G * (axis3 ? t / I3 + theta : t / I1 - theta);  // (5)
    const X = axis3 ? [c, be * s * b1, al * s * c * b2, 0] : [d, 0, -ga * s * d * b2, -be * s * b3];
    const about = this.unsorted([m1, m2, m3].map((x) => Math.sin(angle) * x / this.G));
    const rest = this.unsorted(X.slice(1));
    const q = multiply(multiply(this.from.q, [Math.cos(angle), ...about]), [X[0], ...rest]), size = Math.hypot(...q);
    const m = this.unsorted(end);
    return { m, q: q.map((x) => x / size), w: m.map((x, k) => x / this.inertia[k]) };
  }

  // The time nearest to 0 at which m has no component along the middle axis, and the largest |m.e2|/|m|.
  middle() {
    const [m1, m2, m3] = this.start, around1 = this.D >= 0;
    const weight = Math.sqrt(around1 ? this.w12 : this.w23), x = (around1 ? m3 : m1) * Math.sqrt(this.w13), y = m2 * weight;
    const amplitude = Math.hypot(x, y), cosine = Math.abs(x) / amplitude, sine = Math.abs(y) / amplitude;
    const F = sine * carlsonRF(cosine ** 2, cosine ** 2 + (this.kc * sine) ** 2, 1) / this.rate;
    const forward = (around1 ? m1 : m3) > 0;
    return { first: forward === (y * x >= 0) ? -F : F, reach: amplitude / (weight * this.G) };
  }

  flips(from, to, most = 1000) {
    if (!["around_min", "around_max", "separatrix"].includes(this.regime)) return [];
    const { first, reach } = this.middle(), half = this.period / 2;
    if (!(reach > Math.sqrt(3) / 2)) return [];
    if (half === Infinity) return first >= from && first <= to ? [first] : [];
    const times = [];
    for (let k = Math.ceil((from - first) / half); first + k * half <= to && times.length < most; k++) times.push(first + k * half);
    return times;
  }
}
