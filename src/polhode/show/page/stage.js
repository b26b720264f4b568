// ---- a panel with a 3-D picture: renderer, camera, and what pictures are made of

const FIELD = 30;  // degrees of view, from top to bottom
const stages = [];
const card = rendererName(), software = /swiftshader|llvmpipe|software|basic render/i.test(card);
const STILL = software ? 2 : 1;  // pixels drawn for each of the screen: without a card, edges are smooth in still pictures only
let quality = 1;

function rendererName() {  // empty without WebGL
  try {
    const gl = document.createElement("canvas").getContext("webgl2"), info = gl.getExtension("WEBGL_debug_renderer_info");
    const name = String(gl.getParameter(info ? info.UNMASKED_RENDERER_WEBGL : gl.RENDERER));
    gl.getExtension("WEBGL_lose_context")?.loseContext();
    return name;
  } catch { return ""; }
}

// One renderer draws the pictures of all panels below one another, and each panel shows a copy of its own: shaders are
// compiled once, not for each panel. The whole is copied first, because each copy of what WebGL drew waits for its pixels.
const renderer = card && new THREE.WebGLRenderer({ antialias: !software });
const sheet = document.createElement("canvas").getContext("2d", { alpha: false });

function drawStages() {
  const canvases = stages.map((stage) => stage.canvas), drawn = renderer.domElement;
  const width = Math.max(...canvases.map((canvas) => canvas.width)), height = canvases.reduce((sum, canvas) => sum + canvas.height, 0);
  if (drawn.width !== width || drawn.height !== height) {
    renderer.setSize(width, height, false);
    Object.assign(sheet.canvas, { width, height });
  }
  renderer.setScissorTest(true);
  let below = height;
  for (const { canvas, scene, camera } of stages) {
    below -= canvas.height;
    for (const part of ["setViewport", "setScissor"]) renderer[part](0, below, canvas.width, canvas.height);
    renderer.render(scene, camera);
  }
  sheet.drawImage(drawn, 0, 0);
  let above = 0;
  for (const { canvas, pen } of stages) {
    pen.drawImage(sheet.canvas, 0, above, canvas.width, canvas.height, 0, 0, canvas.width, canvas.height);
    above += canvas.height;
  }
}

const RIGHT_OF = -0.25, LEFT_OF = 1.25;  // where a label is, seen from its place
const themeColor = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

class Stage {
  constructor(id, { radius, wide = 0, center = [0, 0, 0], up = data.up, right = data.right, eye = [0.5, -0.8, 0.4], linked = true }) {
    this.canvas = byId(id);
    this.pen = this.canvas.getContext("2d", { alpha: false });
    this.scene = new THREE.Scene();
    this.camera = new THREE.PerspectiveCamera(FIELD, 1, 0.01 * radius, 100 * (radius + wide));
    this.camera.up.set(...up);
    this.center = new THREE.Vector3(...center);
    Object.assign(this, { radius, wide, linked, themed: [] });
    const forward = cross(up, right);
    this.direction = new THREE.Vector3(...[0, 1, 2].map((k) => eye[0] * right[k] + eye[1] * forward[k] + eye[2] * up[k])).normalize();
    this.camera.position.copy(this.direction);
    this.controls = new THREE.OrbitControls(this.camera, this.canvas);
    this.controls.enablePan = false;
    this.controls.enableZoom = false;  // the wheel scrolls the page, until the picture has the focus
    this.controls.target.copy(this.center);
    this.canvas.style.touchAction = "pan-y";  // fingers scroll up and down, and turn the picture sideways
    this.canvas.addEventListener("focus", () => { this.controls.enableZoom = true; });
    this.canvas.addEventListener("blur", () => { this.controls.enableZoom = false; });
    this.zoom = 1;
    this.controls.addEventListener("change", () => this.moved());
    stages.push(this);
    this.fit();
  }

  distance() {
    const half = Math.tan(FIELD * Math.PI / 360), aspect = this.camera.aspect;
    return Math.max(this.radius / (half * Math.min(1, aspect)), this.wide / (half * aspect) + 0.5 * this.radius);
  }

  fit() {
    const width = this.canvas.clientWidth, height = this.canvas.clientHeight;
    if (!width || !height) return;
    const ratio = Math.min(2, quality * Math.min(2, window.devicePixelRatio));
    this.canvas.width = Math.round(ratio * width);
    this.canvas.height = Math.round(ratio * height);
    this.camera.aspect = width / height;
    this.camera.updateProjectionMatrix();
    this.place();
  }

  place() {
    this.placing = true;  // the camera is moved by the page, not by a hand
    this.camera.position.copy(this.direction).multiplyScalar(this.distance() * this.zoom).add(this.center);
    this.controls.target.copy(this.center);
    this.controls.update();
    this.placing = false;
  }

  moved() {  // all panels are seen from the same side
    if (this.placing) return;
    const offset = this.camera.position.clone().sub(this.center);
    this.zoom = offset.length() / this.distance();
    for (const stage of stages) {
      if (stage !== this && !(stage.linked && this.linked)) continue;
      stage.direction.copy(offset).normalize();
      if (stage !== this) stage.place();
    }
    refresh();
  }

  ink(material, name) {  // a material whose color belongs to the theme
    this.themed.push(() => material.color.set(themeColor(name)));
    material.color.set(themeColor(name));
    return material;
  }

  applyTheme() {
    this.scene.background = new THREE.Color(themeColor("panel"));
    for (const apply of this.themed) apply();
  }

  add(...objects) { this.scene.add(...objects); return objects[0]; }

  label(text, at, color = "ink", size = 0.11) {
    const canvas = document.createElement("canvas"), context = canvas.getContext("2d"), height = 64;
    const font = `600 ${0.75 * height}px system-ui, sans-serif`;
    context.font = font;
    canvas.width = Math.ceil(context.measureText(text).width) + 8;
    canvas.height = height;
    const texture = new THREE.CanvasTexture(canvas);
    texture.colorSpace = THREE.SRGBColorSpace;
    const sprite = new THREE.Sprite(new THREE.SpriteMaterial({ map: texture, depthTest: false, transparent: true }));
    sprite.center.set(RIGHT_OF, 0.5);
    const paint = () => {
      Object.assign(context, { font, textBaseline: "middle", fillStyle: color.startsWith("#") ? color : themeColor(color) });
      context.clearRect(0, 0, canvas.width, height);
      context.fillText(text, 4, height / 2);
      texture.needsUpdate = true;
    };
    this.themed.push(paint);
    sprite.scale.set(size * this.radius * canvas.width / height, size * this.radius, 1);
    sprite.userData.size = sprite.scale.clone();
    sprite.position.set(...at);
    sprite.renderOrder = 5;
    this.scene.add(sprite);
    return sprite;
  }
}

// A curve as a thin tube, or as a line if it has no width; of a motion between whose frames nothing is known, its points.
class Curve {
  constructor(color, width, parent) {
    Object.assign(this, { color, width, parent });
    this.material = !data.even ? new THREE.PointsMaterial({ color, size: 3, sizeAttenuation: false })
      : new Paint({ color });
  }

  set(points) {
    if (this.object) {
      this.parent.remove(this.object);
      this.object.geometry.dispose();
    }
    const tube = data.even && this.width > 0, geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", new THREE.Float32BufferAttribute(tube ? tubeAround(points, this.width) : points, 3));
    if (tube) geometry.setIndex(tubeFaces(points.length / 3));
    const Kind = tube ? THREE.Mesh : data.even ? THREE.Line : THREE.Points;
    this.object = new Kind(geometry, this.material);
    this.object.frustumCulled = false;
    this.each = tube ? 6 * SIDES : 1;
    this.parent.add(this.object);
  }

  show(count) { this.object.geometry.setDrawRange(0, this.each * (this.each > 1 ? Math.max(0, count - 1) : count)); }  // the first points only
}

const SIDES = 4;  // of a tube

function tubeAround(points, radius) {
  const count = points.length / 3, result = new Float32Array(3 * SIDES * count), at = (i) => points.slice(3 * i, 3 * i + 3);
  let side = null;
  for (let i = 0; i < count; i++) {
    const before = at(Math.max(0, i - 1)), after = at(Math.min(count - 1, i + 1)), along = unit(after.map((x, k) => x - before[k]));
    const guess = side ?? (Math.abs(along[0]) < 0.7 ? [1, 0, 0] : [0, 1, 0]);  // the last side, carried along
    side = unit(guess.map((x, k) => x - dot(guess, along) * along[k]));
    const third = cross(along, side), place = at(i);
    for (let n = 0; n < SIDES; n++) {
      const c = radius * Math.cos(2 * Math.PI * n / SIDES), s = radius * Math.sin(2 * Math.PI * n / SIDES);
      result.set(place.map((x, k) => x + c * side[k] + s * third[k]), 3 * (SIDES * i + n));
    }
  }
  return result;
}

function tubeFaces(count) {
  const faces = [];
  for (let i = 0; i < count - 1; i++) {
    for (let n = 0; n < SIDES; n++) {
      const a = SIDES * i + n, b = SIDES * i + (n + 1) % SIDES;
      faces.push(a, b, b + SIDES, a, b + SIDES, a + SIDES);
    }
  }
  return faces;
}

const Z = new THREE.Vector3(0, 0, 1);

class Arrow {
  constructor(stage, color, width, text, side = RIGHT_OF) {
    const material = new Paint({ color, lit: true });
    this.shaft = new THREE.Mesh(new THREE.CylinderGeometry(width, width, 1, 12).rotateX(Math.PI / 2).translate(0, 0, 0.5), material);
    this.head = new THREE.Mesh(new THREE.ConeGeometry(2.6 * width, 7 * width, 16).rotateX(Math.PI / 2).translate(0, 0, -3.5 * width), material);
    this.width = width;
    this.tip = new THREE.Vector3();
    this.text = text && stage.label(text, [0, 0, 0], color);
    if (this.text) this.text.center.set(side, 0.5);
    stage.add(this.shaft, this.head);
  }

  set(from, vector) {
    const size = norm(vector), seen = size > 1e-9;
    for (const part of [this.shaft, this.head, this.text]) if (part) part.visible = seen;
    if (!seen) return;
    const direction = new THREE.Vector3(...vector).divideScalar(size);
    this.tip.set(...from).addScaledVector(direction, size);
    this.head.quaternion.setFromUnitVectors(Z, direction);
    this.shaft.quaternion.copy(this.head.quaternion);
    this.shaft.position.set(...from);
    this.shaft.scale.set(1, 1, Math.max(1e-6, size - 6 * this.width));
    this.head.position.copy(this.tip);
    this.head.scale.setScalar(Math.min(1, size / (8 * this.width)));
    if (this.text) this.text.position.copy(this.tip);
  }
}

function net(radius, around, levels) {  // meridians and circles of latitude of a sphere, whose axis is y
  const points = [], at = (level, part) => {
    const polar = Math.PI * level / levels, angle = 2 * Math.PI * part / around;
    return new THREE.Vector3(Math.sin(polar) * Math.cos(angle), Math.cos(polar), Math.sin(polar) * Math.sin(angle)).multiplyScalar(radius);
  };
  for (let level = 0; level < levels; level++) {
    for (let part = 0; part < around; part++) {
      points.push(at(level, part), at(level + 1, part));
      if (level > 0) points.push(at(level, part), at(level, part + 1));
    }
  }
  return new THREE.BufferGeometry().setFromPoints(points);
}

const CREASE = Math.cos(0.7);  // edges between faces at a larger angle are sharp

// Triangles with a color each; normals are smooth except at sharp edges.
function geometryOf(mesh) {
  const vertices = numbers(mesh.vertices), faces = numbers(mesh.faces), colors = numbers(mesh.colors);
  const count = faces.length / 3, position = new Float32Array(9 * count), normal = new Float32Array(9 * count);
  const color = new Float32Array(9 * count), flat = [], around = new Map(), tint = new THREE.Color();
  const key = (v) => `${Math.round(1e5 * vertices[3 * v])},${Math.round(1e5 * vertices[3 * v + 1])},${Math.round(1e5 * vertices[3 * v + 2])}`;
  const keys = Array.from({ length: vertices.length / 3 }, (_, v) => key(v));
  for (let f = 0; f < count; f++) {
    const [a, b, c] = [0, 1, 2].map((k) => Array.from(vertices.subarray(3 * faces[3 * f + k], 3 * faces[3 * f + k] + 3)));
    flat.push(cross(b.map((x, k) => x - a[k]), c.map((x, k) => x - a[k])));
    position.set([...a, ...b, ...c], 9 * f);
    tint.setRGB(colors[3 * f] / 255, colors[3 * f + 1] / 255, colors[3 * f + 2] / 255, THREE.SRGBColorSpace);
    for (let k = 0; k < 3; k++) {
      color.set([tint.r, tint.g, tint.b], 9 * f + 3 * k);
      const place = keys[faces[3 * f + k]];
      if (around.has(place)) around.get(place).push(f); else around.set(place, [f]);
    }
  }
  const sizes = flat.map(norm);
  for (let f = 0; f < count; f++) {
    for (let k = 0; k < 3; k++) {
      const sum = [0, 0, 0];
      for (const g of around.get(keys[faces[3 * f + k]])) {
        if (dot(flat[f], flat[g]) >= CREASE * sizes[f] * sizes[g]) flat[g].forEach((x, i) => { sum[i] += x; });
      }
      normal.set(unit(sum), 9 * f + 3 * k);
    }
  }
  const geometry = new THREE.BufferGeometry();
  for (const [name, array] of Object.entries({ position, normal, color })) geometry.setAttribute(name, new THREE.BufferAttribute(array, 3));
  return geometry;
}

function setQuality(value) {
  if (value === quality) return;
  quality = value;
  for (const stage of stages) stage.fit();
}

