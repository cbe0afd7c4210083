"""Standard input and output of a program that rollmill asks.

Only answers may be written to standard output, so everything else that would be,
by print, by a C library or by a child process, goes to standard error. Children
cannot read the requests either.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
import sysconfig
import traceback
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO, NamedTuple


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


def take_early() -> None:
    """Take standard input and output before serve does, if rollmill started this
    program: what the rest of the file prints is no answer. Its children inherit the
    environment, and keep their output."""
    if any(name.startswith("_ROLLMILL_PROCESS_") for name in os.environ) and _EARLY not in os.environ:
        os.environ[_EARLY] = "1"
        take()


_EARLY = "_ROLLMILL_STDIO_TAKEN"


def failure(error: BaseException, function: Callable[..., Any]) -> str:
    """A short message for the row, with the place in the user's code; the traceback
    goes to standard error, or, from a process that serves its own functions, once."""
    text = reason(error, function)
    if _taken is not None or text not in shown:
        shown.add(text)
        sys.stderr.write(trace(error))
    return text


shown: set[str] = set()


def failed(error: BaseException, function: Callable[..., Any]) -> dict[str, str]:
    """The fields of an answer that say why a call failed."""
    return {"error": failure(error, function), "traceback": trace(error)}


def reason(error: BaseException, function: Callable[..., Any]) -> str:
    return f"{describe(error)} ({_place(error, function)})"


def trace(error: BaseException) -> str:
    """The traceback without the frames of this module, and of the futures by which it waits."""
    lines = traceback.TracebackException.from_exception(error)
    lines.stack = traceback.StackSummary.from_list([f for f in lines.stack if not _ours(f.filename)])
    return "".join(lines.format())


def _ours(file: str) -> bool:
    folder = os.path.dirname(os.path.abspath(file))
    return folder == os.path.dirname(os.path.abspath(__file__)) or folder.endswith("/concurrent/futures")


def describe(error: BaseException) -> str:
    text = str(error).strip()
    name = type(error).__name__
    return f"{name}: {text[:500]}" if text else name


def _place(error: BaseException, function: Callable[..., Any]) -> str:
    """The last line that is neither ours nor a library's, or where the function begins."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if library(frame.filename):
            continue
        if os.path.isfile(frame.filename):
            return f"{_short(frame.filename)}, line {frame.lineno}, in {frame.name}"
        if frame.line:  # of a notebook's cell
            return f"cell, line {frame.lineno}, in {frame.name}: {frame.line}"
    code = getattr(inspect.unwrap(function), "__code__", None)
    return f"{_short(code.co_filename)}, line {code.co_firstlineno}" if code else "no line of Python"


def library(file: str) -> bool:
    """Report whether a file is this module's, Python's or an installed package's."""
    if {"site-packages", "dist-packages"} & set(file.split(os.sep)):
        return True
    paths = sysconfig.get_paths()
    folders = [os.path.dirname(__file__), *(paths[key] for key in ("stdlib", "platstdlib", "purelib", "platlib") if key in paths)]
    return os.path.abspath(file).startswith(tuple(os.path.join(os.path.abspath(f), "") for f in folders))


def _short(file: str) -> str:
    here = os.path.join(os.getcwd(), "")
    return file[len(here) :] if file.startswith(here) else file


def encode(fields: Mapping[str, Any], default: Callable[[Any], Any] | None = None) -> bytes:
    """The fields as a line of JSON; an error names the key whose value is no JSON. NaN and
    infinities are Python's words for them: rollmill reads them, as of every program, as null,
    and counts them."""

    def dumps(value: Any) -> str:
        return json.dumps(value, default=default)

    def key(path: list[str], value: Any, outer: list[int]) -> str:
        """The path of the innermost value that cannot be encoded."""
        inner = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, (list, tuple)) else ()
        for k, v in inner if id(value) not in outer else ():
            try:
                dumps(v)
            except (TypeError, ValueError):
                return key([*path, str(k)], v, [*outer, id(value)])
        return ".".join(path)

    try:
        return dumps(fields).encode() + b"\n"
    except (TypeError, ValueError) as error:
        raise TypeError(f"{key([], fields, [])}: {error}") from None


def explain_to_person(what: str, command: str) -> None:
    """Tell somebody who started the program in a terminal how to use it."""
    if sys.stdin is not None and sys.stdin.isatty():
        print(f"{what} reads requests from standard input; rollmill starts it: {command}", file=sys.stderr)
