"""What all soaks share: rounds for some minutes, a file to go on from, and a summary in one line.

A soak repeats a check in numbered rounds. What a round does depends on the seed and its number only. The file
build/soak/NAME.json has the seed, the number of rounds that passed, and totals. The next run goes on with the round
after these. The first round that fails ends the run with status 1 and keeps its folder; the next run repeats the round.
"""
import argparse
import contextlib
import datetime
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
STATES = REPOSITORY / "build/soak"
MEMORY = Path("/dev/shm")


class Soak:
    """`bar`: rounds, or another total that a round adds to, after which the soak is long enough. `in_memory`: files of a
    run are kept in memory, for soaks that do not concern the disk."""

    def __init__(self, name, doc, bar, of="rounds", minutes=55, in_memory=False):
        self.name, self.bar, self.of = name, bar, of
        self.folders = MEMORY if in_memory and MEMORY.is_dir() else STATES
        self.parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
        add = self.parser.add_argument
        add("--minutes", type=float, default=minutes, help="no round begins later (default %(default)s)")
        add("--rounds", type=int, help="of this run at most")
        add("--seed", type=int, help="begins anew with this seed")
        add("--first", type=int, help="begins anew with the round of this number")
        add("--fresh", action="store_true", help="begins anew")
        self.args = None
        self.folder = None  # of this run

    def begin(self, arguments=None):
        """Reads the command line and the file."""
        self.args = self.parser.parse_args(arguments)
        STATES.mkdir(parents=True, exist_ok=True)
        self.file = STATES / f"{self.name}.json"
        is_new = self.args.fresh or self.args.seed is not None or self.args.first is not None or not self.file.exists()
        self.state = self._new_state() if is_new else json.loads(self.file.read_text())
        self.first = self.state["next"]  # round of this run
        self._note("commits", commit())
        self._begun = self._saved = time.monotonic()
        return self.args

    def _new_state(self):
        seed = self.args.seed if self.args.seed is not None else int(time.time())
        return {"seed": seed, "next": self.args.first or 0, "seconds": 0.0, "totals": {"rounds": 0}, "most": {}, "commits": []}

    def run(self, work, arguments=None):
        """Calls `work(self)`, which goes through `self.rounds()`. Returns the exit status of the program."""
        if self.args is None:
            self.begin(arguments)
        self.folder = self._new_folder()
        try:
            work(self)
        except KeyboardInterrupt:
            print(f"stopped in round {self.state['next']}", flush=True)
        except BaseException:
            traceback.print_exc()
            again = f"scripts/soak {self.name} --seed {self.state['seed']} --first {self.first}"
            print(f"FAILED in round {self.state['next']}; {again} repeats this run; its files are in {self.folder}", flush=True)
            self._save()
            print(self.summary(failed=True), flush=True)
            return 1
        shutil.rmtree(self.folder, ignore_errors=True)
        self._save()
        print(self.summary(), flush=True)
        return 0

    def _new_folder(self):
        """Says when it was made: those of failed runs stay."""
        prefix = f"soak-{self.name}-{datetime.datetime.now():%Y%m%d-%H%M%S}-"
        return Path(tempfile.mkdtemp(prefix=prefix, dir=self.folders))

    def rounds(self):
        """Numbers of rounds, until the time is over. A round has passed when the next is asked for."""
        for _ in range(self.args.rounds if self.args.rounds is not None else sys.maxsize):
            if time.monotonic() >= self._begun + 60 * self.args.minutes:
                return
            yield self.state["next"]
            self.state["next"] += 1
            self.add({"rounds": 1})
            self._save()

    def random(self, *what):
        """Random numbers that depend on the seed and `what`, for instance the number of a round."""
        return random.Random("/".join(map(str, (self.state["seed"], *what))))

    def add(self, counts):
        """Adds to the totals."""
        for what, n in counts.items():
            self.state["totals"][what] = self.state["totals"].get(what, 0) + n

    def at_most(self, values):
        """Notes the largest value of each."""
        for what, value in values.items():
            self.state["most"][what] = max(self.state["most"].get(what, value), value)

    def total(self, what):
        return self.state["totals"].get(what, 0)

    def _note(self, kind, value):
        if value not in self.state[kind]:
            self.state[kind].append(value)

    def _save(self):
        now = time.monotonic()
        self.state["seconds"] += now - self._saved
        self._saved = now
        whole = self.file.with_suffix(".new")
        whole.write_text(json.dumps(self.state, indent=1) + "\n")
        whole.rename(self.file)

    def summary(self, failed=False):
        """All that was run so far, as one line of JSON."""
        return json.dumps({"soak": self.name, "passed": not failed, self.of: rounded(self.total(self.of)), "bar": self.bar,
                           "minutes": round(self.state["seconds"] / 60, 1), "seed": self.state["seed"],
                           "commits": self.state["commits"], "date": datetime.date.today().isoformat(), "machine": machine(),
                           "totals": {what: rounded(n) for what, n in sorted(self.state["totals"].items())},
                           "most": {what: rounded(n) for what, n in sorted(self.state["most"].items())}})


def rounded(number):
    return round(number, 3) if isinstance(number, float) else number


def commit():
    """The commit of the sources, with a plus if they have changed since."""
    def git(*args):
        return subprocess.run(["git", "-C", str(REPOSITORY), *args], capture_output=True, text=True).stdout.strip()
    return git("rev-parse", "--short", "HEAD") + ("+" if git("status", "--porcelain", "--untracked-files=no") else "")


def machine():
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return f"{line.split(':', 1)[1].strip()}, {os.cpu_count()} cores"
    return f"{os.uname().machine}, {os.cpu_count()} cores"
