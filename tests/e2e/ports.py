"""Free TCP ports for servers under test.

The kernel hands the ports of its own range out again as soon as they are closed, and to every process. So ports are taken
from below that range, in blocks: a process owns a block while it holds the first port of it."""
import os
import socket

FIRST, END, BLOCK = 10_000, 32_000, 50
N_BLOCKS = (END - FIRST) // BLOCK
MAX_OWNED = 100  # blocks; then the ports of the oldest may be given again

_owners = []  # the sockets that hold the blocks of this process
_unused = []  # ports of the newest block
_next_block = os.getpid() * 7  # processes begin at different places


def free_port():
    return _free_in_a_row(1)


def three_free_ports():
    """The first of three ports in a row: the peer port, and those of the ledger after it."""
    return _free_in_a_row(3)


def _free_in_a_row(n):
    while True:
        if len(_unused) < n:
            _unused[:] = _own_a_block()
        row = [_unused.pop(0) for _ in range(n)]
        if all(_is_free(port) for port in row):
            return row[0]


def _own_a_block():
    global _next_block
    if len(_owners) == MAX_OWNED:
        _owners.pop(0).close()
    for _ in range(N_BLOCKS):
        first = FIRST + _next_block % N_BLOCKS * BLOCK
        _next_block += 1
        owner = _bound(first)
        if owner:
            _owners.append(owner)
            return range(first + 1, first + BLOCK)
    raise OSError(f"every block of {BLOCK} ports between {FIRST} and {END} is in use")


def _is_free(port):
    bound = _bound(port)
    if bound:
        bound.close()
    return bound is not None


def _bound(port):
    bound = socket.socket()
    try:
        bound.bind(("127.0.0.1", port))
    except OSError:
        bound.close()
        return None
    return bound
