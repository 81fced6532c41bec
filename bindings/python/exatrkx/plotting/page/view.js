/* view -- one projection of the event, drawn by WebGL. */

const LARGE = 30000;  /* hits; above, speed counts more than smooth edges */

const VERTEX = `
attribute vec3 position;
attribute vec4 colour;
uniform mat3 turn;      /* 3-D: a rotation; x-y: the identity */
uniform bool radial;    /* r-z instead */
uniform vec2 centre;
uniform vec2 scale;     /* clip units a mm */
uniform float size;     /* pixels */
varying vec4 shade;
void main() {
  vec3 turned = turn * position;
  vec2 projected = radial ? vec2(position.z, length(position.xy)) : turned.xy;
  gl_Position = vec4((projected - centre) * scale, 0.0, colour.a > 0.0 ? 1.0 : 0.0);
  gl_PointSize = size;
  shade = colour;
}`;

const FRAGMENT = `
precision mediump float;
varying vec4 shade;
uniform bool round;
uniform bool bright;
uniform float fade;
void main() {
  if (round && length(gl_PointCoord - 0.5) > 0.5) discard;
  gl_FragColor = bright ? vec4(1.0) : fade * vec4(shade.rgb * shade.a, shade.a);
}`;

function compile(gl, kind, text) {
  const shader = gl.createShader(kind);
  gl.shaderSource(shader, text);
  gl.compileShader(shader);
  if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS))
    throw new Error(gl.getShaderInfoLog(shader));
  return shader;
}

class View {
  /* kind: "xy", "rz" or "space"; extent: [low, high] of both axes in mm */
  constructor(kind, event, extent) {
    this.kind = kind;
    this.event = event;
    this.extent = extent;
    this.section = document.getElementById(kind);
    this.canvas = this.section.appendChild(document.createElement("canvas"));
    this.axes = this.section.appendChild(document.createElement("canvas"));
    this.gl = this.canvas.getContext("webgl2",
      { antialias: event.count < LARGE });
    if (!this.gl) {
      const text = "This page needs a browser with WebGL 2.";
      document.querySelector("main").innerHTML = `<p class="missing">${text}</p>`;
      throw new Error(text);
    }
    this.prepare();
    this.reset();
  }

  prepare() {
    const gl = this.gl, program = gl.createProgram();
    gl.attachShader(program, compile(gl, gl.VERTEX_SHADER, VERTEX));
    gl.attachShader(program, compile(gl, gl.FRAGMENT_SHADER, FRAGMENT));
    gl.linkProgram(program);
    gl.useProgram(program);
    this.uniform = {};
    for (const name of ["turn", "radial", "centre", "scale", "size", "round",
      "bright", "fade"])
      this.uniform[name] = gl.getUniformLocation(program, name);
    this.attribute(program, "position", 3, gl.FLOAT, this.event.position);
    this.colours = this.attribute(program, "colour", 4, gl.UNSIGNED_BYTE,
      new Uint8Array(4 * this.event.count));
    this.lines = gl.createBuffer();
    this.nLines = this.nBright = 0;
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.lines);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  attribute(program, name, width, type, values) {
    const gl = this.gl, buffer = gl.createBuffer();
    const location = gl.getAttribLocation(program, name);
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, values, gl.DYNAMIC_DRAW);
    gl.enableVertexAttribArray(location);
    gl.vertexAttribPointer(location, width, type, type !== gl.FLOAT, 0, 0);
    return buffer;
  }

  /* colours [n_hits, 4]; segments: pairs of rows; bright: those on top */
  show(colours, segments, bright) {
    const gl = this.gl, all = new Uint32Array(segments.length + bright.length);
    all.set(segments);
    all.set(bright, segments.length);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.colours);
    gl.bufferSubData(gl.ARRAY_BUFFER, 0, colours);
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, all, gl.DYNAMIC_DRAW);
    this.nLines = segments.length;
    this.nBright = bright.length;
  }

  /* The selection in white: lines, then its hits. */
  drawBright(size) {
    const gl = this.gl, start = 4 * this.nLines;
    gl.uniform1i(this.uniform.bright, 1);
    gl.uniform1i(this.uniform.round, 0);
    gl.drawElements(gl.LINES, this.nBright, gl.UNSIGNED_INT, start);
    gl.uniform1i(this.uniform.round, 1);
    gl.uniform1f(this.uniform.size, size);
    gl.drawElements(gl.POINTS, this.nBright, gl.UNSIGNED_INT, start);
    gl.uniform1i(this.uniform.bright, 0);
  }

  reset() {
    const [low, high] = this.extent;
    this.centre = [(low[0] + high[0]) / 2, (low[1] + high[1]) / 2];
    this.zoom = 1;
    this.yaw = 0.7;
    this.pitch = 0.35;
  }

  get width() { return this.section.clientWidth; }

  get height() { return this.section.clientHeight; }

  /* Pixels a mm; both axes alike but for r-z, which fills its panel. */
  get pixels() {
    const [low, high] = this.extent;
    const x = this.width / (high[0] - low[0]) * this.zoom;
    const y = this.height / (high[1] - low[1]) * this.zoom;
    return this.kind === "rz" ? [x, y] : [Math.min(x, y), Math.min(x, y)];
  }

  /* Rows of the rotation: right, up, towards the eye; z to the right. */
  get rotation() {
    if (this.kind !== "space") return [[1, 0, 0], [0, 1, 0], [0, 0, 1]];
    const [s, c] = [Math.sin(this.yaw), Math.cos(this.yaw)];
    const [u, v] = [Math.sin(this.pitch), Math.cos(this.pitch)];
    return [[-s, 0, c], [-u * c, v, -u * s], [v * c, u, v * s]];
  }

  /* The pixel of a point of the plane of the view, which is in mm. */
  pixel(u, v) {
    const [a, b, c, d] = this.projection;
    return [a + c * u, b + d * v];
  }

  /* [a, b, c, d]: a point of the plane (u, v) is at pixel (a + c u, b + d v). */
  get projection() {
    const [x, y] = this.pixels;
    return [this.width / 2 - this.centre[0] * x,
      this.height / 2 + this.centre[1] * y, x, -y];
  }

  /* The row of the hit nearest to a pixel among those that show, or -1. */
  nearest(px, py, colours) {
    const p = this.event.position, [a, b, c, d] = this.projection;
    const [right, up] = this.rotation, radial = this.kind === "rz";
    let best = 100, found = -1;  /* within ten pixels */
    for (let i = 0, k = 0; i < this.event.count; i++, k += 3) {
      if (colours[4 * i + 3] === 0) continue;
      const x = p[k], y = p[k + 1], z = p[k + 2];
      const u = radial ? z : right[0] * x + right[1] * y + right[2] * z;
      const v = radial ? Math.sqrt(x * x + y * y)
        : up[0] * x + up[1] * y + up[2] * z;
      const distance = (a + c * u - px) ** 2 + (b + d * v - py) ** 2;
      if (distance < best) [best, found] = [distance, i];
    }
    return found;
  }

  resize(ratio) {
    for (const canvas of [this.canvas, this.axes]) {
      const size = [this.width, this.height].map((n) => Math.round(n * ratio));
      if (canvas.width === size[0] && canvas.height === size[1]) continue;
      [canvas.width, canvas.height] = size;
    }
  }

  /* Pixels across a hit: smaller in a full event, larger when zoomed in. */
  get dot() {
    const dense = Math.sqrt(3e4 / Math.max(this.event.count, 1));
    const size = 2.6 * Math.min(1, 0.5 + dense) * Math.sqrt(this.zoom);
    return Math.max(1.5, Math.min(5, size));
  }

  /* moving: a large event is drawn without its lines, to follow the mouse */
  draw(moving) {
    const gl = this.gl, u = this.uniform;
    const ratio = window.devicePixelRatio || 1, [x, y] = this.pixels;
    this.resize(ratio);
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.uniformMatrix3fv(u.turn, true, this.rotation.flat());
    gl.uniform1i(u.radial, this.kind === "rz" ? 1 : 0);
    gl.uniform2fv(u.centre, this.centre);
    gl.uniform2f(u.scale, 2 * x / this.width, 2 * y / this.height);
    gl.uniform1f(u.size, this.dot * ratio);
    gl.uniform1f(u.fade, this.event.count < LARGE ? 0.8 : 0.25);
    gl.uniform1i(u.round, 0);
    if (!moving || this.event.count < LARGE)
      gl.drawElements(gl.LINES, this.nLines, gl.UNSIGNED_INT, 0);
    gl.uniform1f(u.fade, 1);
    gl.uniform1i(u.round, 1);
    gl.drawArrays(gl.POINTS, 0, this.event.count);
    if (this.nBright) this.drawBright(6 * ratio);
    drawAxes(this, ratio);
  }
}
