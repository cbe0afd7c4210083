"""Functions of this process as rewards and agents of the command; needs the
command, at $ROLLMILL."""

from __future__ import annotations

import contextlib
import functools
import glob
import importlib.util
import io
import json
import linecache
import os
import subprocess
import sys
import tempfile
import textwrap
import threading
import unittest
import urllib.request
from collections.abc import Callable
from typing import Any

import rollmill
import rollmill.classes
from rollmill._identity import identity

from .programs import SRC, Served

STORED = SRC.parents[2] / "testdata" / "versions" / "2.0" / "rollout"


def ask(question: str, url: str, model: str) -> str:
    body = json.dumps({"model": model, "messages": [{"role": "user", "content": question}]}).encode()
    with urllib.request.urlopen(urllib.request.Request(url + "/chat/completions", body, {"Content-Type": "application/json"})) as reply:
        return str(json.load(reply)["choices"][0]["message"]["content"])


@contextlib.contextmanager
def sandbox() -> Any:
    """The URL of a sandbox."""
    with subprocess.Popen([os.environ["ROLLMILL"], "sandbox", "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip() + "/v1"
        finally:
            process.terminate()


class InProcess(Served):
    """Runs commands whose standard error is kept."""

    def run_here(self, command: str, **flags: Any) -> rollmill.classes.Result:
        with contextlib.redirect_stderr(io.StringIO()) as self.said:
            return rollmill.command.run(command, json=True, **flags)

    def score(self, name: str, rewards: Any, **flags: Any) -> dict[str, Any]:
        done: dict[str, Any] = self.run_here("score", in_=STORED, out=self.folder / name, rewards=rewards, **flags).json
        return done


@unittest.skipUnless(os.environ.get("ROLLMILL"), "needs $ROLLMILL")
class Objects(InProcess):
    def test_a_function_with_a_closure_and_state(self) -> None:
        seen: dict[str, threading.Thread] = {}

        def weighted(weight: float) -> Callable[[Any], float]:
            def mine(row: Any) -> float:
                seen[row["id"]] = threading.current_thread()
                return weight * len(row["answer"])

            return mine

        async def later(row: Any) -> tuple[float, dict[str, float]]:
            return 1, {"half": 0.5}

        done = self.score("scores", {"mine": weighted(2), "single": weighted(1), "later*0": rollmill.reward(later), "never": "match:exact"})
        self.assertEqual(done["counts"]["scored"], len(seen))
        self.assertEqual(set(seen.values()), {threading.current_thread()})
        facts = done["facts"]
        self.assertEqual((facts["rewards.mine.sum"], facts["rewards.later.sum"]), (2 * facts["rewards.single.sum"], len(seen)))

    def test_lists_and_up_to_date(self) -> None:
        def mine(row: Any, weight: int = 2) -> float:
            return weight

        for want in (False, True):
            self.assertEqual(self.score("scores", [mine, "never=match:exact"])["up_to_date"], want)
        mine.__defaults__ = (3,)
        with self.assertRaisesRegex(rollmill.Error, "exit code 2: (?s:.*)--overwrite"):
            self.score("scores", [mine, "never=match:exact"])

    @unittest.skipUnless(importlib.util.find_spec("pyarrow"), "needs pyarrow")
    def test_batches(self) -> None:
        self.assertGreater(self.score("scores", rollmill.reward(batch=True)(whole))["facts"]["rewards.whole.sum"], 1)

    def test_an_error_of_a_cell(self) -> None:
        """Code that is in no file, as a notebook's."""
        code = "def bad(row):\n    return 1 / (row['epoch'] * 0)\n"
        linecache.cache["<a cell>"] = (len(code), None, code.splitlines(True), "<a cell>")
        self.addCleanup(linecache.cache.pop, "<a cell>", None)
        cell: dict[str, Any] = {}
        exec(compile(code, "<a cell>", "exec"), cell)
        with self.assertRaises(rollmill.Error) as caught:
            self.score("scores", cell["bad"])
        place = "ZeroDivisionError: division by zero (cell, line 2, in bad: return 1 / (row['epoch'] * 0))"
        self.assertIn(place, self.said.getvalue())
        self.assertEqual(self.said.getvalue().count("Traceback"), 1)
        self.assertNotIn("Traceback", str(caught.exception))
        self.assertRegex(str(caught.exception), r"^exit code 1: rollmill score: .*\nhint: ")

    def test_what_is_no_reward(self) -> None:
        for rewards, why in (([lambda row: 1], "name it: rewards="), ({"a": 3}, "not 3"), ([3], "not 3")):
            with self.assertRaisesRegex(TypeError, why):
                rollmill.command.run("score", rewards=rewards)
        with self.assertRaisesRegex(TypeError, "trainer: a function .* go into a file"):
            rollmill.command.run("submit", trainer=rollmill.trainer(print))

    def test_the_process_has_ended(self) -> None:
        def mine(row: Any) -> float:
            return 1

        words = self.run_here("score", in_=STORED, out=self.folder / "scores", rewards=mine).args
        words[words.index(str(self.folder / "scores"))] = str(self.folder / "again")
        done = subprocess.run(words, capture_output=True, text=True)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr, "mine@[0-9a-f]{12} is a function of a Python process that has ended")

    def test_an_interrupt_in_a_function(self) -> None:
        def mine(row: Any) -> float:
            os.killpg(0, 2)  # as a terminal does
            return 1

        program = self.write("interrupted.py", f"import os, rollmill\n{textwrap.dedent(inspect_source(mine))}\nrollmill.command.run('score', in_={str(STORED)!r}, out='scores', rewards=mine)")
        done = subprocess.run(
            [sys.executable, program], cwd=self.folder, capture_output=True, text=True, timeout=60, start_new_session=True, env={**os.environ, "PYTHONPATH": str(SRC)}
        )
        self.assertIn("KeyboardInterrupt", done.stderr)


def inspect_source(function: Any) -> str:
    import inspect

    return inspect.getsource(function).replace("row: Any) -> float", "row)")


def whole(rows: Any) -> list[float]:
    return [1.0] * int(rows.num_rows)


@unittest.skipUnless(os.environ.get("ROLLMILL"), "needs $ROLLMILL")
class AgentObjects(InProcess):
    def rollout(self, agent: Any) -> dict[str, Any]:
        tasks = self.write("tasks.jsonl", "".join(json.dumps({"id": str(i), "question": f"{i} + 1?"}) + "\n" for i in range(3)))
        with sandbox() as url:
            done: dict[str, Any] = self.run_here(
                "rollout", examples=tasks, generations=2, url=url, model="rollmill/sandbox", agent=agent, out=self.folder / "rollout", agent_workers=3
            ).json
        return done

    def test_the_environment_is_the_attempt_s(self) -> None:
        before, attempts = dict(os.environ), []

        def play(example: Any) -> str:
            attempts.append(os.environ["ROLLMILL_TRAJECTORY_ID"])
            return ask(example["question"], os.environ["OPENAI_BASE_URL"], os.environ["OPENAI_MODEL"])

        async def later(example: Any) -> str:
            return play(example)

        for agent in (play, later):
            with self.subTest(agent.__name__):
                self.assertEqual(self.rollout(agent)["counts"], {"ok": 6})
                self.assertEqual((len(set(attempts)), dict(os.environ)), (6, before))
                self.folder.joinpath("rollout").rename(self.folder / agent.__name__)
                attempts.clear()

    def test_several_at_a_time(self) -> None:
        together = threading.Barrier(3)

        @rollmill.agent(concurrency=3)
        def play(example: Any) -> str:
            together.wait(30)  # ends when three are here
            return ask(example["question"], example["base_url"], example["model"])

        self.assertEqual(self.rollout(play)["counts"], {"ok": 6})


class Identities(unittest.TestCase):
    def test_identity(self) -> None:
        def make(weight: Any, helper: Any = None) -> Any:
            return lambda row: weight * (helper or len)(row["answer"])

        def one(row: Any) -> Any:
            return row.answer

        def other(row: Any) -> Any:
            return row.status

        different = [make(1), make(2), make([1]), make({"a": {1, 2}}), make(1, str.upper), make(1, one), make(1, other), one, other, functools.partial(one, row=1)]
        self.assertEqual(len({identity(f) for f in different}), len(different))
        self.assertEqual(identity(make(1, one)), identity(make(1, one)))
        self.assertEqual(identity(make(1, rollmill.reward(one))), identity(make(1, rollmill.reward(one))))
        self.assertNotEqual(identity(make(1, rollmill.reward(one))), identity(make(1, rollmill.reward(other))))

    def test_the_same_in_each_version_of_python(self) -> None:
        program = """words, least = {"a", "b"}, 2
def helper(text):
    return [w for w in text.split() if w in words]
def f(row, scale=0.5):
    try:
        return scale if len(helper(row["answer"])) > least else sum(len(w) for w in words)
    except KeyError as e:
        return f"{e}: {row!r}"
from rollmill._identity import identity
print(identity(f))
"""
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "reward.py")
            with open(file, "w") as out:
                out.write(program)
            pyenv = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
            pythons = {sys.executable, *sorted(glob.glob(f"{pyenv}/versions/3.1[0-9].*/bin/python3"))}
            said = {
                subprocess.run([python, file], capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": str(SRC)}).stdout for python in pythons
            }
            self.assertEqual(len(said), 1, pythons)
            with open(file, "w") as out:
                out.write(program.replace("> least", ">= least"))
            said.add(subprocess.run([sys.executable, file], capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": str(SRC)}).stdout)
            self.assertEqual(len(said), 2)

    def test_the_same_in_each_process(self) -> None:
        program = "words = {'a', 'b', 'c'}\ndef f(row):\n    return row in words or row in {'d', 'e'}\nfrom rollmill._identity import identity\nprint(identity(f))"
        said = {
            subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": str(SRC), "PYTHONHASHSEED": seed}).stdout
            for seed in "123"
        }
        self.assertEqual(len(said), 1)


if __name__ == "__main__":
    unittest.main()
