"""Runs a memory loop and a clock loop between measurements, to detect when the machine was disturbed."""
import statistics
import time

import numpy as np

TOLERANCE = 0.03
LEAST_CPU_SHARE = 0.97
READ_BYTES = 128 << 20
ROUNDS = 3


class Calibrator:
    def __init__(self):
        self.memory = np.ones(READ_BYTES // 8, np.uint64)
        self.all = []

    def measure(self):
        reads, clocks = zip(*((read(self.memory), clock()) for _ in range(ROUNDS)))
        self.all.append({"read_gb_per_s": round(statistics.median(reads), 3),
                         "python_steps_per_us": round(statistics.median(clocks), 3)})
        return self.all[-1]

    def deviates(self, found):
        usual = {key: statistics.median(c[key] for c in self.all) for key in found}
        return any(abs(found[key] - usual[key]) > TOLERANCE * usual[key] for key in found)

    def disturbed(self, point):
        """True if a merged point was measured while something else ran."""
        around = point.pop("calibrations")
        return point["cpu_share"] < LEAST_CPU_SHARE or any(self.deviates(c) for c in around)


def read(memory):
    begun = time.perf_counter()
    memory.sum()
    return memory.nbytes * 1e-9 / (time.perf_counter() - begun)


def clock(steps=20_000):
    x, begun = 1, time.perf_counter()
    for _ in range(steps):
        x = (x * 25214903917 + 11) & 0xffffffffffff
    return steps * 1e-6 / (time.perf_counter() - begun)
