"""The web console in a real browser: each page, keys and rights, payloads that look like markup, sizes, no errors."""
import json
import random

import numpy
import pytest
from browser import Browser, find_browser
from quiver_server import Server

pytestmark = pytest.mark.skipif(find_browser() is None, reason="no Chromium is installed (Debian package `chromium`; QUIVER_BROWSER names another)")

SECRET, READER = "writes", "reads"
MARKUP = "<img src=x onerror=document.title='hacked'><script>document.title='hacked'</script>"
N_POINTS, DIM = 300, 8
MAX_PAGE_BYTES = 300_000
PAGES = ["collections", "metrics", "requests", "c/books/overview", "c/books/points", "c/books/search", "c/books/effort", "c/books/map"]


def points():
    rng = random.Random(7)
    kinds = ["novel", "essay", "poem"]
    return [{"id": i, "vector": {"d": [rng.gauss(3 * (i % 3 == axis), 1) for axis in range(DIM)], "s": {"indices": [i % 5, 7], "values": [1.0, 0.5]}},
             "payload": {"title": f"Whale number {i}" if i % 2 else f"Ship number {i}", "kind": kinds[i % 3], "year": 1800 + i, "deep": {"list": [1, {"x": None}]}}}
            for i in range(N_POINTS)]


def fill(server, **kwargs):
    server.put("/collections/books", {"vectors": {"d": {"size": DIM, "distance": "Cosine"}}, "sparse_vectors": {"s": {}}}, **kwargs)
    server.put("/collections/books/index?wait=true", {"field_name": "title", "field_schema": {"type": "text", "scoring": True}}, **kwargs)
    server.put("/collections/books/index?wait=true", {"field_name": "kind", "field_schema": "keyword"}, **kwargs)
    assert server.put("/collections/books/points?wait=true", {"points": points()}, **kwargs).status == 200


@pytest.fixture(scope="module")
def filled(server):
    fill(server)
    return server


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


@pytest.fixture
def open_page(browser, filled):
    """Opens a page of the console: `open_page("c/books/points")`. At the end no page may have reported an error."""
    pages = []

    def make(place, server=filled, **kwargs):
        page = browser.page(**kwargs)
        pages.append(page)
        page.server = server
        page.open(f"http://127.0.0.1:{server.port}/dashboard/#/{place}")
        page.wait_for("!!document.querySelector('main h1, main .error')")
        return page

    yield make
    for page in pages:
        assert page.problems == [] or page.expects_errors
        assert all(url.startswith(f"http://127.0.0.1:{page.server.port}/") for url in page.requests)
        page.close()


@pytest.mark.parametrize("place", PAGES)
def test_every_page_is_small_and_fits_a_phone(open_page, place):
    page = open_page(place, width=390, height=844, dark=True)
    page.wait_for("!document.querySelector('main').innerText.includes('Loading')")
    assert page.run("document.documentElement.scrollWidth") <= 390
    own = page.run("performance.getEntriesByType('resource').filter(e => e.name.includes('/dashboard/')).reduce((sum, e) => sum + e.transferSize, 0)")
    assert 10_000 < own < MAX_PAGE_BYTES
    assert page.run("getComputedStyle(document.body).colorScheme") == "light dark"
    # Controls have names, which screen readers say.
    unnamed = page.run("[...document.querySelectorAll('main button, main input, main select, main textarea')].filter(e => !e.textContent && !e.ariaLabel"
                       " && !e.labels?.length).map(e => e.outerHTML)")
    assert unnamed == []


def test_collections_are_made_and_deleted(open_page):
    page = open_page("collections")
    page.wait_for_text("books")
    page.wait_for_text("300")
    page.click("button", "New collection")
    page.fill("dialog input[required]", "made here")
    page.fill("dialog input[type=number]", "3")
    page.click("dialog button", "Create")
    page.wait_for("location.hash === '#/c/made%20here/overview'")
    page.wait_for_text("Cosine")
    assert page.server.get("/collections/made%20here").result["config"]["params"]["vectors"] == {"size": 3, "distance": "Cosine"}
    page.run("location.hash = '#/collections'")
    page.click("button", "Delete made here")
    page.fill("dialog input", "something else")
    page.click("dialog button", "Delete")
    page.wait_for_text("That is not made here.")
    page.fill("dialog input", "made here")
    page.click("dialog button", "Delete")
    page.wait_for("!document.querySelector('table').innerText.includes('made here')")
    assert page.server.get("/collections/made%20here").status == 404


def test_collections_show_progress_and_damage(open_page):
    """With answers made up: work that takes long cannot be had in a short test."""
    page = open_page("collections")
    page.run("document.querySelector('.wants-explain').click()")
    page.fill("textarea[aria-label=Query]", "whale")
    page.click("button.primary", "Search")
    page.wait_for("document.querySelector('.explain')?.innerText.includes('estimated_bytes')")


def test_recall_and_latency_are_measured(open_page):
    page = open_page("c/books/effort")
    page.fill("input[type=number]", "4")
    page.click("button", "Measure")
    page.wait_for_text("4 of 4 queries", idle_s=20)
    assert page.run("document.querySelectorAll('.chart circle').length") == 8  # seven efforts and the mark
    before = page.run("document.querySelector('.mark text').textContent")
    page.fill("#effort", "36")
    assert before == "effort 128" and page.run("document.querySelector('.mark text').textContent") == "effort 512"
    page.fill("#effort", "37")
    page.click("button", "Measure this effort")
    page.wait_for("document.querySelectorAll('.chart .series circle').length === 8")
    page.click("a", "Search with this effort")
    page.wait_for("document.querySelector('.setting .effort')?.value === '609'")


def test_map_is_drawn_and_a_lasso_becomes_a_filter(open_page):
    page = open_page("c/books/map")
    page.wait_for_text("300 of 300 points")
    page.wait_for("document.querySelectorAll('.legend button').length === 3")
    box = page.run("(({x, y, width, height}) => ({x, y, width, height}))(document.querySelector('canvas').getBoundingClientRect())")
    corners = [(0.02, 0.02), (0.98, 0.02), (0.98, 0.98), (0.5, 0.98), (0.02, 0.98)]
    at = [(box["x"] + fx * box["width"], box["y"] + fy * box["height"]) for fx, fy in corners]
    page.mouse("mousePressed", *at[0])
    for place in at[1:]:
        page.mouse("mouseMoved", *place)
    page.mouse("mouseReleased", *at[-1])
    page.wait_for("document.querySelector('.choice h2')?.innerText === '300 points'")
    page.click(".legend button", "essay")
    page.wait_for("document.querySelector('.choice h2').innerText === '100 points'")
    page.click("button", "Show these points")
    page.wait_for_text("100 of 300 points")
    assert page.run("document.querySelector('.chip').innerText").startswith("one of 100 points")


def test_projection_finds_the_principal_components(open_page):
    page = open_page("collections")
    rng = numpy.random.default_rng(3)
    rows = rng.normal(size=(400, 12)) * ([5, 3] + [1] * 10) @ numpy.linalg.qr(rng.normal(size=(12, 12)))[0] + 7
    found = numpy.array(page.run(f"""import('/dashboard/lib/pca.js').then(({{fitPca}}) => {{
        const rows = Float32Array.from({json.dumps(rows.ravel().tolist())});
        return fitPca(rows, 400, 12).directions.map(d => [...d]); }})"""))
    wanted = numpy.linalg.svd(rows - rows.mean(0), full_matrices=False)[2][:2]
    assert numpy.abs((found * wanted).sum(1)) == pytest.approx([1, 1], abs=1e-4)


def test_metrics_are_charted(open_page):
    page = open_page("metrics")
    page.wait_for("document.querySelectorAll('.chart').length === 9")
    for _ in range(20):
        page.server.get("/collections/books/exists")
    page.wait_for_text("GET /collections/{collection_name}/exists")


def test_quantiles_and_prefixes_of_metrics(open_page):
    page = open_page("collections")
    histogram = "".join(f'x_d_bucket{{endpoint="/a",le="{bound}"}} {n}\n' for bound, n in (("1", 10), ("2", 30), ("+Inf", 40)))
    got = page.run(f"""import('/dashboard/lib/prometheus.js').then(({{Snapshot, quantile}}) => {{
        const before = new Snapshot('x_app_info 1\\n', 0);
        const after = new Snapshot('# HELP\\nx_app_info{{a="b \\\\"c"}} 1\\n' + {json.dumps(histogram)}, 1);
        return [after.sum('app_info'), quantile(0.5, 'd', before, after, () => true), after.samples('app_info')[0].labels.a]; }})""")
    assert got == [1, 1.5, 'b "c']


def test_requests_are_sent_and_remembered(open_page):
    page = open_page("requests")
    page.click(".list button", "Count points")
    page.click("button.primary", "Send")
    page.wait_for_text('"count": 300')
    page.click("section:last-child .list button", "/collections/books/points/count")
    page.fill("input.mono", "/collections/none")
    page.fill("main select", "GET")
    page.click("button.primary", "Send")
    page.wait_for_text("404")
    page.expects_errors = True  # the browser logs each 404
    curl = page.run("""import('/dashboard/pages/requests.js').then(({asCurl}) => asCurl({method: 'POST', path: '/a', body: `{"b": "it's"}`}))""")
    assert curl.startswith("curl -X POST 'http://127.0.0.1:") and "it'\\''s" in curl


def test_theme_is_kept(open_page):
    page = open_page("collections")
    for theme in ("light", "dark"):
        page.click("button", "Theme")
        assert page.run("document.documentElement.style.colorScheme") == theme
    light, dark = "rgb(246, 247, 249)", "rgb(20, 23, 28)"
    assert page.run("getComputedStyle(document.documentElement).backgroundColor") == dark != light
    page.send("Page.reload")
    page.wait_for("document.querySelector('.tools')?.innerText.includes('Theme: Dark')")


def test_keyboard_reaches_the_content(open_page):
    page = open_page("collections")
    page.press("Tab", code="Tab", windowsVirtualKeyCode=9)
    assert page.run("document.activeElement.innerText") == "Skip to content"
    page.press("Tab", code="Tab", windowsVirtualKeyCode=9)
    assert page.run("document.activeElement.innerText").strip() == "Quiver"
    assert page.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_keys_and_rights(open_page, tmp_path):
    server = Server(tmp_path / "data", env={"QUIVER__SERVICE__API_KEY": SECRET, "QUIVER__SERVICE__READ_ONLY_API_KEY": READER}).start()
    try:
        server.put("/collections/c", {"vectors": {"size": 2, "distance": "Dot"}}, headers={"api-key": SECRET})
        page = open_page("collections", server)
        page.expects_errors = True  # the browser logs each 401 and 403
        page.wait_for_text("This server wants an API key.")
        page.click("button", "Enter an API key")
        page.fill("#api-key", READER)
        page.click("dialog button", "Use it")
        page.click("button", "Delete c")
        page.fill("dialog input", "c")
        page.click("dialog button", "Delete")
        page.wait_for_text("Your API key does not allow this. The server says: Forbidden")
        page.click("dialog button", "Cancel")
        page.click("button", "Key: set")
        page.fill("#api-key", SECRET)
        page.click("dialog button", "Use it")
        page.click("button", "Delete c")
        page.fill("dialog input", "c")
        page.click("dialog button", "Delete")
        page.wait_for_text("There are no collections yet.")
        assert page.run("JSON.stringify(localStorage)").count(SECRET) == 0 and page.run("document.cookie") == ""
        assert not any(SECRET in url for url in page.requests)
    finally:
        server.close()


def test_unknown_pages_and_collections(open_page):
    page = open_page("nowhere")
    page.wait_for_text("The console has no such page.")
    page.run("location.hash = '#/c/missing/points'")
    page.wait_for_text("doesn't exist! It may have been deleted.")
    page.expects_errors = True
