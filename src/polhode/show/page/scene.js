// ---- the bodies in space, with the arrows of angular momentum and angular velocity

const meshes = data.meshes.map((mesh) => ({ ...mesh, vertices: numbers(mesh.vertices), faces: numbers(mesh.faces) }));
const bodyPoints = new Points(data.which.reduce((sum, w) => sum + meshes[w].vertices.length / 3, 0));
const arrow = arrowTemplate(0.022 * data.size), arrowLength = arrow.vertices.length / 3;
const arrowPoints = momenta ? [new Points(count * arrowLength), new Points(count * arrowLength)] : [];

// Positions are wrapped into the box after the interpolation, so that bodies that cross its border do not fly across it.
const wrapped = (at) => (data.box ? at.map((c, k) => c - data.box[k] * Math.round(c / data.box[k])) : at);

function placeOf(body, position) {
  return fixed ? places.subarray(3 * body, 3 * body + 3) : wrapped(between(places, 3, body, position));
}

function placeBodies(position) {
  let from = 0;
  for (let body = 0; body < count; body++) {
    const Q = matrix(attitude(body, position)), at = placeOf(body, position), vertices = meshes[data.which[body]].vertices;
    bodyPoints.put(from, vertices, Q, data.size, at);
    from += vertices.length / 3;
    [momenta, velocities].forEach((vectors, kind) => {
      if (!vectors) return;
      const v = turn(Q, between(vectors, 3, body, position)).map((c) => ARROWS[kind] * data.size * c);
      arrowPoints[kind].put(body * arrowLength, arrow.vertices, alongZ(v), 1, at);
    });
  }
}

function repeated(faces, vertices, times) {
  return Array.from({ length: times }, (_, n) => faces.map((face) => face + n * vertices)).flat();
}

function allFaces() {
  let from = 0;
  const faces = [], facecolor = [];
  data.which.forEach((w, body) => {
    for (const corner of meshes[w].faces) faces.push(from + corner);
    from += meshes[w].vertices.length / 3;
    facecolor.push(...data.colors[data.paint[body]]);
  });
  return { faces, facecolor };
}

function sceneTraces() {
  const { faces, facecolor } = allFaces();
  const traces = [meshTrace(bodyPoints, faces, { facecolor })];
  const arrowFaces = repeated(arrow.faces, arrowLength, count);
  arrowPoints.forEach((points, kind) => traces.push(meshTrace(points, arrowFaces, { color: [BLUE, VERMILION][kind] })));
  if (data.ground) {
    const [x, y] = data.range, corners = new Points(4);
    corners.put(0, new Float32Array([x[0], y[0], 0, x[1], y[0], 0, x[1], y[1], 0, x[0], y[1], 0]), UPRIGHT, 1, ORIGIN);
    traces.push(meshTrace(corners, [0, 1, 2, 0, 2, 3], { color: data.ground, opacity: 0.3 }));
  }
  if (data.edges) traces.push(edgesTrace(numbers(data.edges)));
  return traces;
}

function edgesTrace(line) {
  const [x, y, z] = [0, 1, 2].map((c) => line.filter((_, n) => n % 3 === c));
  return { type: "scatter3d", mode: "lines", x, y, z, hoverinfo: "skip", line: { color: "#7F7F7F", width: 2 } };
}

// Far enough for a row of bodies to fit into the panel; half the angle of view is 22.5 degrees, from top to bottom.
function cameraFor(panel) {
  if (count === 1 || !fixed) return data.camera;
  const wide = (data.range[0][1] - data.range[0][0]) / (data.range[2][1] - data.range[2][0]);
  const far = Math.max(1.7, 0.5 * wide / (Math.tan(Math.PI / 8) * panel.clientWidth / panel.clientHeight) + 0.6);
  return { ...data.camera, eye: { x: 0, y: -0.95 * far, z: 0.32 * far } };
}

async function openScene() {
  placeBodies(0);
  const axes = data.ticks ? { showticklabels: true, nticks: 5, tickfont: { size: 10 } } : null;
  if (momenta && count > 1) ["space", "poinsot"].forEach((id) => byId(id).parentElement.classList.add("wide"));
  await drawing("space", sceneTraces(), { range: data.range, axes }, cameraFor(byId("space")));
  const names = data.labels.map((text, k) => [text, data.marks[k], "filled"]);
  if (momenta) names.push(["angular momentum m", BLUE, "solid"], ["angular velocity ω", VERMILION, "solid"]);
  legend("space-legend", names);
}

function drawScene(position) {
  placeBodies(position);
  return restyle("space", [0, ...arrowPoints.map((_, k) => k + 1)], [bodyPoints, ...arrowPoints]);
}
