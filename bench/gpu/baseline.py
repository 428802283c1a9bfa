"""The unfused way to search exactly on a device: one product of all rows and queries, then a selection.

What `gpu_kernels` is held against, in the same run. Needs PyTorch with a device. Prints one JSON object a line.

usage: baseline.py [N_ROWS]
"""

import json
import sys

import torch


def time_of(call, n_rounds=11):
    """Median time of a call's work on the device, in ms."""
    call()
    times = []
    for _ in range(n_rounds):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        call()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return sorted(times)[len(times) // 2]


def measure(n_rows, dim, n_queries, k=10):
    rows = torch.randn(n_rows, dim, device="cuda", dtype=torch.float16)
    queries = torch.randn(n_queries, dim, device="cuda", dtype=torch.float16)
    product = time_of(lambda: queries @ rows.T)
    scores = queries @ rows.T
    select = time_of(lambda: torch.topk(scores, k, dim=1))
    both = time_of(lambda: torch.topk(queries @ rows.T, k, dim=1))
    print(json.dumps({"step": "baseline", "rows": n_rows, "dim": dim, "queries": n_queries, "k": k, "dtype": "f16",
                      "product_ms": round(product, 4), "topk_ms": round(select, 4), "ms": round(both, 4)}), flush=True)


def main(arguments):
    n_rows = int(arguments[0]) if arguments else 1_000_000
    for dim in (128, 768):
        for n_queries in (1, 8, 64, 256, 1024):
            measure(n_rows, dim, n_queries)


if __name__ == "__main__":
    main(sys.argv[1:])
