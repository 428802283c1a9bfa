// Draws up to some hundred thousand points. Pixels are written by this file: that takes a few milliseconds for 100,000
// points, with or without a graphics card, where the canvas's own shapes take a hundred.

/** More pixels than these cost time and show no more. */
const kMaxRatio = 1.5;
const kOpaque = 128;

/** A disc as pixels: where each lies from its middle, and how far that is in an image of this width. */
function discPixels(diameter, width) {
  const wide = Math.max(1, Math.round(diameter));
  const first = -(wide >> 1);
  const middle = first + (wide - 1) / 2; // between two pixels if the disc is even
  const pixels = [];
  for (let y = first; y < first + wide; ++y) {
    for (let x = first; x < first + wide; ++x) {
      if ((x - middle) ** 2 + (y - middle) ** 2 <= (wide * wide) / 4) pixels.push([x, y]);
    }
  }
  return {
    reach: wide,
    x: Int32Array.from(pixels, ([x]) => x),
    y: Int32Array.from(pixels, ([, y]) => y),
    steps: Int32Array.from(pixels, ([x, y]) => y * width + x),
  };
}

/** The pixels of a canvas as one word each. */
class Pixels {
  constructor(width, height) {
    Object.assign(this, { width, height, image: new ImageData(width, height) });
    this.words = new Uint32Array(this.image.data.buffer);
  }

  disc({ reach, x: xs, y: ys, steps }, x, y, word) {
    const { words, width, height } = this;
    if (x >= reach && y >= reach && x < width - reach && y < height - reach) {
      const middle = y * width + x;
      for (let i = 0; i < steps.length; ++i) words[middle + steps[i]] = word;
      return;
    }
    for (let i = 0; i < steps.length; ++i) {
      const [at_x, at_y] = [x + xs[i], y + ys[i]];
      if (at_x >= 0 && at_y >= 0 && at_x < width && at_y < height) words[at_y * width + at_x] = word;
    }
  }
}

/** The points whose words are transparent, then the others, which are painted over them. */
function paintOrder(words) {
  const order = new Uint32Array(words.length);
  let n = 0;
  for (const is_opaque of [false, true]) {
    for (let i = 0; i < words.length; ++i) if (words[i] >>> 24 >= kOpaque === is_opaque) order[n++] = i;
  }
  return order;
}

/** Points on a canvas with a view that moves. Pixels are those of the device. */
export class Scatter {
  constructor(canvas) {
    this.view = { scale: 1, x: 0, y: 0 };
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.resize();
    this.setPoints(new Float32Array(0), new Uint8Array(0));
  }

  /** `xy`: x, y, …; `rgba`: four bytes a point. Transparent points come below opaque ones. */
  setPoints(xy, rgba) {
    const words = new Uint32Array(rgba.buffer, rgba.byteOffset, rgba.length >> 2);
    Object.assign(this, { xy, words, n: xy.length >> 1, order: paintOrder(words) });
    this.draw();
  }

  resize() {
    const ratio = Math.min(devicePixelRatio || 1, kMaxRatio);
    this.ratio = ratio;
    this.canvas.width = Math.max(1, Math.round(this.canvas.clientWidth * ratio));
    this.canvas.height = Math.max(1, Math.round(this.canvas.clientHeight * ratio));
    this.pixels = new Pixels(this.canvas.width, this.canvas.height);
    this.draw();
  }

  /** Shows all points. */
  fit() {
    let [x0, y0, x1, y1] = [Infinity, Infinity, -Infinity, -Infinity];
    for (let i = 0; i < this.xy.length; i += 2) {
      x0 = Math.min(x0, this.xy[i]);
      x1 = Math.max(x1, this.xy[i]);
      y0 = Math.min(y0, this.xy[i + 1]);
      y1 = Math.max(y1, this.xy[i + 1]);
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
    const { pixels, xy, words, n, order } = this;
    const { scale, x, y } = this.view;
    const disc = discPixels((n > 30000 ? 3 : n > 3000 ? 4 : 7) * this.ratio, pixels.width);
    pixels.words.fill(0);
    for (let k = 0; k < n; ++k) {
      const i = order[k];
      pixels.disc(disc, Math.round(xy[2 * i] * scale + x), Math.round(xy[2 * i + 1] * scale + y), words[i]);
    }
    this.context.putImageData(pixels.image, 0, 0);
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
