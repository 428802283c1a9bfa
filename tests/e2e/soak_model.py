"""Random operations on a collection beside its model, under ThreadSanitizer and under AddressSanitizer and UBSan.

The first run builds the engine twice, which takes most of an hour on two cores.
Usage: scripts/soak model [--minutes M] [--rounds N] [--seed S] [--fresh]
"""
import sys

from programs import Test, run

TESTS = [Test("model_test", "Model.*", command=["scripts/sanitized", preset, "model_test"], seconds=240) for preset in ("tsan", "asan")]

if __name__ == "__main__":
    sys.exit(run("model", __doc__, bar=120, of="minutes of tests", tests=TESTS, minutes=60))
