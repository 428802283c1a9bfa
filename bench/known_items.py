#!/usr/bin/env python3
"""Writes judged sets of texts, made of what an installation has, in the form that bench/texts.py reads: docs.jsonl and queries.tsv.

    bench/known_items.py man DIR         # manual pages: the query is the line under NAME, which the text then lacks
    bench/known_items.py python DIR      # docstrings of the standard library: the query is the first line

The relevant text of a query is the one it was taken from. `bench/texts.py DIR --field text --queries 0:1000` compares.
"""
import argparse
import ast
import gzip
import json
import random
import re
import sysconfig
from pathlib import Path

SEED = 1
LEAST_WORDS = 20
REQUEST = re.compile(r"^[.'].*?(?:\s|$)", re.M)
ESCAPE = re.compile(r"\\f.|\\s[-+]?\d|\\[&|^/,]|\\\(..|\\\*\(..")


def plain_text(roff):
    text = REQUEST.sub(" ", roff.replace("\\-", "-").replace("\\e", "\\"))
    return " ".join(ESCAPE.sub(" ", text).split())


def manual_pages():
    seen = set()
    for path in sorted(Path("/usr/share/man").glob("man*/*.gz")):
        source = gzip.open(path, "rt", errors="replace").read()
        found = re.search(r"^\.S[Hh] \"?NAME\"?\n(.*?)(?=^\.S[Hh])", source, re.M | re.S)
        if path.is_symlink() or not found:
            continue
        name = plain_text(found[1]).partition(" - ")[2]
        if name and name not in seen:
            seen.add(name)
            yield str(path.name), name, plain_text(source[:found.start()] + source[found.end():])


def docstrings():
    seen = set()
    root = Path(sysconfig.get_paths()["stdlib"])
    for path in sorted(root.rglob("*.py")):
        if "site-packages" in path.parts or "test" in path.parts:
            continue
        try:
            tree = ast.parse(path.read_text(errors="replace"))
        except (SyntaxError, ValueError):
            continue
        for node in ast.walk(tree):
            if not isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Module)):
                continue
            first, _, rest = (ast.get_docstring(node) or "").partition("\n")
            if first and first not in seen:
                seen.add(first)
                yield f"{path.relative_to(root)}:{getattr(node, 'name', '')}", first, rest


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", choices=["man", "python"])
    parser.add_argument("folder", type=Path)
    args = parser.parse_args()
    found = manual_pages() if args.source == "man" else docstrings()
    items = [item for item in found if len(item[2].split()) >= LEAST_WORDS]
    args.folder.mkdir(parents=True, exist_ok=True)
    with open(args.folder / "docs.jsonl", "w") as out:
        for id, _, text in items:
            out.write(json.dumps({"id": id, "text": text}) + "\n")
    random.Random(SEED).shuffle(items)
    with open(args.folder / "queries.tsv", "w") as out:
        for id, query, _ in items:
            out.write(f"{id}\t{' '.join(query.split())}\n")
    print(f"{len(items)} texts, {sum(len(text) for _, _, text in items) / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
