// ---- charts: curves over time, each drawn once; only a line over them moves

const MARGIN = { left: 58, right: 12, top: 8, bottom: 38 };
const DASHES = { solid: [], dot: [2, 4], dash: [8, 5], longdash: [14, 6], dashdot: [8, 4, 2, 4], longdashdot: [14, 4, 2, 4] };

function niceTicks(low, high, most) {
  const raw = (high - low) / most, power = 10 ** Math.floor(Math.log10(raw)), step = [1, 2, 5, 10].find((n) => n * power >= raw) * power;
  const ticks = [];
  for (let k = Math.ceil(low / step); k * step <= high * (1 + 1e-12); k++) ticks.push(k * step);
  return ticks;
}

function tickText(value, ticks) {
  const step = Math.abs(ticks[1] - ticks[0]) || Math.abs(value) || 1, largest = Math.max(...ticks.map(Math.abs));
  if (Math.abs(value) < 1e-9 * step) return "0";
  if (largest >= 1e5 || largest < 1e-3) return value.toExponential(Math.max(0, Math.ceil(Math.log10(largest / step) - 0.01))).replace("e+", "e").replace("-", "−");
  return value.toFixed(Math.max(0, -Math.floor(Math.log10(step) + 1e-9))).replace("-", "−");
}

class ChartPanel {
  constructor(chart, number) {
    this.chart = chart;
    const element = (tag, name, id) => Object.assign(document.createElement(tag), { className: name, id: id || "" });
    const panel = element("figure", "chart"), caption = element("figcaption", ""), key = element("span", "legend", `key-${number}`);
    this.box = element("div", "timed");
    this.canvas = element("canvas", "flat", `chart-${number}`);
    this.now = element("div", "now", `now-${number}`);
    this.tip = element("output", "tip");
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", `${chart.title} over time: ${chart.curves.map((curve) => curve.name).join(", ")}`);
    caption.append(chart.title, key);
    this.box.append(this.canvas, this.now, this.tip);
    panel.append(caption, this.box);
    byId("charts").append(panel);
    legend(key.id, chart.legend);
    this.canvas.addEventListener("click", (event) => { pause(); seekTime(this.timeOf(event.offsetX)); });
    this.canvas.addEventListener("pointermove", (event) => this.tell(this.timeOf(event.offsetX)));
    this.canvas.addEventListener("pointerleave", () => { this.tip.textContent = ""; });
  }

  set(times, columns, range = this.chart.range) {
    Object.assign(this, { times, columns, range });
    this.from = times[0];
    this.to = times[times.length - 1];
    this.draw();
  }

  x(t) { return MARGIN.left + (t - this.from) / (this.to - this.from) * (this.canvas.clientWidth - MARGIN.left - MARGIN.right); }

  y(value) {
    const [low, high] = this.range;
    return MARGIN.top + (high - value) / (high - low) * (this.canvas.clientHeight - MARGIN.top - MARGIN.bottom);
  }

  timeOf(x) {
    const part = (x - MARGIN.left) / (this.canvas.clientWidth - MARGIN.left - MARGIN.right);
    return this.from + Math.min(1, Math.max(0, part)) * (this.to - this.from);
  }

  tell(time) {
    const part = (time - this.from) / (this.to - this.from), near = Math.round(part * (this.times.length - 1));
    const values = this.chart.curves.slice(0, 6).map((curve, k) => `${curve.name} ${digits(this.columns[k][near])}`);
    this.tip.textContent = `t = ${digits(this.times[near])}: ${values.join(", ")}`;
  }

  draw() {
    const width = this.canvas.clientWidth, height = this.canvas.clientHeight, ratio = Math.min(2, window.devicePixelRatio);
    if (!width || !this.times) return;
    this.canvas.width = width * ratio;
    this.canvas.height = height * ratio;
    const pen = this.canvas.getContext("2d");
    pen.scale(ratio, ratio);
    this.drawAxes(pen, width, height);
    pen.save();
    pen.beginPath();
    pen.rect(MARGIN.left, MARGIN.top, width - MARGIN.left - MARGIN.right, height - MARGIN.top - MARGIN.bottom);
    pen.clip();
    pen.lineWidth = 1.7;
    this.chart.curves.forEach((curve, k) => {
      pen.strokeStyle = curve.color === "black" ? themeColor("ink") : curve.color;
      pen.setLineDash(DASHES[curve.dash]);
      pen.beginPath();
      for (let i = 0; i < this.times.length; i++) pen.lineTo(this.x(this.times[i]), this.y(this.columns[k][i]));
      pen.stroke();
    });
    pen.restore();
  }

  drawAxes(pen, width, height) {
    const across = niceTicks(Math.min(this.from, this.to), Math.max(this.from, this.to), Math.max(2, Math.floor(width / 80)));
    const up = niceTicks(...this.range, 4);
    Object.assign(pen, { font: "12px system-ui, sans-serif", fillStyle: themeColor("soft"), strokeStyle: themeColor("line"), lineWidth: 1 });
    const line = (...points) => { pen.beginPath(); points.forEach(([x, y]) => pen.lineTo(x, y)); pen.stroke(); };
    Object.assign(pen, { textAlign: "right", textBaseline: "middle" });
    for (const value of up) {
      line([MARGIN.left, this.y(value)], [width - MARGIN.right, this.y(value)]);
      pen.fillText(tickText(value, up), MARGIN.left - 6, this.y(value));
    }
    Object.assign(pen, { textAlign: "center", textBaseline: "top" });
    for (const value of across) {
      line([this.x(value), height - MARGIN.bottom], [this.x(value), height - MARGIN.bottom + 4]);
      pen.fillText(tickText(value, across), this.x(value), height - MARGIN.bottom + 6);
    }
    pen.fillText(data.names.t, (MARGIN.left + width - MARGIN.right) / 2, height - 15);
  }

  mark(time) {
    const part = (time - this.from) / (this.to - this.from);
    this.now.hidden = !(part >= 0 && part <= 1);
    this.now.style.transform = `translateX(${this.x(time)}px)`;
  }
}

function legend(id, entries) {
  byId(id).replaceChildren(...entries.map(([text, color, style]) => {
    const entry = document.createElement("span"), mark = document.createElement("i"), shown = color === "black" ? "currentColor" : color;
    if (style === "filled") { mark.className = "filled"; mark.style.background = shown; }
    else { mark.style.borderTopColor = shown; mark.style.borderTopStyle = style === "solid" ? "solid" : style === "dot" ? "dotted" : "dashed"; }
    entry.append(mark, text);
    return entry;
  }));
}
