"""Functions of this process as agents and rewards of the command.

For each of them the command starts a program, which hands its standard input and
output to this process (see _relay). Here the requests are answered as a program in a
file would answer them, so the function of a notebook has what it closes over and what
it remembers. Functions are called by the thread that waits for the command, one call
at a time: a coroutine of a reward, and an agent with concurrency, in other threads.
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
from typing import Any

from . import _agents, _relay, _stdio
from ._agents import Agent
from ._identity import identity
from ._rewards import Reward, reward


_OF_RUNS = ("check", "eval", "train", "try")  # commands that take their settings from a config file


class Calls:
    """The functions that one command may call. It starts nothing before it gets one."""

    def __init__(self) -> None:
        self.env: dict[str, str] = {}  # for the command
        self._served: dict[str, Agent[..., Any] | Reward[..., Any]] = {}
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._open = contextlib.ExitStack()
        self._over = False
        _stdio.shown.clear()

    def __enter__(self) -> Calls:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()
        self._over = True
        while not self._jobs.empty():
            if job := self._jobs.get():
                job.done.put((None, _Ended()))

    def flags(self, command: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """The flags of a command, with programs in place of functions."""
        flags = dict(given)
        score: dict[str, Any] = {}
        rollout: dict[str, Any] = {}
        rewards = [*_list(flags.pop("reward", None)), *_list(flags.pop("rewards", None))]
        if any(callable(value) for _, value in rewards):
            score["concurrency"] = 1  # or an answer would wait for those of other batches
        if rewards:
            score["reward"] = [self._reward(*each) for each in rewards]
        if callable(flags.get("agent")):
            made = flags.pop("agent")
            made = made if isinstance(made, Agent) else Agent(made)
            rollout = {"agent": "command: " + self._program(made), "agent_workers": made.concurrency}
        if command not in _OF_RUNS:
            return {**score, **rollout, **flags}
        keys = {f"{section}.{key.replace('_', '-')}": json.dumps(v) for section, own in (("score", score), ("rollout", rollout)) for key, v in own.items()}
        if keys:
            settings = flags.get("set") or []
            flags["set"] = [keys, *([settings] if isinstance(settings, (str, Mapping)) else settings)]
        return flags

    def _reward(self, name: str, value: Any) -> str:
        if not callable(value):
            if not isinstance(value, str):
                raise TypeError(f"a reward is a function, or text such as 'match:exact', not {value!r:.100}")
            return f"{name}={value}" if name else value
        made = value if isinstance(value, Reward) else reward(value)
        if not name and not made.name.replace(".", "").isidentifier():
            raise TypeError(f"{value!r} has no name: rewards={{'NAME': ...}}")
        return f"{name or made.name}={'arrow' if made.batch else 'command'}:{self._program(made)}"

    def _program(self, made: Agent[..., Any] | Reward[..., Any]) -> str:
        if not self._served:
            self._listen()
        name = f"{made.name}@{identity(made)}"
        self._served[name] = made
        return shlex.join([sys.executable, os.path.abspath(_relay.__file__), name])

    def _listen(self) -> None:
        folder = self._open.enter_context(tempfile.TemporaryDirectory(prefix="rollmill-"))  # for this user only
        listener = self._open.enter_context(socket.socket(socket.AF_UNIX))
        self.env["_ROLLMILL_CALLS"] = os.path.join(folder, "calls")
        listener.bind(self.env["_ROLLMILL_CALLS"])
        listener.listen(64)
        self._open.callback(_wake, listener)
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):  # it was closed
            while True:
                program, _ = listener.accept()
                threading.Thread(target=self._answer, args=(program,), daemon=True).start()

    def _answer(self, program: socket.socket) -> None:
        with contextlib.suppress(BrokenPipeError, _Ended), program:  # the command ended the program, or itself
            name, files, _, _ = socket.recv_fds(program, 4096, 2)
            with os.fdopen(files[0], "rb", 1 << 20) as requests, os.fdopen(files[1], "wb", 1 << 16) as answers:
                self._serve(self._served[name.decode()], _stdio.Stdio(requests, answers))

    def _serve(self, made: Agent[..., Any] | Reward[..., Any], io: _stdio.Stdio) -> None:
        if isinstance(made, Agent):
            function = _finished(made.function) if made.is_async else made.function
            if made.concurrency == 1:
                function = self._here(_agents.with_environment(function))
            _agents.serve(function, io)
        elif made.is_async:
            made.serve(io)
        else:
            Reward(self._here(made.function), made.batch, None).serve(io)

    def _here(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function whose calls are made by work."""

        @functools.wraps(function)
        def call(argument: Any) -> Any:
            if self._over:
                raise _Ended
            job = _Job(function, argument)
            self._jobs.put(job)
            value, error = job.done.get()
            if error is not None:
                raise error
            return value

        return call

    def work(self) -> None:
        """Make the calls, until end is called."""
        while (job := self._jobs.get()) is not None:
            job.do()

    def end(self) -> None:
        self._jobs.put(None)


class _Job:
    def __init__(self, function: Callable[..., Any], argument: Any) -> None:
        self.function, self.argument = function, argument
        self.done: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()

    def do(self) -> None:
        try:
            self.done.put((self.function(self.argument), None))
        except Exception as error:
            self.done.put((None, error))
        except BaseException:  # an interrupt, which ends the command too
            self.done.put((None, _Ended()))
            raise


class _Ended(BaseException):
    """The thread that makes the calls makes no more."""


def _finished(function: Callable[..., Any]) -> Callable[..., Any]:
    """An async function as one that returns when it is done; the caller may have a loop, such as a notebook's."""

    @functools.wraps(function)
    def call(argument: Any) -> Any:
        import asyncio
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(1) as thread:
            return thread.submit(lambda: asyncio.run(function(argument))).result()

    return call


def _list(value: Any) -> list[tuple[str, Any]]:
    """Names and rewards; a reward without a name has one of its own."""
    if value is None:
        return []
    if isinstance(value, Mapping):
        return [(str(name), each) for name, each in value.items()]
    return [("", each) for each in value] if isinstance(value, (list, tuple)) else [("", value)]


def _wake(listener: socket.socket) -> None:
    with contextlib.suppress(OSError):
        listener.shutdown(socket.SHUT_RDWR)
