"""What a function is, as text that is the same in each process."""

from __future__ import annotations

import functools
import hashlib
import inspect
import sys
from collections.abc import Iterator, Mapping
from types import BuiltinFunctionType, CodeType, FunctionType
from typing import Any

from ._agents import Agent
from ._rewards import Reward
from ._stdio import library


def identity(function: Any) -> str:
    """A digest of a function's code, defaults and closure, and of the functions, classes
    and plain values that the code names. What libraries define counts by its name,
    other objects by their type."""
    return hashlib.sha256(repr(_content(function, {})).encode()).hexdigest()[:12]


def _content(value: Any, seen: dict[int, Any]) -> Any:
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
        return value
    if isinstance(value, tuple):
        return [_content(v, seen) for v in value]
    if isinstance(value, (set, frozenset)):
        return sorted(repr(_content(v, seen)) for v in value)
    if id(value) in seen:
        return "seen"
    seen[id(value)] = value  # which keeps it alive, and its id its own
    if isinstance(value, list):
        return [_content(v, seen) for v in value]
    if isinstance(value, Mapping):
        return sorted(repr((_content(k, seen), _content(v, seen))) for k, v in value.items())
    if isinstance(value, (Reward, Agent)):
        return _content(value.function, seen)
    if isinstance(value, functools.partial):
        return _content((value.func, value.args, value.keywords), seen)
    if inspect.ismethod(value):
        return _content((value.__func__, value.__self__), seen)
    if inspect.isfunction(value) and not library(value.__code__.co_filename):
        return [_code(value.__code__, value.__globals__, seen), _content((value.__defaults__, value.__kwdefaults__, *_closure(value)), seen)]
    if inspect.isclass(value) and not _of_library(value):
        return [value.__qualname__, [(k, _content(f, seen)) for k, f in vars(value).items() if inspect.isfunction(f)]]
    if callable(value) and not isinstance(value, (type, FunctionType, BuiltinFunctionType)) and not _of_library(type(value)):
        return [_content(type(value), seen), _content(vars(value), seen)]
    return [getattr(value, "__module__", ""), getattr(value, "__qualname__", getattr(value, "__name__", type(value).__qualname__))]


def _of_library(kind: type) -> bool:
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    return kind.__module__ == "builtins" or file is not None and library(file)


def _closure(function: Any) -> Iterator[Any]:
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # a variable without a value yet
            pass


def _code(code: CodeType, scope: Mapping[str, Any], seen: dict[int, Any]) -> Any:
    constants = [_code(c, scope, seen) if isinstance(c, CodeType) else _content(c, seen) for c in code.co_consts]
    return [code.co_code.hex(), code.co_names, constants, [_content(scope[name], seen) for name in code.co_names if name in scope]]
