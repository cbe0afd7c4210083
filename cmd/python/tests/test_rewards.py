"""Rewards over JSON lines."""

from __future__ import annotations

import os
import unittest

from rollmill import reward
from rollmill._rewards import fields

from .programs import Served

SEVERAL = """
import asyncio, logging, os, subprocess, sys
from rollmill import reward

print("the file is read")
logging.basicConfig(level=logging.INFO)

@reward
def length(row):
    print("a print")
    logging.info("a log line")
    subprocess.run(["echo", "a child's output"])
    os.write(1, b"as a C library writes\\n")
    assert sys.stdin.read() == ""
    return len(row["answer"])

@reward
def kinds(row):
    return eval(row["answer"])

running = most = 0

@reward(concurrency=3)
async def waits(row):
    global running, most
    running += 1
    most = max(most, running)
    await asyncio.sleep(0.01 * int(row["answer"]))
    running -= 1
    if row["answer"] == "0":
        raise ValueError("no wait")
    return {"reward": most, "shaped_rewards": [1, 0.5]}

def plain(row):
    return 1

if __name__ == "__main__":
    length.serve()
"""


class Lines(Served):
    def setUp(self) -> None:
        super().setUp()
        self.write("several.py", SEVERAL)

    def test_only_answers_on_standard_output(self) -> None:
        rows = [{"id": "a", "answer": "12"}, {"id": "b", "answer": "é\u2028"}]
        self.write("main.py", SEVERAL.replace('print("the file is read")', ""))
        for words in (["main.py"], ["-m", "rollmill", "several.py:length"]):
            with self.subTest(words):
                out, errors = self.ask(*words, rows=rows)
                self.assertEqual(out, [{"id": "a", "reward": 2.0}, {"id": "b", "reward": 2.0}])
                for text in ("a print", "a log line", "a child's output", "as a C library writes"):
                    self.assertIn(text, errors)

    def test_an_edit_that_leaves_time_and_size(self) -> None:
        for value in (1.0, 0.5):  # Python's cached bytecode would take them for the same file
            file = self.write("edited.py", f"from rollmill import reward\n\n@reward\ndef mine(row):\n    return {value}\n")
            os.utime(file, (1, 1))
            answers, _ = self.ask("-m", "rollmill", "edited.py", rows=[{"id": "a"}], env={"PYTHONDONTWRITEBYTECODE": ""})
            self.assertEqual(answers, [{"id": "a", "reward": value}])

    def test_input_that_ends_at_once(self) -> None:
        for name in ("length", "waits"):
            self.assertEqual(self.ask("-m", "rollmill", f"several.py:{name}", rows=[])[0], [])

    def test_values_and_failures(self) -> None:
        answers = ["0.5", "True", "None", "(1, {'wit': 2})", "{'reward': 1, 'shaped_rewards': [1], 'signals': [None, 2]}", "{'error': 'no board'}", "'1'", "1/0", "{'score': 1}", "float('nan')", "[1]"]
        out, errors = self.ask("-m", "rollmill", "several.py:kinds", rows=[{"id": str(i), "answer": a} for i, a in enumerate(answers)])
        self.assertEqual([a["id"] for a in out], [str(i) for i in range(len(answers))])
        self.assertEqual([a["reward"] for a in out[:5]], [0.5, 1.0, None, 1.0, 1.0])
        self.assertEqual((out[3]["components"], out[4]["shaped_rewards"], out[4]["signals"]), ({"wit": 2.0}, [1.0], [None, 2.0]))
        self.assertEqual([a.get("error") for a in out[:3]], [None, None, "the function returned None"])
        self.assertEqual(out[5]["error"], "no board")
        self.assertIn("TypeError: a reward is a number", out[6]["error"])
        self.assertEqual(out[7]["error"], "ZeroDivisionError: division by zero (several.py, line 19, in kinds)")
        self.assertIn("not ['score']", out[8]["error"])
        self.assertNotEqual(out[9]["reward"], out[9]["reward"])
        self.assertIsNone(out[10]["reward"])
        self.assertIn("Traceback", errors)

    def test_async_is_concurrent_within_its_bound(self) -> None:
        rows = [{"id": str(i), "answer": a} for i, a in enumerate(["20", "1", "1", "1", "0"])]
        out, _ = self.ask("-m", "rollmill", "several.py:waits", rows=rows)
        self.assertEqual(sorted(a["id"] for a in out), ["0", "1", "2", "3", "4"])
        self.assertEqual(out[-1]["id"], "0", "the slow row was waited for")
        self.assertEqual(out[-1]["reward"], 3.0)
        self.assertEqual([a["error"] for a in out if a["id"] == "4"], ["ValueError: no wait (several.py, line 31, in waits)"])

    def test_choice_of_a_function(self) -> None:
        for word, text in {
            "several.py": "3 decorated functions; say which: several.py:length, several.py:kinds, several.py:waits",
            "several.py:plain": "no decorated function plain; it has length, kinds, waits",
            "none.py": "no file 'none.py'",
        }.items():
            with self.subTest(word):
                self.assertIn(text, self.ask("-m", "rollmill", word, rows=[], code=2)[1])

    def test_record_batches_for_a_function_of_rows(self) -> None:
        errors = self.start("-m", "rollmill", "several.py:length", stdin=b"\xff\xff\xff\xff\x10\0\0\0\n", code=1)[1]
        self.assertIn("start it with command: instead of arrow:", errors)


class Functions(unittest.TestCase):
    def test_a_reward_is_still_its_function(self) -> None:
        @reward
        def double(row: int) -> int:
            "Twice the row."
            return 2 * row

        self.assertEqual((double(2), double.name, double.__doc__), (4, "double", "Twice the row."))

    def test_options_that_make_no_sense(self) -> None:
        with self.assertRaisesRegex(TypeError, "concurrency needs an async function"):
            reward(concurrency=2)(lambda row: 1)

        async def later(row: int) -> int:
            return row

        with self.assertRaisesRegex(TypeError, "cannot be async"):
            reward(batch=True)(later)
        with self.assertRaisesRegex(ValueError, "less than 1"):
            reward(concurrency=0)(later)

    def test_numbers_of_libraries(self) -> None:
        class Scalar:
            def __float__(self) -> float:
                return 0.25

        self.assertEqual(fields(Scalar()), {"reward": 0.25})


if __name__ == "__main__":
    unittest.main()
