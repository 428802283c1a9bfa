#!/usr/bin/env python3
"""Sums JUnit XML files (ctest, GoogleTest, pytest) and prints `N passed, M failed, K skipped`."""

import sys
import xml.etree.ElementTree as ElementTree


def count(path):
    """Returns (passed, failed, skipped) of one file. A file cut short by a crash counts as one failure."""
    try:
        cases = list(ElementTree.parse(path).iter("testcase"))
    except (OSError, ElementTree.ParseError):
        return 0, 1, 0
    failed = sum(1 for case in cases if case.find("failure") is not None or case.find("error") is not None)
    skipped = sum(1 for case in cases if case.find("skipped") is not None or case.get("status") == "notrun")
    return len(cases) - failed - skipped, failed, skipped


def main(paths):
    passed, failed, skipped = (sum(column) for column in zip(*map(count, paths), (0, 0, 0)))
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))


if __name__ == "__main__":
    main(sys.argv[1:])
