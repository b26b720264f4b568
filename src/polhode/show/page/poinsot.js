// ---- Poinsot's construction: omega lies on the ellipsoid omega . I omega = 2T, which turns with the body; the plane that
// touches it there stands across m at the distance 2T/|m|. Free, both T and m stay: the ellipsoid rolls on a fixed plane.

const POINTS = 600;  // of a curve

class Poinsot {
  constructor(motion) {
    this.motion = motion;
    this.stage = new Stage("poinsot", { radius: 1.2, eye: data.eye });
    this.turning = this.stage.add(new THREE.Group());
    this.ellipsoid = new THREE.Mesh(new THREE.SphereGeometry(1, 32, 20), new Paint({ color: SKY, opacity: 0.34, depthWrite: false }));
    this.net = new THREE.LineSegments(net(1, 16, 8), new Paint({ color: SKY, opacity: 0.5, depthWrite: false }));
    this.turning.add(this.ellipsoid, this.net);
    this.plane = this.stage.add(new THREE.Mesh(new THREE.PlaneGeometry(2, 2), glass("#9a9a9a", 0.35)));
    this.arrows = [new Arrow(this.stage, M_COLOR, 0.022, "m"), new Arrow(this.stage, W_COLOR, 0.022, "ω", LEFT_OF)];
    this.polhode = new Curve(GREEN, 0.014, this.turning);
    this.herpolhode = new Curve(PURPLE, 0.014, this.stage.scene);
    this.whole = new Curve(GRAY, 0, this.stage.scene);
    this.choose(0);
    this.stage.applyTheme();
  }

  choose(body) {
    this.body = body;
    this.curves = this.motion.curves(body, POINTS);
    this.inertia = this.motion.inertia[body];
    const [w, x, y, z] = this.inertia.axes, semi = Math.sqrt(this.curves.energy / Math.min(...this.inertia.moments));
    for (const part of [this.ellipsoid, this.net]) part.quaternion.set(x, y, z, w);
    this.polhode.set(this.curves.body);
    this.herpolhode.set(this.curves.space);
    this.whole.set(this.curves.space);
    // the longest semi-axis may be far longer than omega: then the ellipsoid is cut off by the panel
    this.scale = 1 / Math.max(1.05, Math.min(semi, 1.9));
    this.half = Math.max(1.2 * this.curves.outer, 0.6 / this.scale);
    this.stage.scene.scale.setScalar(this.scale);
    for (const { text } of this.arrows) text.scale.copy(text.userData.size).divideScalar(this.scale);  // letters keep their size
  }

  place(state, clock) {
    const [w, x, y, z] = state.q[this.body], m = turn(state.q[this.body], state.m[this.body]);
    const omega = turn(state.q[this.body], state.w[this.body]), twice = Math.max(0, dot(m, omega)), size = norm(m);
    this.turning.quaternion.set(x, y, z, w);
    for (const part of [this.ellipsoid, this.net]) part.scale.set(...this.inertia.moments.map((I) => Math.max(1e-6, Math.sqrt(twice / I))));
    const up = size > 0 ? scaled(m, 1 / size) : data.up, foot = scaled(up, size > 0 ? twice / size : 0);
    this.plane.quaternion.setFromUnitVectors(Z, new THREE.Vector3(...up));
    this.plane.position.set(...foot);
    this.plane.scale.setScalar(this.half);
    this.arrows[0].set([0, 0, 0], scaled(up, size > 0 ? twice / size + 0.3 / this.scale : 0));
    this.arrows[1].set([0, 0, 0], omega);
    this.herpolhode.show(this.curves.clocks.filter((c) => c <= clock + 1e-12 * this.motion.duration).length);
  }
}

function poinsotLegend() {
  if (!data.free) byId("poinsot-caption").textContent = "Poinsot's construction, at each instant";
  legend("poinsot-legend", [[data.free ? "polhode" : "ω in the body", GREEN, "solid"], [data.free ? "herpolhode" : "ω in space", PURPLE, "solid"],
    [data.free ? "invariable plane" : "plane across m", "#a9a9a9", "filled"]]);
}
