// Draws up to some hundred thousand points: by WebGL where there is, else by the 2-d canvas.

const kVertex = `
attribute vec2 at; attribute vec4 colour; uniform vec2 scale, shift; uniform float size; varying lowp vec4 shade;
void main() { gl_Position = vec4(at * scale + shift, 0.0, 1.0); gl_PointSize = size; shade = colour; }`;
const kFragment = `
varying lowp vec4 shade;
void main() { lowp vec2 from = gl_PointCoord - 0.5; if (dot(from, from) > 0.25) discard; gl_FragColor = vec4(shade.rgb * shade.a, shade.a); }`;

function compile(gl, kind, source) {
  const shader = gl.createShader(kind);
  gl.shaderSource(shader, source);
  gl.compileShader(shader);
  return shader;
}

class WebGlPainter {
  constructor(gl) {
    this.gl = gl;
    const program = gl.createProgram();
    gl.attachShader(program, compile(gl, gl.VERTEX_SHADER, kVertex));
    gl.attachShader(program, compile(gl, gl.FRAGMENT_SHADER, kFragment));
    gl.linkProgram(program);
    gl.useProgram(program);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    this.uniforms = Object.fromEntries(["scale", "shift", "size"].map((name) => [name, gl.getUniformLocation(program, name)]));
    this.places = this.buffer(gl.getAttribLocation(program, "at"), 2, gl.FLOAT, false);
    this.colours = this.buffer(gl.getAttribLocation(program, "colour"), 4, gl.UNSIGNED_BYTE, true);
  }

  buffer(location, n_parts, type, is_normalized) {
    const { gl } = this;
    const made = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, made);
    gl.enableVertexAttribArray(location);
    gl.vertexAttribPointer(location, n_parts, type, is_normalized, 0, 0);
    return made;
  }

  load(buffer, data) {
    this.gl.bindBuffer(this.gl.ARRAY_BUFFER, buffer);
    this.gl.bufferData(this.gl.ARRAY_BUFFER, data, this.gl.DYNAMIC_DRAW);
  }

  paint({ xy, rgba, n, view, width, height, size, is_moved }) {
    const { gl } = this;
    if (!is_moved) {
      this.load(this.places, xy);
      this.load(this.colours, rgba);
    }
    gl.viewport(0, 0, width, height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.uniform2f(this.uniforms.scale, (2 * view.scale) / width, (-2 * view.scale) / height);
    gl.uniform2f(this.uniforms.shift, (2 * view.x) / width - 1, 1 - (2 * view.y) / height);
    gl.uniform1f(this.uniforms.size, size);
    gl.drawArrays(gl.POINTS, 0, n);
  }
}

class CanvasPainter {
  constructor(context) {
    this.context = context;
  }

  paint({ xy, rgba, n, view, width, height, size }) {
    const { context } = this;
    context.clearRect(0, 0, width, height);
    let last = -1;
    const words = new Uint32Array(rgba.buffer);
    for (let i = 0; i < n; ++i) {
      if (words[i] !== last) {
        last = words[i];
        context.fillStyle = `rgb(${rgba[4 * i]} ${rgba[4 * i + 1]} ${rgba[4 * i + 2]} / ${rgba[4 * i + 3] / 255})`;
      }
      context.fillRect(xy[2 * i] * view.scale + view.x - size / 2, xy[2 * i + 1] * view.scale + view.y - size / 2, size, size);
    }
  }
}

function painterOf(canvas) {
  const gl = canvas.getContext("webgl", { antialias: false, premultipliedAlpha: true });
  return gl ? new WebGlPainter(gl) : new CanvasPainter(canvas.getContext("2d"));
}

/** Points on a canvas with a view that moves. Pixels are those of the device. */
export class Scatter {
  constructor(canvas) {
    this.canvas = canvas;
    this.painter = painterOf(canvas);
    this.view = { scale: 1, x: 0, y: 0 };
    this.setPoints(new Float32Array(0), new Uint8Array(0));
  }

  /** `xy`: x, y, …; `rgba`: four bytes a point. */
  setPoints(xy, rgba) {
    Object.assign(this, { xy, rgba, n: xy.length >> 1, is_moved: false });
    this.draw();
  }

  resize() {
    const ratio = devicePixelRatio || 1;
    this.ratio = ratio;
    this.canvas.width = Math.max(1, Math.round(this.canvas.clientWidth * ratio));
    this.canvas.height = Math.max(1, Math.round(this.canvas.clientHeight * ratio));
    this.draw();
  }

  /** Shows all points. */
  fit() {
    let [x0, y0, x1, y1] = [Infinity, Infinity, -Infinity, -Infinity];
    for (let i = 0; i < this.xy.length; i += 2) {
      x0 = Math.min(x0, this.xy[i]); x1 = Math.max(x1, this.xy[i]);
      y0 = Math.min(y0, this.xy[i + 1]); y1 = Math.max(y1, this.xy[i + 1]);
    }
    if (!(x1 >= x0)) return;
    const { width, height } = this.canvas;
    const scale = 0.92 * Math.min(width / (x1 - x0 || 1), height / (y1 - y0 || 1));
    this.view = { scale, x: width / 2 - (scale * (x0 + x1)) / 2, y: height / 2 - (scale * (y0 + y1)) / 2 };
    this.draw();
  }

  /** Zooms by a factor around a pixel. */
  zoom(factor, x = this.canvas.width / 2, y = this.canvas.height / 2) {
    const { view } = this;
    this.view = { scale: view.scale * factor, x: x - (x - view.x) * factor, y: y - (y - view.y) * factor };
    this.draw();
  }

  move(x, y) {
    this.view = { ...this.view, x: this.view.x + x, y: this.view.y + y };
    this.draw();
  }

  /** Paints with the next frame. */
  draw() {
    if (this.is_waiting) return;
    this.is_waiting = true;
    requestAnimationFrame(() => {
      this.is_waiting = false;
      this.paint();
    });
  }

  paint() {
    const size = (this.n > 30000 ? 2.5 : this.n > 3000 ? 4 : 6) * (this.ratio ?? 1);
    this.painter.paint({ xy: this.xy, rgba: this.rgba, n: this.n, view: this.view, width: this.canvas.width, height: this.canvas.height, size, is_moved: this.is_moved });
    this.is_moved = true;
  }

  /** The point that is nearest to a pixel, at most `most` pixels away; -1 if there is none. */
  nearest(x, y, most) {
    const { view, xy } = this;
    const at = [(x - view.x) / view.scale, (y - view.y) / view.scale];
    let best = (most / view.scale) ** 2;
    let found = -1;
    for (let i = 0; i < this.n; ++i) {
      const distance = (xy[2 * i] - at[0]) ** 2 + (xy[2 * i + 1] - at[1]) ** 2;
      if (distance <= best) [best, found] = [distance, i];
    }
    return found;
  }

  /** The points inside a polygon of pixels [[x, y]]. */
  inside(polygon) {
    const corners = polygon.map(([x, y]) => [(x - this.view.x) / this.view.scale, (y - this.view.y) / this.view.scale]);
    const found = [];
    for (let i = 0; i < this.n; ++i) if (isInside(corners, this.xy[2 * i], this.xy[2 * i + 1])) found.push(i);
    return found;
  }
}

/** True if a ray from the point crosses the polygon's edges an odd number of times. */
export function isInside(corners, x, y) {
  let is_inside = false;
  for (let i = 0, j = corners.length - 1; i < corners.length; j = i++) {
    const [[xi, yi], [xj, yj]] = [corners[i], corners[j]];
    if (yi > y !== yj > y && x < ((xj - xi) * (y - yi)) / (yj - yi) + xi) is_inside = !is_inside;
  }
  return is_inside;
}
