#!/usr/bin/env python3
"""Checks what the CUDA compiler says of the kernels: none keeps variables in memory for want of registers.

Reads the output of `nvcc -Xptxas -v`. Every kernel of LIMITS must be there, for each architecture alike.

usage: check_kernels.py LOG      prints messages; exit status 1 if there are any
"""

import pathlib
import re
import sys

# Name within the mangled one: most registers a thread, and most bytes of shared memory a block. 80 registers let
# three blocks of 256 threads run at a time on a multiprocessor.
LIMITS = {
    "compare_tilesILNS1_4PassE0E": (80, 31 * 1024),
    "compare_tilesILNS1_4PassE1E": (80, 31 * 1024),
    # A block of 384 threads alone on a multiprocessor; its shared memory is asked for at the launch.
    "compare_tiles_wide": (168, 1024),
    # Blocks of 128 threads, three at a time, or four.
    "score_documentsILj8E": (168, 1024),
    "score_documentsILj4E": (128, 1024),
    "score_documentsILj2E": (128, 1024),
    "start_document_searches": (40, 0),
    "keep_slabs_of_documents": (40, 0),
    "set_document_bars": (40, 2048),
    "find_documents": (40, 0),
    "name_documents": (40, 2048),
    # Three blocks of 256 threads at a time, or two.
    "scan_listsILj1ELb0E": (80, 1024),
    "scan_listsILj1ELb1E": (80, 1024),
    "scan_listsILj4ELb0E": (128, 1024),
    "scan_listsILj4ELb1E": (128, 1024),
    "name_codes": (40, 2048),
    # Up to seven warps a block; its sums are asked for at the launch.
    "sum_rangesILb0E": (64, 0),
    "sum_rangesILb1E": (64, 0),
    "start_sums": (40, 0),
    "set_sum_barsILb0E": (40, 2048),
    "set_sum_barsILb1E": (40, 2048),
    "name_sums": (40, 2048),
    "multiply_pairsILj8E": (48, 0),
    "multiply_pairsILj4E": (48, 0),
    "finish_pass": (40, 2048),
    "set_bars": (40, 2048),
    "start_searches": (40, 0),
    "write_margins": (40, 0),
    "join_masks": (40, 0),
}
KERNEL = re.compile(
    r"Compiling entry function '(?P<name>\w+)' for '(?P<target>\w+)'.*?"
    r"(?P<stack>\d+) bytes stack frame, (?P<stores>\d+) bytes spill stores, (?P<loads>\d+) bytes spill loads.*?"
    r"Used (?P<registers>\d+) registers(?P<rest>[^\n]*)", re.S)


def check_log(text):
    """Yields a message for each kernel over its limits, missing, or unknown."""
    seen = {}
    for found in KERNEL.finditer(text):
        names = [name for name in LIMITS if name in found["name"]]
        where = f"{found['name']} for {found['target']}"
        if not names:
            yield f"{where}: not in LIMITS"
            continue
        seen.setdefault(found["target"], set()).add(names[0])
        registers, shared = LIMITS[names[0]]
        if int(found["stack"]) + int(found["stores"]) + int(found["loads"]) > 0:
            yield f"{where}: {found['stack']} bytes of stack, {found['stores']} spilled: wanted 0"
        if int(found["registers"]) > registers:
            yield f"{where}: {found['registers']} registers: wanted at most {registers}"
        smem = re.search(r"(\d+) bytes smem", found["rest"])
        if smem and int(smem[1]) > shared:
            yield f"{where}: {smem[1]} bytes of shared memory: wanted at most {shared}"
    if not seen:
        yield "no kernel in the compiler's output"
    for target, names in sorted(seen.items()):
        for name in sorted(set(LIMITS) - names):
            yield f"{name} for {target}: missing"


def main(arguments):
    messages = list(check_log(pathlib.Path(arguments[0]).read_text(encoding="utf-8")))
    print("\n".join(messages), end="\n" if messages else "")
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
