"""What goes wrong, by kind. The text of an error says what was found and what was wanted."""
from __future__ import annotations


class QuiverError(Exception):
    """An error of the engine. `code` is the number of a gRPC status."""

    code = 2


class InvalidArgument(QuiverError, ValueError):
    """The request is wrong in any state."""

    code = 3


class DeadlineExceeded(QuiverError, TimeoutError):
    """A search took longer than its `timeout`, or closing took too long."""

    code = 4


class NotFound(QuiverError, LookupError):
    """There is no such collection or point."""

    code = 5


class AlreadyExists(QuiverError):
    """There is such a collection already."""

    code = 6


class ResourceExhausted(QuiverError):
    """A queue, the disk or the memory is full."""

    code = 8


class FailedPrecondition(QuiverError):
    """The request does not fit the present state: the database is closed, for example."""

    code = 9


class Unimplemented(QuiverError, NotImplementedError):
    """This cannot be done here."""

    code = 12


class Unavailable(QuiverError):
    """May succeed later: another process has the directory open, for example."""

    code = 14


class DataLoss(QuiverError):
    """Bytes on disk are damaged."""

    code = 15


_BY_CODE = {kind.code: kind for kind in QuiverError.__subclasses__()}


def error_of(code: int, text: str) -> QuiverError:
    """The exception for the number `code` of an error and its text."""
    error = _BY_CODE.get(code, QuiverError)(text)
    error.code = code
    return error
