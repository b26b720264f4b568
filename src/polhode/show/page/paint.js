// ---- the only material of meshes and lines. Where there is no graphics card, each shader is translated to machine code
// before the first picture: few and short ones make it come early. Light is computed at vertices, which is enough for
// bodies with many of them, and so is the conversion of colors from linear ones to those of the screen.

const UP = new THREE.Vector3(...data.up), RIGHT = new THREE.Vector3(...data.right), BACK = RIGHT.clone().cross(UP);
const TOWARD_SUN = UP.clone().multiplyScalar(2).addScaledVector(RIGHT, -0.9).addScaledVector(BACK, 1.2).normalize();

const VERTEX = `
uniform vec3 tint, up, sun;
uniform bool lit;
varying vec3 shown;

vec3 light(mat3 placed) {  // from a white sky, a gray ground, and the sun
  vec3 squares = vec3(dot(placed[0], placed[0]), dot(placed[1], placed[1]), dot(placed[2], placed[2]));
  vec3 outward = normalize(placed * (normal / squares));
  return mix(vec3(0.075, 0.075, 0.1), vec3(0.41), 0.5 + 0.5 * dot(outward, up)) + 0.6 * max(0.0, dot(outward, sun));
}

void main() {
  mat4 placed = modelMatrix;
  vec3 linear = tint;
#ifdef USE_INSTANCING
  placed = placed * instanceMatrix;
#endif
#ifdef USE_COLOR
  linear *= color;
#endif
  if (lit) linear *= light(mat3(placed));
  vec3 second = sqrt(linear), fourth = sqrt(second), eighth = sqrt(fourth);
  shown = 0.662 * second + 0.6841 * fourth - 0.3236 * eighth - 0.0225 * linear;  // sRGB to 0.001, except near black
  gl_Position = projectionMatrix * viewMatrix * placed * vec4(position, 1.0);
}`;

const FRAGMENT = `
uniform float strength;
varying vec3 shown;

void main() { gl_FragColor = vec4(shown, strength); }`;

class Paint extends THREE.ShaderMaterial {
  constructor({ color = "#ffffff", lit = false, opacity = 1, ...more } = {}) {
    const uniforms = { tint: new THREE.Color(color), up: UP, sun: TOWARD_SUN, lit, strength: opacity };
    const values = Object.entries(uniforms).map(([name, value]) => [name, { value }]);
    super({ vertexShader: VERTEX, fragmentShader: FRAGMENT, uniforms: Object.fromEntries(values), transparent: opacity < 1, ...more });
  }

  get color() { return this.uniforms.tint.value; }
}

const glass = (color, opacity) => new Paint({ color, opacity, side: THREE.DoubleSide, forceSinglePass: true, depthWrite: false });
