"""The decorator @agent."""

from __future__ import annotations

import functools
import inspect
import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, Generic, ParamSpec, TypedDict, TypeVar, overload

from . import _stdio

P = ParamSpec("P")
T = TypeVar("T")


class Example(TypedDict):
    """An attempt at an example, as an agent receives it."""

    id: str
    question: str
    answer: str  # the expected one, if the task dataset has one
    fields: dict[str, Any]  # the row of the task dataset
    generation: int
    epoch: int
    trajectory_id: str
    seed: int | None
    work: str  # an empty folder for the attempt, removed at its end
    base_url: str  # of the model, for this attempt alone
    api_key: str
    model: str


class Agent(Generic[P, T]):
    """A function that makes one attempt. Calling it calls the function."""

    def __init__(self, function: Callable[P, T], concurrency: int = 1) -> None:
        self.function = function
        self.name: str = getattr(function, "__name__", type(function).__name__)
        self.is_async = inspect.iscoroutinefunction(function)
        if concurrency < 1:
            raise ValueError(f"agent {self.name}: concurrency {concurrency} is less than 1")
        self.concurrency = concurrency
        functools.update_wrapper(self, function)
        _stdio.take_early()

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.function(*args, **kwargs)

    def serve(self) -> None:
        """Make the attempts on standard input until it ends: one, or many with --agent-workers."""
        _stdio.explain_to_person(f"agent {self.name}", f"rollmill rollout --examples FILE --agent 'command:python3 {sys.argv[0]}'")
        wait = None
        if self.is_async:
            import asyncio  # here, since most agents do not need it

            loop = asyncio.new_event_loop()
            wait = loop.run_until_complete
        serve(attempt(self.function, wait), _stdio.take())
        if wait:
            wait(loop.shutdown_asyncgens())
            loop.close()


def serve(function: Callable[..., Any], io: _stdio.Stdio) -> None:
    """Make the attempts that are requested."""
    for request in io.requests:
        example = json.loads(request)
        example.pop("protocol", None)
        id = example["trajectory_id"]
        try:
            line = _stdio.encode({"trajectory_id": id, **result(function(example))})
        except Exception as error:
            line = _stdio.encode({"trajectory_id": id, **_stdio.failed(error, function)})
        io.answers.write(line)
        io.answers.flush()


def attempt(function: Callable[..., Any], wait: Callable[[Any], Any] | None = None) -> Callable[..., Any]:
    """A function that makes attempts with the model's address in the environment; wait waits for async ones."""

    @functools.wraps(function)
    def call(example: dict[str, Any]) -> Any:
        environment(example)
        value = function(example)
        return wait(value) if wait else value

    return call


def environment(example: dict[str, Any]) -> None:
    """A worker gets the model's address with each attempt, another program in its
    environment: give it both ways."""
    env = os.environ
    if "base_url" not in example:
        example.update(base_url=env.get("OPENAI_BASE_URL", ""), api_key=env.get("OPENAI_API_KEY", ""), model=env.get("OPENAI_MODEL", ""))
        return
    url, key, model = example["base_url"], example.setdefault("api_key", ""), example.setdefault("model", "")
    env.update(
        OPENAI_BASE_URL=url,
        OPENAI_API_BASE=url,
        OPENAI_API_KEY=key,
        OPENAI_MODEL=model,
        ANTHROPIC_BASE_URL=url[: -len("/v1")] if url.endswith("/v1") else url,
        ANTHROPIC_API_KEY=key,
        ANTHROPIC_MODEL=model,
        ROLLMILL_TRAJECTORY_ID=example["trajectory_id"],
        ROLLMILL_EXAMPLE_ID=example["id"],
        ROLLMILL_GENERATION=str(example["generation"]),
        ROLLMILL_EPOCH=str(example["epoch"]),
    )
    for name, value in (("ROLLMILL_SEED", example.get("seed")), ("ROLLMILL_WORK", example.get("work"))):
        env.pop(name, None)
        if value is not None:
            env[name] = str(value)


_KEYS = ("answer", "reward", "rewards", "metadata", "stop", "error")


def result(value: Any) -> dict[str, Any]:
    """The fields of an answer that a function's value stands for."""
    if value is None:
        return {}
    if isinstance(value, str):
        return {"answer": value}
    if not isinstance(value, Mapping):
        raise TypeError(f"an agent returns text, None, or a dict with {', '.join(_KEYS)}, not {value!r:.100}")
    unknown = [k for k in value if k not in _KEYS]
    if unknown:
        raise TypeError(f"an agent's dict has the keys {', '.join(_KEYS)}, not {sorted(map(str, unknown))}; put others into metadata")
    out = {k: v for k, v in value.items() if v is not None}
    if "reward" in out:
        out["reward"] = float(out["reward"])
    if "rewards" in out:
        out["rewards"] = {name: float(value) for name, value in out["rewards"].items()}
    if isinstance(out.get("error"), BaseException):
        out["error"] = _stdio.describe(out["error"])
    return out


@overload
def agent(function: Callable[P, T], /) -> Agent[P, T]: ...
@overload
def agent(*, concurrency: int = ...) -> Callable[[Callable[P, T]], Agent[P, T]]: ...
def agent(function: Any = None, /, *, concurrency: int = 1) -> Any:
    """Make an agent of a function.

    The function gets an Example and returns the answer as text, a dict with
    answer, reward, rewards, metadata and stop, or None: then the answer is what the model
    wrote last. An exception fails the attempt. It may be async.

    OPENAI_BASE_URL, OPENAI_API_KEY, OPENAI_MODEL and their ANTHROPIC_ counterparts
    are set for each attempt, so create the client inside the function.

    run(..., agent=function) makes one attempt at a time in this process. With
    concurrency=N it makes N, in threads; the variables, which threads share, are not
    set then: take example["base_url"], example["api_key"] and example["model"].
    """
    if function is None:
        return lambda f: Agent(f, concurrency)
    return Agent(function, concurrency)
