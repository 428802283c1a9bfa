"""Tests of tools/check_prefetch.py."""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import check_prefetch  # noqa: E402


class CheckPrefetch(unittest.TestCase):
    def test_names_the_line(self):
        found = list(check_prefetch.check_text("void f() {\n  __builtin_prefetch(p);\n}\n", "f.cc"))
        self.assertEqual(len(found), 1)
        self.assertTrue(found[0].startswith("f.cc:2: "), found[0])
        found = list(check_prefetch.check_text("_mm_prefetch(p, _MM_HINT_T0);", "f.cc"))
        self.assertEqual(len(found), 1)

    def test_comments_and_the_helper_are_no_matter(self):
        self.assertEqual(list(check_prefetch.check_text("prefetch_line(p);  // not __builtin_prefetch", "f.cc")), [])

    def test_the_helper_alone_may(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name in ("base/prefetch.h", "kernels/rows.inc", "build/x.cc"):
                (root / name).parent.mkdir(exist_ok=True)
                (root / name).write_text("__builtin_prefetch(p);\n", encoding="utf-8")
            with contextlib.redirect_stdout(io.StringIO()) as out:
                self.assertEqual(check_prefetch.main([folder]), 1)
            self.assertEqual(len(out.getvalue().splitlines()), 1)
            self.assertIn("rows.inc:1", out.getvalue())


if __name__ == "__main__":
    unittest.main()
