"""Flipped bits and files cut short, in files of a stopped and of a running server, for as many rounds as asked.

Each round changes bytes of one to four files, each kind of file as often as any other. A running server is then asked
to read its files again. From then on every answer must be right or refused (503), the other collection must not
notice, and in the end nothing may be refused. Answers that were wrong before the pass are counted. Ends with 1 at the
first wrong answer after it; the seed repeats the faults.
Usage: soak_flips.py [--rounds N] [--seed S] [--minutes M] [--points N] [--keep FOLDER]
"""
import argparse
import collections
import contextlib
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1])]

from flips import ENV, Model, cut, flip, scrub, wait_healed  # noqa: E402
from quiver_server import Server  # noqa: E402

OTHER = "other"


class Soak:
    """A server with two collections: one is damaged, the other must not notice."""

    def __init__(self, server, seed, n_points):
        self.server, self.rng = server, random.Random(seed)
        server.start()
        server.put(f"/collections/{OTHER}", {"vectors": {"size": 2, "distance": "Dot"}}).result
        server.put(f"/collections/{OTHER}/points?wait=true", {"points": [{"id": 1, "vector": [1, 2]}]}).result
        self.model = Model(server, "soak", seed, n_points)
        self.n_points = n_points
        self.counts = collections.Counter()
        self.by_kind = collections.Counter()

    def damage(self, kinds, is_running):
        """Changes some files, of the kinds that were changed least often."""
        done = []
        for _ in range(self.rng.randint(1, 4)):
            kind = min(kinds, key=lambda each: (self.by_kind[each, is_running], self.rng.random()))
            path = self.rng.choice(kinds[kind])
            what = cut if self.rng.random() < 0.25 else flip
            if (at := what(path, self.rng)) is None:
                continue
            self.by_kind[kind, is_running] += 1
            self.counts["cut" if what is cut else "flipped"] += 1
            done.append(f"{what.__name__} {Path(path).relative_to(self.server.data_dir)} at {at}")
        return done

    def write_some(self):
        """Updates, so that segments are sealed and merged while files are changed."""
        numbers = self.rng.sample(range(self.n_points), self.n_points // 20)
        self.model.delete(numbers[:len(numbers) // 4])
        self.model.put(numbers[len(numbers) // 4:])
        self.model.learn()

    def check_other(self):
        answer = self.server.post(f"/collections/{OTHER}/points/query", {"query": [1, 0], "limit": 1})
        assert [hit["id"] for hit in answer.result["points"]] == [1]

    def expect(self, n_wrong, faults):
        assert self.server.alive(), f"the server ended after {faults}:\n{self.server.log_tail()}"
        assert n_wrong == 0, f"{n_wrong} wrong answers after {faults}:\n{self.server.log_tail()}"

    def running_round(self):
        if self.rng.random() < 0.3:
            self.write_some()
        faults = self.damage(self.model.segment_files(), True)
        if self.rng.random() < 0.7:
            self.counts["wrong before the pass"] += self.model.look()[0]
        before = self.server.get("/v1/scrub").result["damages"]
        scrub(self.server)
        self.counts["found by a pass"] += self.server.get("/v1/scrub").result["damages"] - before
        self.check_other()
        self.expect(wait_healed(self.model), faults)
        self.model.wait_for_rest()
        self.expect(self.model.look()[0], faults)
        return faults

    def stopped_round(self):
        """Files of segments: all is healed."""
        self.server.stop()
        faults = self.damage(self.model.segment_files(), False)
        self.server.start()
        self.check_other()
        self.expect(wait_healed(self.model), faults)
        self.model.wait_for_rest()
        self.expect(self.model.look()[0], faults)
        return faults

    def rows_round(self):
        """Files of rows, of which there is no second copy: answers are right or refused. The files are put back."""
        is_running = self.rng.random() < 0.5
        self.server.stop()
        copy = self.server.data_dir.with_name("copy")
        shutil.copytree(self.server.data_dir, copy)
        if is_running:
            self.server.start()
            self.server.get(self.model.path()).result
        faults = self.damage(self.model.row_files(), is_running)
        if not is_running:
            self.server.start(wait=False)
            self.server.wait_ready("/healthz")
        self.check_other()
        for _ in range(2):
            wrong, refused = self.model.look()
            self.expect(wrong, faults)
        self.counts["refused rows" if refused else "answered in spite of damaged rows"] += 1
        self.server.kill9()
        shutil.rmtree(self.server.data_dir)
        copy.rename(self.server.data_dir)
        self.server.start()
        self.expect(wait_healed(self.model), faults)
        return faults

    def round(self):
        kind = self.rng.choices([self.running_round, self.stopped_round, self.rows_round], [6, 2, 1])[0]
        self.counts[kind.__name__] += 1
        return kind.__name__, kind()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10_000)
    parser.add_argument("--minutes", type=float, default=55, help="no round begins later")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--points", type=int, default=2000)
    parser.add_argument("--keep", help="a folder for data and logs, kept in the end")
    return parser.parse_args()


def main():
    args = arguments()
    end = time.monotonic() + 60 * args.minutes
    with contextlib.ExitStack() as stack:
        folder = Path(args.keep) if args.keep else Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = Server(folder / "data", env=ENV)
        stack.callback(server.close)
        soak = Soak(server, args.seed, args.points)
        number = 0
        while number < args.rounds and time.monotonic() < end:
            number += 1
            print(f"{number:4} ", end="", flush=True)
            name, faults = soak.round()
            print(f"{name}: {'; '.join(faults)}", flush=True)
        server.stop()
    print(f"{number} rounds, seed {args.seed}: no wrong answer after a pass or a start, nothing refused in the end")
    for what, n in sorted(soak.counts.items()):
        print(f"{n:6} {what}")
    for (kind, is_running), n in sorted(soak.by_kind.items()):
        print(f"{n:6} {kind} ({'running' if is_running else 'stopped'})")


if __name__ == "__main__":
    sys.exit(main())
