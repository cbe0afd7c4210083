"""A look at attempts and at rewards; needs the command, at $ROLLMILL."""

from __future__ import annotations

import contextlib
import copy
import io
import os
import tempfile
import unittest
from typing import Any

import rollmill
import rollmill.classes

from .programs import SRC, Served
from .test_objects import ask, sandbox
from .test_rows import Page

STORED = SRC.parents[2] / "testdata" / "versions" / "2.0"


@unittest.skipUnless(os.environ.get("ROLLMILL"), "needs $ROLLMILL")
class Tries(Served):
    def try_(self, *args: Any, **settings: Any) -> rollmill.classes.Attempts:
        with sandbox() as url, contextlib.redirect_stderr(io.StringIO()) as self.said:
            return rollmill.command.try_(*args, url=url, model="rollmill/sandbox", **settings)

    def test_functions_of_this_process(self) -> None:
        def play(example: Any) -> str:
            if example["generation"] == 1:
                raise ValueError("<none>")
            return ask(example["question"], os.environ["OPENAI_BASE_URL"], os.environ["OPENAI_MODEL"])

        def length(row: Any) -> int:
            return len(row["answer"])

        found = self.try_(play, {"length*0.5": length, "never": "match:exact"}, [{"question": "1?", "answer": "x"}, {"question": "2?", "answer": "x"}], n=2)
        self.assertEqual([(a["example_id"], a["generation"], a["status"]) for a in found], [("0", 0, "ok"), ("0", 1, "failed"), ("1", 0, "ok"), ("1", 1, "failed")])
        for a in found[::2]:
            self.assertEqual((a["length"], a["never"], a["reward"], a["error"]), (len(a["answer"]), 0, a["length"] / 2, ""))
        self.assertIn("ValueError: <none> (", found[1]["error"])
        page = Page(found._repr_html_())
        self.assertIn("<none>", page.text)
        self.assertIn("a whole epoch", page.text)
        self.assertEqual(os.listdir(self.folder), [])

    def test_no_reward_at_all(self) -> None:
        def bad(row: Any) -> float:
            return float(row["answer"][:0])

        found = self.try_("chat", bad, [{"id": "a", "question": "1?"}], n=1)
        self.assertEqual((len(found), found[0]["example_id"], found[0]["bad"]), (1, "a", None))
        self.assertRegex(found[0]["error"], r"^bad: ValueError: could not convert .* in bad\)$")
        self.assertIn("none of 1 attempt has a reward", self.said.getvalue())

    def test_examples_that_are_no_dicts(self) -> None:
        for wrong in ({"question": "2 + 2?"}, ["tasks.jsonl"], [{"question": "2 + 2?"}, 3]):
            with self.assertRaisesRegex(TypeError, "examples is the path of a task file or a list of dicts, not "):
                rollmill.command.run("rollout", examples=wrong)

    def test_run_takes_dicts_as_examples(self) -> None:
        with sandbox() as url, tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()) as said:
            for rows in ([{"question": "1?"}, {"question": "2?"}], [{"question": "1?"}, {"question": "2?"}], [{"id": "x", "question": "3?"}]):
                out = f"{folder}/{len(rows)}"
                rollmill.command.run("rollout", agent="chat", examples=rows, url=url, model="rollmill/sandbox", out=out, generations=1)
            self.assertEqual([row["example_id"] for row in rollmill.open(f"{folder}/2")], ["0", "1"])
            self.assertEqual([row["example_id"] for row in rollmill.open(f"{folder}/1")], ["x"])
            self.assertIn("up to date", said.getvalue())

    def test_wrong_settings(self) -> None:
        with self.assertRaisesRegex(rollmill.Error, 'exit code 2: (?s:.*)unknown key "modell"'):
            self.try_("chat", "match:exact", [{"question": "1?"}], modell="x")


@unittest.skipUnless(os.environ.get("ROLLMILL"), "needs $ROLLMILL")
class Scores(Served):
    def test_rows_are_those_of_the_command(self) -> None:
        sent: dict[str, Any] = {}

        def keep(row: Any) -> int:
            sent[row["id"]] = copy.deepcopy({key: value for key, value in row.items() if key != "seed"})
            return len(row["messages"])

        async def later(row: Any) -> tuple[float, dict[str, float]]:
            return row["rewards"]["keep"], {"part": 1}

        for name in ("rollout", "curate"):
            with self.subTest(name):
                with contextlib.redirect_stderr(io.StringIO()):
                    rollmill.command.run("score", in_=STORED / name, out=self.folder / name, rewards=keep)
                want = dict(sent)
                sent.clear()
                found = rollmill.command.score([keep, later], STORED / name)
                self.assertEqual(sent, want)
                self.assertEqual([row["keep"] for row in found], [row["later"] for row in found])
                sent.clear()

    def test_some_rows(self) -> None:
        def bad(row: Any) -> float:
            return 1 / (len(row["answer"]) - 118)

        d = rollmill.open(STORED / "rollout").filter("status == 'ok'")
        found = rollmill.command.score({"bad*2": bad}, d, n=3)
        self.assertEqual([row["bad"] is None for row in found], [True, False, False])
        self.assertRegex(found[0]["error"], r"^bad: ZeroDivisionError: .*, in bad\)$")
        self.assertEqual(rollmill.command.score({"bad": bad}, d[:3]), found)
        self.assertIn("ZeroDivisionError", Page(found._repr_html_()).text)
        for wrong in ("match:exact", rollmill.reward(batch=True)(bad)):
            with self.assertRaisesRegex(TypeError, "not a function of one row"):
                rollmill.command.score(wrong, d)


if __name__ == "__main__":
    unittest.main()
