"""Power cuts at changes of a disk in memory, under each of three losses of what was not synced (tests/support/loss.h).

Usage: scripts/soak power-cut [--minutes M] [--rounds N] [--seed S] [--fresh]
"""
import sys

from programs import Test, run

TESTS = [Test("engine_fault_test", "EnginePowerCut.AcknowledgedRequestsSurvive"),
         Test("fault_test", "StoragePowerCut.AcknowledgedBatchesSurviveAtEveryCut"),
         Test("engine_fault_test", "EnginePowerCut.RecoveryMayBeInterrupted")]

if __name__ == "__main__":
    sys.exit(run("power-cut", __doc__, bar=3000, of="states", tests=TESTS))
