// Makes elements. Text always becomes text nodes: nothing here parses markup.

const kSvg = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  append(element, children);
  return element;
}

/** Appends elements and texts; arrays are flattened, null and false are left out. */
export function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
  return element;
}

/** An HTML element. Attributes that begin with `on` are listeners. */
export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** An SVG element. */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(kSvg, tag), attributes, children);
}

export function replace(element, ...children) {
  element.replaceChildren();
  return append(element, children);
}

const wordsOf = (control) => control.ariaLabel ?? control.textContent;

/** As `replace`; the focus goes back to the control that has the same words. */
export function redraw(element, ...children) {
  const words = element.contains(document.activeElement) ? wordsOf(document.activeElement) : undefined;
  replace(element, ...children);
  if (words === undefined) return;
  [...element.querySelectorAll("a, button, select, input")].find((control) => wordsOf(control) === words)?.focus();
}

/** A `<select>` of [value, label] pairs or plain values. */
export function select(attributes, options, chosen) {
  const made = options.map((option) => {
    const [value, label] = Array.isArray(option) ? option : [option, option];
    return h("option", { value, selected: String(value) === String(chosen) }, label);
  });
  return h("select", attributes, made);
}

/** An `<input>` that suggests words, and the list of them, which belongs beside it. */
export function suggesting(words, attributes = {}) {
  const id = `words-${Math.random().toString(36).slice(2)}`;
  const list = h("datalist", { id }, words.map((word) => h("option", { value: word })));
  return [h("input", { ...attributes, list: id }), list];
}

/** A control with its name above it. */
export function labelled(name, control, hint) {
  return h("label", { class: "field" }, h("span", {}, name), control, hint ? h("small", {}, hint) : null);
}

export function button(text, onclick, attributes = {}) {
  return h("button", { type: "button", onclick, ...attributes }, text);
}

/** Calls `work` at most once in `delay_ms`, after the last call. */
export function debounced(work, delay_ms) {
  let timer = 0;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...values), delay_ms);
  };
}

/** Buttons of which one is pressed. `options`: [[value, label]]; `pick(value)` is called after a choice. */
export function tabs(label, options, chosen, pick) {
  const press = (value) => {
    made.forEach((tab, i) => tab.setAttribute("aria-pressed", String(options[i][0] === value)));
  };
  const made = options.map(([value, text]) =>
    button(text, () => {
      press(value);
      pick(value);
    })
  );
  press(chosen);
  return h("div", { class: "tabs", role: "group", "aria-label": label }, made);
}
