"""Every fuzz target for a minute at a time, each from what the runs before have found: no crash, no hang.

Inputs that reach new code are kept in build/soak/fuzz. The summary tells the most branches that each target has reached.
Usage: scripts/soak fuzz [--minutes M] [--rounds N] [--fresh] [--targets NAME,...]
"""
import re
import shutil
import subprocess
import sys

from patience import patience
from quiver_server import REPOSITORY
from soak import STATES, Soak

SECONDS = 60
SOURCES = REPOSITORY / "tests/fuzz"
PROGRAMS = REPOSITORY / "build/fuzz/fuzz"


def names():
    return sorted(path.stem for path in SOURCES.glob("*.cc"))


def fuzz(name, seed, folder):
    """(exit status, log) of one target."""
    found = STATES / "fuzz" / name
    found.mkdir(parents=True, exist_ok=True)
    command = [str(PROGRAMS / f"fuzz_{name}"), f"-max_total_time={SECONDS}", f"-seed={seed}", "-timeout=10", "-rss_limit_mb=2048",
               f"-artifact_prefix={folder}/{name}-", str(found), str(SOURCES / "corpus" / name)]
    with open(folder / f"{name}.log", "w+") as log:
        status = subprocess.run(command, stdout=log, stderr=log, timeout=SECONDS + patience(60)).returncode
        log.seek(0)
        return status, log.read()


def work(soak):
    targets = soak.args.targets.split(",") if soak.args.targets else names()
    subprocess.run([str(REPOSITORY / "scripts/build"), "fuzz", *(f"fuzz_{name}" for name in targets)], check=True)
    if soak.first == 0:
        shutil.rmtree(STATES / "fuzz", ignore_errors=True)
    for number in soak.rounds():
        name = targets[number % len(targets)]
        status, log = fuzz(name, soak.random(number).randrange(1, 2**31), soak.folder)
        assert status == 0, f"fuzz_{name}: {status}\n{log[-5000:]}"
        n_runs, n_branches = int(re.search(r"Done (\d+) runs", log)[1]), int(re.findall(r"cov: (\d+)", log)[-1])
        soak.add({"minutes of targets": SECONDS / 60, f"inputs of {name}": n_runs})
        soak.at_most({f"branches of {name}": n_branches})
        print(f"{number:5} {name}: {n_runs} inputs, {n_branches} branches", flush=True)


if __name__ == "__main__":
    soak = Soak("fuzz", __doc__, bar=10 * len(names()), of="minutes of targets")
    soak.parser.add_argument("--targets", help="only these, between commas")
    sys.exit(soak.run(work))
