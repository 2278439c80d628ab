// Vectors, rotations and matrices (columns first), and numbers packed by the report.

const add = (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
const subtract = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
const scaled = (a, s) => [a[0] * s, a[1] * s, a[2] * s];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const length = (a) => Math.hypot(a[0], a[1], a[2]);
const unit = (a) => scaled(a, 1 / (length(a) || 1));
const clamp = (x, low, high) => Math.min(high, Math.max(low, x));

function bytesOf(text) {
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let k = 0; k < raw.length; k++) bytes[k] = raw.charCodeAt(k);
  return bytes;
}

function unpack(text) {
  const bytes = bytesOf(text.slice(2));
  return text[0] === "f" ? new Float32Array(bytes.buffer) : new Float64Array(bytes.buffer);
}

// The vector v turned by the unit quaternion q = (w, x, y, z).
function turned(q, v) {
  const u = [q[1], q[2], q[3]];
  const t = scaled(cross(u, v), 2);
  return add(add(v, scaled(t, q[0])), cross(u, t));
}

// A unit quaternion that takes z to the unit vector a.
function turnToAxis(a) {
  if (a[2] < -0.999999) return [0, 1, 0, 0];
  const w = Math.sqrt((1 + a[2]) / 2);
  return [w, -a[1] / (2 * w), a[0] / (2 * w), 0];
}

function matrixOf(q, p, s = [1, 1, 1]) {
  const [w, x, y, z] = q;
  return [
    (1 - 2 * (y * y + z * z)) * s[0], 2 * (x * y + w * z) * s[0], 2 * (x * z - w * y) * s[0], 0,
    2 * (x * y - w * z) * s[1], (1 - 2 * (x * x + z * z)) * s[1], 2 * (y * z + w * x) * s[1], 0,
    2 * (x * z + w * y) * s[2], 2 * (y * z - w * x) * s[2], (1 - 2 * (x * x + y * y)) * s[2], 0,
    p[0], p[1], p[2], 1,
  ];
}

function product(a, b) {
  const c = new Array(16);
  for (let j = 0; j < 4; j++)
    for (let i = 0; i < 4; i++)
      c[4 * j + i] = a[i] * b[4 * j] + a[4 + i] * b[4 * j + 1] + a[8 + i] * b[4 * j + 2] + a[12 + i] * b[4 * j + 3];
  return c;
}

const transformed = (m, p) => [
  m[0] * p[0] + m[4] * p[1] + m[8] * p[2] + m[12],
  m[1] * p[0] + m[5] * p[1] + m[9] * p[2] + m[13],
  m[2] * p[0] + m[6] * p[1] + m[10] * p[2] + m[14],
];

// World to eye: the eye looks from a point with the given right, above and backward directions.
function viewMatrix(eye, right, above, back) {
  return [
    right[0], above[0], back[0], 0, right[1], above[1], back[1], 0, right[2], above[2], back[2], 0,
    -dot(right, eye), -dot(above, eye), -dot(back, eye), 1,
  ];
}

function perspective(tanX, tanY, near, far) {
  return [
    1 / tanX, 0, 0, 0, 0, 1 / tanY, 0, 0,
    0, 0, (near + far) / (near - far), -1, 0, 0, (2 * near * far) / (near - far), 0,
  ];
}

function orthographic(half, near, far) {
  return [
    1 / half, 0, 0, 0, 0, 1 / half, 0, 0,
    0, 0, 2 / (near - far), 0, 0, 0, (near + far) / (near - far), 1,
  ];
}

// Two directions that make a right-handed frame with a third.
function across(up) {
  const axis = Math.abs(up[2]) > 0.9 ? [1, 0, 0] : Math.abs(up[1]) > 0.9 ? [0, 0, 1] : Math.abs(up[0]) > 0.9 ? [0, 1, 0] : [0, 0, 1];
  const first = unit(subtract(axis, scaled(up, dot(axis, up))));
  return [first, cross(up, first)];
}

// The index k and the part u in between for which time[k] + u (time[k + 1] - time[k]) = t.
function located(time, t) {
  let low = 0;
  let high = time.length - 1;
  if (t <= time[0] || high === 0) return [0, 0];
  if (t >= time[high]) return [high, 0];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (time[middle] <= t) low = middle;
    else high = middle;
  }
  const span = time[high] - time[low];
  return [low, span > 0 ? (t - time[low]) / span : 0];
}

function between(values, width, k, u) {
  const found = new Array(width);
  const next = u > 0 ? k + 1 : k;
  for (let i = 0; i < width; i++) found[i] = values[k * width + i] * (1 - u) + values[next * width + i] * u;
  return found;
}

function numberText(x) {
  if (!Number.isFinite(x)) return "–";
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (size >= 1e5 || size < 1e-3) return x.toExponential(2).replace("e+", "e").replace("-", "−").replace("e-", "e−");
  return x.toPrecision(4).replace("-", "−");
}

function colorOf(text) {
  const n = parseInt(text.slice(1), 16);
  return [(n >> 16) / 255, ((n >> 8) & 255) / 255, (n & 255) / 255];
}
