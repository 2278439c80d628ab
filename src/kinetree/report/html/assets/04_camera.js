// The eye: turns about a point, comes nearer, moves aside, or goes along with the mechanism.

const HALF_VIEW = 0.266; // tangent of half the angle that the picture is high

class Camera {
  constructor(stage) {
    this.stage = stage;
    this.reset();
  }

  reset() {
    const { stage } = this;
    const [x, y] = across(stage.up);
    this.basis = [x, y, stage.up];
    if (stage.planar) {
      this.azimuth = Math.atan2(dot(stage.towards, y), dot(stage.towards, x)) - 0.3;
      this.elevation = 0.22;
    } else {
      this.azimuth = -58 * (Math.PI / 180);
      this.elevation = 0.33;
    }
    this.target = stage.middle;
    this.zoom = 1;
    this.fitted = null;
    this.offset = [0, 0, 0];
  }

  directions() {
    const [x, y, up] = this.basis;
    const [c, s] = [Math.cos(this.elevation), Math.sin(this.elevation)];
    const back = add(add(scaled(x, c * Math.cos(this.azimuth)), scaled(y, c * Math.sin(this.azimuth))), scaled(up, s));
    const right = unit(cross(up, back));
    return { right, above: cross(back, right), back };
  }

  // Distance and target from which all points are in the picture, with some air around them.
  fit(aspect) {
    if (this.fitted && Math.abs(this.fitted.aspect - aspect) < 1e-3) return;
    const { right, above, back } = this.directions();
    const tanY = HALF_VIEW;
    const tanX = tanY * aspect;
    let target = this.stage.middle;
    let distance = 0;
    for (let round = 0; round < 6; round++) {
      const edges = { left: Infinity, right: -Infinity, low: Infinity, high: -Infinity };
      distance = 0;
      const seen = [...this.stage.points, ...this.stage.tips].map((p) => {
        const d = subtract(p, target);
        return [dot(d, right), dot(d, above), dot(d, back)];
      });
      for (const [x, y, z] of seen) distance = Math.max(distance, z + Math.max(Math.abs(x) / tanX, Math.abs(y) / tanY));
      for (const [x, y, z] of seen) {
        const depth = distance - z;
        edges.left = Math.min(edges.left, x / depth);
        edges.right = Math.max(edges.right, x / depth);
        edges.low = Math.min(edges.low, y / depth);
        edges.high = Math.max(edges.high, y / depth);
      }
      const shift = add(scaled(right, ((edges.left + edges.right) / 2) * distance), scaled(above, ((edges.low + edges.high) / 2) * distance));
      target = add(target, shift);
    }
    this.fitted = { aspect, distance: Math.max(1.16 * distance, 1.2 * this.stage.size) };
    this.target = target;
  }

  // All that a renderer needs; ``followed`` is a point that stays in the middle, or null.
  look(aspect, followed) {
    this.fit(aspect);
    const { right, above, back } = this.directions();
    const tanY = HALF_VIEW;
    const whole = followed ? (0.7 * this.stage.size) / (tanY * Math.min(1, aspect)) : this.fitted.distance;
    this.distance = whole / this.zoom;
    const target = add(followed || this.target, this.offset);
    const eye = add(target, scaled(back, this.distance));
    const reach = this.stage.radius + length(subtract(target, this.stage.middle));
    const [near, far] = [Math.max(0.02 * this.distance, this.distance - 2.2 * reach), this.distance + 12 * reach];
    const view = viewMatrix(eye, right, above, back);
    const matrix = product(perspective(tanY * aspect, tanY, near, far), view);
    return { eye, right, above, back, matrix, distance: this.distance };
  }

  turn(dx, dy) {
    this.azimuth -= dx;
    this.elevation = clamp(this.elevation + dy, -1.55, 1.55);
  }

  move(dx, dy) {
    const { right, above } = this.directions();
    const scale = 2 * HALF_VIEW * this.distance;
    this.offset = add(this.offset, add(scaled(right, -dx * scale), scaled(above, dy * scale)));
  }

  nearer(factor) {
    this.zoom = clamp(this.zoom * factor, 0.15, 40);
  }
}
