"""Soaks of C++ tests that take seeds (tests/soak.h): a round is one test for some time, from the seed after its last one."""
import os
import re
import subprocess

from patience import patience
from quiver_server import REPOSITORY
from soak import Soak

SEEDS_APART = 10**6  # the first seed of a program, for each of the soak's seeds


class Test:
    """`command` begins the test, by default as a program of the release build; `seconds`: of a round."""

    def __init__(self, program, filter, command=None, seconds=60):
        self.command = command or [f"build/release/tests/{program}"]
        self.key = " ".join([*self.command, filter])
        self.filter, self.seconds = filter, seconds

    def build(self):
        """Builds what the command builds, which has no time limit."""
        subprocess.run([*self.command, "--gtest_list_tests"], cwd=REPOSITORY, check=True, stdout=subprocess.DEVNULL)

    def run(self, seed, folder):
        """(exit status, output). The tests' own files are in `folder`."""
        env = os.environ | {"QUIVER_SOAK_SEED": str(seed), "QUIVER_SOAK_SECONDS": str(self.seconds), "TEST_TMPDIR": str(folder)}
        command = [*self.command, f"--gtest_filter={self.filter}", "--gtest_brief=1"]
        with open(folder / "log", "w") as log:
            try:
                done = subprocess.run(command, env=env, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=log, text=True,
                                      timeout=self.seconds + patience(300))
            except subprocess.TimeoutExpired as stuck:
                return "hung", (stuck.stdout or b"").decode(errors="replace")
        return done.returncode, done.stdout


def work(tests):
    def go(soak):
        seeds = soak.state.setdefault("seeds", {})
        for test in tests:
            test.build()
        for number in soak.rounds():
            test = tests[number % len(tests)]
            first = seeds.setdefault(test.key, soak.state["seed"] * SEEDS_APART + 1)
            status, output = test.run(first, soak.folder)
            begun = [int(seed) for seed in re.findall(r"^QUIVER_SOAK_SEED=(\d+)$", output, re.M)]
            assert status == 0 and begun, (f"{test.key}: {status}, QUIVER_SOAK_SEED={begun[-1] if begun else first}\n{output[-5000:]}\n"
                                           + (soak.folder / "log").read_text(errors="replace")[-5000:])
            seeds[test.key] = begun[-1] + 1
            soak.add({"minutes of tests": test.seconds / 60})
            for what, n in re.findall(r"^soak: (.*): (\d+)$", output, re.M):
                soak.add({what: int(n)})
            print(f"{number:5} {test.key}: seeds {begun[0]} to {begun[-1]}", flush=True)
    return go


def run(name, doc, bar, of, tests, minutes=55):
    return Soak(name, doc, bar, of=of, minutes=minutes, in_memory=True).run(work(tests))
