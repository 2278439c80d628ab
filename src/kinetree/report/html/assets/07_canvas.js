// Drawing without WebGL: flat triangles, the farthest first, and shadows on the ground.

const NOTHING = { arrows: [], rods: [], balls: [], polygons: [], paths: [] };

class CanvasRenderer {
  constructor(canvas, stage) {
    this.context = canvas.getContext("2d");
    Object.assign(this, { canvas, stage, name: "canvas" });
    this.shaft = new Surface().append(cylinder(1, 1), [1, 0, 0, 0], [0, 0, 0.5]);
    this.head = cone(1, 1);
    this.ball = sphere(1);
  }

  render(look, pose, drawn, theme, followed, others) {
    const { context, canvas, stage } = this;
    const on = (p) => {
      const m = look.matrix;
      const w = m[3] * p[0] + m[7] * p[1] + m[11] * p[2] + m[15];
      const q = transformed(m, p);
      return [(0.5 + (0.5 * q[0]) / w) * canvas.width, (0.5 - (0.5 * q[1]) / w) * canvas.height, w];
    };
    context.clearRect(0, 0, canvas.width, canvas.height);
    const { normal, origin } = stage.plane;
    const light = unit(add(add(scaled(look.right, -0.45), scaled(stage.up, 0.35)), scaled(normal, 1.2)));
    this.drawGround(on, look, theme);
    const triangles = this.triangles(pose, drawn, look);
    for (const other of others) {
      for (const { corners } of this.triangles(other, NOTHING, look)) {
        context.fillStyle = css(theme.grid, 0.35);
        context.beginPath();
        this.trace(corners.map(on));
        context.fill();
      }
    }
    context.fillStyle = `rgba(0, 0, 0, ${0.5 * theme.shadow})`;
    context.beginPath();
    for (const { corners } of triangles) {
      const flat = corners.map((p) => on(subtract(p, scaled(light, dot(subtract(p, origin), normal) / dot(light, normal)))));
      const [a, b, c] = flat; // all the same way round, so that none takes from another
      const around = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
      this.trace(around < 0 ? [a, c, b] : flat);
    }
    context.fill();
    for (const { corners, color } of drawn.polygons) {
      context.fillStyle = css(color, 0.3);
      context.beginPath();
      this.trace(corners.map(on));
      context.fill();
    }
    triangles.sort((a, b) => b.depth - a.depth);
    context.lineWidth = 1;
    for (const { corners, normal: n, color, opacity } of triangles) {
      const sun = Math.max(0, dot(n, light));
      const shade = 0.45 + 0.2 * (0.5 + 0.5 * dot(n, stage.up)) + 0.45 * sun;
      context.fillStyle = context.strokeStyle = css(scaled(color, shade), opacity);
      context.beginPath();
      this.trace(corners.map(on));
      context.fill();
      if (opacity === 1) context.stroke();
    }
    for (const { points, color } of drawn.paths) this.drawPath(points, color, on);
    for (const { at, radius, color, above } of drawn.balls) {
      if (!above) continue;
      const [x, y, w] = on(at);
      context.fillStyle = css(color, 1);
      context.beginPath();
      context.arc(x, y, (0.5 * canvas.height * radius) / (HALF_VIEW * w), 0, 2 * Math.PI);
      context.fill();
    }
  }

  trace(points) {
    points.forEach(([x, y], k) => (k ? this.context.lineTo(x, y) : this.context.moveTo(x, y)));
    this.context.closePath();
  }

  drawPath(points, color, on) {
    const { context } = this;
    context.strokeStyle = css(color, 0.8);
    context.lineWidth = 2;
    context.beginPath();
    for (let k = 0; k < points.length; k += 3) {
      const [x, y] = on([points[k], points[k + 1], points[k + 2]]);
      if (k) context.lineTo(x, y);
      else context.moveTo(x, y);
    }
    context.stroke();
  }

  triangles(pose, drawn, look) {
    const found = [];
    const put = (surface, color, matrix, opacity = 1) => {
      const p = surface.positions;
      for (let k = 0; k < p.length; k += 9) {
        const corners = [0, 3, 6].map((j) => transformed(matrix, [p[k + j], p[k + j + 1], p[k + j + 2]]));
        const n = unit(cross(subtract(corners[1], corners[0]), subtract(corners[2], corners[0])));
        const middle = scaled(add(add(corners[0], corners[1]), corners[2]), 1 / 3);
        const sight = subtract(look.eye, middle);
        if (dot(n, sight) > 0) found.push({ corners, color, opacity, normal: n, depth: length(sight) });
      }
    };
    for (const { body, surface, color, layer } of this.stage.items) {
      const { turn, position } = bodyOf(pose, body);
      put(surface, color, matrixOf(turn, position), layer === "obstacle" ? 0.4 : 1);
    }
    const along = (from, vector, radius, surface, color) =>
      put(surface, color, matrixOf(turnToAxis(unit(vector)), from, [radius, radius, length(vector)]));
    for (const { from, to, radius, color } of drawn.rods) along(from, subtract(to, from), radius, this.shaft, color);
    for (const { start, vector, color } of drawn.arrows) {
      const neck = scaled(vector, 0.75);
      along(start, neck, 0.0095 * this.stage.size, this.shaft, color);
      along(add(start, neck), subtract(vector, neck), 0.026 * this.stage.size, this.head, color);
    }
    for (const { at, radius, color, above } of drawn.balls)
      if (!above) put(this.ball, color, matrixOf([1, 0, 0, 0], at, [radius, radius, radius]));
    return found;
  }

  drawGround(on, look, theme) {
    const { context, stage } = this;
    const { origin, normal, ahead, side } = stage.plane;
    if (dot(subtract(look.eye, origin), normal) <= 0) return;
    const middle = subtract(stage.middle, origin);
    const cells = Math.ceil((1.2 * stage.radius + 0.4 * stage.size) / stage.step);
    const [a, b] = [ahead, side].map((direction) => Math.round(dot(middle, direction) / stage.step));
    const at = (x, y) => on(add(origin, add(scaled(ahead, x * stage.step), scaled(side, y * stage.step))));
    context.strokeStyle = css(theme.grid, 0.6);
    context.lineWidth = 1;
    context.beginPath();
    for (let k = -cells; k <= cells; k++)
      for (const [from, to] of [[at(a + k, b - cells), at(a + k, b + cells)], [at(a - cells, b + k), at(a + cells, b + k)]]) {
        context.moveTo(from[0], from[1]);
        context.lineTo(to[0], to[1]);
      }
    context.stroke();
  }
}

function css(color, alpha) {
  const [r, g, b] = color.map((x) => Math.round(255 * clamp(x, 0, 1)));
  return `rgba(${r}, ${g}, ${b}, ${alpha})`;
}
