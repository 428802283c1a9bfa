"""Tests of tools/check_layers.py on small trees, good and bad."""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import check_layers  # noqa: E402

TABLE = """# Architecture

## Rooms

| room | question | may include |
|---|---|---|
| `base/` | words | std, fmt, spdlog |
| `kernels/` | arithmetic | base, intrinsics |
| `kernels/cuda/` | on the device | kernels, base, CUDA |
| `storage/` | rows | base, RocksDB (only here) |
| [`engine`](engine/) | collections | kernels, storage, base |
| `app/` | main | everything above |

## Flows
| storage | is not | engine |
"""


class CheckLayers(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = pathlib.Path(temporary.name)
        self.write("ARCHITECTURE.md", TABLE)
        self.write("base/ids.h", "#include <cstdint>\n")
        self.write("kernels/dot.h", '#include "base/ids.h"\n')
        self.write("storage/store.h", '#include "base/ids.h"\n')

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def check(self):
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            status = check_layers.main([str(self.root)])
        lines = output.getvalue().splitlines()
        self.assertEqual(status, 1 if lines else 0)
        return lines

    def test_good_tree(self):
        self.write("engine/shard/shard.cc", '#include <vector>\n#include "kernels/dot.h"\n'
                                      '#include "storage/store.h"\n#include <fmt/format.h>\n')
        self.write("storage/store.cc", "#include <rocksdb/db.h>\n")
        self.write("kernels/dot.cc", "#include <immintrin.h>\n")
        self.write("kernels/cuda/dot.cu", '#include <cuda_runtime.h>\n#include "kernels/dot.h"\n')
        self.write("app/main.cc", '#include "engine/shard/shard.h"\n#include <boost/asio.hpp>\n')
        self.write("tests/any_test.cc", '#include "storage/store.h"\n#include <rocksdb/db.h>\n')
        self.assertEqual(self.check(), [])

    def test_arrow_up(self):
        self.write("base/bad.h", '#pragma once\n  #  include "storage/store.h"\n')
        self.assertEqual(self.check(),
                         ["base/bad.h:2: `base` may not include `storage` (storage/store.h)"])

    def test_arrow_across(self):
        self.write("storage/bad.cc", '#include "kernels/dot.h"\n')
        self.assertEqual(len(self.check()), 1)

    def test_folder_with_a_row_of_its_own(self):
        self.write("kernels/bad.cc", '#include "kernels/cuda/dot.h"\n')
        self.write("kernels/cuda/bad.cc", "#include <immintrin.h>\n")
        self.assertEqual(len(self.check()), 2)

    def test_libraries_have_one_room(self):
        for header in ("rocksdb/db.h", "boost/beast.hpp", "immintrin.h", "avx512fintrin.h",
                       "simdjson.h", "roaring/roaring.hh", "nghttp2/nghttp2.h", "spdlog/spdlog.h"):
            with self.subTest(header):
                self.write("engine/bad.cc", f"\n#include <{header}>\n")
                self.assertEqual(len(self.check()), 1)
        self.write("engine/bad.cc", '#include "rocksdb/db.h"\n')
        self.assertEqual(len(self.check()), 1)

    def test_includes_start_at_the_root(self):
        self.write("storage/bad.cc", '#include "store.h"\n')
        self.assertIn("not a path from the repository root", self.check()[0])

    def test_rooms_do_not_include_tests(self):
        self.write("tests/help.h", "")
        self.write("storage/bad.cc", '#include "tests/help.h"\n')
        self.assertIn("which is in no room", self.check()[0])

    def test_folder_with_a_row_below_one_that_is_no_room(self):
        self.write("ARCHITECTURE.md", TABLE.replace("| `app/` ", "| `bench/ann/` | recall | engine, base |\n| `app/` "))
        self.write("bench/micro/dot.h", "#include <rocksdb/db.h>\n")
        self.write("bench/ann/run.h", '#include "engine/shard/shard.h"\n#include "base/ids.h"\n')
        self.write("app/main.cc", '#include "bench/ann/run.h"\n')
        self.assertEqual(self.check(), [])
        self.write("bench/ann/run.cc", '#include "storage/store.h"\n')
        self.write("bench/ann/ann.cc", '#include "bench/micro/dot.h"\n')
        self.write("engine/bad.cc", '#include "bench/ann/run.h"\n')
        self.assertEqual(self.check(), [
            "bench/ann/ann.cc:1: `bench/ann` may not include `bench/micro/dot.h`, which is in no room",
            "bench/ann/run.cc:1: `bench/ann` may not include `storage` (storage/store.h)",
            "engine/bad.cc:1: `engine` may not include `bench/ann` (bench/ann/run.h)"])

    def test_rooms_are_in_the_table(self):
        self.write("newroom/a.cc", "")
        self.assertEqual(self.check(),
                         ["newroom/:1: holds sources but is no room of ARCHITECTURE.md"])

    def test_wrong_tables(self):
        for text in ("", "## Rooms\nno table\n", TABLE.replace("may include", "uses"),
                     TABLE.replace("spdlog", "spdlok"),
                     TABLE.replace("std, fmt, spdlog", "engine")):
            with self.subTest(text):
                self.write("ARCHITECTURE.md", text)
                self.assertTrue(self.check()[0].startswith("ARCHITECTURE.md:1: "))
        (self.root / "ARCHITECTURE.md").unlink()
        self.assertTrue(self.check()[0].startswith("ARCHITECTURE.md:1: "))


if __name__ == "__main__":
    unittest.main()
