// What the graphics card runs: lit surfaces with shadows, the grid of the ground, lines of some width.

const LIT_VERTEX = `#version 300 es
in vec3 position;
in vec3 normal;
uniform mat4 model, camera, shade;
out vec3 at, facing;
out vec4 shaded;
void main() {
  vec4 world = model * vec4(position, 1.0);
  at = world.xyz;
  facing = mat3(model) * normal;
  shaded = shade * world;
  gl_Position = camera * world;
}`;

const SHADOW = `
uniform highp sampler2DShadow shadows;
uniform float texel;
uniform int softness;
float lit(vec4 place, float bias) {
  vec3 p = place.xyz / place.w * 0.5 + 0.5;
  if (any(lessThan(p, vec3(0.0))) || any(greaterThan(p, vec3(1.0)))) return 1.0;
  float sum = 0.0;
  if (softness == 0) {
    for (int k = 0; k < 4; k++)
      sum += texture(shadows, vec3(p.xy + (vec2(k & 1, k >> 1) - 0.5) * 1.6 * texel, p.z - bias));
    return sum / 4.0;
  }
  for (int i = -2; i <= 2; i++)
    for (int j = -2; j <= 2; j++)
      sum += texture(shadows, vec3(p.xy + vec2(i, j) * texel, p.z - bias));
  return sum / 25.0;
}`;

const LIT_FRAGMENT = `#version 300 es
precision highp float;
in vec3 at, facing;
in vec4 shaded;
uniform vec3 color, eye, light, up;
uniform float alpha, glow;
${SHADOW}
out vec4 pixel;
void main() {
  vec3 n = normalize(facing);
  vec3 v = normalize(eye - at);
  if (dot(n, v) < 0.0) n = -n;
  float facingLight = dot(n, light);
  float sun = max(facingLight, 0.0) * (glow > 0.5 ? 1.0 : lit(shaded, 0.0016 + 0.003 * (1.0 - max(facingLight, 0.0))));
  float sky = 0.5 + 0.5 * dot(n, up);
  float gloss = pow(max(dot(n, normalize(light + v)), 0.0), 48.0) * sun;
  float rim = pow(1.0 - max(dot(n, v), 0.0), 3.0);
  vec3 shown = color * (0.42 + 0.26 * sky + 0.52 * sun + 0.12 * glow) + 0.16 * gloss + 0.10 * rim * sky;
  pixel = vec4(shown, 1.0) * alpha;
}`;

const DEPTH_VERTEX = `#version 300 es
in vec3 position;
uniform mat4 model, shade;
void main() { gl_Position = shade * model * vec4(position, 1.0); }`;

const DEPTH_FRAGMENT = `#version 300 es
precision highp float;
void main() {}`;

const GROUND_VERTEX = `#version 300 es
in vec2 position;
uniform mat4 camera, shade;
uniform vec3 origin, ahead, side;
uniform vec2 middle;
uniform float reach;
out vec2 place;
out vec4 shaded;
void main() {
  place = middle + position * reach;
  vec4 world = vec4(origin + ahead * place.x + side * place.y, 1.0);
  shaded = shade * world;
  gl_Position = camera * world;
}`;

const GROUND_FRAGMENT = `#version 300 es
precision highp float;
in vec2 place;
in vec4 shaded;
uniform vec2 middle;
uniform vec3 paper, lines;
uniform float reach, stride, strength;
${SHADOW}
out vec4 pixel;
float grid(float size) {
  vec2 cell = place / size;
  vec2 width = fwidth(cell) * 1.1;
  vec2 near = abs(fract(cell - 0.5) - 0.5) / width;
  return (1.0 - min(min(near.x, near.y), 1.0)) * clamp(1.5 - 3.0 * max(width.x, width.y), 0.0, 1.0);
}
void main() {
  float away = length(place - middle) / reach;
  float fade = smoothstep(1.0, 0.35, away);
  float line = max(0.45 * grid(stride), grid(5.0 * stride));
  vec3 ground = mix(paper, lines, line * 0.8);
  float dim = 1.0 - strength * (1.0 - lit(shaded, 0.0008));
  pixel = vec4(ground * dim, 1.0) * fade;
}`;

const LINE_VERTEX = `#version 300 es
in vec3 from, to;
in vec2 corner;
uniform mat4 camera;
uniform vec2 pixels;
uniform float width;
void main() {
  vec4 a = camera * vec4(from, 1.0), b = camera * vec4(to, 1.0);
  vec2 along = (b.xy / b.w - a.xy / a.w) * pixels;
  vec2 normal = length(along) > 1e-6 ? normalize(vec2(-along.y, along.x)) : vec2(0.0, 1.0);
  vec4 here = corner.x < 0.5 ? a : b;
  gl_Position = here + vec4(normal * corner.y * width / pixels * here.w, 0.0, 0.0);
}`;

const PLAIN_FRAGMENT = `#version 300 es
precision highp float;
uniform vec3 color;
uniform float alpha;
out vec4 pixel;
void main() { pixel = vec4(color, 1.0) * alpha; }`;

const PLAIN_VERTEX = `#version 300 es
in vec3 position;
uniform mat4 camera;
void main() { gl_Position = camera * vec4(position, 1.0); }`;
