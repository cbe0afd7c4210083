"""The decorator @reward."""

from __future__ import annotations

import functools
import inspect
import json
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Generic, ParamSpec, TypedDict, TypeVar, overload

from . import _stdio

P = ParamSpec("P")
T = TypeVar("T")


class Message(TypedDict, total=False):
    """A message in the form of chat completions."""

    role: str
    content: Any  # text, or a list of parts
    name: str
    reasoning_content: str
    tool_calls: list[dict[str, Any]]
    tool_call_id: str
    sampled: bool  # the model wrote it in this trajectory


class Row(TypedDict):
    """A trajectory as a reward receives it."""

    id: str
    example: Any  # the row of the task dataset
    messages: list[Message]
    answer: str
    status: str
    stop_reason: str
    rewards: dict[str, float | None]  # computed before
    seed: int  # of this row and reward
    metadata: dict[str, Any]
    tool_sets: list[list[dict[str, Any]]]
    model: str
    example_id: str
    epoch: int
    generation: int
    prompt_tokens: int
    completion_tokens: int
    sampled_tokens: int


class Reward(Generic[P, T]):
    """A function that returns the reward of a trajectory. Calling it calls the function."""

    def __init__(self, function: Callable[P, T], batch: bool, concurrency: int | None) -> None:
        self.function = function
        self.name: str = getattr(function, "__name__", type(function).__name__)
        self.batch = batch
        self.is_async = inspect.iscoroutinefunction(function)
        if concurrency is not None and not self.is_async:
            raise TypeError(f"reward {self.name}: concurrency needs an async function (async def {self.name})")
        if concurrency is not None and concurrency < 1:
            raise ValueError(f"reward {self.name}: concurrency {concurrency} is less than 1")
        if batch and self.is_async:
            raise TypeError(f"reward {self.name}: a function of a batch cannot be async")
        self.concurrency = concurrency or 32
        _stdio.take_early()
        functools.update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.function(*args, **kwargs)

    def component(self, name: str) -> Reward[..., Any]:
        """The reward that is one component of this one, for functions that return (number, components)."""
        if self.batch:
            raise TypeError(f"reward {self.name}: a function of a batch has no components")
        function: Callable[..., Any] = self.function

        async def later(row: Any) -> Any:
            return _component(await function(row), name)

        def now(row: Any) -> Any:
            return _component(function(row), name)

        chosen: Callable[..., Any] = later if self.is_async else now
        functools.update_wrapper(chosen, function)
        chosen.__name__ = f"{self.name}.{name}"
        return Reward(chosen, False, self.concurrency if self.is_async else None)

    def serve(self, io: _stdio.Stdio | None = None) -> None:
        """Answer the requests on standard input until it ends."""
        if io is None:
            kind = "arrow" if self.batch else "command"
            _stdio.explain_to_person(f"reward {self.name}", f"rollmill score --in DATASET --reward '{self.name}={kind}:python3 {sys.argv[0]}'")
            io = _stdio.take()
        if self.batch:
            from . import _batches

            _batches.serve(self.name, self.function, io)
            return
        function: Callable[..., Any] = self.function
        if self.is_async:
            import asyncio

            asyncio.run(_serve_async(function, io, self.concurrency))
        else:
            _serve(function, io)


def _serve(function: Callable[[Any], Any], io: _stdio.Stdio) -> None:
    answers, encode = io.answers, json.JSONEncoder().encode
    for line in io.requests:
        row = _row(line)
        id = row["id"]
        try:
            value = function(row)
            if type(value) is float:
                said = encode({"id": id, "reward": value}).encode() + b"\n"
            else:
                said = _stdio.encode({"id": id, **fields(value)})
        except Exception as error:
            said = _stdio.encode({"id": id, "reward": None, **_stdio.failed(error, function)})
        answers.write(said)
        answers.flush()


async def _serve_async(function: Callable[[Any], Awaitable[Any]], io: _stdio.Stdio, concurrency: int) -> None:
    import asyncio

    slots = asyncio.Semaphore(concurrency)
    running: set[asyncio.Task[None]] = set()

    async def answer(line: bytes) -> None:
        row = _row(line)
        id = row["id"]
        try:
            said = _stdio.encode({"id": id, **fields(await function(row))})
        except Exception as error:
            said = _stdio.encode({"id": id, "reward": None, **_stdio.failed(error, function)})
        finally:
            slots.release()
        io.answers.write(said)
        io.answers.flush()

    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, io.requests.readline):
        await slots.acquire()
        task = loop.create_task(answer(line))
        running.add(task)
        task.add_done_callback(running.discard)
    await asyncio.gather(*running)


def _row(line: bytes) -> Any:
    if line.startswith(b"\xff\xff\xff\xff"):
        raise SystemExit("this reward takes one row at a time, but gets Arrow record batches: start it with command: instead of arrow:, or decorate it with @reward(batch=True)")
    row = json.loads(line)
    row.pop("protocol", None)
    return row


def _component(value: Any, name: str) -> float | None:
    components = fields(value).get("components") or {}
    if name not in components:
        raise KeyError(f"no component {name}; there are {', '.join(components) or 'none'}")
    return float(components[name])


def fields(value: Any) -> dict[str, Any]:
    """The fields of an answer that a function's value stands for."""
    if value is None:
        return {"reward": None, "error": "the function returned None"}
    if isinstance(value, tuple):
        if len(value) != 2 or not isinstance(value[1], Mapping):
            raise TypeError(f"a reward is a number, None, (number, components) or a dict, not {value!r:.100}")
        return {**fields(value[0]), "components": {str(k): float(v) for k, v in value[1].items()}}
    if isinstance(value, Mapping):
        return _protocol(value)
    if isinstance(value, (str, bytes)) or not hasattr(value, "__float__"):
        raise TypeError(f"a reward is a number, None, (number, components) or a dict, not {value!r:.100}")
    return {"reward": float(value)}


_KEYS = ("reward", "shaped_rewards", "signals", "error", "components")


def _protocol(value: Mapping[str, Any]) -> dict[str, Any]:
    unknown = [k for k in value if k not in _KEYS]
    if unknown or "reward" not in value and not value.get("error"):
        raise TypeError(f"a reward's dict has the keys {', '.join(_KEYS)}, of which reward or error is needed, not {sorted(map(str, value))}")
    error = value.get("error")
    if isinstance(error, BaseException):
        error = _stdio.describe(error)
    elif error is not None and not isinstance(error, str):
        raise TypeError(f"error: {error!r:.100} is neither text nor an exception")
    out: dict[str, Any] = {"reward": None, "error": error or "the function returned no reward"}
    if value.get("reward") is not None and not error:
        out = fields(value["reward"])
    if value.get("shaped_rewards") is not None:
        out["shaped_rewards"] = [float(v) for v in value["shaped_rewards"]]
    if value.get("signals") is not None:
        out["signals"] = [None if v is None else float(v) for v in value["signals"]]
    if value.get("components"):
        out["components"] = {str(k): float(v) for k, v in value["components"].items()}
    return out


@overload
def reward(function: Callable[P, T], /) -> Reward[P, T]: ...
@overload
def reward(*, batch: bool = ..., concurrency: int | None = ...) -> Callable[[Callable[P, T]], Reward[P, T]]: ...
def reward(function: Any = None, /, *, batch: bool = False, concurrency: int | None = None) -> Any:
    """Make a reward of a function.

    The function gets a row (see Row) and returns a number; None or an exception
    if the row cannot be scored, which is never counted as 0; (number, components);
    or a dict with reward, shaped_rewards, signals, error. It may be async: then up to
    `concurrency` rows (default 32) are scored at the same time.

    With batch=True it gets a pyarrow.RecordBatch and returns a sequence of rewards.
    """
    if function is None:
        return lambda f: Reward(f, batch, concurrency)
    return Reward(function, batch, concurrency)
