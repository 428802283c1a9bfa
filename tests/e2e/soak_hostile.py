"""Hostile requests over REST and gRPC (hostile.py says which): no crash, no fault of the server's, and a flat size.

Usage: scripts/soak hostile [--minutes M] [--rounds N] [--seed S] [--first N] [--fresh] [--requests N]
"""
import sys

from hostile import ENV, Hostile, n_requests, size_of
from quiver_server import Server
from soak import Soak

N_WARM = 3  # rounds until the size of the process is the one to keep
MAX_GROWTH, MAX_GROWTH_MIB, MAX_GROWTH_FILES = 1.25, 48, 40


def work(soak):
    server = Server(soak.folder / "data", env=ENV, grpc=True)
    try:
        hostile = Hostile(server)
        for number in soak.rounds():
            counts = hostile.round(soak.random(number), soak.args.requests)
            counts["requests"] = n_requests(counts)
            memory_mib, n_files = size_of(server)
            soak.add(counts)
            soak.at_most({"private MiB": memory_mib, "open files": n_files})
            print(f"{number:5} {counts['requests']} requests, {memory_mib:.0f} MiB, {n_files} files", flush=True)
            if number - soak.first <= N_WARM:
                first_mib, first_files = memory_mib, n_files
            assert memory_mib <= first_mib * MAX_GROWTH + MAX_GROWTH_MIB, f"{memory_mib:.0f} MiB, {first_mib:.0f} MiB at first"
            assert n_files <= first_files + MAX_GROWTH_FILES, f"{n_files} open files, {first_files} at first"
        server.stop()
    finally:
        server.close()


if __name__ == "__main__":
    soak = Soak("hostile", __doc__, bar=2_000_000, of="requests", in_memory=True)
    soak.parser.add_argument("--requests", type=int, default=20_000, help="of a round")
    sys.exit(soak.run(work))
