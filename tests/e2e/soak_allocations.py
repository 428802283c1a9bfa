"""Allocations that fail, one or every n-th, in any thread of a process that changes and searches a collection.

Usage: scripts/soak allocations [--minutes M] [--rounds N] [--seed S] [--fresh]
"""
import sys

from programs import Test, run

if __name__ == "__main__":
    sys.exit(run("allocations", __doc__, bar=5000, of="processes",
                 tests=[Test("engine_memory_test", "EngineMemory.AnyNth")]))
