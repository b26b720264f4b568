// ---- the bodies in space, with the arrows of angular momentum and angular velocity, and what is around them

const ARROWS = [1.2, 1.0];  // lengths of the longest m and omega, to be told apart, in radii of a body
const TRACED = 900;  // points of a trace

class Space {
  constructor(motion) {
    this.motion = motion;
    this.stage = new Stage("space", { radius: data.radius, wide: data.wide, center: data.center, eye: data.eye });
    this.groups = data.groups.map((group) => ({ ...group, mesh: this.instances(geometryOf(group), group.members.length) }));
    this.arrows = [];
    if (data.arrows) {
      for (let body = 0; body < motion.count; body++) {
        const named = motion.count === 1;
        this.arrows.push([new Arrow(this.stage, M_COLOR, 0.022 * data.size, named && "m"), new Arrow(this.stage, W_COLOR, 0.022 * data.size, named && "ω", LEFT_OF)]);
      }
    }
    this.surround();
    this.stage.applyTheme();
  }

  instances(geometry, count) {
    const mesh = new THREE.InstancedMesh(geometry, new Paint({ lit: true, vertexColors: true }), count);
    mesh.frustumCulled = false;
    return this.stage.add(mesh);
  }

  surround() {
    if (data.ground) this[data.ground]();
    if (data.limits) this.edges();
    if (data.earth) this.earth();
    if (data.trace) {
      this.path = this.motion.trace(0, data.trace, TRACED);
      this.trail = new Curve(PURPLE, 0.012 * data.radius, this.stage.scene);
      this.trail.set(this.path.points);
    }
  }

  disk(level, radius, color, opacity) {
    const disk = new THREE.Mesh(new THREE.CircleGeometry(radius, 64), glass(color, opacity));
    disk.quaternion.setFromUnitVectors(Z, this.stage.camera.up);
    disk.position.copy(this.stage.camera.up).multiplyScalar(level);
    return this.stage.add(disk);
  }

  rings(level, radius, width) {  // circles and spokes, on which the eye sees what is level
    const up = this.stage.camera.up, turned = new THREE.Quaternion().setFromUnitVectors(Z, up), points = [];
    const put = (r, angle) => points.push(new THREE.Vector3(r * Math.cos(angle), r * Math.sin(angle), level).applyQuaternion(turned));
    for (let ring = 1; ring <= 4; ring++) for (let k = 0; k < 64; k++) [k, k + 1].forEach((n) => put(ring * radius / 4, n * Math.PI / 32));
    for (let k = 0; k < 12; k++) [0.25, 1].forEach((part) => put(part * radius, k * Math.PI / 6));
    const geometry = new THREE.BufferGeometry().setFromPoints(points);
    this.stage.add(new THREE.LineSegments(geometry, this.stage.ink(new Paint({ opacity: width }), "line")));
  }

  grid() { this.rings(-1.25 * data.size, 1.5 * data.size, 0.9); this.axes(1.1 * data.size); }

  floor() {
    this.disk(-0.004, 1.1, "#8d8577", 0.35);
    this.rings(0, 1.1, 1);
  }

  water() {  // waves are painted, which is cheaper than light
    const surface = new THREE.PlaneGeometry(5, 5, 30, 30), place = surface.attributes.position, colors = [];
    const dark = new THREE.Color("#2f7fb5"), light = new THREE.Color("#8cc4e6"), mixed = new THREE.Color();
    for (let i = 0; i < place.count; i++) {
      const x = place.getX(i), y = place.getY(i), wave = 0.6 * Math.sin(5 * x + 2 * y) + 0.4 * Math.sin(9 * y - 3 * x);
      place.setZ(i, 0.02 * wave - 0.01);
      colors.push(...mixed.lerpColors(dark, light, 0.5 + 0.5 * wave).toArray());
    }
    surface.setAttribute("color", new THREE.Float32BufferAttribute(colors, 3));
    const material = new Paint({ vertexColors: true, opacity: 0.7, side: THREE.DoubleSide, forceSinglePass: true });
    this.stage.add(new THREE.Mesh(surface, material));
  }

  axes(length) {
    const points = [];
    ["x", "y", "z"].forEach((name, k) => {
      const end = [0, 0, 0];
      end[k] = length;
      points.push(new THREE.Vector3(), new THREE.Vector3(...end));
      this.stage.label(name, scaled(end, 1.04), "faint", 0.08).center.set(1.3, 0.5);
    });
    const material = this.stage.ink(new Paint({ opacity: 0.7 }), "faint");
    this.stage.add(new THREE.LineSegments(new THREE.BufferGeometry().setFromPoints(points), material));
  }

  edges() {  // of the box, with the range of each axis at one of its edges
    const [low, high] = [0, 1].map((end) => data.limits.map((pair) => pair[end])), points = [];
    for (let axis = 0; axis < 3; axis++) {
      for (const [a, b] of [[0, 0], [0, 1], [1, 0], [1, 1]]) {
        for (const end of [low, high]) {
          const corner = [0, 0, 0];
          corner[axis] = end[axis];
          corner[(axis + 1) % 3] = (a ? high : low)[(axis + 1) % 3];
          corner[(axis + 2) % 3] = (b ? high : low)[(axis + 2) % 3];
          points.push(new THREE.Vector3(...corner));
        }
      }
    }
    const material = this.stage.ink(new Paint({ opacity: data.box ? 1 : 0.4 }), "faint");
    this.frame = this.stage.add(new THREE.LineSegments(new THREE.BufferGeometry().setFromPoints(points), material));
    const middle = low.map((c, k) => 0.5 * (c + high[k])), out = 0.06 * (high[0] - low[0]);
    ["x", "y", "z"].forEach((name, k) => {
      const at = [middle[0], low[1] - out, low[2] - out];
      if (k === 1) [at[0], at[1]] = [high[0] + out, middle[1]];
      if (k === 2) [at[0], at[2]] = [low[0] - out, middle[2]];
      this.stage.label(`${name}: ${digits(low[k], 3)} … ${digits(high[k], 3)}`, at, "faint", 0.05);
    });
  }

  earth() {
    const ball = new THREE.Mesh(new THREE.SphereGeometry(data.earth, 40, 24), new Paint({ color: "#2f6fae", lit: true }));
    const grid = new THREE.LineSegments(net(1.02 * data.earth, 18, 12), new Paint({ color: "#9cc7e8", opacity: 0.55 }));
    this.stage.add(ball, grid);
    this.stage.label("Earth", [0, 0, 0], "#ffffff", 0.07).center.set(0.5, 0.5);
    ball.rotation.x = grid.rotation.x = Math.PI / 2;
    this.orbit = new Curve(GRAY, 0, this.stage.scene);
    this.orbit.set(this.motion.trace(0, [0, 0, 0], 400).points);
    const material = new THREE.LineDashedMaterial({ color: GREEN, dashSize: 0.06, gapSize: 0.05 });
    this.nadir = this.stage.add(new THREE.Line(new THREE.BufferGeometry(), material));
    this.nadir.frustumCulled = false;
  }

  place(state, clock) {
    const matrix = new THREE.Matrix4(), at = new THREE.Vector3(), q = new THREE.Quaternion(), size = new THREE.Vector3();
    for (const group of this.groups) {
      size.set(...(group.stretch || [data.size, data.size, data.size]));
      group.members.forEach((body, n) => {
        const [w, x, y, z] = state.q[body];
        group.mesh.setMatrixAt(n, matrix.compose(at.set(...state.x[body]), q.set(x, y, z, w), size));
      });
      group.mesh.instanceMatrix.needsUpdate = true;
    }
    this.arrows.forEach((pair, body) => [state.m, state.w].forEach((vectors, kind) => {
      pair[kind].set(state.x[body], turn(state.q[body], scaled(vectors[body], ARROWS[kind] * data.size)));
    }));
    if (this.trail) this.trail.show(this.path.clocks.filter((c) => c <= clock + 1e-12 * this.motion.duration).length);
    if (this.nadir) {
      this.nadir.geometry.setFromPoints([new THREE.Vector3(...state.x[0]), new THREE.Vector3(...scaled(unit(state.x[0]), data.earth))]);
      this.nadir.computeLineDistances();
    }
  }
}
