#!/usr/bin/env python3
"""Checks that no `{`, and so no lambda, stands between a `co_await` and the end of its expression.

g++ 12 destroys such temporaries twice: braced aggregates, and lambdas that own their captures. Name
the value or lambda first, then move it.

usage: check_coawait.py [FILE|FOLDER]...      prints file:line messages; exit status 1 if there are any
"""

import os
import pathlib
import re
import sys

SUFFIXES = {".h", ".cc"}
# The order matters: the alternative that begins first wins, and a raw string must precede a string.
NOT_CODE = re.compile(
    r'//[^\n]*'
    r'|/\*.*?\*/'
    r'|\b(?:u8|[uUL])?R"(?P<mark>[^ ()\\\t\n]*)\(.*?\)(?P=mark)"'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'",
    re.S)


def code_only(text):
    """Returns `text` with comments and literals blanked; offsets and lines are unchanged."""
    return NOT_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)


def awaited(code, start):
    """Returns the expression from `start` to its `;`, or to the `)` that closes around it."""
    depth = 0
    for end in range(start, len(code)):
        character = code[end]
        depth += (character in "([{") - (character in ")]}")
        if depth < 0 or (character == ";" and depth == 0):
            return code[start:end]
    return code[start:]


def check_text(text, name):
    code = code_only(text)
    for found in re.finditer(r"\bco_await\b", code):
        expression = awaited(code, found.end())
        if "{" in expression:
            line = code.count("\n", 0, found.end() + expression.index("{")) + 1
            yield (f"{name}:{line}: a `{{` inside a `co_await` expression: name the value or lambda "
                   "first, then move it")


def source_files(path, suffixes=frozenset(SUFFIXES)):
    """Yields `path` itself if it is a file, and the sources below it, without build and hidden folders."""
    if path.is_file():
        yield path
    for folder, below, names in os.walk(path):
        below[:] = sorted(name for name in below if name[0] != "." and name != "build")
        yield from (pathlib.Path(folder, name) for name in sorted(names)
                    if pathlib.Path(name).suffix in suffixes)


def main(arguments):
    messages = []
    for argument in arguments or ["."]:
        for path in source_files(pathlib.Path(argument)):
            messages += check_text(path.read_text(encoding="utf-8"), path)
    for message in messages:
        print(message)
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
