"""The decorator @trainer."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, ParamSpec, TypeVar, overload

from . import _stdio
from ._dataset import Dataset
from ._dataset import open as open_dataset

P = ParamSpec("P")
T = TypeVar("T")
G = TypeVar("G", bound=Callable[..., Any])


class Batch(dict[str, Any]):
    """A request to a trainer; its keys are those of the protocol."""

    @property
    def curated(self) -> str:
        """The URI of the curated dataset."""
        return str(self["curated"])

    @property
    def token(self) -> str:
        """The same for every attempt at this batch, and different for every other."""
        return str(self["token"])

    @property
    def settings(self) -> dict[str, str]:
        """What --settings said."""
        return dict(self.get("settings") or {})

    def open(self) -> Dataset:
        """The curated dataset."""
        return open_dataset(self.curated)


class Trainer(Generic[P, T]):
    """A function that trains on a batch. Calling it calls the function."""

    def __init__(self, function: Callable[P, T], clean: bool) -> None:
        self.function = function
        self.name: str = getattr(function, "__name__", type(function).__name__)
        self.clean = clean
        self._answers: dict[str, Callable[..., Any]] = {"submit": function}
        functools.update_wrapper(self, function)
        _stdio.take_early()

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.function(*args, **kwargs)

    def begin(self, function: G) -> G:
        """Decorate a function that returns the state before training: step and policy."""
        return self._on("begin", function)

    def status(self, function: G) -> G:
        """Decorate a function that returns the state of the job request["job"]."""
        return self._on("status", function)

    def cancel(self, function: G) -> G:
        """Decorate a function that cancels the job request["job"]."""
        return self._on("cancel", function)

    def resolve(self, function: G) -> G:
        """Decorate a function that returns the state of the submission request.token, whose sender is dead."""
        return self._on("resolve", function)

    def _on(self, request: str, function: G) -> G:
        self._answers[request] = function
        return function

    def serve(self) -> None:
        """Answer the request on standard input."""
        _stdio.explain_to_person(f"trainer {self.name}", f"rollmill submit --in CURATED --backend command --trainer 'python3 {sys.argv[0]}'")
        io = _stdio.take()
        line = io.requests.readline()
        if not line:
            return
        request = Batch(json.loads(line))
        what = request["request"]
        function = self._answers.get(what)
        if function is None:
            return
        known = {"state": False, "job": False}

        def say(fields: Mapping[str, Any]) -> None:
            unknown = [k for k in fields if k not in _KEYS]
            if unknown:
                raise TypeError(f"a trainer's dict has the keys {', '.join(_KEYS)}, not {sorted(map(str, unknown))}")
            for key in known:
                known[key] |= bool(fields.get(key))
            io.answers.write(_stdio.encode(fields, default=_number))
            io.answers.flush()

        try:
            for fields in _each(function(request)):
                say(fields)
            if what == "submit" and not known["state"] and not known["job"]:
                say({"state": "completed"})
        except Exception as error:
            message = _stdio.failure(error, function)
            if what == "submit":
                say({"state": "failed", "clean": self.clean, "message": message})
            raise SystemExit(1) from None


_KEYS = ("job", "metrics", "note", "state", "clean", "step", "policy", "files", "message")


def _number(value: Any) -> float:
    """A number of a library, such as numpy or torch."""
    if hasattr(value, "__float__"):
        return float(value)
    raise TypeError(f"{value!r:.100} is not a number or text")


def _each(value: Any) -> Iterable[Mapping[str, Any]]:
    if value is None:
        return
    if isinstance(value, Mapping):
        yield value
        return
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise TypeError(f"a trainer returns or yields dicts, not {value!r:.100}")
    for fields in value:
        if not isinstance(fields, Mapping):
            raise TypeError(f"a trainer returns or yields dicts, not {fields!r:.100}")
        yield fields


@overload
def trainer(function: Callable[P, T], /) -> Trainer[P, T]: ...
@overload
def trainer(*, clean: bool = ...) -> Callable[[Callable[P, T]], Trainer[P, T]]: ...
def trainer(function: Any = None, /, *, clean: bool = False) -> Any:
    """Make a trainer of a function.

    The function gets a Batch and yields or returns dicts with any of job, metrics,
    note, state, step, policy, files and message. If it ends without a state and
    without a job, the state is completed; after an exception it is failed. With
    clean=True an exception also means that certainly nothing was trained, so that
    the batch may be sent again.

    Other requests are answered by functions decorated with NAME.begin, NAME.status,
    NAME.cancel and NAME.resolve.
    """
    if function is None:
        return lambda f: Trainer(f, clean)
    return Trainer(function, clean)
