"""Rewards of Arrow record batches; needs pyarrow."""

from __future__ import annotations

import importlib.util
import unittest
from typing import Any

from .programs import Served

PROGRAM = """
import pyarrow.compute as pc
from rollmill import reward

@reward(batch=True)
def vectors(rows):
    print("a print")
    return pc.utf8_length(rows["answer"])

@reward(batch=True)
def lists(rows):
    if "crash" in rows["answer"].to_pylist():
        raise ValueError("a bad board")
    return [eval(a) for a in rows["answer"].to_pylist()]

@reward(batch=True)
def short(rows):
    return [1.0]
"""


@unittest.skipUnless(importlib.util.find_spec("pyarrow"), "needs pyarrow")
class Batches(Served):
    def answers(self, name: str, batches: list[list[str]]) -> tuple[list[dict[str, Any]], str]:
        import pyarrow as pa

        self.write("batches.py", PROGRAM)
        schema = pa.schema([("id", pa.string()), ("answer", pa.string())])
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, schema) as stream:
            for b, batch in enumerate(batches):
                stream.write_batch(pa.record_batch([[f"{b}-{i}" for i in range(len(batch))], batch], schema=schema))
        out, errors = self.start("-m", "rollmill", f"batches.py:{name}", stdin=sink.getvalue().to_pybytes())
        return list(pa.ipc.open_stream(out).read_all().to_pylist()), errors

    def test_vectors(self) -> None:
        out, errors = self.answers("vectors", [["a", "bb"], ["ccc"]])
        self.assertEqual([(a["id"], a["reward"], a["error"]) for a in out], [("0-0", 1.0, None), ("0-1", 2.0, None), ("1-0", 3.0, None)])
        self.assertIn("a print", errors)

    def test_values(self) -> None:
        out, _ = self.answers("lists", [["1", "None", "{'reward': 0.5, 'shaped_rewards': [1, 2]}", "{'error': 'no'}"]])
        self.assertEqual([a["reward"] for a in out], [1.0, None, 0.5, None])
        self.assertEqual(out[2]["shaped_rewards"], [1.0, 2.0])
        self.assertEqual(out[3]["error"], "no")

    def test_one_row_that_fails(self) -> None:
        out, errors = self.answers("lists", [["1", "crash", "3"]])
        bad = "ValueError: a bad board (batches.py, line 13, in lists)"
        self.assertEqual([(a["reward"], a["error"]) for a in out], [(1.0, None), (None, bad), (3.0, None)])
        self.assertIn("Traceback", errors)

    def test_wrong_number_of_rewards(self) -> None:
        out, _ = self.answers("short", [["a", "b"]])
        self.assertEqual({a["error"] for a in out}, {"WrongNumber: 1 rewards for a batch of 2 rows (batches.py, line 16)"})

    def test_lines_for_a_function_of_batches(self) -> None:
        self.write("batches.py", PROGRAM)
        errors = self.start("-m", "rollmill", "batches.py:short", stdin=b'{"id":"a"}\n', code=1)[1]
        self.assertIn("start it with arrow: instead of command:", errors)


if __name__ == "__main__":
    unittest.main()
