// ---- controls and time

const slider = byId("slider"), play = byId("play"), speed = byId("speed"), readout = byId("readout");
const state = { clock: 0, playing: false, before: null, pace: 0, frames: 0 };
const solid = card !== "", scenes = {}, charts = data.charts.map((chart, n) => new ChartPanel(chart, n));
const live = data.live ? new Live() : null, motion = live ? live.motion : new StoredMotion();

function tell(now) {
  const parts = [`${data.names.t} = ${digits(now.time)}`], body = scenes.poinsot?.body ?? 0;
  if (now.m) {
    parts.push(`${data.names.m} = ${digits(norm(now.m[body]) * motion.mScale[body])}`, `${data.names.omega} = ${digits(norm(now.w[body]) * motion.wScale[body])}`);
    parts.push(`q = (${now.q[body].map((x) => x.toFixed(3).replace("-", "−")).join(", ")})`);
  }
  readout.textContent = parts.join(", ");
  slider.value = Math.round(motion.positionOf(state.clock));
  slider.setAttribute("aria-valuetext", parts[0]);
}

function refresh() {
  const now = motion.at(state.clock);
  tell(now);
  for (const chart of charts) chart.mark(now.time);
  for (const scene of Object.values(scenes)) scene.place(now, state.clock);
  if (solid) drawStages();
  state.frames += 1;
  film.take();
}

function seek(clock) {
  state.clock = Math.min(motion.duration, Math.max(0, clock));
  refresh();
}

const clockOf = (position) => (live ? motion.clockOf(position) : motion.elapsed[position]);
const seekFrame = (frame) => seek(clockOf(Math.min(motion.last, Math.max(0, Math.round(frame)))));

function seekTime(time) {
  if (!live) return seek(Math.abs(time - motion.times[0]));
  while (time < motion.offset && motion.offset > 0) motion.offset = Math.max(0, motion.offset - motion.duration);
  return seek(time - motion.offset);
}

const SLOW = 0.06, COARSEST = 0.6;  // seconds from picture to picture, and the least part of the pixels

function tick(now) {
  if (!state.playing) return;
  const passed = Math.min(0.25, (now - (state.before ?? now)) / 1000);
  state.pace = 0.8 * state.pace + 0.2 * passed;
  if (state.pace > SLOW && quality > COARSEST) {
    setQuality(Math.max(COARSEST, 0.8 * quality));
    state.pace = 0;
  }
  state.clock += passed * data.rate * Number(speed.value);
  state.before = now;
  if (state.clock > motion.duration) {
    film.passed();
    if (live) live.onward();
    state.clock %= motion.duration;  // a stored motion begins again
  }
  refresh();
  requestAnimationFrame(tick);
}

function setPlaying(playing) {
  if (playing === state.playing) return;
  state.playing = playing;
  state.before = null;
  state.pace = 0;
  setQuality(playing ? 1 : STILL);
  play.textContent = playing ? "Pause" : "Play";
  play.setAttribute("aria-pressed", String(playing));
  if (playing) requestAnimationFrame(tick); else refresh();
}

const pause = () => setPlaying(false);

// ---- film: the panels side by side on one canvas, with the title, recorded as WebM

const film = {
  start() {
    const panels = Object.values(scenes).map((scene) => scene.stage.canvas).slice(0, 2), height = 720, head = 56;
    this.parts = panels.map((canvas) => ({ canvas, width: Math.round(Math.min(1.4 * height, canvas.width / canvas.height * height)) }));
    this.screen = Object.assign(document.createElement("canvas"), { width: this.parts.reduce((sum, part) => sum + part.width, 0), height: height + head });
    Object.assign(this, { height, head, pen: this.screen.getContext("2d"), pieces: [] });
    const kind = ["video/webm;codecs=vp9", "video/webm"].find((type) => MediaRecorder.isTypeSupported(type));
    this.recorder = new MediaRecorder(this.screen.captureStream(30), { mimeType: kind, videoBitsPerSecond: 6e6 });
    this.recorder.addEventListener("dataavailable", (event) => this.pieces.push(event.data));
    this.recorder.addEventListener("stop", () => this.save());
    seek(0);
    this.recorder.start(500);
    byId("film").textContent = "Stop";
    setPlaying(true);
  },

  get running() { return this.recorder?.state === "recording"; },

  take() {
    if (!this.running) return;
    this.pen.fillStyle = themeColor("panel");
    this.pen.fillRect(0, 0, this.screen.width, this.screen.height);
    Object.assign(this.pen, { fillStyle: themeColor("ink"), font: "600 26px system-ui, sans-serif", textBaseline: "middle" });
    this.pen.fillText(document.title, 20, this.head / 2, this.screen.width - 40);
    let from = 0;
    for (const { canvas, width } of this.parts) {
      const part = Math.min(canvas.width, canvas.height * width / this.height);
      this.pen.drawImage(canvas, (canvas.width - part) / 2, 0, part, canvas.height, from, this.head, width, this.height);
      from += width;
    }
  },

  // Coding begins with a delay: a motion that is over before is repeated, because a film without pictures cannot be played.
  passed() { if (this.running && this.pieces.some((piece) => piece.size > 0)) this.stop(); },

  stop() { this.recorder.stop(); byId("film").textContent = "Film"; },

  save() {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob(this.pieces, { type: "video/webm" }));
    link.download = `${document.title.replace(/[^\p{L}\p{N}]+/gu, "_").slice(0, 60) || "polhode"}.webm`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  },
};

// ---- looks: light and dark, full screen, keys

function applyTheme() {
  for (const scene of Object.values(scenes)) scene.stage.applyTheme();
  for (const chart of charts) chart.draw();
  refresh();
}

function switchTheme() {
  const dark = getComputedStyle(document.documentElement).colorScheme === "dark";
  document.documentElement.dataset.theme = dark ? "light" : "dark";
  applyTheme();
}

function fitAll() {
  for (const scene of Object.values(scenes)) scene.stage.fit();
  for (const chart of charts) chart.draw();
  refresh();
}

function fullScreen() {
  if (document.fullscreenElement) document.exitFullscreen();
  else byId("screen").requestFullscreen();
}

function onKey(event) {
  const own = event.target.closest("input, select, button, a");
  if (event.altKey || event.ctrlKey || event.metaKey || (own && own !== slider)) return;
  const frame = Math.round(motion.positionOf(state.clock)), by = event.shiftKey ? 10 : 1;
  const goals = { ArrowRight: frame + by, ArrowLeft: frame - by, ArrowUp: frame + by, ArrowDown: frame - by,
    PageUp: frame + motion.last / 10, PageDown: frame - motion.last / 10, Home: 0, End: motion.last };
  const actions = { " ": () => setPlaying(!state.playing), f: fullScreen, t: switchTheme };
  if (event.key in actions) actions[event.key]();
  else if (event.key in goals && (own || !/^(ArrowUp|ArrowDown|Page)/.test(event.key))) { pause(); seekFrame(goals[event.key]); }
  else return;
  event.preventDefault();
}

function noSolids() {
  for (const canvas of document.querySelectorAll("canvas.solid")) {
    const message = document.createElement("p");
    message.className = "message";
    message.textContent = "This browser offers no WebGL, which drawing in 3-D needs. Numbers and charts work without it.";
    canvas.replaceWith(message);
  }
  byId("film").hidden = true;
}

function openScenes() {
  if (data.arrows) byId("poinsot-panel").hidden = false;
  if (live) byId("map-panel").hidden = false;
  if (data.arrows && motion.count > 1) for (const id of ["space", "poinsot"]) byId(id).parentElement.classList.add("wide");
  const names = data.labels.map((text, k) => [text, data.marks[k], "filled"]);
  if (data.arrows) names.push(["angular momentum m", M_COLOR, "solid"], ["angular velocity ω", W_COLOR, "solid"]);
  legend("space-legend", names);
  if (data.arrows) poinsotLegend();
  if (!solid) return noSolids();
  scenes.space = new Space(motion);
  if (data.arrows) scenes.poinsot = new Poinsot(motion);
  if (live) scenes.map = new PolhodeMap();
}

function connect() {
  slider.max = motion.last;
  play.addEventListener("click", () => setPlaying(!state.playing));
  slider.addEventListener("input", () => { pause(); seekFrame(Number(slider.value)); });
  byId("theme").addEventListener("click", switchTheme);
  byId("full").addEventListener("click", fullScreen);
  byId("film").addEventListener("click", () => (film.running ? film.stop() : film.start()));
  document.addEventListener("keydown", onKey);
  document.addEventListener("fullscreenchange", fitAll);
  window.addEventListener("resize", fitAll);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", applyTheme);
  const choice = byId("poinsot-body");
  if (data.arrows) data.labels.forEach((text, n) => choice.append(new Option(text, n)));
  byId("poinsot-choice").hidden = choice.options.length < 2;
  choice.addEventListener("change", () => { scenes.poinsot?.choose(Number(choice.value)); refresh(); });
}

function open() {
  connect();
  openScenes();
  if (live) live.show();
  else data.charts.forEach((chart, n) => {
    const [low, high] = chart.range;
    charts[n].set(motion.times, chart.curves.map((curve) => numbers(curve.y).map((part) => low + part * (high - low))));
  });
  if (data.start) byId("physics").textContent = describe(new FreeMotion(data.start.moments, data.start.m), data.unit, data.start.tick);
  refresh();
  window.polhode = {
    get frame() { return motion.positionOf(state.clock); },
    get time() { return motion.at(state.clock).time; },
    get playing() { return state.playing; },
    get drawn() { return state.frames; },
    get motion() { return live && motion.free; },
    frames: motion.last + 1,
    quaternion: (body = 0) => motion.at(state.clock).q[body],
    seek: seekFrame,
    seekTime,
  };
  document.body.dataset.ready = "yes";
  if (!window.matchMedia("(prefers-reduced-motion: reduce)").matches) return setPlaying(true);
  setQuality(STILL);
  return refresh();
}

open();
