// Dialogs, notices and errors.
import { button, h, replace } from "./dom.js";
import { apiKey, setApiKey } from "./api.js";
import { ApiError } from "./http.js";

/** Shows a text for some seconds; screen readers say it. */
export function notify(text, kind = "info") {
  const notice = h("p", { class: `notice ${kind}` }, text);
  document.getElementById("notices").append(notice);
  setTimeout(() => notice.remove(), kind === "error" ? 8000 : 3500);
}

function readable(error) {
  if (error.status === 401) return "This server wants an API key.";
  if (error.status === 403) return `Your API key does not allow this. The server says: ${error.message}`;
  if (error.status === 404 && error.message.includes("doesn't exist")) {
    return `${error.message} It may have been deleted.`;
  }
  if (error.status === 429) return `Too many requests: ${error.message}`;
  return error.message;
}

/** A box with an error, and what can be done about it. */
export function errorBox(error) {
  const wants_key = error.status === 401 || error.status === 403;
  return h(
    "div",
    { class: "error", role: "alert" },
    h("p", {}, readable(error)),
    wants_key ? button(apiKey() ? "Change the API key" : "Enter an API key", () => askKey()) : null,
  );
}

/** Runs `work`; an error is shown in `place`, or as a notice without one. */
export async function guarded(place, work) {
  try {
    return await work();
  } catch (error) {
    if (error.name === "AbortError") return undefined;
    if (!(error.status >= 0)) console.error(error);
    if (place) replace(place, errorBox(error));
    else notify(readable(error), "error");
    return undefined;
  }
}

/** Shows a modal form. `body` are elements; `submit()` returns false to keep the form open. */
export function openDialog(title, body, submit, action = "OK", kind = "primary") {
  const problem = h("div");
  const form = h(
    "form",
    { method: "dialog" },
    h("h2", {}, title),
    body,
    problem,
    h("div", { class: "actions" }, button("Cancel", () => dialog.close()), h("button", { class: kind }, action)),
  );
  const dialog = h("dialog", { "aria-label": title, onclose: () => dialog.remove() }, form);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    replace(problem);
    const done = await guarded(problem, submit);
    if (done !== undefined && done !== false) dialog.close();
  });
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/** A dialog belongs to the page that opened it. */
export function closeDialogs() {
  for (const dialog of document.querySelectorAll("dialog")) dialog.close();
}

export function askKey() {
  const input = h("input", { type: "password", autocomplete: "off", value: apiKey(), id: "api-key" });
  openDialog("API key", [
    h("label", { class: "field" }, h("span", {}, "Key or token"), input),
    h("p", { class: "quiet" }, "It is kept until this tab is closed, and sent as the header api-key. Empty: none."),
  ], () => {
    setApiKey(input.value.trim());
    window.dispatchEvent(new Event("hashchange"));
    return true;
  }, "Use it");
}

/** Asks for `word` before something is destroyed. */
export function confirmBy(title, text, word, action, work) {
  const input = h("input", { autocomplete: "off", "aria-label": `Type ${word} to confirm` });
  openDialog(
    title,
    [h("p", {}, text), h("p", { class: "quiet" }, "Type ", h("b", {}, word), " to confirm."), input],
    () => {
      if (input.value !== word) throw new ApiError(0, `That is not ${word}.`);
      return work();
    },
    action,
    "danger",
  );
}
