"""Environments of the package verifiers, for `rollmill rollout --agent verifiers`.

    python -m rollmill.verifiers list NAME [--count N]      the tasks, one example a line
    python -m rollmill.verifiers serve NAME [--args JSON]   attempts over HTTP, many at once
    python -m rollmill.verifiers score NAME [--component NAME]   rewards of stored trajectories

rollmill starts these programs; nothing else of this package imports verifiers. Both
APIs are known: that of verifiers.v1, and the older one of packages with a function
load_environment, which verifiers has up to 0.3.1.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import math
from collections.abc import Iterator, Mapping
from typing import Any, Protocol


class Environment(Protocol):
    """An environment of either API."""

    def examples(self, count: int | None) -> Iterator[dict[str, Any]]:
        """The first tasks, or all: id, question and, as task, what attempt needs."""

    async def attempt(self, task: dict[str, Any], url: str, model: str) -> dict[str, Any]:
        """Make an attempt with the model at a URL. The result has the fields of an agent's."""

    async def score(self, task: dict[str, Any], messages: list[dict[str, Any]], truncated: bool) -> tuple[float, dict[str, float]]:
        """The total of the rewards of a stored conversation, and each by name."""


class Refused(Exception):
    """An environment, or a task of it, cannot be used here."""


KEY_VARIABLE = "ROLLMILL_ATTEMPT_KEY"  # verifiers reads a key by the name of a variable


def load(name: str, args: Mapping[str, Any]) -> Environment:
    """Load an installed environment, or one on PYTHONPATH: owner/name@version is module name."""
    module = name.split("/")[-1].split("@")[0].replace("-", "_")
    try:
        old = hasattr(importlib.import_module(module), "load_environment")
    except ModuleNotFoundError as error:
        raise Refused(f"there is no environment {name}: {error}; install its package for this Python, or set PYTHONPATH") from None
    if not old:
        if importlib.util.find_spec("verifiers.legacy"):  # its v1 was not finished
            raise Refused(f"{name} is of the API verifiers.v1, and {version()} is installed: install 'verifiers>=0.4'")
        from . import _v1

        return _v1.V1(name, args)
    if importlib.util.find_spec("verifiers.legacy") is None:
        raise Refused(f"{name} is of the API that verifiers has up to 0.3.1, and {version()} is installed: install 'verifiers<0.4'")
    from . import _legacy

    return _legacy.Legacy(module, args)


def version() -> str:
    return importlib.metadata.version("verifiers")


def rewards(total: float | None, named: Mapping[str, float | None]) -> dict[str, Any]:
    """The fields reward and rewards of a result. What was not computed is left out."""
    found = {name: float(value) for name, value in named.items() if value is not None}
    for name, value in {**found, "": total or 0.0}.items():
        if not math.isfinite(value):
            raise ValueError(f"reward {name or 'of the attempt'} is {value}")
    return {"reward": total, "rewards": found}
