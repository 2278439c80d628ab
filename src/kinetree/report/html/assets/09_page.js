// The page itself: one time for the animation and all curves.

const data = JSON.parse(document.getElementById("kinetree-data").textContent);
const find = (id) => document.getElementById(id);
const LEVELS = [{ pixels: 1, shadows: 2 }, { pixels: 1, shadows: 1 }, { pixels: 0.75, shadows: 1 }, { pixels: 0.5, shadows: 1 }];
const MOST_GHOSTS = 4; // motions that are shown together
const SPEEDS = [0.05, 0.1, 0.25, 0.5, 1, 2, 4];

// Whether WebGL can be used, unless the address ends with #canvas.
function hasWebgl() {
  return location.hash !== "#canvas" && Boolean(document.createElement("canvas").getContext("webgl2"));
}

class Page {
  constructor() {
    this.data = data;
    this.motion = 0;
    this.playing = false;
    this.resume = false;
    this.follow = false;
    this.percent = false; // whether curves are over the share of the motion's time
    this.level = 0; // of the drawing while something moves
    this.rest = 0; // and when all is at rest
    this.slow = 0;
    this.shown = { forces: true, center: true, traces: true };
    this.plain = !hasWebgl();
    if (this.plain) roundness = COARSE;
    this.stage = data.motions.length ? new Stage(data) : null;
    this.span = this.wholeSpan();
    this.time = this.span[0];
    this.speed = this.usualSpeed();
    this.plots = data.panels.map((panel) => new Plot(panel, this));
    for (const plot of this.plots) find("plots").append(plot.element);
    if (this.stage) this.openStage();
    this.connect();
    find("save-curves").addEventListener("click", () => this.saveCurves());
    this.watch();
    this.setTime(this.time);
  }

  wholeSpan() {
    const moments = this.stage ? this.stage.motions.flatMap((x) => [x.start, x.end]) : [];
    for (const panel of data.panels)
      for (const times of panel.times.map(unpack)) moments.push(times[0], times[times.length - 1]);
    return moments.length ? [Math.min(...moments), Math.max(...moments)] : [0, 1];
  }

  // The fastest speed at which the whole motion lasts for three seconds or more.
  usualSpeed() {
    const duration = this.span[1] - this.span[0];
    return [...SPEEDS].reverse().find((speed) => speed <= 1 && duration / speed >= 3) || SPEEDS[0];
  }

  // All curves of the page as rows of a table: one for each sample of each curve.
  curvesAsText() {
    const cell = (text) => (/[",\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text);
    const rows = ["motion,variable,curve,unit,time_s,value"];
    for (const panel of data.panels) {
      const grids = panel.times.map(unpack);
      for (const line of panel.lines) {
        const motion = data.motions.length > 1 && data.motions[line.motion] ? data.motions[line.motion].name : "";
        const variable = line.asked ? `${panel.symbol} (reference)` : panel.symbol;
        const head = [motion, variable, line.label, panel.unit].map(cell).join(",");
        unpack(line.values).forEach((value, k) => rows.push(`${head},${Number(grids[line.time][k].toPrecision(7))},${Number(value.toPrecision(7))}`));
      }
    }
    return rows.join("\n") + "\n";
  }

  saveCurves() {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([this.curvesAsText()], { type: "text/csv" }));
    link.download = `${document.title.replace(/[^A-Za-z0-9]+/g, "_")}.csv`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  openStage() {
    this.canvas = find("view");
    this.camera = new Camera(this.stage);
    this.openRenderer();
    if (this.renderer.software) [this.level, this.rest] = [2, 1];
    const note = `grid ${Number(this.stage.step.toPrecision(2))} m`;
    find("grid-note").textContent = this.stage.stands ? note : `${note}, not a floor`;
    const axes = find("axes");
    this.axes = ["x", "y", "z"].map((name) => {
      const [line, text] = [drawn("line", { class: `axis ${name}` }), drawn("text", { class: `axis ${name}` }, name)];
      axes.append(line, text);
      return { line, text };
    });
  }

  openRenderer() {
    try {
      if (this.plain) throw new Error("no WebGL 2");
      this.renderer = new WebglRenderer(this.canvas, this.stage);
    } catch {
      const fresh = this.canvas.cloneNode(); // one that was asked for WebGL gives no other context
      this.canvas.replaceWith(fresh);
      this.canvas = fresh;
      this.renderer = new CanvasRenderer(fresh, this.stage);
    }
    this.canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    this.canvas.addEventListener("webglcontextrestored", () => {
      this.renderer = new WebglRenderer(this.canvas, this.stage);
      this.redraw();
    });
  }

  // ---- time ----------------------------------------------------------------------------------------------

  setTime(t) {
    this.time = clamp(t, ...this.span);
    if (find("slider")) {
      find("slider").value = String(Math.round((1000 * (this.time - this.span[0])) / (this.span[1] - this.span[0] || 1)));
      find("slider").setAttribute("aria-valuetext", `${this.time.toFixed(3)} s`);
      find("clock").textContent = `${this.time.toFixed(3)} s`;
    }
    const now = performance.now();
    const values = !this.playing || now - (this.told || 0) > 80;
    if (values) this.told = now;
    for (const plot of this.plots) if (plot.cursor) plot.move(this.time, values);
    this.redraw();
  }

  play() {
    if (!this.stage || this.playing || this.span[1] <= this.span[0]) return;
    if (this.time >= this.span[1]) this.setTime(this.span[0]);
    this.playing = true;
    this.tellPlaying();
    let before = null;
    const step = (now) => {
      if (!this.playing) return;
      if (before !== null) {
        this.pace(now - before);
        const next = this.time + (this.speed * Math.min(now - before, 100)) / 1000;
        this.setTime(next > this.span[1] ? this.span[0] : next);
      }
      before = now;
      requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }

  pause() {
    this.playing = false;
    this.tellPlaying();
    this.setTime(this.time);
  }

  tellPlaying() {
    const button = find("play");
    button.setAttribute("aria-label", this.playing ? "pause" : "play");
    button.classList.toggle("playing", this.playing);
  }

  // A curve under the pointer: the animation waits there, and goes on afterwards.
  hover(t) {
    if (this.playing) {
      this.pause();
      this.resume = true;
    }
    this.setTime(t);
  }

  release() {
    if (this.resume) this.play();
    this.resume = false;
  }

  seek(t) {
    this.resume = false;
    if (this.playing) this.pause();
    this.setTime(t);
  }

  setMotion(k) {
    this.motion = k;
    for (const plot of this.plots) plot.layout();
    this.setTime(this.time);
  }

  pose() {
    return this.stage.motions[this.motion].at(this.time);
  }

  // The poses of the other motions, if there are few.
  others() {
    const { motions } = this.stage;
    if (motions.length > MOST_GHOSTS) return [];
    return motions.filter((x, k) => k !== this.motion).map((x) => x.at(this.time));
  }

  // ---- drawing -------------------------------------------------------------------------------------------

  redraw() {
    if (!this.stage || this.waiting) return;
    this.waiting = true;
    clearTimeout(this.resting);
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw(this.level);
      if (!this.playing && this.level > this.rest) this.resting = setTimeout(() => this.draw(this.rest), 250);
    });
  }

  // Levels: 0 is the best picture; higher ones are quicker to draw.
  draw(level) {
    const { canvas } = this;
    const { pixels, shadows } = LEVELS[level];
    this.renderer.quality = shadows;
    const ratio = Math.min(2, window.devicePixelRatio || 1) * pixels;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight].map((x) => Math.max(1, Math.round(x * ratio)));
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    const pose = this.pose();
    const followed = this.follow ? pose.centerOfMass : null;
    const look = this.camera.look(width / height, followed);
    const motion = this.stage.motions[this.motion];
    this.renderer.render(look, pose, this.stage.dynamics(motion, pose, this.shown), this.theme(), followed, this.others());
    this.drawAxes(look);
    this.drawings = (this.drawings || 0) + 1;
  }

  // A slow machine gets harder shadows first, then fewer pixels.
  pace(milliseconds) {
    this.slow = milliseconds > 45 ? this.slow + 1 : 0;
    if (this.slow < 4 || this.level === LEVELS.length - 1) return;
    this.slow = 0;
    this.level += 1;
  }

  theme() {
    const style = getComputedStyle(document.documentElement);
    const color = (name) => colorOf(style.getPropertyValue(name).trim());
    return { ground: color("--floor"), grid: color("--floor-grid"), shadow: Number(style.getPropertyValue("--shadow")) };
  }

  drawAxes(look) {
    [[1, 0, 0], [0, 1, 0], [0, 0, 1]].forEach((axis, k) => {
      const [x, y] = [dot(axis, look.right), -dot(axis, look.above)];
      const { line, text } = this.axes[k];
      for (const [key, value] of Object.entries({ x1: 0, y1: 0, x2: 24 * x, y2: 24 * y })) line.setAttribute(key, value);
      text.setAttribute("x", 33 * x);
      text.setAttribute("y", 33 * y + 3.5);
    });
  }

  // ---- what the reader does ------------------------------------------------------------------------------

  connect() {
    for (const button of document.querySelectorAll("button.seek")) {
      button.addEventListener("click", () => this.seek(Number(button.dataset.time)));
    }
    find("theme").addEventListener("click", () => this.changeTheme());
    if (!this.stage) return;
    find("play").addEventListener("click", () => (this.playing ? this.pause() : this.play()));
    find("slider").addEventListener("input", (event) => {
      this.seek(this.span[0] + (Number(event.target.value) / 1000) * (this.span[1] - this.span[0]));
    });
    const speed = find("speed");
    for (const x of SPEEDS) speed.append(made("option", { value: String(x) }, `${x}×`));
    speed.value = String(this.speed);
    speed.addEventListener("change", () => (this.speed = Number(speed.value)));
    const choice = find("motion");
    if (choice) choice.addEventListener("change", () => this.setMotion(Number(choice.value)));
    for (const [id, change] of Object.entries({
      forces: (on) => (this.shown.forces = on),
      center: (on) => (this.shown.center = on),
      traces: (on) => (this.shown.traces = on),
      follow: (on) => (this.follow = on),
      percent: (on) => ((this.percent = on), this.plots.forEach((plot) => plot.layout())),
    })) {
      const box = find(id);
      if (box) box.addEventListener("change", () => (change(box.checked), this.redraw()));
    }
    find("reset").addEventListener("click", () => (this.camera.reset(), this.redraw()));
    this.connectPointer();
    this.canvas.addEventListener("keydown", (event) => this.key(event));
  }

  connectPointer() {
    const { canvas } = this;
    const held = new Map();
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      held.set(event.pointerId, [event.clientX, event.clientY]);
      canvas.focus({ preventScroll: true });
    });
    canvas.addEventListener("pointermove", (event) => {
      const before = held.get(event.pointerId);
      if (!before) return;
      const [dx, dy] = [event.clientX - before[0], event.clientY - before[1]];
      if (held.size === 2) {
        const other = [...held.entries()].find(([id]) => id !== event.pointerId)[1];
        const far = (p) => Math.hypot(p[0] - other[0], p[1] - other[1]) || 1;
        this.camera.nearer(far([event.clientX, event.clientY]) / far(before));
      } else if (event.shiftKey || event.buttons & 6) this.camera.move(dx / canvas.clientHeight, dy / canvas.clientHeight);
      else this.camera.turn(dx * 0.008, dy * 0.008);
      held.set(event.pointerId, [event.clientX, event.clientY]);
      this.redraw();
    });
    for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, (event) => held.delete(event.pointerId));
    canvas.addEventListener("contextmenu", (event) => event.preventDefault());
    canvas.addEventListener("dblclick", () => (this.camera.reset(), this.redraw()));
    canvas.addEventListener("wheel", (event) => {
      if (document.activeElement !== canvas && !event.ctrlKey) return;
      event.preventDefault();
      this.camera.nearer(Math.exp(-0.0015 * event.deltaY));
      this.redraw();
    }, { passive: false });
  }

  key(event) {
    const [turn, step] = [0.08, 0.04];
    const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (moves[event.key]) {
      const [x, y] = moves[event.key];
      if (event.shiftKey) this.camera.move(-x * step, -y * step);
      else this.camera.turn(x * turn, -y * turn);
    } else if (event.key === "+" || event.key === "=") this.camera.nearer(1.15);
    else if (event.key === "-") this.camera.nearer(1 / 1.15);
    else if (event.key === "Home") this.camera.reset();
    else if (event.key === " ") this.playing ? this.pause() : this.play();
    else if (event.key === "," || event.key === ".") this.seek(this.time + (event.key === "." ? 1 : -1) * (this.span[1] - this.span[0]) / 200);
    else return;
    event.preventDefault();
    this.redraw();
  }

  changeTheme() {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    this.redraw();
  }

  watch() {
    let width = 0;
    const lay = () => {
      width = find("plots").clientWidth;
      for (const plot of this.plots) plot.layout();
      this.redraw();
    };
    lay();
    new ResizeObserver(() => (find("plots").clientWidth === width ? this.redraw() : lay())).observe(document.body);
    const seen = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        const plot = this.plots.find((x) => x.element === entry.target);
        plot.visible = entry.isIntersecting;
        if (plot.visible) plot.move(this.time, true);
      }
    });
    for (const plot of this.plots) seen.observe(plot.element);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
    this.watchPrinting(lay);
  }

  // On paper all is unfolded and light.
  watchPrinting(lay) {
    const root = document.documentElement;
    let before = null;
    addEventListener("beforeprint", () => {
      before = root.dataset.theme || null;
      root.dataset.theme = "light";
      for (const part of document.querySelectorAll("details")) part.open = true;
      lay();
      if (this.stage) this.draw(0);
    });
    addEventListener("afterprint", () => {
      if (before) root.dataset.theme = before;
      else delete root.dataset.theme;
      lay();
    });
  }
}

const page = new Page();
if (page.stage && !matchMedia("(prefers-reduced-motion: reduce)").matches) page.play();

// What is going on, for tests and for the curious.
window.kinetree = {
  get time() { return page.time; },
  get playing() { return page.playing; },
  get renderer() { return page.renderer ? page.renderer.name : null; },
  get drawings() { return page.drawings || 0; },
  get motion() { return page.motion; },
  get span() { return [...page.span]; },
  pose: () => page.pose().bodies.map((body) => [...body.position, ...body.turn]),
  seek: (t) => page.seek(t),
  play: () => page.play(),
  pause: () => page.pause(),
  curvesAsText: () => page.curvesAsText(),
};
