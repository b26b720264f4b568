// ---- charts, controls, time

const slider = byId("slider"), play = byId("play"), speed = byId("speed"), readout = byId("readout");
const state = { clock: 0, playing: false, before: null, busy: false, wanted: false };
const solid = hasWebGL();

function hasWebGL() {
  try { return Boolean(document.createElement("canvas").getContext("webgl")); } catch { return false; }
}

function positionOf(clock) {  // as frames, with a fraction
  let low = 0, high = last;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (elapsed[middle] <= clock) low = middle; else high = middle;
  }
  return low + Math.min(1, Math.max(0, (clock - elapsed[low]) / (elapsed[high] - elapsed[low])));
}

function timeAt(position) {
  const i = Math.min(Math.floor(position), last - 1), part = data.even ? position - i : Math.round(position - i);
  return times[i] + part * (times[i + 1] - times[i]);
}

const MARGIN = { l: 62, r: 12, t: 8, b: 40 };

function moveMarkers(t) {  // lines over the charts: much cheaper than shapes in them
  data.charts.forEach((_, n) => {
    const plot = byId(`chart-${n}`), line = byId(`now-${n}`), [from, to] = plot.layout.xaxis.range;
    const part = (t - from) / (to - from), width = plot.clientWidth - MARGIN.l - MARGIN.r;
    line.hidden = part < 0 || part > 1;
    line.style.left = `${MARGIN.l + part * width}px`;
  });
}

function addPanel(chart, number) {
  const panel = document.createElement("figure"), caption = document.createElement("figcaption"), plot = document.createElement("div");
  const key = document.createElement("span"), box = document.createElement("div"), now = document.createElement("div");
  panel.className = "chart"; plot.className = "flat"; key.className = "legend"; plot.id = `chart-${number}`; key.id = `key-${number}`;
  box.className = "timed"; now.className = "now"; now.id = `now-${number}`;
  plot.setAttribute("role", "img");
  plot.setAttribute("aria-label", `${chart.title} over time: ${chart.curves.map((curve) => curve.name).join(", ")}`);
  caption.append(chart.title, key);
  box.append(plot, now);
  panel.append(caption, box);
  byId("charts").append(panel);
  legend(key.id, chart.legend);
}

async function openChart(chart, number) {
  const plot = byId(`chart-${number}`);
  const traces = chart.curves.map((curve) => ({ type: "scatter", mode: "lines", x: times, y: numbers(curve.y),
    line: { color: curve.color, dash: curve.dash, width: 1.6 }, hovertemplate: `%{y:.6g}<extra>${plain(curve.name)}</extra>` }));
  const fixedrange = window.matchMedia("(pointer: coarse)").matches;  // fingers scroll the page instead
  const layout = { margin: MARGIN, showlegend: false, hovermode: "x", font: { size: 12 }, dragmode: fixedrange ? false : "zoom",
    xaxis: { title: { text: plain(data.names.t), standoff: 6 }, zeroline: false, fixedrange, automargin: false,
      range: [Math.min(times[0], times[last]), Math.max(times[0], times[last])] },
    yaxis: { range: chart.range, zeroline: false, exponentformat: "power", nticks: 6, fixedrange: true, automargin: false } };
  await Plotly.newPlot(plot, traces, layout, { responsive: true, displaylogo: false, displayModeBar: false });
  plot.on("plotly_relayout", () => moveMarkers(timeAt(positionOf(state.clock))));
  plot.on("plotly_click", (event) => { pause(); seek(Math.abs(event.points[0].x - times[0])); });
}

function tell(position) {
  const t = timeAt(position), parts = [`${data.names.t} = ${digits(t)}`];
  if (momenta) {
    const b = poinsot.body, size = (array, scale) => digits(norm(between(array, 3, b, position)) * scale);
    parts.push(`${data.names.m} = ${size(momenta, data.mScale[b])}`, `${data.names.omega} = ${size(velocities, data.omegaScale[b])}`);
    parts.push(`q = (${attitude(b, position).map((x) => x.toFixed(3)).join(", ")})`);
  }
  readout.textContent = parts.join(", ");
  slider.value = Math.round(position);
  slider.setAttribute("aria-valuetext", parts[0]);
}

async function draw() {
  const position = positionOf(state.clock);
  tell(position);
  moveMarkers(timeAt(position));
  if (solid) await Promise.all([drawScene(position), momenta && drawPoinsot(position)]);
}

// One drawing at a time; what comes meanwhile is drawn next.
async function refresh() {
  state.wanted = true;
  if (state.busy) return;
  state.busy = true;
  while (state.wanted) {
    state.wanted = false;
    await draw();
  }
  state.busy = false;
}

function seek(clock) {
  state.clock = Math.min(elapsed[last], Math.max(0, clock));
  return refresh();
}

const seekFrame = (frame) => seek(elapsed[Math.min(last, Math.max(0, Math.round(frame)))]);

function tick(now) {
  if (!state.playing) return;
  if (!state.busy) {
    state.clock += Math.min(0.25, (now - (state.before ?? now)) / 1000) * data.rate * Number(speed.value);
    if (state.clock > elapsed[last]) state.clock = state.clock % elapsed[last];  // and again from the start
    state.before = now;
    refresh();
  }
  requestAnimationFrame(tick);
}

function setPlaying(playing) {
  state.playing = playing;
  state.before = null;
  play.textContent = playing ? "Pause" : "Play";
  play.setAttribute("aria-pressed", String(playing));
  if (playing) requestAnimationFrame(tick); else refresh();
}

const pause = () => { if (state.playing) setPlaying(false); };

function onKey(event) {
  const own = event.target.closest("input, select, button, a");
  if (event.altKey || event.ctrlKey || event.metaKey || (own && own !== slider)) return;
  const frame = Math.round(positionOf(state.clock)), by = event.shiftKey ? 10 : 1;
  const goals = { ArrowRight: frame + by, ArrowLeft: frame - by, ArrowUp: frame + by, ArrowDown: frame - by,
    PageUp: frame + last / 10, PageDown: frame - last / 10, Home: 0, End: last };
  if (event.key === " ") setPlaying(!state.playing);
  else if (event.key in goals && (own || !/^(ArrowUp|ArrowDown|Page)/.test(event.key))) { pause(); seekFrame(goals[event.key]); }
  else return;
  event.preventDefault();
}

function noSolids() {
  for (const id of ["space", "poinsot"]) {
    const message = document.createElement("p");
    message.className = "message";
    message.textContent = "This browser offers no WebGL, which drawing in 3-D needs. Numbers and charts work without it.";
    byId(id).replaceChildren(message);
  }
}

async function open() {
  slider.max = last;
  play.addEventListener("click", () => setPlaying(!state.playing));
  slider.addEventListener("input", () => { pause(); seekFrame(Number(slider.value)); });
  document.addEventListener("keydown", onKey);
  data.charts.forEach(addPanel);  // all of them first: they share the width
  if (momenta) {
    byId("poinsot-panel").hidden = false;
    poinsotLegend();
    const choice = byId("poinsot-body");
    data.labels.forEach((text, n) => choice.append(new Option(text, n)));
    byId("poinsot-choice").hidden = data.labels.length < 2;
    choice.addEventListener("change", async () => { if (solid) await openPoinsot(Number(choice.value)); refresh(); });
  }
  for (const [n, chart] of data.charts.entries()) await openChart(chart, n);
  if (solid) {
    await openScene();
    if (momenta) await openPoinsot(0);
  } else noSolids();
  await refresh();
  window.addEventListener("resize", refresh);
  window.polhode = {
    get frame() { return positionOf(state.clock); },
    get time() { return timeAt(positionOf(state.clock)); },
    get playing() { return state.playing; },
    get busy() { return state.busy; },
    frames: times.length,
    quaternion: (body = 0) => attitude(body, positionOf(state.clock)),
    seek: seekFrame,
  };
  document.body.dataset.ready = "yes";
  if (!window.matchMedia("(prefers-reduced-motion: reduce)").matches) setPlaying(true);
}

open();
