#!/usr/bin/env python3
"""Measures two commands in turn, A-B-A-B, on one pinned core: medians, their spread, and the ratio of each round.

    bench/compare.py 'old/quiver bench ann' 'new/quiver bench ann' -- --base … --queries … --index …
    bench/compare.py 'quiver bench ann --dtype f32' 'quiver bench ann --dtype f16' --rounds 7 -- --base …

Arguments after `--` and `--json FILE` are appended to both commands. Points are matched by position and parameters. A
ratio is B / A within one round, so a disturbance that slows both does not show. Above 1 is better for rates, below 1 for
times.
"""
import argparse
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import points  # noqa: E402

FIGURES = [("qps", "QPS"), ("p50_us", "p50 µs"), ("p99_us", "p99 µs"), ("cpu_us", "CPU µs")]


def measure(command, arguments, cpus, out):
    words = (["taskset", "-c", cpus] if cpus else []) + shlex.split(command) + arguments + ["--json", str(out)]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise SystemExit(f"compare: failed: {shlex.join(words)}\n{done.stdout[-2000:]}")
    return points.read([out])


def check_same(a, b):
    if [p["params"] for p in a] != [p["params"] for p in b]:
        raise SystemExit("compare: A and B measured other points")


def spread(values):
    middle = statistics.median(values)
    return (max(values) - min(values)) / middle if middle else 0.0


def summarise(rounds, place):
    """Returns one row per figure, for the point at position `place` of every round."""
    a, b = ([r[side][place] for r in rounds] for side in (0, 1))
    name = points.settings(a[0]["params"]) or "–"
    for key, label in FIGURES:
        of_a, of_b = [p[key] for p in a], [p[key] for p in b]
        ratios = [y / x for x, y in zip(of_a, of_b) if x]
        if not ratios:
            continue
        yield [name, label, points.number(statistics.median(of_a)), f"{100 * spread(of_a):.1f} %",
               points.number(statistics.median(of_b)), f"{100 * spread(of_b):.1f} %",
               f"{statistics.median(ratios):.3f}", f"{min(ratios):.3f}–{max(ratios):.3f}"]
        name = ""
    yield ["", "recall", f"{a[0]['recall']:.4f}", "", f"{b[0]['recall']:.4f}", "", "", ""]


def disturbed(rounds, side):
    return sum(p["disturbed"] for r in rounds for p in r[side])


def main():
    own, _, common = " ".join(map(shlex.quote, sys.argv[1:])).partition(" -- ")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("a")
    parser.add_argument("b")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cpus", default=str(max(os.sched_getaffinity(0))), help="for taskset -c; '' does not pin")
    a = parser.parse_args(shlex.split(own))
    rounds = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(a.rounds):
            pair = [measure(c, shlex.split(common), a.cpus, Path(folder) / "out.jsonl") for c in (a.a, a.b)]
            check_same(*pair)
            rounds.append(pair)
            print(f"round {number + 1} of {a.rounds}", file=sys.stderr)
    heads = ["point", "", "A", "spread", "B", "spread", "B / A", "of a round"]
    print(f"A  {a.a}\nB  {a.b}\n{a.rounds} rounds in turn, cores {a.cpus or 'any'}\n")
    print(points.align(heads, [row for place in range(len(rounds[0][0])) for row in summarise(rounds, place)]))
    if any(disturbed(rounds, side) for side in (0, 1)):
        print(f"\ndisturbed points: {disturbed(rounds, 0)} of A, {disturbed(rounds, 1)} of B, "
              f"of {len(rounds) * len(rounds[0][0])} each")


if __name__ == "__main__":
    main()
