"""Runs `quiver bench ann` as one more engine: one process per round, on the core to which the runner is pinned."""
import json
import shlex
import statistics
import subprocess
import tempfile
from pathlib import Path

MEANS = ("recall", "recall_p5")  # each round builds with a seed of its own
MEDIANS = ("p50_us", "p95_us", "p99_us", "p999_us", "cpu_us")


class Ours:
    """One index type of ours, with build parameters and sweep as flags: "flat", "NAME --build a=1 --sweep x=1,2".

    A sweep of a single word becomes part of the name: "NAME --sweep method=scan --sweep x=1,2" is `quiver NAME scan`.
    """

    def __init__(self, quiver, words, data, cache):
        index, *flags = shlex.split(words)
        self.sweep = dict(word.split("=", 1) for word in values_of(flags, "--sweep"))
        modes = [values for values in self.sweep.values() if values.isalpha()]
        self.index = " ".join(["quiver", index, *modes])
        self.exact = index == "flat" or self.sweep.get("method") == "exact"
        self.command = [str(quiver), "bench", "ann", *data.files.flags(data.name), "--cache", str(cache), "--index", index,
                        *without(flags, "--sweep"), "--repeats", "1", "--build-threads", "1"]

    def measure(self, first, end, k, seconds, batch, seed, settings=None):
        """Returns one JSON object per point of the sweep, or per setting of `settings`."""
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "points.jsonl"
            words = ["--query-rows", f"{first}:{end}", "--k", k, "--batch", batch, "--seed", seed,
                     "--min-seconds", seconds, "--json", out]
            words += [w for key, values in self.grid(settings).items() for w in ("--sweep", f"{key}={values}")]
            done = subprocess.run(self.command + [str(w) for w in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True)
            if done.returncode != 0:
                raise RuntimeError(f"{shlex.join(self.command)}: {done.stdout[-2000:]}")
            found = [json.loads(line) | {"index": self.index} for line in out.read_text().splitlines()]
            return [p for p in found if settings is None or p["params"] in settings]

    def grid(self, settings):
        """Returns the smallest grid that contains `settings`."""
        if settings is None:
            return self.sweep
        return {key: ",".join(sorted({str(s[key]) for s in settings})) for key in self.sweep}


def values_of(flags, name):
    return [value for flag, value in zip(flags, flags[1:]) if flag == name]


def without(flags, name):
    return [w for i, w in enumerate(flags) if w != name and (i == 0 or flags[i - 1] != name)]


def merged(repeats):
    """Merges the same point of several rounds: medians over the rounds, for recall the mean."""
    rates = [p["qps"] for p in repeats]
    middle = statistics.median(rates)
    found = repeats[-1] | {key: statistics.median(p[key] for p in repeats) for key in MEDIANS}
    found |= {key: statistics.mean(p[key] for p in repeats) for key in MEANS}
    found |= {"qps": middle, "qps_repeats": [round(r, 3) for r in rates], "cpu_us_repeats": [p["cpu_us"] for p in repeats],
              "qps_spread": (max(rates) - min(rates)) / middle, "cpu_share": min(p["cpu_share"] for p in repeats),
              "build_s": statistics.median(p["build_s"] for p in repeats)}
    return {key: round(value, 6) if isinstance(value, float) else value for key, value in found.items()}
