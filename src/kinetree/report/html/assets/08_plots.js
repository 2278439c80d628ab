// Curves over time as SVG; a cursor shows the time of the animation, and hovering sets it.

const SVG = "http://www.w3.org/2000/svg";
const DASHES = ["", "6 3", "2 3"];

function drawn(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

function made(name, attributes = {}, text) {
  const found = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) found.setAttribute(key, value);
  if (text !== undefined) found.textContent = text;
  return found;
}

// Round values between two ends, about as many as wanted.
function ticks(low, high, wanted) {
  const rough = (high - low) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((x) => x * power).find((x) => x >= rough * 0.999);
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k <= high / step + 1e-9; k++) found.push(k * step);
  if (found.length < 3 && wanted < 9) return ticks(low, high, wanted + 1);
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const large = Math.max(Math.abs(low), Math.abs(high)) >= 1e5 || step < 1e-4;
  return found.map((x) => [x, large ? numberText(Math.abs(x) < step / 1e6 ? 0 : x).replace(/\.?0+(e|$)/, "$1") : x.toFixed(digits).replace("-", "−")]);
}

function decades(low, high) {
  const [first, last] = [Math.ceil(low), Math.floor(high)];
  const stride = Math.max(1, Math.ceil((last - first + 1) / 6));
  const found = [];
  for (let k = first; k <= last; k += stride) found.push([k, `1e${String(k).replace("-", "−")}`]);
  return found;
}

class Plot {
  constructor(told, app) {
    this.told = told;
    this.app = app;
    this.hidden = new Set();
    this.visible = true;
    this.whole = !told.window; // whether rare peaks are seen, too
    const times = told.times.map(unpack);
    this.labels = [...new Set(told.lines.map((line) => line.label))];
    this.lines = told.lines.map((line) => {
      const index = this.labels.indexOf(line.label);
      const colors = app.data.colors;
      return { ...line, index, time: times[line.time], values: unpack(line.values), color: colors[index % colors.length], dash: DASHES[Math.floor(index / colors.length) % DASHES.length] };
    });
    this.build();
  }

  build() {
    const { told } = this;
    this.element = made("figure", { class: "plot" });
    const caption = made("figcaption");
    caption.append(made("span", { class: "name" }, told.title.charAt(0).toUpperCase() + told.title.slice(1)));
    caption.append(made("span", { class: "unit" }, told.unit && told.unit !== "1" ? `${told.symbol} in ${told.unit.replace("^2", "²")}` : told.symbol));
    this.picture = drawn("svg", { role: "img", "aria-label": `${told.title} over time: ${this.labels.join(", ")}` });
    this.legend = made("div", { class: "legend" });
    this.element.append(caption, this.picture, this.legend);
    this.notes();
    this.entries = this.labels.map((label, index) => this.entry(label, index));
    this.picture.addEventListener("pointermove", (event) => this.hover(event));
    this.picture.addEventListener("pointerdown", (event) => this.hover(event));
    this.picture.addEventListener("pointerleave", () => this.app.release());
  }

  // Below the names: what is broad, and peaks that are cut off until they are asked for.
  notes() {
    const { told, lines } = this;
    const parts = lines.some((line) => line.asked) ? [made("span", {}, "broad line: reference")] : [];
    if (told.window) {
      const peak = Math.max(...lines.map((line) => line.values.reduce((most, x) => Math.max(most, Math.abs(x) || 0), 0)));
      const button = made("button", { type: "button", class: "whole", "aria-pressed": "false" }, `peaks clipped, up to ${numberText(peak)}: show`);
      button.addEventListener("click", () => {
        this.whole = !this.whole;
        button.setAttribute("aria-pressed", String(this.whole));
        button.textContent = this.whole ? "clip the peaks" : `peaks clipped, up to ${numberText(peak)}: show`;
        this.layout();
      });
      parts.push(button);
    }
    if (!parts.length) return;
    const note = made("p", { class: "notes" });
    note.append(...parts);
    this.element.append(note);
  }

  entry(label, index) {
    const line = this.lines.find((x) => x.index === index);
    const button = made("button", { type: "button", "aria-pressed": "true", title: "show or hide" });
    const sample = drawn("svg", { viewBox: "0 0 18 8", class: "sample", "aria-hidden": "true" });
    sample.append(drawn("line", { x1: 0, y1: 4, x2: 18, y2: 4, stroke: line.color, "stroke-width": 2.5, "stroke-dasharray": line.dash }));
    const value = made("span", { class: "value" });
    button.append(sample, made("span", { class: "label" }, label), value);
    button.addEventListener("click", () => {
      if (!this.hidden.delete(label)) this.hidden.add(label);
      button.setAttribute("aria-pressed", String(!this.hidden.has(label)));
      this.layout();
    });
    button.addEventListener("pointerenter", () => this.emphasise(index));
    button.addEventListener("pointerleave", () => this.emphasise(null));
    this.legend.append(button);
    return value;
  }

  emphasise(index) {
    for (const { path, line } of this.paths || []) path.classList.toggle("faint", index !== null && line.index !== index);
  }

  shown() {
    return this.lines.filter((line) => !this.hidden.has(line.label));
  }

  scale(x) {
    return this.told.logarithmic ? (x > 0 ? Math.log10(x) : NaN) : x;
  }

  range(lines) {
    let [low, high] = this.whole ? [Infinity, -Infinity] : this.told.window;
    for (const line of this.whole ? lines : [])
      for (const value of line.values) {
        const y = this.scale(value);
        if (y < low) low = y;
        if (y > high) high = y;
      }
    if (!(low <= high)) return [-1, 1];
    const air = high > low ? 0.06 * (high - low) : Math.abs(high) * 0.1 || 1;
    return [low - air, high + air];
  }

  layout() {
    const width = Math.max(240, Math.round(this.element.clientWidth - 2) || 520);
    const height = clamp(Math.round(0.36 * width), 130, 230);
    this.box = { left: 58, right: width - 12, top: 8, bottom: height - 24 };
    const { left, right, top, bottom } = this.box;
    const picture = this.picture;
    picture.replaceChildren();
    picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const [start, end] = this.app.span;
    const [low, high] = this.range(this.shown().length ? this.shown() : this.lines);
    this.x = (t) => left + ((t - start) / (end - start || 1)) * (right - left);
    this.y = (v) => bottom - ((v - low) / (high - low)) * (bottom - top);
    for (const [value, text] of this.told.logarithmic ? decades(low, high) : ticks(low, high, 4)) {
      const y = this.y(value);
      picture.append(drawn("line", { class: value === 0 && !this.told.logarithmic ? "zero" : "grid", x1: left, x2: right, y1: y, y2: y }));
      picture.append(drawn("text", { class: "tick", x: left - 6, y: y + 3.5, "text-anchor": "end" }, text));
    }
    const share = this.app.percent; // of the motion's time, instead of seconds
    const marks = ticks(share ? 0 : start, share ? 100 : end, clamp(width / 90, 3, 9));
    marks.forEach(([value_, text], k, all) => {
      const value = share ? start + (value_ / 100) * (end - start) : value_;
      const last = k === all.length - 1;
      picture.append(drawn("line", { class: "grid", x1: this.x(value), x2: this.x(value), y1: top, y2: bottom }));
      const x = Math.min(this.x(value), right - 10);
      picture.append(drawn("text", { class: "tick", x, y: bottom + 15, "text-anchor": "middle" }, last ? `${text} ${share ? "%" : "s"}` : text));
    });
    for (const event of this.app.data.events) {
      const mark = drawn("line", { class: "event", x1: this.x(event.time), x2: this.x(event.time), y1: top, y2: bottom });
      mark.append(drawn("title", {}, `${event.kind.replace(/_/g, " ")} ${event.name} at ${event.time.toFixed(4)} s`));
      picture.append(mark);
    }
    for (const limit of this.told.limits) this.drawLimit(limit);
    this.drawLines(this.clip());
    this.cursor = drawn("line", { class: "cursor", y1: top, y2: bottom });
    picture.append(this.cursor);
    this.dots = this.labels.map((label, index) => {
      const dot = drawn("circle", { class: "dot", r: 3.2, fill: this.lines.find((line) => line.index === index).color });
      picture.append(dot);
      return dot;
    });
    this.move(this.app.time, true);
  }

  drawLimit({ label, value }) {
    const y = this.y(this.scale(value));
    const { left, right, top, bottom } = this.box;
    if (this.hidden.has(label) || !(y >= top && y <= bottom)) return;
    const { color } = this.lines.find((line) => line.label === label);
    const mark = drawn("line", { class: "limit", x1: left, x2: right, y1: y, y2: y, stroke: color });
    mark.append(drawn("title", {}, `limit of ${label}: ${numberText(value)} ${this.told.unit}`));
    this.picture.append(mark);
  }

  // What lies outside the axes is not drawn.
  clip() {
    const { left, right, top, bottom } = this.box;
    const id = `axes-${this.app.data.panels.indexOf(this.told)}`;
    const path = drawn("clipPath", { id });
    path.append(drawn("rect", { x: left - 2, y: top - 2, width: right - left + 4, height: bottom - top + 4 }));
    this.picture.append(path);
    return `url(#${id})`;
  }

  drawLines(clip) {
    const chosen = this.app.motion;
    const rank = (line) => (line.asked ? 0 : 1 + (line.motion === chosen));
    const order = this.shown().filter((line) => !line.asked || line.motion === chosen).sort((a, b) => rank(a) - rank(b));
    this.paths = order.map((line) => {
      const parts = [];
      let pen = "M";
      for (let k = 0; k < line.time.length; k++) {
        const v = this.scale(line.values[k]);
        if (Number.isFinite(v)) {
          parts.push(`${pen}${this.x(line.time[k]).toFixed(1)} ${this.y(v).toFixed(1)}`);
          pen = "L";
        } else pen = "M";
      }
      const few = data.motions.length <= MOST_GHOSTS ? " few" : "";
      const kind = line.asked ? "curve asked" : line.motion === chosen ? "curve" : `curve other${few}`;
      const path = drawn("path", { class: kind, d: parts.join(""), stroke: line.color, "stroke-dasharray": line.asked ? "" : line.dash, "clip-path": clip });
      this.picture.append(path);
      return { path, line };
    });
  }

  hover(event) {
    const place = this.picture.getBoundingClientRect();
    const x = ((event.clientX - place.left) / place.width) * this.picture.viewBox.baseVal.width;
    const [start, end] = this.app.span;
    const part = (x - this.box.left) / (this.box.right - this.box.left);
    if (part > -0.03 && part < 1.03) this.app.hover(start + clamp(part, 0, 1) * (end - start));
  }

  move(t, values) {
    if (!this.visible && !values) return;
    const x = this.x(t);
    this.cursor.setAttribute("x1", x);
    this.cursor.setAttribute("x2", x);
    this.labels.forEach((label, index) => {
      const line = this.lines.find((found) => found.index === index && found.motion === this.app.motion && !found.asked);
      const dot = this.dots[index];
      let value = NaN;
      if (line && !this.hidden.has(label)) {
        const [k, u] = located(line.time, t);
        [value] = between(line.values, 1, k, u);
      }
      const y = this.y(this.scale(value));
      const seen = y > this.box.top - 4 && y < this.box.bottom + 4;
      dot.setAttribute("visibility", seen ? "visible" : "hidden");
      if (seen) {
        dot.setAttribute("cx", x);
        dot.setAttribute("cy", y);
      }
      if (values) this.entries[index].textContent = numberText(value);
    });
  }
}
