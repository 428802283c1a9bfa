"""Tests of tools/check_coawait.py: every shape that g++ 12 destroys twice, and those it does not."""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import check_coawait  # noqa: E402

BAD = [
    "co_await on(pool, [buf]{ use(buf); });",
    "co_await on(pool, [buf]() mutable { use(buf); });",
    "auto x = co_await f(P{1, 2});",
    "co_await f({.name = n});",
    "co_await f({1, 2, 3});",
    "co_await\n    f(g(),\n      P{});",
    "if (co_await f(P{})) {}",
    "co_await f(\"}\", P{});",
    "co_await f(/* ; */ P{});",
    "co_await f('\\'', ';', P{});",
    "co_await f(1'000, P{});",
    "co_await f(R\"x(;)x\", P{});",
]
GOOD = [
    "auto fn = [buf]{ use(buf); }; co_await on(pool, std::move(fn));",
    "co_await f(std::string(64, 'x'));",
    "auto [a, b] = co_await f();",
    "auto x = (co_await f()).x; P p{1};",
    "co_return P{1};",
    "if (co_await f()) { g(); }",
    "while (!(co_await f())) { g(); }",
    "for (auto x : co_await f()) { g(); }",
    "// co_await f(P{});",
    "/* co_await f(P{}); */",
    "log(\"co_await f(P{});\");",
    "co_await f(\"{\", '{', R\"({)\");",
    "int co_awaited = f(P{});",
]


class CheckCoawait(unittest.TestCase):
    def test_bad(self):
        for text in BAD:
            with self.subTest(text):
                self.assertEqual(len(list(check_coawait.check_text(text, "f.cc"))), 1)

    def test_good(self):
        for text in GOOD:
            with self.subTest(text):
                self.assertEqual(list(check_coawait.check_text(text, "f.cc")), [])

    def test_names_the_line_of_the_brace(self):
        text = "void f() {\n  co_await g(\n      P{});\n}\n"
        message = next(check_coawait.check_text(text, "f.cc"))
        self.assertTrue(message.startswith("f.cc:3: "), message)

    def test_walks_folders_but_not_build_folders(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("a/f.cc", "a/f.h", "build/f.cc", ".git/f.cc", "a/f.txt"):
                path = pathlib.Path(folder, name)
                path.parent.mkdir(exist_ok=True)
                path.write_text(BAD[0], encoding="utf-8")
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                self.assertEqual(check_coawait.main([folder]), 1)
            self.assertEqual(len(output.getvalue().splitlines()), 2)


if __name__ == "__main__":
    unittest.main()
