"""python -m rollmill.verifiers list|serve|score NAME [--args JSON]"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from typing import Any

from .. import _stdio
from . import KEY_VARIABLE, Environment, Refused, load, version


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m rollmill.verifiers")
    parser.add_argument("command", choices=["list", "serve", "score"])
    parser.add_argument("name")
    parser.add_argument("--args", type=json.loads, default={}, metavar="JSON")
    parser.add_argument("--count", type=int, help="with list: only the first tasks")
    parser.add_argument("--component", metavar="NAME", help="with score: this reward or metric, not the total")
    given = parser.parse_args()
    io = _stdio.take()  # what environments print goes to standard error
    os.environ.setdefault(KEY_VARIABLE, "rollmill")
    os.environ["PATH"] = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]  # v1 runs uv
    about = {"environment": given.name, "verifiers": version()}  # of each example
    try:
        environment = load(given.name, given.args)
        if given.command == "list":
            for example in environment.examples(given.count):
                io.answers.write(_stdio.encode({**example, **about}))
            io.answers.flush()
        elif given.command == "serve":
            from ._serve import serve

            serve(environment, about, io)
        else:
            scored(environment, given.component)
    except Refused as error:
        raise SystemExit(f"rollmill.verifiers: {error}") from None


def scored(environment: Environment, component: str | None) -> None:
    """Score the trajectories that rollmill score sends."""
    from .._rewards import Reward

    loop = asyncio.new_event_loop()

    def verifiers(trajectory: Any) -> tuple[float, dict[str, float]]:
        task = json.loads(trajectory["example"])["task"] if isinstance(trajectory["example"], str) else trajectory["example"]["task"]
        return loop.run_until_complete(environment.score(task, trajectory["messages"], trajectory["status"] == "truncated"))

    made: Reward[..., Any] = Reward(verifiers, False, None)
    (made.component(component) if component else made).serve()


if __name__ == "__main__":
    main()
