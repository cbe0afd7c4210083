"""What was sent for a batch: a file beside the receipt."""

from __future__ import annotations

import json
from typing import Any

from .._places import Place

NAME = "tinker.json"


class Journal:
    """The attempts at one batch, the oldest first. Each has the run (a model that the
    service made for it), the name of what it saves, and the ids of its requests, by
    kind: train, sampler and state. An id is stored before its result is awaited."""

    def __init__(self, uri: str, token: str) -> None:
        self.place, self.token = Place(uri), token
        try:
            stored = json.loads(self.place.read(NAME))
        except FileNotFoundError:
            stored = {}
        self.attempts: list[dict[str, Any]] = stored["attempts"] if stored.get("token") == token else []

    def begin(self, run: str, name: str) -> None:
        self.attempts.append({"run": run, "name": name})
        self._write()

    def sent(self, kind: str, request: str) -> None:
        """Store a request of the last attempt; those of training only count."""
        last = self.attempts[-1]
        if kind == "train":
            last["requests"] = last.get("requests", 0) + 1
        last[kind] = request
        self._write()

    def _write(self) -> None:
        self.place.write(NAME, json.dumps({"token": self.token, "attempts": self.attempts}, indent=1).encode())
