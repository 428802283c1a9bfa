// The map as something to handle: lasso, moving, zooming, a label at the pointer.
import { button, h } from "./dom.js";
import { Scatter } from "./scatter.js";

const kZoomStep = 1.3;
const kMoveStep = 60;
const kReach = 12;

/**
 * `labelOf(i)`: text of a point; `selected(points)`: called with the indexes inside a lasso.
 * Returns {element, scatter}. `signal` ends it.
 */
export function makePlot(labelOf, selected, signal) {
  const canvas = h("canvas", {
    tabindex: 0,
    role: "application",
    "aria-label": "Map of points. Arrow keys move, plus and minus zoom, 0 shows all.",
  });
  const over = h("canvas", { class: "over", "aria-hidden": "true" });
  const tip = h("div", { class: "tip", hidden: true });
  const scatter = new Scatter(canvas);
  const hand = new Hand(canvas, over, tip, scatter, labelOf, selected);
  const mode = button("Move", () => {
    hand.is_moving = !hand.is_moving;
    mode.setAttribute("aria-pressed", String(hand.is_moving));
    canvas.classList.toggle("move", hand.is_moving);
  }, { "aria-pressed": "false", title: "Drag to move instead of to select" });
  const element = h(
    "div",
    { class: "plot" },
    canvas,
    over,
    tip,
    h(
      "div",
      { class: "corner" },
      mode,
      button("+", () => scatter.zoom(kZoomStep), { "aria-label": "Zoom in" }),
      button("−", () => scatter.zoom(1 / kZoomStep), { "aria-label": "Zoom out" }),
      button("All", () => scatter.fit()),
    ),
  );
  const watch = new ResizeObserver(() => {
    scatter.resize();
    over.width = canvas.width;
    over.height = canvas.height;
    scatter.fit();
  });
  watch.observe(element);
  signal.addEventListener("abort", () => watch.disconnect(), { once: true });
  return { element, scatter };
}

/** What pointer and keys do. */
class Hand {
  constructor(canvas, over, tip, scatter, labelOf, selected) {
    Object.assign(this, { canvas, over, tip, scatter, labelOf, selected, is_moving: false, path: undefined });
    canvas.addEventListener("pointerdown", (event) => this.down(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", (event) => this.up(event));
    canvas.addEventListener("pointercancel", () => {
      this.path = undefined;
      this.drawPath();
    });
    canvas.addEventListener("pointerleave", () => {
      tip.hidden = true;
    });
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  pixel(event) {
    const box = this.canvas.getBoundingClientRect();
    const ratio = this.canvas.width / box.width;
    return [(event.clientX - box.left) * ratio, (event.clientY - box.top) * ratio];
  }

  down(event) {
    this.canvas.setPointerCapture(event.pointerId);
    this.path = [this.pixel(event)];
    this.drags = this.is_moving || event.shiftKey || event.button === 1;
  }

  move(event) {
    const at = this.pixel(event);
    if (this.path === undefined) return this.point(at, event);
    if (this.drags) {
      const [x, y] = this.path.at(-1);
      this.scatter.move(at[0] - x, at[1] - y);
    }
    this.path.push(at);
    return this.drags ? undefined : this.drawPath();
  }

  up() {
    const { path } = this;
    this.path = undefined;
    this.drawPath();
    if (path === undefined || this.drags) return;
    const found = path.length < 4
      ? [this.scatter.nearest(...path[0], kReach)].filter((i) => i >= 0)
      : this.scatter.inside(path);
    this.selected(found);
  }

  point([x, y], event) {
    const found = this.scatter.nearest(x, y, kReach);
    this.tip.hidden = found < 0;
    if (found < 0) return;
    this.tip.textContent = this.labelOf(found);
    const box = this.canvas.getBoundingClientRect();
    const left = Math.min(event.clientX - box.left + 14, box.width - this.tip.offsetWidth - 4);
    this.tip.style.transform = `translate(${Math.max(0, left)}px, ${event.clientY - box.top + 14}px)`;
  }

  wheel(event) {
    event.preventDefault();
    this.scatter.zoom(kZoomStep ** (-event.deltaY / 100), ...this.pixel(event));
  }

  key(event) {
    const { scatter } = this;
    const actions = {
      ArrowLeft: () => scatter.move(kMoveStep, 0),
      ArrowRight: () => scatter.move(-kMoveStep, 0),
      ArrowUp: () => scatter.move(0, kMoveStep),
      ArrowDown: () => scatter.move(0, -kMoveStep),
      "+": () => scatter.zoom(kZoomStep),
      "-": () => scatter.zoom(1 / kZoomStep),
      0: () => scatter.fit(),
      Escape: () => this.selected([]),
    };
    if (!(event.key in actions)) return;
    event.preventDefault();
    actions[event.key]();
  }

  drawPath() {
    const context = this.over.getContext("2d");
    context.clearRect(0, 0, this.over.width, this.over.height);
    if (this.path === undefined || this.drags) return;
    context.beginPath();
    for (const [x, y] of this.path) context.lineTo(x, y);
    context.closePath();
    context.fillStyle = "rgb(99 102 241 / .18)";
    context.strokeStyle = "rgb(99 102 241)";
    context.lineWidth = 1.5 * (devicePixelRatio || 1);
    context.fill();
    context.stroke();
  }
}
