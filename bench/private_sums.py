#!/usr/bin/env python3
"""Measures differentially private sums (docs/private.md) with a server of its own, beside their bar.

    bench/private_sums.py D                D: …/arxiv-100k, or a folder with dense.npy and queries.dense.npy alike

The truth is the kernel's sum over all rows, by numpy. Queries are the titles 1000 to 1999; those of average density are the
half whose true sums lie between the quartiles. The error is |estimate - truth| / truth: its mean, and the value that 95 % of
the queries stay below. Beside it: what the noise alone contributes, and the share of queries within 1.96 stated deviations.
CPU seconds are those of the server's process.
"""
import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "bench"))
import datasets  # noqa: E402
from served import BINARY, Server, import_vectors  # noqa: E402

BAR = .02
MAIN = {"bandwidth": 1, "epsilon": 1, "features": 4096}
OTHERS = [{"bandwidth": .7}, {"bandwidth": .5}, {"bandwidth": 1.4}, {"epsilon": .1}, {"epsilon": .01}, {"features": 1024},
          {"features": 16384}]
DELTA = 1e-6


def load(folder, name):
    return np.asarray(datasets.load(datasets.existing(folder / name) or folder / name))


def unit(rows):
    rows = rows.astype("f4")
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def true_sums(rows, queries, bandwidth):
    sums = []
    for part in np.array_split(queries, max(1, len(queries) // 100)):
        sums.append(np.exp((part @ rows.T - 1).astype("f8") / bandwidth ** 2).sum(1))
    return np.concatenate(sums)


def measure(server, rows, queries, number, given):
    settings = MAIN | given
    path = f"/v1/collections/rows/private/r{number}"
    cpu, began = server.cpu_s(), time.monotonic()
    made = server("PUT", path, {"kernel": {"gaussian": {"bandwidth": settings["bandwidth"]}}, "features": settings["features"],
                                "epsilon": settings["epsilon"], "delta": DELTA, "seed": number})
    seconds, cpu = time.monotonic() - began, server.cpu_s() - cpu
    found = server("POST", path + "/density", {"vectors": queries.tolist()})["estimates"]
    sums, deviations = (np.array([f[name] for f in found]) for name in ("sum", "deviation"))
    truth = true_sums(rows, queries, settings["bandwidth"])
    low, high = np.percentile(truth, [25, 75])
    average = (truth >= low) & (truth <= high)
    errors = np.abs(sums - truth) / truth
    return {"mean kernel": truth[average].mean() / len(rows), "error": errors[average].mean(),
            "p95": np.percentile(errors[average], 95), "all": errors.mean(),
            "noise": (made["noise_deviation"] * np.sqrt(2 / np.pi) / truth[average]).mean(),
            "covered": (np.abs(sums - truth) < 1.96 * deviations).mean(), "s": seconds, "CPU s": cpu,
            "count error": abs(made["count"] - len(rows)) / len(rows)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--binary", default=BINARY)
    arguments = parser.parse_args()
    rows = load(arguments.folder, "dense.npy")
    queries = load(arguments.folder, "queries.dense.npy")[1000:2000].astype("f4")
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/rows.npy", rows)
        import_vectors(arguments.binary, f"{folder}/data", "rows", [f"{folder}/rows.npy"], ["dot"])
        with Server(arguments.binary, f"{folder}/data") as server:
            server("PUT", "/v1/collections/rows/private", {"budget": {"epsilon": 100, "delta": .001}})
            rows, queries = unit(rows), unit(queries)
            print("| bandwidth | epsilon | features | mean kernel | error | 95 % below | all queries | by noise alone | covered | CPU s |")
            print("|---|---|---|---|---|---|---|---|---|---|")
            main_error = None
            for number, given in enumerate([{}] + OTHERS):
                found = measure(server, rows, queries, number, given)
                settings = MAIN | given
                main_error = found["error"] if main_error is None else main_error
                print(f"| {settings['bandwidth']} | {settings['epsilon']} | {settings['features']} | {found['mean kernel']:.3f} "
                      f"| {found['error']:.2%} | {found['p95']:.2%} | {found['all']:.2%} | {found['noise']:.3%} "
                      f"| {found['covered']:.1%} | {found['CPU s']:.1f} |", flush=True)
            print(f"\nerror of queries of average density at epsilon 1: {main_error:.2%}   bar: {BAR:.0%}")
    sys.exit(int(main_error > BAR))


if __name__ == "__main__":
    main()
