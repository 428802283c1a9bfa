// Shows the page that the address names.
import { h, replace } from "./lib/dom.js";
import { get } from "./lib/api.js";
import { closeDialogs, guarded } from "./lib/dialog.js";
import { applyTheme, currentPlace, drawFrame, kCollectionPages, kServerPages } from "./lib/frame.js";

const kTitles = Object.fromEntries([...kServerPages, ...kCollectionPages]);
/** Ends the timers and requests of the page that is shown. */
let leave = new AbortController();

async function collectionNames() {
  try {
    return (await get("collections")).collections.map((collection) => collection.name).sort();
  } catch {
    return []; // the page itself tells what is wrong
  }
}

async function showPage() {
  leave.abort();
  closeDialogs();
  leave = new AbortController();
  const signal = leave.signal;
  const place = currentPlace();
  const main = document.getElementById("main");
  const known = place.page in kTitles &&
    (place.collection !== undefined) === kCollectionPages.some(([page]) => page === place.page);
  const title = known ? kTitles[place.page] : "Not found";
  document.title = [title, place.collection, "Quiver"].filter(Boolean).join(" · ");
  drawFrame(place, [place.collection ?? sessionStorage.getItem("quiver.collection")].filter(Boolean));
  collectionNames().then((names) => signal.aborted || drawFrame(place, names));
  if (!known) {
    replace(
      main,
      h("h1", {}, "Not found"),
      h("p", {}, "The console has no such page. ", h("a", { href: "#/collections" }, "Collections")),
    );
    return;
  }
  const content = h("div", { class: `page page-${place.page}` });
  replace(main, content);
  await guarded(content, async () => {
    const { show } = await import(`./pages/${place.page}.js`);
    if (!signal.aborted) await show(content, { ...place, signal });
  });
}

window.addEventListener("hashchange", showPage);
applyTheme();
showPage();
