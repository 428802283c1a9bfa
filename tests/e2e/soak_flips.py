"""Flipped bits and files cut short, in files of a stopped and of a running server, for as many rounds as asked.

Each round changes bytes of one to four files, each kind of file as often as any other. A running server notices what is
written to its files, or cut off them, at once; of bits that change otherwise it is told by a pass of the scrub. From then on
every answer must be right or refused (503), the other collection must not notice, and in the end nothing may be refused.
Answers that were wrong before the pass are counted, and so are servers that a changed number ended before it; they are
started again.
Usage: scripts/soak flips [--minutes M] [--rounds N] [--seed S] [--first N] [--fresh] [--points N]
"""
import collections
import http.client
import random
import shutil
import signal
import sys
from pathlib import Path

from flips import ENV, Model, cut, flip, overwrite, scrub, section_places, wait_healed
from patience import patience
from quiver_server import Server
from soak import Soak

OTHER = "other"


class Flips:
    """A server with two collections: one is damaged, the other must not notice. `counts`: of faults and what came of
    them; `by_kind`: how often each kind of file was changed."""

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
        """Changes some files, of the kinds that were changed least often. Sets `is_silent`: no call wrote to some of them."""
        done, self.is_silent = [], False
        for _ in range(self.rng.randint(1, 4)):
            kind = min(kinds, key=lambda each: (self.by_kind[each, is_running], self.rng.random()))
            path = self.rng.choice(kinds[kind])
            what = self.rng.choice([cut, overwrite, flip, flip])
            if (at := what(path, self.rng)) is None:
                continue
            self.by_kind[kind, is_running] += 1
            self.counts[{cut: "cut", overwrite: "written to", flip: "flipped"}[what]] += 1
            self.is_silent |= what is flip
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

    def look_and_scrub(self):
        if self.rng.random() < 0.7:
            n_wrong = self.model.look()[0]
            self.counts["wrong before the pass"] += n_wrong
            assert n_wrong == 0 or self.is_silent, f"{n_wrong} wrong answers from files that were written to"
        before = self.server.get("/v1/scrub").result["damages"]
        scrub(self.server)
        self.counts["found by a pass"] += self.server.get("/v1/scrub").result["damages"] - before

    def expect_end_by_signal(self, faults):
        """A changed number may lead a search outside its file: docs/reliability.md, the scrub."""
        status = self.server.process.wait(timeout=patience(60))
        assert status in (-signal.SIGSEGV, -signal.SIGBUS), f"status {status} after {faults}:\n{self.server.log_tail()}"

    def running_round(self):
        if self.rng.random() < 0.3:
            self.write_some()
        faults = self.damage(self.model.segment_files(), True)
        try:
            self.look_and_scrub()
        except (OSError, http.client.HTTPException):
            self.expect_end_by_signal(faults)
            self.counts["ended before the pass"] += 1
            self.server.start()
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

    def section_round(self, number):
        """One bit in the section `number` of each file that has so many. Returns the number of files."""
        self.server.stop()
        places = [(path, section_places(path)) for path in sum(self.model.segment_files().values(), [])]
        changed = [(path, of[number]) for path, of in places if number < len(of)]
        for path, at in changed:
            flip(path, self.rng, at)
        self.counts["sections"] += len(changed)
        self.server.start()
        self.expect(wait_healed(self.model), changed)
        self.model.wait_for_rest()
        self.expect(self.model.look()[0], changed)
        return len(changed)

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


KINDS = "changed "  # begins the totals of `by_kind`


def text_of(kind, is_running):
    return f"{KINDS}{kind} ({'running' if is_running else 'stopped'})"


def of_text(text):
    kind, state = text.removeprefix(KINDS).rsplit(" ", 1)
    return kind, state == "(running)"


def work(soak):
    server = Server(soak.folder / "data", env=ENV)
    try:
        flips = Flips(server, f"{soak.state['seed']}/{soak.first}", soak.args.points)
        flips.by_kind.update({of_text(what): n for what, n in soak.state["totals"].items() if what.startswith(KINDS)})
        for number in soak.rounds():
            counts, by_kind = flips.counts.copy(), flips.by_kind.copy()
            print(f"{number:5} ", end="", flush=True)
            name, faults = flips.round()
            print(f"{name}: {'; '.join(faults)}", flush=True)
            soak.add({"changes": len(faults)} | (flips.counts - counts))
            soak.add({text_of(*kind): n for kind, n in (flips.by_kind - by_kind).items()})
        server.stop()
    finally:
        server.close()


if __name__ == "__main__":
    soak = Soak("flips", __doc__, bar=5000, of="changes")
    soak.parser.add_argument("--points", type=int, default=2000)
    sys.exit(soak.run(work))
