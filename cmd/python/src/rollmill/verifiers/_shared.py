"""What concurrent attempts wait for together."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any


class Shared:
    """A start that happens once. All who need it wait for it, and fail if it does; the next one after a failure starts again."""

    def __init__(self, start: Callable[[], Awaitable[Any]]) -> None:
        self._start = start
        self._started: asyncio.Future[Any] | None = None

    async def ready(self) -> None:
        if self._started is None or self._started.done() and (self._started.cancelled() or self._started.exception()):
            self._started = asyncio.ensure_future(self._start())
        await asyncio.shield(self._started)  # one who is cancelled does not end it for the others
