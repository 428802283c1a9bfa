// What surrounds every page: navigation, theme, key.
import { button, h, redraw, select } from "./dom.js";
import { apiKey } from "./api.js";
import { askKey } from "./dialog.js";

const kThemes = ["light dark", "light", "dark"];
const kThemeNames = { "light dark": "Auto", light: "Light", dark: "Dark" };
const kThemeKey = "quiver.theme";
const kCollectionKey = "quiver.collection";

export const kServerPages = [["collections", "Collections"], ["metrics", "Metrics"], ["requests", "API"]];
export const kCollectionPages = [["overview", "Overview"], ["points", "Points"], ["search", "Search"], [
  "effort",
  "Recall & latency",
], ["map", "Map"]];

/** The address of a page; without a collection, of a page of the server. */
export function addressOf(page, collection, parameters = {}) {
  const query = new URLSearchParams(parameters).toString();
  const path = collection === undefined ? page : `c/${encodeURIComponent(collection)}/${page}`;
  return `#/${path}${query ? `?${query}` : ""}`;
}

/** The page that the address names: {page, collection, parameters}. */
export function currentPlace() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const parts = path.split("/").map(decodeURIComponent);
  const parameters = new URLSearchParams(query);
  if (parts[0] === "c" && parts[1]) return { page: parts[2] || "overview", collection: parts[1], parameters };
  return { page: parts[0] || "collections", parameters };
}

export function applyTheme() {
  const theme = localStorage.getItem(kThemeKey);
  document.documentElement.style.colorScheme = kThemes.includes(theme) ? theme : kThemes[0];
}

function themeButton() {
  const name = () => kThemeNames[localStorage.getItem(kThemeKey)] ?? "Auto";
  const toggle = button(`Theme: ${name()}`, () => {
    const next = (kThemes.indexOf(localStorage.getItem(kThemeKey) ?? kThemes[0]) + 1) % kThemes.length;
    localStorage.setItem(kThemeKey, kThemes[next]);
    applyTheme();
    toggle.textContent = `Theme: ${name()}`;
    window.dispatchEvent(new Event("themechange"));
  }, { class: "plain" });
  return toggle;
}

function links(pages, place, collection) {
  return pages.map(([page, label]) => {
    const is_current = place.page === page && place.collection === collection;
    return h("a", { href: addressOf(page, collection), "aria-current": is_current ? "page" : undefined }, label);
  });
}

function collectionLinks(place, names) {
  const remembered = place.collection ?? sessionStorage.getItem(kCollectionKey);
  const chosen = names.includes(remembered) || place.collection ? remembered : names[0];
  if (chosen === undefined || chosen === null) return null;
  sessionStorage.setItem(kCollectionKey, chosen);
  const page = place.collection === undefined ? "overview" : place.page;
  const options = names.includes(chosen) ? names : [chosen, ...names];
  const picker = select(
    {
      "aria-label": "Collection",
      onchange: () => {
        location.hash = addressOf(page, picker.value);
      },
    },
    options,
    chosen,
  );
  return h("nav", { "aria-label": "Collection" }, picker, links(kCollectionPages, place, chosen));
}

/** Draws the navigation. `names` are the collections. */
export function drawFrame(place, names) {
  const brand = document.querySelector(".brand");
  redraw(
    document.getElementById("frame"),
    brand,
    h("nav", { "aria-label": "Server" }, links(kServerPages, place)),
    collectionLinks(place, names),
    h(
      "div",
      { class: "tools" },
      button(apiKey() ? "Key: set" : "Key: none", askKey, { class: "plain" }),
      themeButton(),
    ),
  );
  for (const link of document.querySelectorAll("#frame [aria-current]")) {
    link.scrollIntoView({ block: "nearest", inline: "center" });
  }
}
