"""The start that concurrent attempts of a verifiers environment wait for."""

from __future__ import annotations

import asyncio
import unittest

from rollmill.verifiers._shared import Shared


class Starts(unittest.IsolatedAsyncioTestCase):
    async def test_all_wait_for_one_start_and_fail_with_it(self) -> None:
        may_end, starts, up = asyncio.Event(), 0, False

        async def start() -> None:
            nonlocal starts, up
            starts += 1
            await may_end.wait()
            if starts == 1:
                raise RuntimeError("no GPU")
            up = True

        shared = Shared(start)
        waiting = [asyncio.ensure_future(shared.ready()) for _ in range(4)]
        while starts == 0:
            await asyncio.sleep(0)
        self.assertFalse(any(w.done() for w in waiting))
        waiting[0].cancel()
        may_end.set()
        failures = await asyncio.gather(*waiting, return_exceptions=True)
        self.assertEqual([str(f) for f in failures[1:]], ["no GPU"] * 3)
        self.assertEqual(starts, 1)
        await asyncio.gather(*(shared.ready() for _ in range(4)))
        self.assertEqual((starts, up), (2, True))


if __name__ == "__main__":
    unittest.main()
