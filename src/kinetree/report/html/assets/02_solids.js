// Surfaces as triangles: positions and normals of corners, three corners a triangle.

class Surface {
  constructor() {
    this.positions = [];
    this.normals = [];
  }

  corner(p, n) {
    this.positions.push(p[0], p[1], p[2]);
    this.normals.push(n[0], n[1], n[2]);
  }

  flat(a, b, c) {
    const n = unit(cross(subtract(b, a), subtract(c, a)));
    this.corner(a, n);
    this.corner(b, n);
    this.corner(c, n);
  }

  append(other, turn = [1, 0, 0, 0], place = [0, 0, 0]) {
    for (let k = 0; k < other.positions.length; k += 3) {
      this.corner(add(turned(turn, other.positions.slice(k, k + 3)), place), turned(turn, other.normals.slice(k, k + 3)));
    }
    return this;
  }

  scaled(factors) {
    const surface = new Surface();
    for (let k = 0; k < this.positions.length; k += 3) {
      const p = factors.map((f, i) => f * this.positions[k + i]);
      const n = factors.map((f, i) => this.normals[k + i] / Math.max(f, 1e-9));
      surface.corner(p, unit(n));
    }
    return surface;
  }

  get corners() {
    return this.positions.length / 3;
  }
}

const FINE = 24; // corners of a circle
const COARSE = 10; // where each triangle costs time
let roundness = FINE;

// What profile points [r, z, normal r, normal z] sweep about z.
function lathe(profile, around = roundness) {
  const surface = new Surface();
  const ring = (row, angle) => {
    const [r, z, nr, nz] = row;
    const [c, s] = [Math.cos(angle), Math.sin(angle)];
    return [[r * c, r * s, z], [nr * c, nr * s, nz]];
  };
  for (let k = 0; k + 1 < profile.length; k++) {
    const [low, high] = [profile[k], profile[k + 1]];
    if (low[0] === high[0] && low[1] === high[1]) continue;
    for (let j = 0; j < around; j++) {
      const [a, b] = [(2 * Math.PI * j) / around, (2 * Math.PI * (j + 1)) / around];
      const corners = [ring(low, a), ring(low, b), ring(high, b), ring(high, a)];
      if (low[0] > 0) for (const i of [0, 1, 2]) surface.corner(...corners[i]);
      if (high[0] > 0) for (const i of [0, 2, 3]) surface.corner(...corners[i]);
    }
  }
  return surface;
}

function capsule(radius, span, steps = roundness / 4) {
  const profile = [];
  for (const [side, from] of [[-1, -Math.PI / 2], [1, 0]]) {
    const count = Math.floor(steps);
    for (let k = 0; k <= count; k++) {
      const a = from + (k / count) * (Math.PI / 2);
      profile.push([Math.max(0, radius * Math.cos(a)), radius * Math.sin(a) + (side * span) / 2, Math.cos(a), Math.sin(a)]);
    }
  }
  profile[0][0] = 0;
  profile[profile.length - 1][0] = 0;
  return lathe(profile);
}

const sphere = (radius) => capsule(radius, 0, roundness / 3);

const ellipsoid = (half) => sphere(1).scaled(half);

// A cylinder about z with a narrow bevel, so that its edges catch the light.
function cylinder(radius, span, top = radius) {
  const bevel = 0.12 * Math.min(radius, span / 2);
  const h = span / 2;
  const slope = (radius - top) / span;
  const d = Math.SQRT1_2;
  return lathe([
    [0, -h, 0, -1], [radius - bevel, -h, 0, -1], [radius - bevel, -h, -0, -1], [radius - bevel, -h, d, -d],
    [radius, -h + bevel, d, -d], [radius, -h + bevel, 1, slope], [top, h - bevel, 1, slope],
    [top, h - bevel, d, d], [Math.max(0, top - bevel), h, d, d], [Math.max(0, top - bevel), h, 0, 1], [0, h, 0, 1],
  ]);
}

function cone(radius, span) {
  const slope = radius / span;
  return lathe([[0, 0, 0, -1], [radius, 0, 0, -1], [radius, 0, 1, slope], [0, span, 1, slope]]);
}

function box(x, y, z) {
  const surface = new Surface();
  const half = [x / 2, y / 2, z / 2];
  for (let axis = 0; axis < 3; axis++) {
    const [a, b] = [(axis + 1) % 3, (axis + 2) % 3];
    for (const side of [-1, 1]) {
      const at = (u, v) => {
        const p = [0, 0, 0];
        p[axis] = side * half[axis];
        p[a] = side * u * half[a];
        p[b] = v * half[b];
        return p;
      };
      surface.flat(at(-1, -1), at(1, -1), at(1, 1));
      surface.flat(at(-1, -1), at(1, 1), at(-1, 1));
    }
  }
  return surface;
}

const CREASE = 0.77; // cosine of the angle between faces from which on an edge is seen

// A surface of the description: edges that bend gently look round.
function solid(told) {
  const bytes = bytesOf(told.corners);
  const places = new Uint16Array(bytes.buffer);
  const [wide, packed] = [told.triangles[0] === "4", bytesOf(told.triangles.slice(2))];
  const triangles = wide ? new Uint32Array(packed.buffer) : new Uint16Array(packed.buffer);
  const corners = Array.from({ length: places.length / 3 }, (_, k) =>
    [0, 1, 2].map((axis) => told.low[axis] + told.step[axis] * places[3 * k + axis]));
  const count = triangles.length / 3;
  const flat = [];
  const around = corners.map(() => []);
  for (let f = 0; f < count; f++) {
    const [a, b, c] = [0, 1, 2].map((k) => corners[triangles[3 * f + k]]);
    flat.push(unit(cross(subtract(b, a), subtract(c, a))));
    for (let k = 0; k < 3; k++) around[triangles[3 * f + k]].push(f);
  }
  const surface = new Surface();
  for (let f = 0; f < count; f++) {
    for (let k = 0; k < 3; k++) {
      const corner = triangles[3 * f + k];
      let normal = [0, 0, 0];
      for (const other of around[corner]) if (dot(flat[f], flat[other]) > CREASE) normal = add(normal, flat[other]);
      surface.corner(corners[corner], length(normal) > 1e-9 ? unit(normal) : flat[f]);
    }
  }
  return surface;
}

function surfaceOfShape(shape) {
  const [a, b, c] = shape.size;
  if (shape.kind === "box") return box(a, b, c);
  if (shape.kind === "cylinder") return cylinder(a, b);
  if (shape.kind === "sphere") return sphere(a);
  if (shape.kind === "ellipsoid") return ellipsoid([a, b, c]);
  return capsule(a, b);
}
