"""What a function is, as text that is the same in each process."""

from __future__ import annotations

import hashlib
import inspect
import sys
import textwrap
from collections.abc import Iterator, Mapping
from types import CellType, CodeType, FunctionType
from typing import Any

from ._stdio import library


def identity(function: Any) -> str:
    """A digest of a function's code, defaults and closure, and of the functions, classes
    and plain values that the code names. What libraries define counts by its name,
    other objects by their type. The code is the text of a def, so that another version of
    Python gives the same; that of a lambda, or without a text, is what Python compiled."""
    return hashlib.sha256(repr(_content(function, {})).encode()).hexdigest()[:12]


def _content(value: Any, seen: dict[int, Any]) -> Any:
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
        return value
    if id(value) in seen:
        return "seen"
    seen[id(value)] = value  # which keeps it alive, and its id its own
    if isinstance(value, Mapping):
        value = [*value.items()]
    if isinstance(value, (list, tuple, set, frozenset)):
        parts = [_content(v, seen) for v in value]
        return parts if isinstance(value, (list, tuple)) else sorted(map(repr, parts))
    if isinstance(value, CodeType):
        try:
            if value.co_name != "<lambda>":  # of which a line may have several
                return textwrap.dedent(inspect.getsource(value))
        except (OSError, TypeError, SyntaxError):
            pass
        return [value.co_code.hex(), value.co_names, _content(value.co_consts, seen)]
    if isinstance(value, FunctionType) and not library(value.__code__.co_filename):
        closure = [cell.cell_contents for cell in value.__closure__ or () if cell != CellType()]  # those that have a value yet
        names = [value.__globals__[name] for name in sorted({*_names(value.__code__)}) if name in value.__globals__]
        return _content([value.__code__, value.__defaults__, value.__kwdefaults__, closure, names], seen)
    kind = value if isinstance(value, type) else type(value)
    file = getattr(sys.modules.get(kind.__module__), "__file__", None) or ""
    own = kind.__module__ != "builtins" and not library(file)
    name = [kind.__module__, kind.__qualname__, getattr(value, "__name__", "")]
    if isinstance(value, type):
        return [name, _content([f for f in vars(value).values() if own and isinstance(f, FunctionType)], seen)]
    if callable(value):  # a decorated function, a partial, a method or an object
        parts = [getattr(value, part, None) for part in ("function", "func", "args", "keywords", "__func__", "__self__")]
        return [name, _content([*parts, getattr(value, "__dict__", None) if own else None, kind], seen)]
    return name


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
