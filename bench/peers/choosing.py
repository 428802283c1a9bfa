"""Chooses the settings to measure: the front by CPU time over the queries for choosing, near the recall targets."""
import json

import points

HEADROOM = 0.2
MARGIN_BELOW = 0.05  # points further below the lowest target are not measured again


def chosen(tried, targets):
    """Returns the points of the front around each target; points are {"recall", "cpu_us", …}. `chosen_for` lists the targets for
which a point is the cheapest that reaches them. Uses CPU time, because a tried point has one pass and no alternation."""
    front = [p for p in points.front(tried, "cpu_us", larger=False) if p["recall"] >= min(targets) - MARGIN_BELOW]
    reach = {t: next((p for p in front if p["recall"] >= t), None) for t in targets}
    return [p | {"chosen_for": [t for t in targets if reach[t] is p]} for p in thinned(front, targets)]


def thinned(front, targets):
    """Thins a front. For each target keeps the fastest point that reaches it, its neighbours (for a curve), and the fastest
point well above it, because other queries may be harder."""
    keep = set()
    for target in targets:
        above = next((i for i, p in enumerate(front) if p["recall"] >= target + HEADROOM * (1 - target)), None)
        keep |= set() if above is None else {above}
        reach = next((i for i, p in enumerate(front) if p["recall"] >= target), None)
        if reach is not None:
            keep |= {reach - 1, reach, reach + 1}
    return [p for i, p in enumerate(front) if i in keep] or front[-1:]


class Tried:
    """Results of a built index over the queries for choosing, stored beside the index: {setting: point}."""

    def __init__(self, path):
        self.path = path
        self.held = json.loads(path.read_text()) if path.exists() else {}

    def of(self, setting, measure):
        key = json.dumps(setting, sort_keys=True)
        if key not in self.held:
            self.held[key] = measure()
        return self.held[key]

    def keep(self):
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps(self.held))
