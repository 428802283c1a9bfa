"""The recall and the latency of searches, over their effort."""
from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Iterable, List, Optional

import numpy as np

if TYPE_CHECKING:
    from ._database import Collection

_TOLERANCE = 1e-6  # relative: a hit that scores as well as the k-th best is right


@dataclass(frozen=True)
class BenchPoint:
    """One measured setting. Latencies are of one query per call, in microseconds."""

    effort: Optional[int]  # None: exact search
    recall: float  # mean over queries
    recall_p5: float  # 5th percentile over queries
    p50_us: float
    p95_us: float
    p99_us: float
    qps: float  # one caller, one query after another


class BenchCurve(List[BenchPoint]):
    """Measured settings, by effort. `str` makes a table of them."""

    def __str__(self) -> str:
        lines = ["effort   recall   p5     p50 us   p95 us   p99 us      qps"]
        for point in self:
            effort = "exact" if point.effort is None else str(point.effort)
            lines.append(f"{effort:>6} {point.recall:8.4f} {point.recall_p5:6.3f} {point.p50_us:8.1f} "
                         f"{point.p95_us:8.1f} {point.p99_us:8.1f} {point.qps:8.0f}")
        return "\n".join(lines)


def recalls(scores: np.ndarray, truth: np.ndarray, smaller_is_better: bool) -> np.ndarray:
    """Recall of each query, float64 [n]. scores, truth: float32 [n, k], best first, NaN where there is no hit."""
    found = []
    for mine, best in zip(scores, truth):
        best = best[~np.isnan(best)]
        if not len(best):
            found.append(1.0)
            continue
        slack = _TOLERANCE * abs(best[-1])
        hits = mine <= best[-1] + slack if smaller_is_better else mine >= best[-1] - slack
        found.append(min(1.0, np.count_nonzero(hits) / len(best)))
    return np.array(found)


def _is_distance(collection: Collection, using: str) -> bool:
    """Whether scores of this field are distances."""
    fields = collection.info()["config"]["params"].get("vectors", {})
    field = fields.get(using, {}) if using else fields
    return field.get("distance") in ("Euclid", "Manhattan")


def _measure(collection: Collection, queries: np.ndarray, k: int, truth: np.ndarray, effort: Optional[int],
             repeats: int, options: dict[str, Any]) -> BenchPoint:
    chosen = dict(options, exact=True) if effort is None else dict(options, params={"hnsw_ef": effort})
    scores = np.full((len(queries), k), np.nan, np.float32)
    times = []
    for _ in range(repeats):
        for i, query in enumerate(queries):
            began = time.perf_counter_ns()
            hits = collection.search(query, k, **chosen)
            times.append(time.perf_counter_ns() - began)
            scores[i, :len(hits.scores)] = hits.scores
    us = np.array(times) / 1e3
    recall = recalls(scores, truth, _is_distance(collection, options["using"]))
    p50, p95, p99 = np.percentile(us, [50, 95, 99])
    return BenchPoint(effort, float(recall.mean()), float(np.percentile(recall, 5)), float(p50), float(p95), float(p99),
                      float(1e6 / us.mean()))


def bench(collection: Collection, queries: np.ndarray, k: int, efforts: Iterable[int], repeats: int,
          options: dict[str, Any]) -> BenchCurve:
    """See `Collection.bench`."""
    truth = collection.search(queries, k, exact=True, **options).scores
    settings: list[Optional[int]] = [*efforts, None]
    for query in queries[:100]:
        collection.search(query, k, **options)
    return BenchCurve(_measure(collection, queries, k, truth, effort, repeats, options) for effort in settings)
