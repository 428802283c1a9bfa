#!/usr/bin/env python3
"""Reads JUnit XML files (ctest, GoogleTest, pytest): prints what failed, then `N passed, M failed, K skipped`."""

import re
import sys
import xml.etree.ElementTree as ElementTree


MAX_LINES = 40  # of one failed test
LOG_LINE = re.compile(r"\d{4}-\d\d-\d\dT")


def test_cases(path):
    """All cases of a file; None if a crash cut it short."""
    try:
        return list(ElementTree.parse(path).iter("testcase"))
    except (OSError, ElementTree.ParseError):
        return None


def failure_of(case):
    """The element that says that a case failed, or None."""
    failure = case.find("failure")
    return case.find("error") if failure is None else failure


def count(path):
    """Returns (passed, failed, skipped) of one file. A file cut short by a crash counts as one failure."""
    cases = test_cases(path)
    if cases is None:
        return 0, 1, 0
    failed = sum(failure_of(case) is not None for case in cases)
    skipped = sum(1 for case in cases if case.find("skipped") is not None or case.get("status") == "notrun")
    return len(cases) - failed - skipped, failed, skipped


def why(case):
    """The lines that tell why a case failed; of a program under ctest, what GoogleTest says of its failures."""
    output = case.findtext("system-out") or ""
    if ": Failure" not in output and "[  FAILED  ]" not in output:
        failure = failure_of(case)
        lines = (failure.text or failure.get("message") or "").splitlines()
        return (lines + output.splitlines())[-MAX_LINES:]
    lines, inside = [], False
    for line in output.splitlines():
        inside = not line.startswith("[") and (inside or line.endswith(": Failure"))
        if (inside or line.startswith("[  FAILED  ]")) and not LOG_LINE.match(line):
            lines.append(line)
    return lines[:MAX_LINES]


def print_failures(path):
    for case in test_cases(path) or []:
        if failure_of(case) is not None:
            print(f"FAILED: {case.get('name')} in {path}", *why(case), sep="\n  ")


def main(paths):
    for path in paths:
        print_failures(path)
    passed, failed, skipped = (sum(column) for column in zip(*map(count, paths), (0, 0, 0)))
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))


if __name__ == "__main__":
    main(sys.argv[1:])
