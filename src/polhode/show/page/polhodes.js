// ---- the map of polhodes: on the sphere |m| = const in the body, curves of equal energy, and where this motion is

class PolhodeMap {
  constructor() {
    this.stage = new Stage("map", { radius: 1.3, eye: [0.75, -0.55, 0.45], linked: false });
    const ball = new Paint({ lit: true, polygonOffset: true, polygonOffsetFactor: 1, polygonOffsetUnits: 1 });
    this.stage.add(new THREE.Mesh(new THREE.SphereGeometry(0.995, 40, 24), this.stage.ink(ball, "ball")));
    this.family = this.stage.add(new THREE.LineSegments(new THREE.BufferGeometry(), this.stage.ink(new Paint(), "soft")));
    this.family.frustumCulled = false;
    this.separatrix = new Curve(VERMILION, 0.009, this.stage.scene);
    this.own = new Curve(GREEN, 0.016, this.stage.scene);
    this.dot = this.stage.add(new THREE.Mesh(new THREE.SphereGeometry(0.05, 16, 12), new Paint({ color: M_COLOR, lit: true })));
    this.names = [0, 1, 2].map((k) => this.stage.label(String(k + 1), [0, 0, 0].map((_, i) => (i === k ? 1.14 : 0)), "ink", 0.12));
    for (const name of this.names) name.material.depthTest = true;
    legend("map-legend", [["this motion", GREEN, "solid"], ["separatrix", VERMILION, "solid"]]);
    this.stage.applyTheme();
  }

  choose({ free, polhode }) {
    const close = [], edge = Math.atan2(Math.sqrt(free.w12), Math.sqrt(free.w23));
    for (let k = 1; k < 12; k++) this.circle(free, (k - 0.5) / 11 * Math.PI / 2, edge, close);
    this.family.geometry.setFromPoints(close);
    this.separatrix.set(free.w12 > 0 && free.w23 > 0 ? this.greatCircles(free, edge) : []);
    this.own.set(polhode.flatMap((state) => unit(state.m)));
    this.own.object.visible = this.dot.visible = free.G > 0;
  }

  // The separatrix: two circles through the middle axis and (cos edge, 0, +-sin edge) in sorted axes, as one path.
  greatCircles(free, edge) {
    const points = [];
    for (const side of [1, -1]) {
      for (let k = 0; k <= 72; k++) {
        const along = Math.cos(k * Math.PI / 36), across = Math.sin(k * Math.PI / 36);
        points.push(...free.unsorted([across * Math.cos(edge), along, side * across * Math.sin(edge)]));
      }
    }
    return points;
  }

  // The curve of equal energy through (cos theta, 0, sin theta) in sorted axes, and its mirror image.
  circle(free, theta, edge, points) {
    const around1 = theta < edge, size = around1 ? Math.sin(theta) : Math.cos(theta);
    const flat = Math.sqrt(free.w13 / (around1 ? free.w12 : free.w23));
    if (!Number.isFinite(flat)) return;
    const at = (angle, sign) => {
      const x = size * Math.cos(angle), y = size * flat * Math.sin(angle), z = sign * Math.sqrt(Math.max(0, 1 - x * x - y * y));
      return new THREE.Vector3(...free.unsorted(around1 ? [z, y, x] : [x, y, z]));
    };
    for (const sign of [-1, 1]) for (let k = 0; k < 72; k++) points.push(at(k * Math.PI / 36, sign), at((k + 1) * Math.PI / 36, sign));
  }

  place(state) { this.dot.position.set(...unit(state.m[0])); }
}
