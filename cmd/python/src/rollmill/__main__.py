"""python -m rollmill FILE.py[:NAME] [ARGUMENT...] serves a decorated function."""

from __future__ import annotations

import importlib.util
import os
import sys
from types import ModuleType
from typing import Any

from . import _stdio
from ._agents import Agent
from ._rewards import Reward
from ._trainers import Trainer


def main() -> None:
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        raise SystemExit(_usage("usage: python -m rollmill FILE.py[:NAME] [ARGUMENT...]\nserves a function decorated with @reward, @agent or @trainer"))
    file, name = _split(sys.argv[1])
    if not os.path.isfile(file):
        raise SystemExit(_usage(f"there is no file {file!r}"))
    sys.argv[:2] = [file]
    io = _stdio.take  # before the file is run: what it prints is no answer
    if not sys.stdin.isatty():
        io()
    choose(load(file), file, name).serve()


def _usage(text: str) -> int:
    print(text, file=sys.stderr)
    return 2


def _split(word: str) -> tuple[str, str]:
    if os.path.isfile(word):
        return word, ""
    file, colon, name = word.rpartition(":")
    return (file, name) if colon else (word, "")


def load(file: str) -> ModuleType:
    """Import a file by its path, with its folder on sys.path as if it were started."""
    sys.path[0] = os.path.dirname(os.path.abspath(file))
    name = os.path.splitext(os.path.basename(file))[0]
    if name in sys.modules:
        name = f"served_{name}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise SystemExit(_usage(f"{file!r} is not a Python file"))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    # Compiled anew: Python's cached bytecode is stale after an edit within the same
    # second that leaves the size, and the rows would be those of the old file.
    with open(file, "rb") as source:
        exec(compile(source.read(), os.path.abspath(file), "exec"), module.__dict__)
    return module


def choose(module: ModuleType, file: str, name: str) -> Any:
    """The decorated function of that name, or the only one."""
    found = {k: v for k, v in vars(module).items() if isinstance(v, (Reward, Agent, Trainer))}
    if name:
        if name in found:
            return found[name]
        whole, _, component = name.partition(".")
        scored = found.get(whole)
        if component and isinstance(scored, Reward):
            return scored.component(component)
        hint = f"it has {', '.join(found)}" if found else "decorate it with @reward, @agent or @trainer"
        raise SystemExit(_usage(f"{file} has no decorated function {name}; {hint}"))
    if len(found) != 1:
        hint = f"say which: {', '.join(f'{file}:{k}' for k in found)}" if found else "decorate one with @reward, @agent or @trainer"
        raise SystemExit(_usage(f"{file} has {len(found)} decorated functions; {hint}"))
    return next(iter(found.values()))


if __name__ == "__main__":
    main()
