"""How long a test waits for something that must happen: a safety only, no test passes or fails by speed."""
import os
import time


def patience(idle_s):
    """Seconds to wait where an idle machine needs `idle_s` at most: times QUIVER_TEST_PATIENCE, 5 unless set.

    As in tests/patience.h, cmake/room.cmake and scripts/steps.sh.
    """
    return idle_s * float(os.environ.get("QUIVER_TEST_PATIENCE") or 5)


def comes_true(condition, idle_s=20):
    """What `condition()` returns, as soon as that counts as true; after `patience(idle_s)`, whatever it returns."""
    end = time.monotonic() + patience(idle_s)
    while not (value := condition()) and time.monotonic() < end:
        time.sleep(0.02)
    return value
