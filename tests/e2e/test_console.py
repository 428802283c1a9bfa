"""The web console in a real browser: each page, keys and rights, payloads that look like markup, sizes, no errors."""
import json
import random

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
    page.run("""{ const real = fetch; window.fetch = async (url, ...rest) => {
        if (String(url).endsWith('/optimizations')) return new Response(JSON.stringify({result: {running: [
            {optimizer: 'merge', progress: {done: 30, total: 120, eta_sec: 75}}]}}));
        return real(url, ...rest); } }""")
    page.wait_for_text("merge 25 %, 75 s left")
    assert page.run("document.querySelector('progress').value") == 0.25


def test_many_collections_are_found_by_name(open_page):
    page = open_page("collections")
    page.run("""{ const real = fetch; window.fetch = async (url, ...rest) => {
        if (String(url).endsWith('/collections')) return new Response(JSON.stringify({result: {collections:
            Array.from({length: 500}, (_, i) => ({name: i < 499 ? `books${i}` : 'Other'}))}}));
        return real(String(url).replace(/(books|Other)\\d*/, 'books'), ...rest); } }""")
    page.wait_for_text("460 more. Find them by name.")
    assert page.run("document.querySelectorAll('tbody tr').length") == 40
    page.fill("input[type=search]", "other")
    page.wait_for("document.querySelectorAll('tbody tr').length === 1")
    page.fill("input[type=search]", "nothing")
    page.wait_for_text("No name contains this.")


def test_a_server_that_comes_back_is_shown_again(open_page):
    page = open_page("collections")
    page.wait_for("!!document.querySelector('tbody tr')")
    page.run("{ window.real = fetch; window.fetch = async () => { throw new TypeError('Failed to fetch'); } }")
    page.wait_for_text("The server does not answer.")
    page.run("window.fetch = window.real")
    page.wait_for("!!document.querySelector('tbody tr')")


def test_overview_makes_and_deletes_payload_indexes(open_page):
    page = open_page("c/books/overview")
    page.wait_for_text("text, ranked")
    page.click("button", "New index")
    page.fill("dialog input", "year")
    page.fill("dialog select", "integer")
    page.click("dialog button", "Create")
    page.click("button", "Delete the index of year")
    assert page.server.get("/collections/books").result["payload_schema"]["year"]["data_type"] == "integer"
    page.click("dialog button", "Delete")
    page.wait_for("!document.querySelector('main').innerText.includes('year')")
    assert "year" not in page.server.get("/collections/books").result["payload_schema"]


def suggested(page, inside):
    return page.run(f"[...document.querySelectorAll('{inside} datalist option')].map((option) => option.value)")


def test_keys_are_suggested_and_a_dialog_leaves_with_its_page(open_page):
    page = open_page("c/books/overview")
    page.click("button", "New index")
    page.wait_for("!!document.querySelector('dialog input')")
    assert suggested(page, "dialog") == ["kind", "year", "title", "deep"]
    page.run("location.hash = '#/c/books/search'")
    page.wait_for_text("Add condition")
    assert page.run("document.querySelector('dialog')") is None
    assert suggested(page, "main") == ["kind", "year", "title", "deep"]


def test_a_search_without_ranked_texts_says_how_to_get_them(open_page, filled):
    filled.put("/collections/wordless", {"vectors": {"size": 2, "distance": "Dot"}}).result
    page = open_page("c/wordless/search")
    page.wait_for_text("To search by words, index a key as “text, ranked”.")
    filled.request("DELETE", "/collections/wordless").result


def test_points_are_filtered_by_chips_and_json(open_page):
    page = open_page("c/books/points")
    page.wait_for_text("300 of 300 points")
    page.fill("input[placeholder=key]", "kind")
    page.fill("input[placeholder=value]", "poem")
    page.click("button", "Add condition")
    page.wait_for_text("100 of 300 points")
    assert page.run("document.querySelector('.chip').innerText").startswith("kind = poem")
    page.click("button", "Edit as JSON")
    assert json.loads(page.run("document.querySelector('dialog textarea').value")) == {"must": [{"key": "kind", "match": {"value": "poem"}}]}
    page.fill("dialog textarea", json.dumps({"must": [{"key": "year", "range": {"gte": 1900, "lt": 1910}}], "must_not": [{"has_id": [105]}]}))
    page.click("dialog button", "Apply")
    page.wait_for_text("9 of 300 points")
    assert page.run("[...document.querySelectorAll('.chip span')].map(e => e.innerText)") == ["year ≥ 1900 and < 1910", "not id 105"]
    page.click("button", "Remove not id 105")
    page.wait_for_text("10 of 300 points")
    page.click("button", "Clear")
    page.wait_for_text("300 of 300 points")
    page.click("button", "Next")
    page.wait_for_text("page 2")
    page.run("[...document.querySelectorAll('.pager button')].at(-1).focus()")
    page.press("Enter", windowsVirtualKeyCode=13, text="\r")
    page.wait_for_text("page 3")
    assert page.run("document.activeElement.innerText") == "Next →", "the focus stays for the next page"
    page.click("button", "Previous")
    page.wait_for_text("page 2")
    assert page.run("document.querySelector('.point h2').innerText") == "25"
    page.click(".tabs button", "JSON")
    page.wait_for("document.querySelector('.point pre').innerText.includes('\"deep\"')")


def test_a_point_is_edited_deleted_and_has_neighbours(open_page):
    server_id = 18446744073709551557  # beyond what JavaScript's numbers hold
    page = open_page("c/books/points")
    page.server.put("/collections/books/points?wait=true", {"points": [{"id": server_id, "vector": {"d": [1] * DIM}, "payload": {"kind": "long"}}]})
    page.fill("input[placeholder=key]", "kind")
    page.fill("input[placeholder=value]", "long")
    page.click("button", "Add condition")
    page.wait_for("document.querySelectorAll('.point').length === 1")
    page.click("button", "Edit: point")
    page.fill("dialog textarea", '{"kind": "long", "edited": [1, 2]}')
    page.click("dialog button", "Save")
    page.wait_for_text("edited")
    assert page.server.get(f"/collections/books/points/{server_id}").result["payload"] == {"kind": "long", "edited": [1, 2]}
    page.click("button", "Nearest: point")
    page.wait_for("document.querySelectorAll('.neighbours .hit').length === 6")
    page.click("button", "Vectors: point")
    page.wait_for("document.querySelector('.neighbours h3').innerText === 'Vectors'")
    page.click("button", "Delete: point")
    page.click("dialog button", "Delete")
    page.wait_for_text("No points match.")
    assert page.server.get(f"/collections/books/points/{server_id}").status == 404


def test_payloads_are_never_markup(open_page, filled):
    filled.put("/collections/evil", {"vectors": {"size": 2, "distance": "Dot"}})
    filled.put("/collections/evil/index?wait=true", {"field_name": "title", "field_schema": {"type": "text", "scoring": True}})
    filled.put("/collections/evil/points?wait=true", {"points": [{"id": i, "vector": [i, 1], "payload": {"title": f"{MARKUP} whale", MARKUP: MARKUP}} for i in range(5)]})
    for place in ("points", "search?q=whale", "map", "overview"):
        page = open_page(f"c/evil/{place}")
        if place != "overview":
            page.wait_for("document.querySelector('main').innerText.includes('<img src=x')")
        assert page.run("document.querySelectorAll('main img, main script').length") == 0
        assert "hacked" not in page.run("document.title")
    assert page.run("(() => { try { document.body.innerHTML = '<b>x</b>'; return 'set'; } catch (e) { return e.name; } })()") == "TypeError"
    page.expects_errors = True


def test_search_by_text_marks_words(open_page):
    page = open_page("c/books/search?q=whale")
    page.wait_for("document.querySelectorAll('.hit').length === 10")
    assert page.run("document.querySelector('.hit mark').innerText") == "Whale"
    request = json.loads(page.run("document.querySelector('[aria-label=\"Request as JSON\"]').value"))
    assert request["query"] == {"text": "whale"} and request["using"] == "title"


def test_search_by_point_vector_and_sparse_vector(open_page):
    page = open_page("c/books/search")
    for kind, text in ("Like a point", "4"), ("Vector", json.dumps([1] * DIM)), ("Sparse vector", "3:1 7:0.5"):
        page.click(".tabs button", kind)
        page.fill("textarea[aria-label=Query]", text)
        page.click("button.primary", "Search")
        page.wait_for("document.querySelectorAll('.hit').length === 10")
        page.run("document.querySelector('.results').replaceChildren()")
    page.fill("textarea[aria-label=Query]", "3:x")
    page.click("button.primary", "Search")
    page.wait_for_text("A sparse vector is written")


def test_hybrid_search_is_drawn_and_two_settings_are_compared(open_page):
    page = open_page("c/books/search?q=whale")
    page.click("button", "Add a search")
    page.click(".leg:nth-child(2) button", "Random")
    page.wait_for("document.querySelectorAll('.leg textarea')[1].value !== ''")
    page.wait_for("document.querySelectorAll('.graph .step').length === 2 && document.querySelectorAll('.graph .fusion').length === 1")
    assert "RRF of (" in page.run("document.querySelector('.graph').ariaLabel")
    page.run("document.querySelector('.wants-compare').click()")
    page.fill(".setting .effort", "16")
    page.click("button.primary", "Search")
    page.wait_for("document.querySelectorAll('.answer').length === 2")
    assert "10 of 10" in page.run("document.querySelector('.overlap').innerText")
    page.run("""document.querySelector('[aria-label="Request as JSON"]').closest('details').open = true""")
    page.fill('[aria-label="Request as JSON"]', json.dumps({"query": 3, "using": "d", "limit": 4}))
    page.click("button.primary", "Search")
    page.wait_for("document.querySelectorAll('.hit').length === 8")


def test_an_explanation_is_shown(open_page):
    page = open_page("c/books/search")
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
    page.wait_for("document.querySelector('.progress small').innerText === '300 points'")
    page.wait_for_text("They hold")
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


def test_a_map_of_neighbours_tells_groups_apart(open_page):
    page = open_page("c/books/map")
    page.wait_for_text("They hold")
    page.fill(".field:has(select):nth-of-type(3) select", "neighbours")
    page.wait_for_text("Points lie near their nearest neighbours")
    page.wait_for("document.querySelector('.progress small').innerText === '300 points'")
    # Sparse vectors have no principal components: the choice goes.
    page.fill(".field:has(select):nth-of-type(1) select", "s")
    page.wait_for("document.querySelector('.field:nth-of-type(3) option').disabled")
    page.wait_for("document.querySelector('.progress small').innerText === '300 points'")


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
