#!/usr/bin/env python3
"""Checks that code prefetches only through `prefetch_line` (base/prefetch.h).

g++ 12 drops calls of functions that contain nothing but `__builtin_prefetch`, as if they had no effect.

usage: check_prefetch.py [FOLDER]      prints file:line messages; exit status 1 if there are any
"""

import pathlib
import re
import sys

from check_coawait import SUFFIXES, code_only, source_files

HELPER = "base/prefetch.h"


def check_text(text, name):
    for found in re.finditer(r"\b(__builtin|_mm)_prefetch\b", code_only(text)):
        yield f"{name}:{text.count(chr(10), 0, found.start()) + 1}: `{found.group()}`: wanted `prefetch_line` of {HELPER}"


def main(arguments):
    root = pathlib.Path(arguments[0] if arguments else ".")
    messages = [message for path in source_files(root, SUFFIXES | {".inc"}) if path != root / HELPER
                for message in check_text(path.read_text(encoding="utf-8"), path.relative_to(root))]
    print("\n".join(messages), end="\n" if messages else "")
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
