"""Every code block of the documentation runs. docs_blocks.py says how.

Pages that need more than a second or so are run with QUIVER_LONG_TESTS=1 (scripts/test-all).
"""
import os
from pathlib import Path

import pytest

import docs_states
from docs_blocks import LANGUAGES, Sandbox, blocks_of, pages
from quiver_server import REPOSITORY, Server

QUICK_PAGES = ("README.md", "docs/tutorial.md", "docs/aggregates.md", "docs/text.md", "docs/hybrid.md")
IS_LONG = os.environ.get("QUIVER_LONG_TESTS") == "1"
LIBRARY = Path(os.environ.get("QUIVER_LIBRARY", REPOSITORY / "build/python/libquiver.so"))


def is_chosen(page):
    """Whether the page is run now; pages without a block that can run have no run of their own."""
    return (IS_LONG or page in QUICK_PAGES) and any(b.reason_not_to_run is None for b in blocks_of(page))


@pytest.mark.parametrize("page", pages())
def test_each_block_can_run_or_says_why_not(page):
    for block in blocks_of(page):
        reason = block.reason_not_to_run
        assert reason is None or len(reason) > 10, f"{block.place}: a block that is not run says why"
        assert reason or block.language in LANGUAGES, f"{block.place}: the language is {block.language!r}, wanted one of {LANGUAGES}"
        assert reason or block.language != "json" or block.run, f"{block.place}: nothing says what to do with this JSON"
        for name in block.given:
            assert callable(getattr(docs_states, name, None)), f"{block.place}: docs_states.py has no {name}"


@pytest.mark.parametrize("page", [page for page in pages() if is_chosen(page)])
def test_blocks_run(page, tmp_path):
    if page == "docs/python.md" and not LIBRARY.exists():
        pytest.skip("needs scripts/build python quiver_embedded")
    server = Server(tmp_path / "data", grpc=True).start()
    sandbox = Sandbox(tmp_path / "page", server, python_path=str(REPOSITORY / "python"))
    try:
        for block in blocks_of(page):
            if block.reason_not_to_run is not None:
                continue
            for name in block.given:
                getattr(docs_states, name)(sandbox)
            sandbox.run(block)
    finally:
        sandbox.close()
        server.close()
