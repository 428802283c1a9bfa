"""`quiver bench ann` as one more engine: a process for each round, on the core to which the runner is pinned."""
import json
import shlex
import statistics
import subprocess
import tempfile
from pathlib import Path

MEDIANS = ("p50_us", "p95_us", "p99_us", "p999_us", "cpu_us")


class Ours:
    """One index type of ours with its build parameters and sweep, as flags: "flat", "NAME --build a=1 --sweep x=1,2"."""

    def __init__(self, quiver, words, data, cache):
        index, *flags = shlex.split(words)
        self.index = f"quiver {index}"
        self.exact = index == "flat"
        self.command = [str(quiver), "bench", "ann", *data.files.flags(data.name), "--cache", str(cache),
                        "--index", index, *flags, "--repeats", "1", "--build-threads", "1"]

    def measure(self, first, end, k, seconds, batch, seed):
        """One JSON object for each point of the sweep."""
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "points.jsonl"
            words = ["--query-rows", f"{first}:{end}", "--k", k, "--batch", batch, "--seed", seed,
                     "--min-seconds", seconds, "--json", out]
            done = subprocess.run(self.command + [str(w) for w in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True)
            if done.returncode != 0:
                raise RuntimeError(f"{shlex.join(self.command)}: {done.stdout[-2000:]}")
            return [json.loads(line) | {"index": self.index} for line in out.read_text().splitlines()]


def merged(repeats):
    """One point of what several rounds measured: medians over the rounds."""
    rates = [p["qps"] for p in repeats]
    middle = statistics.median(rates)
    found = repeats[-1] | {key: statistics.median(p[key] for p in repeats) for key in MEDIANS}
    found |= {"qps": middle, "qps_repeats": [round(r, 3) for r in rates], "cpu_us_repeats": [p["cpu_us"] for p in repeats],
              "qps_spread": (max(rates) - min(rates)) / middle, "cpu_share": min(p["cpu_share"] for p in repeats),
              "build_s": statistics.median(p["build_s"] for p in repeats)}
    return {key: round(value, 6) if isinstance(value, float) else value for key, value in found.items()}
