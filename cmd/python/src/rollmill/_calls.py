"""Functions of this process as agents and rewards of the command.

For each of them the command starts a program, which hands its standard input and
output to this process (see _relay). Here the requests are answered as a program in a
file would answer them, so the function of a notebook has what it closes over and what
it remembers. Functions are called by the thread that waits for the command, one call
at a time; async rewards, and agents with concurrency, are called by other threads.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import queue
import shlex
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from . import _agents, _relay, _stdio
from ._agents import Agent
from ._identity import identity
from ._rewards import Reward, reward

_OF_RUNS = ("check", "eval", "train", "try")  # commands that take these settings from a config file


class Calls(contextlib.ExitStack):
    """The functions that one command may call. It starts nothing before it gets one."""

    def __init__(self) -> None:
        super().__init__()
        self.env: dict[str, str] = {}  # for the command
        self._served: dict[str, Any] = {}
        self._jobs: queue.SimpleQueue[tuple[Future[Any], Callable[..., Any], Any] | None] = queue.SimpleQueue()
        _stdio.shown.clear()

    def flags(self, command: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """The flags of a command, with programs in place of functions."""
        flags, made = dict(given), {}  # type: dict[str, Any], dict[tuple[str, str], Any]
        rewards = named(flags.pop("reward", None)) + named(flags.pop("rewards", None))
        if rewards:
            made["score", "reward"] = [self._reward(*each) for each in rewards]
        if any(callable(value) for _, value in rewards):
            made["score", "concurrency"] = 1  # or an answer would wait for those of other batches
        examples = flags.get("examples")
        if not isinstance(examples, (str, os.PathLike, type(None))):  # dicts
            examples = examples if isinstance(examples, Mapping) else list(examples)
            if isinstance(examples, Mapping) or not all(isinstance(each, Mapping) for each in examples):
                raise TypeError(f"examples is the path of a task file or a list of dicts, not {examples!r:.100}")
            path = os.path.join(self.enter_context(tempfile.TemporaryDirectory(prefix="rollmill-")), "examples.jsonl")
            with open(path, "w") as f:
                f.writelines(json.dumps({"id": str(i), **example}) + "\n" for i, example in enumerate(examples))
            made["rollout", "examples"] = path
            del flags["examples"]
        if callable(flags.get("agent")):
            agent = flags["agent"] if isinstance(flags["agent"], Agent) else Agent(flags["agent"])
            made["rollout", "agent"], made["rollout", "agent_workers"] = "command: " + self._program(agent), agent.concurrency
            del flags["agent"]
            self.callback(_restore, dict(os.environ))
        if command not in _OF_RUNS:
            return {**{key: value for (_, key), value in made.items()}, **flags}
        given_too = flags.get("set") or []
        flags["set"] = [{f"{section}.{key.replace('_', '-')}": setting(value) for (section, key), value in made.items()}]
        flags["set"] += given_too if isinstance(given_too, list) else [given_too]
        return flags

    def _reward(self, name: str, value: Any) -> str:
        if isinstance(value, str):
            return f"{name}={value}" if name else value
        if not callable(value) or not (name or getattr(value, "__name__", "").replace(".", "").isidentifier()):
            raise TypeError(f"a reward is text or a function with a name, not {value!r:.100}; name it: rewards={{'NAME': function}}")
        made = value if isinstance(value, Reward) else reward(value)
        return f"{name or made.name}={'arrow' if made.batch else 'command'}:{self._program(made)}"

    def _program(self, made: Agent[..., Any] | Reward[..., Any]) -> str:
        if not self._served:
            folder = self.enter_context(tempfile.TemporaryDirectory(prefix="rollmill-"))  # of this user alone
            listener = self.enter_context(socket.socket(socket.AF_UNIX))
            self.env["_ROLLMILL_CALLS"] = os.path.join(folder, "calls")
            listener.bind(self.env["_ROLLMILL_CALLS"])
            listener.listen(64)
            threading.Thread(target=self._accept, args=(listener,), daemon=True).start()
        name = f"{made.name}@{identity(made.function)}"
        self._served[name] = made
        return shlex.join([sys.executable, os.path.abspath(_relay.__file__), name])

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):  # it was closed
            while True:
                threading.Thread(target=self._answer, args=(listener.accept()[0],), daemon=True).start()

    def _answer(self, program: socket.socket) -> None:
        with contextlib.suppress(BrokenPipeError), program:  # the command ended the program
            name, files, _, _ = socket.recv_fds(program, 4096, 2)
            with os.fdopen(files[0], "rb", 1 << 20) as requests, os.fdopen(files[1], "wb", 1 << 16) as answers:
                self._serve(self._served[name.decode()], _stdio.Stdio(requests, answers))

    def _serve(self, made: Any, io: _stdio.Stdio) -> None:
        if isinstance(made, Agent):
            function = finished(made.function) if made.is_async else made.function
            _agents.serve(function if made.concurrency > 1 else self._here(_agents.attempt(function)), io)
        elif made.is_async:
            made.serve(io)
        else:
            Reward(self._here(made.function), made.batch, None).serve(io)

    def _here(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function whose calls are made by work."""

        @functools.wraps(function)
        def call(argument: Any) -> Any:
            done: Future[Any] = Future()
            self._jobs.put((done, function, argument))
            return done.result()

        return call

    def work(self) -> None:
        """Make the calls, until end is called."""
        while job := self._jobs.get():
            done, function, argument = job
            try:
                done.set_result(function(argument))
            except Exception as error:
                done.set_exception(error)
            except BaseException:  # an interrupt, which ends the command too
                done.set_exception(SystemExit())  # which ends the thread that asked
                raise

    def end(self) -> None:
        self._jobs.put(None)


def _restore(environ: dict[str, str]) -> None:
    """Undo what attempts set."""
    for name in os.environ.keys() - environ.keys():
        del os.environ[name]
    os.environ.update(environ)


def setting(value: Any) -> str:
    """A value as --set takes it."""
    return value if isinstance(value, str) else json.dumps(value)


def finished(function: Callable[..., Any]) -> Callable[..., Any]:
    """An async function as one that returns when it is done, also where a loop runs, as in a notebook."""

    @functools.wraps(function)
    def call(argument: Any) -> Any:
        import asyncio

        with ThreadPoolExecutor(1) as thread:
            return thread.submit(lambda: asyncio.run(function(argument))).result()

    return call


def named(rewards: Any) -> list[tuple[str, Any]]:
    """Rewards and their names, "" for one without a name of its own."""
    if isinstance(rewards, Mapping):
        return list(rewards.items())
    return [("", each) for each in (rewards if isinstance(rewards, (list, tuple)) else [] if rewards is None else [rewards])]
