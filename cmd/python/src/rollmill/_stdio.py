"""Standard input and output of a program that rollmill asks.

Only answers may be written to standard output, so everything else that would be,
by print, by a C library or by a child process, goes to standard error. Children
cannot read the requests either.
"""

from __future__ import annotations

import os
import sys
import traceback
from typing import BinaryIO, NamedTuple


class Stdio(NamedTuple):
    requests: BinaryIO
    answers: BinaryIO


_taken: Stdio | None = None


def take() -> Stdio:
    """Take standard input and output, once a process; later calls return the same."""
    global _taken
    if _taken is None:
        _taken = Stdio(os.fdopen(os.dup(0), "rb", 1 << 20), os.fdopen(os.dup(1), "wb", 1 << 16))
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        os.dup2(2, 1)
        reconfigure = getattr(sys.stdout, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(line_buffering=True)  # and what was written before goes to standard error, too
    return _taken


def failure(error: BaseException) -> str:
    """A short message for the row; the traceback goes to standard error."""
    traceback.print_exception(type(error), error, error.__traceback__)
    text = str(error).strip()
    name = type(error).__name__
    return f"{name}: {text[:500]}" if text else name


def explain_to_person(what: str, command: str) -> None:
    """Tell somebody who started the program in a terminal how to use it."""
    if sys.stdin is not None and sys.stdin.isatty():
        print(f"{what} reads requests from standard input; rollmill starts it: {command}", file=sys.stderr)
