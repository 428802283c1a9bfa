#!/usr/bin/env python3
"""Makes one table of late interaction: each figure beside its bar.

    bench/late_table.py --data …/tokens-30k            a folder of token vectors, or a name of bench/datasets.py
    make late-interaction-table DATA=…/tokens-30k      builds first

Kernels, encodings and candidates are measured by the programs of bench/micro. Rates at a recall are measured by
bench/late_interaction.py, whose flags are accepted here too. The server's CPU is measured by `quiver bench load` on a
collection of one short document: the cost of a query besides its search. All run on one core. Writes late-table-NAME.md to
--results and prints it; the table names what could not be measured. --rows is for trials: candidates always use all documents.
"""
import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent))
import late_interaction as late  # noqa: E402
from served import Server  # noqa: E402

FDE = "20, 5, 16"
SHAPE = "32 x  80 x 128    8 bits"
# At each recall: wanted ratio to the rate of the exhaustive scan of codes, for the best stage and for `fde`.
RATES = {.9: (40, 20), .95: (25, 12), .98: (12, 6)}
SMALL = "multi --build stage=mean --build token_bits=2 --sweep effort=128"
LEAST_TOKEN_BYTES = 40
REQUESTS = 20_000


class Row(NamedTuple):
    what: str
    measured: float
    unit: str
    bar: float | None = None
    at_least: bool = False

    def cells(self):
        if self.bar is None:
            return [self.what, f"{self.measured:,.4g} {self.unit}", "", ""]
        met = self.measured >= self.bar if self.at_least else self.measured <= self.bar
        return [self.what, f"{self.measured:,.4g} {self.unit}", f"{'≥' if self.at_least else '≤'} {self.bar:g}",
                "yes" if met else "no"]


def output(*words):
    done = subprocess.run([str(w) for w in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{shlex.join(str(w) for w in words)}: {done.stdout[-300:]}")
    return done.stdout


# Output of the programs.

def kernel_rows(text):
    """Rows from tokens_bench. The kernel alone takes 1.40 us on a Zen 4 core; the bar is 1.3 times that."""
    line = next(line for line in text.splitlines() if line.lstrip().startswith(SHAPE.lstrip()))
    words = line.lstrip()[len(SHAPE.lstrip()):].split()
    hot, share, cold = float(words[0]), float(words[2]), float(words[4])
    return [Row("MaxSim of 8-bit codes, 32 x 80 x 128, in cache", hot, "us", 1.82),
            Row("the same, of the rate of its instruction", share, "%", 60, at_least=True),
            Row("the same, documents at random in memory", cold, "us", 2.6)]


def encoding_rows(text):
    """Rows from fde_bench."""
    cells = next(c for c in map(markdown_cells, text.splitlines()) if c and c[0] == FDE)
    return [Row(f"FDE ({FDE}) of a document of 80 tokens", float(cells[2]), "us", 60),
            Row(f"FDE ({FDE}) of a query of 32 tokens", float(cells[4]), "us", 25)]


def markdown_cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")] if line.startswith("|") else []


def candidate_lines(text):
    """Returns the table of stages_bench without its times, which are not those of indexes."""
    rows = [markdown_cells(line) for line in text.splitlines() if line.startswith("|")]
    return ["| " + " | ".join(row[:-3]) + " |" for row in rows]


# Rates.

def rate_rows(found):
    scan = next((p for p in found if p["index"].endswith("exhaustive codes")), None)
    if scan is None:
        return []
    rows = []
    for target, (best_bar, fde_bar) in RATES.items():
        there = [p for p in found if target in p["chosen_for"]]
        fde = [p for p in there if p["index"].endswith("fde")]
        for name, group, bar in (("best stage", there, best_bar), ("fde", fde, fde_bar)):
            if group:
                best = max(group, key=lambda p: p["qps"])
                rows.append(Row(f"recall {target:g}, {name} ({best['recall']:.4f} measured)", best["qps"] / scan["qps"],
                                "x the scan of codes", bar, at_least=True))
    return rows


def size_rows(found, data):
    rows = []
    for head, *cells in late.sizes(found, data):
        if head in late.SCANS:
            continue
        _, _, whole, codes, rest, exact = cells
        rows += [Row(f"{head}: {name}", float(text.replace(",", "")), "B a document")
                 for name, text in (("token codes", codes), ("vectors, signs and the rest", rest), ("exact tokens", exact))]
    return rows


def small_rows(o, data):
    """Rows for the smallest index, exact ones excluded."""
    own = late.named(late.Ours(o.quiver, f"{SMALL} --dtype {o.dtype}", data, o.cache), "small", False)
    first = min(o.tune_queries, 1000)
    point = own.measure(first, first + o.report_queries, o.k, 0, 1, 1)[0]
    tokens = len(data.raw("base").values) / len(data)
    return [Row(f"2 bits a dimension, effort 128 (recall {point['recall']:.4f})", point["bytes_per_vector"] / tokens,
                "B a token", LEAST_TOKEN_BYTES)]


# The server.

def http_rows(o, data):
    """Uses one connection. The only document has two tokens, so the search itself costs almost nothing."""
    queries = data.raw("queries")
    with tempfile.TemporaryDirectory() as folder:
        with Server(o.quiver, Path(folder) / "data") as server:
            server("PUT", "/collections/one", {"vectors": {"size": queries.dim, "distance": "Dot",
                                                           "multivector_config": {"comparator": "max_sim"}}})
            server("PUT", "/collections/one/points?wait=true",
                   {"points": [{"id": 1, "vector": [[float(x) for x in row] for row in queries[0][:2]]}]})
            told = output(o.quiver, "bench", "load", "--url", server.url, "--collection", "one", "--kind", "multi", "--queries",
                          data.files.queries, "--requests", REQUESTS, "--json")
    return [Row(f"over HTTP: server CPU around the search, {queries.counts().mean():.1f} tokens", json.loads(told)["cpu_us"],
                "us a query", 40)]


# The page.

def attempt(work, missing, name):
    try:
        return work()
    except (RuntimeError, OSError, StopIteration, KeyError) as error:
        missing.append(f"{name}: {error or type(error).__name__}")
        return []


def stages(programs, data):
    n_queries = len(data.raw("queries"))
    first = n_queries // 2  # samples are taken from the queries before it
    return output(programs / "stages_bench", data.files.base, data.files.queries, f"0:{len(data)}", f"{first}:{n_queries}")


def table(o, data, run, found):
    programs, missing = Path(o.quiver).resolve().parent / "bin", run.missing
    rows = attempt(lambda: kernel_rows(output(programs / "tokens_bench")), missing, "kernels")
    rows += attempt(lambda: encoding_rows(output(programs / "fde_bench")), missing, "encodings")
    rows += rate_rows(found)
    rows += size_rows(found, run.data)
    rows += attempt(lambda: small_rows(o, run.data), missing, "small")
    rows += attempt(lambda: http_rows(o, data), missing, "HTTP")
    candidates = attempt(lambda: candidate_lines(stages(programs, data)), missing, "candidates")
    lines = late.results.markdown(["what", "measured", "bar", "met"], [row.cells() for row in rows])
    if candidates:
        lines += ["", "Share of the ten best documents by exact MaxSim that are among the N best of the first stage:", "", *candidates]
    return lines


def main():
    o = late.options()
    o.cache.mkdir(parents=True, exist_ok=True)
    os.sched_setaffinity(0, {o.cpu})
    data = next((d for d in late.find(o.data) if d.kind == "multi"), None)
    if data is None:
        raise SystemExit(f"{o.data}: no token vectors there")
    run, found = late.measure(o, data.first(o.rows) if o.rows else data)
    lines = table(o, data, run, found)
    text = "\n".join([f"# {data.name}: late interaction, all in one", "", *lines, "",
                      *(late.page(run, found).splitlines() if found else [f"- not measured: {m}" for m in run.missing])]) + "\n"
    o.results.mkdir(parents=True, exist_ok=True)
    (o.results / f"late-table-{data.name.split('/')[0]}.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
