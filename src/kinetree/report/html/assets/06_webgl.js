// Drawing with WebGL 2.

const SHADOW_PIXELS = 1024;

class WebglRenderer {
  constructor(canvas, stage) {
    const gl = canvas.getContext("webgl2", { antialias: true, alpha: true, premultipliedAlpha: true, preserveDrawingBuffer: true });
    if (!gl) throw new Error("no WebGL 2");
    Object.assign(this, { canvas, gl, stage, name: "webgl", quality: 2 });
    this.lit = this.program(LIT_VERTEX, LIT_FRAGMENT);
    this.depth = this.program(DEPTH_VERTEX, DEPTH_FRAGMENT);
    this.ground = this.program(GROUND_VERTEX, GROUND_FRAGMENT);
    this.line = this.program(LINE_VERTEX, PLAIN_FRAGMENT);
    this.plain = this.program(PLAIN_VERTEX, PLAIN_FRAGMENT);
    this.items = stage.items.map((item) => ({ ...item, mesh: this.mesh(item.surface) }));
    this.shaft = this.mesh(new Surface().append(cylinder(1, 1), [1, 0, 0, 0], [0, 0, 0.5]));
    this.head = this.mesh(cone(1, 1));
    this.ball = this.mesh(sphere(1));
    this.square = this.buffers({ position: [[-1, -1, 1, -1, 1, 1, -1, -1, 1, 1, -1, 1], 2] });
    this.paths = new Map();
    this.loose = gl.createBuffer();
    this.makeShadows();
  }

  // Whether the processor does the work of a graphics card.
  get software() {
    const { gl } = this;
    let name = gl.getParameter(gl.RENDERER);
    const more = /^WebKit/.test(name) && gl.getExtension("WEBGL_debug_renderer_info");
    if (more) name = gl.getParameter(more.UNMASKED_RENDERER_WEBGL);
    return /swiftshader|llvmpipe|softpipe|software|basic render/i.test(name);
  }

  program(vertex, fragment) {
    const { gl } = this;
    const made = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
      gl.attachShader(made, shader);
    }
    ["position", "normal"].forEach((name, k) => gl.bindAttribLocation(made, k, name));
    gl.linkProgram(made);
    if (!gl.getProgramParameter(made, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(made));
    const found = { made, at: {}, attribute: (name) => gl.getAttribLocation(made, name) };
    const count = gl.getProgramParameter(made, gl.ACTIVE_UNIFORMS);
    for (let k = 0; k < count; k++) {
      const { name, type } = gl.getActiveUniform(made, k);
      found.at[name] = { place: gl.getUniformLocation(made, name), type };
    }
    return found;
  }

  use(program, values) {
    const { gl } = this;
    gl.useProgram(program.made);
    for (const [name, value] of Object.entries(values)) this.set(program, name, value);
  }

  set(program, name, value) {
    const { gl } = this;
    const found = program.at[name];
    if (!found) return;
    if (found.type === gl.FLOAT_MAT4) gl.uniformMatrix4fv(found.place, false, value);
    else if (found.type === gl.FLOAT_VEC3) gl.uniform3fv(found.place, value);
    else if (found.type === gl.FLOAT_VEC2) gl.uniform2fv(found.place, value);
    else if (found.type === gl.FLOAT) gl.uniform1f(found.place, value);
    else gl.uniform1i(found.place, value);
  }

  buffers(arrays) {
    const { gl } = this;
    const vertices = gl.createVertexArray();
    gl.bindVertexArray(vertices);
    let count = 0;
    Object.values(arrays).forEach(([values, width], k) => {
      gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
      gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(values), gl.STATIC_DRAW);
      gl.enableVertexAttribArray(k);
      gl.vertexAttribPointer(k, width, gl.FLOAT, false, 0, 0);
      count = values.length / width;
    });
    gl.bindVertexArray(null);
    return { vertices, count };
  }

  mesh(surface) {
    return this.buffers({ position: [surface.positions, 3], normal: [surface.normals, 3] });
  }

  draw(mesh) {
    this.gl.bindVertexArray(mesh.vertices);
    this.gl.drawArrays(this.gl.TRIANGLES, 0, mesh.count);
  }

  makeShadows() {
    const { gl } = this;
    this.texture = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, this.texture);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.DEPTH_COMPONENT24, SHADOW_PIXELS, SHADOW_PIXELS, 0, gl.DEPTH_COMPONENT, gl.UNSIGNED_INT, null);
    for (const [key, value] of [
      [gl.TEXTURE_COMPARE_MODE, gl.COMPARE_REF_TO_TEXTURE], [gl.TEXTURE_COMPARE_FUNC, gl.LEQUAL],
      [gl.TEXTURE_MIN_FILTER, gl.LINEAR], [gl.TEXTURE_MAG_FILTER, gl.LINEAR],
      [gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE], [gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE],
    ]) gl.texParameteri(gl.TEXTURE_2D, key, value);
    this.target = gl.createFramebuffer();
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.target);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.DEPTH_ATTACHMENT, gl.TEXTURE_2D, this.texture, 0);
    gl.drawBuffers([gl.NONE]);
    gl.readBuffer(gl.NONE);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  }

  // All surfaces of a pose, with the matrices that place them.
  placed(pose, drawn) {
    const found = this.items.map(({ body, mesh, color, layer }) => {
      const { turn, position } = bodyOf(pose, body);
      return { mesh, color, layer, model: matrixOf(turn, position) };
    });
    const along = (from, vector, radius, mesh, color) =>
      found.push({ mesh, color, layer: "mark", model: matrixOf(turnToAxis(unit(vector)), from, [radius, radius, length(vector)]) });
    for (const { from, to, radius, color } of drawn.rods) along(from, subtract(to, from), radius, this.shaft, color);
    for (const { start, vector, color } of drawn.arrows) {
      const head = Math.min(0.07 * this.stage.size, 0.5 * length(vector));
      const neck = scaled(vector, 1 - head / length(vector));
      along(start, neck, 0.0095 * this.stage.size, this.shaft, color);
      along(add(start, neck), subtract(vector, neck), 0.4 * head, this.head, color);
    }
    for (const { at, radius, color, above } of drawn.balls)
      found.push({ mesh: this.ball, color, layer: above ? "above" : "mark", model: matrixOf([1, 0, 0, 0], at, [radius, radius, radius]) });
    return found;
  }

  render(look, pose, drawn, theme, followed, others) {
    const { gl, stage } = this;
    const surfaces = this.placed(pose, drawn);
    const light = this.light(look, followed);
    gl.enable(gl.DEPTH_TEST);
    gl.depthMask(true);
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.target);
    gl.viewport(0, 0, SHADOW_PIXELS, SHADOW_PIXELS);
    gl.clear(gl.DEPTH_BUFFER_BIT);
    this.use(this.depth, { shade: light.matrix });
    for (const { mesh, model, layer } of surfaces) {
      if (layer === "above" || layer === "obstacle") continue;
      this.set(this.depth, "model", model);
      this.draw(mesh);
    }
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, this.texture);
    const shared = { camera: look.matrix, shade: light.matrix, shadows: 0, texel: 1.1 / SHADOW_PIXELS, softness: this.quality - 1 };
    this.drawGround(look, shared, theme, followed);
    for (const polygon of drawn.polygons) this.drawPolygon(polygon, look);
    this.use(this.lit, { ...shared, eye: look.eye, light: light.direction, up: stage.up, alpha: 1 });
    const show = ({ mesh, model, color, layer }) => {
      this.set(this.lit, "model", model);
      this.set(this.lit, "glow", layer === "mark" || layer === "above" ? 1 : 0);
      this.set(this.lit, "color", color);
      this.draw(mesh);
    };
    surfaces.filter((x) => x.layer !== "above" && x.layer !== "obstacle").forEach(show);
    for (const other of others) this.drawGhost(other);
    for (const path of drawn.paths) this.drawPath(path.points, path.color, 2.2, 0.8, look);
    this.drawObstacles(surfaces, shared);
    gl.clear(gl.DEPTH_BUFFER_BIT);
    this.use(this.lit, { ...shared, alpha: 1 });
    surfaces.filter((x) => x.layer === "above").forEach(show);
    gl.bindVertexArray(null);
  }

  // The sun stands behind the eye's left shoulder, high above the ground or in front of the wall.
  light(look, followed) {
    const { stage } = this;
    const { normal, wall } = stage.plane;
    const [a, b, c] = wall ? [-0.35, 0.55, 1.25] : [-0.45, 0.35, 1.2];
    const level = unit(subtract(look.right, scaled(normal, dot(look.right, normal))));
    const front = wall ? stage.up : unit(cross(level, normal));
    const direction = unit(add(add(scaled(level, a), scaled(front, b)), scaled(normal, c)));
    const middle = followed || stage.middle;
    const half = 1.15 * (followed ? 1.5 * stage.size : stage.radius);
    const [right, above] = across(direction);
    const view = viewMatrix(add(middle, scaled(direction, 3 * half)), right, above, direction);
    return { direction, matrix: product(orthographic(half, 0.5 * half, 6 * half), view) };
  }

  // Clear, over all that is behind or in them.
  drawObstacles(surfaces, shared) {
    this.use(this.lit, { ...shared, alpha: 0.4 });
    this.set(this.lit, "glow", 0);
    for (const { mesh, model, color } of surfaces.filter((x) => x.layer === "obstacle")) {
      this.set(this.lit, "model", model);
      this.set(this.lit, "color", color);
      this.draw(mesh);
    }
  }

  // The bodies of another motion, pale.
  drawGhost(pose) {
    this.set(this.lit, "alpha", 0.3);
    this.set(this.lit, "glow", 1);
    for (const { body, mesh, color, layer } of this.items) {
      if (body === WORLD || layer === "obstacle") continue;
      const { turn, position } = bodyOf(pose, body);
      this.set(this.lit, "model", matrixOf(turn, position));
      this.set(this.lit, "color", color);
      this.draw(mesh);
    }
    this.set(this.lit, "alpha", 1);
  }

  drawGround(look, shared, theme, followed) {
    const { gl, stage } = this;
    const { origin, normal, ahead, side } = stage.plane;
    const facing = dot(subtract(look.eye, origin), normal);
    if (facing <= 0) return;
    const middle = subtract(followed || stage.middle, origin);
    gl.depthMask(false);
    this.use(this.ground, {
      ...shared, origin, ahead, side,
      middle: [dot(middle, ahead), dot(middle, side)],
      reach: 2.6 * stage.radius + 1.2 * stage.size,
      stride: stage.step, strength: theme.shadow, paper: theme.ground, lines: theme.grid,
    });
    this.draw(this.square);
    gl.depthMask(true);
  }

  drawPolygon({ corners, color }, look) {
    const { gl } = this;
    const fan = [];
    for (let k = 1; k + 1 < corners.length; k++) fan.push(...corners[0], ...corners[k], ...corners[k + 1]);
    gl.bindVertexArray(null);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.loose);
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(fan), gl.DYNAMIC_DRAW);
    this.use(this.plain, { camera: look.matrix, color, alpha: 0.28 });
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 3, gl.FLOAT, false, 0, 0);
    gl.drawArrays(gl.TRIANGLES, 0, fan.length / 3);
    const outline = [...corners, corners[0]].flat();
    this.drawPath(outline, color, 2, 0.9, look, false);
  }

  drawPath(points, color, width, alpha, look, kept = true) {
    const { gl } = this;
    let buffer = kept ? this.paths.get(points) : null;
    if (!buffer) {
      const rows = [];
      for (let k = 0; k + 5 < points.length; k += 3)
        for (const [end, side] of [[0, -1], [1, -1], [1, 1], [0, -1], [1, 1], [0, 1]])
          rows.push(points[k], points[k + 1], points[k + 2], points[k + 3], points[k + 4], points[k + 5], end, side);
      buffer = { data: kept ? gl.createBuffer() : this.loose, count: rows.length / 8 };
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer.data);
      gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(rows), gl.DYNAMIC_DRAW);
      if (kept) this.paths.set(points, buffer);
    }
    gl.bindVertexArray(null);
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer.data);
    const ratio = this.canvas.width / Math.max(1, this.canvas.clientWidth);
    this.use(this.line, { camera: look.matrix, pixels: [this.canvas.width / 2, this.canvas.height / 2], width: (width * ratio) / 2, color, alpha });
    const places = [["from", 3, 0], ["to", 3, 12], ["corner", 2, 24]].map(([name, size, start]) => {
      const place = this.line.attribute(name);
      gl.enableVertexAttribArray(place);
      gl.vertexAttribPointer(place, size, gl.FLOAT, false, 32, start);
      return place;
    });
    gl.drawArrays(gl.TRIANGLES, 0, buffer.count);
    for (const place of places) gl.disableVertexAttribArray(place);
  }
}
