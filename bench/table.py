#!/usr/bin/env python3
"""Prints one table of the JSON lines of several runs of `quiver bench ann` or `quiver bench load`; – marks missing figures.

    bench/table.py FILE.jsonl…
"""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import points  # noqa: E402

HEADS = ["data, index", "recall", "QPS", "spread", "p50 µs", "p99 µs", "CPU µs", "GB/s", "B/vector", "+ exact", ""]


def row(p):
    name = " ".join(x for x in (p["data"], points.series(p), points.settings(p["params"])) if x)
    gigabytes = p["work_per_query"]["bytes"] * p["qps"] * 1e-9 if "work_per_query" in p else None
    marks = [mark for mark in ("disturbed", "background") if p.get(mark)]
    return [name, told(p.get("recall"), "{:.4f}".format), points.number(p["qps"]), told(p.get("qps_spread"), lambda s: f"{100 * s:.1f} %"),
            points.number(p["p50_us"]), points.number(p["p99_us"]), told(p["cpu_us"]), told(gigabytes, "{:.1f}".format),
            told(p.get("bytes_per_vector")), told(p.get("exact_bytes_per_vector")), ", ".join(marks)]


def told(value, text=points.number):
    return "–" if value is None else text(value)


def machine(found):
    reads = [c["read_gb_per_s"] for p in found for c in (p["calibration_before"], p["calibration_after"])]
    clocks = [c["clock_ghz"] for p in found for c in (p["calibration_before"], p["calibration_after"])]
    return (f"{found[0]['cpu']}, {found[0]['isa']}; one thread reads {min(reads):.1f} to {max(reads):.1f} GB/s "
            f"at {min(clocks):.2f} to {max(clocks):.2f} GHz; commit {found[0]['commit'][:12]}, {found[0]['date'][:10]}")


def main():
    found = points.read(sys.argv[1:])
    if not found:
        raise SystemExit(__doc__)
    print(machine(found) + "\n")
    print(points.align(HEADS, [row(p) for p in found]))


if __name__ == "__main__":
    main()
