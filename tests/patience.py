"""How long a test waits for something that must happen: a safety only, no test passes or fails by speed."""
import os
import time


def patience(idle_s):
    """Seconds to wait where an idle machine needs `idle_s` at most: times QUIVER_TEST_PATIENCE, 5 unless set.

    As in tests/patience.h, cmake/room.cmake and scripts/steps.sh.
    """
    return idle_s * float(os.environ.get("QUIVER_TEST_PATIENCE") or 5)


def eventually(condition, idle_s=20):
    """Waits until `condition()` is true, and fails if that takes longer than `patience(idle_s)`."""
    end = time.monotonic() + patience(idle_s)
    while not condition():
        assert time.monotonic() < end, "it did not come true in time"
        time.sleep(0.05)
