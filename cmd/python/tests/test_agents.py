"""Agents: one attempt a process, or many in a worker."""

from __future__ import annotations

import math
import unittest
from typing import Any

from .programs import Served

AGENTS = """
import os
from rollmill import agent

@agent
def play(example):
    print("thinking")
    what = example["question"]
    if what == "env":
        return {"answer": os.environ["OPENAI_BASE_URL"] + " " + os.environ["ANTHROPIC_BASE_URL"], "metadata": {"model": example["model"], "seed": os.environ.get("ROLLMILL_SEED"), "work": os.environ.get("ROLLMILL_WORK")}}
    return eval(what)

@agent
async def later(example):
    import asyncio
    await asyncio.sleep(0)
    return example["question"].upper()

if __name__ == "__main__":
    play.serve()
"""


def task(question: str, **more: Any) -> dict[str, Any]:
    return {"id": "x", "question": question, "answer": "", "fields": {}, "generation": 1, "epoch": 0, "trajectory_id": "t-" + question, "seed": None, **more}


class Agents(Served):
    def setUp(self) -> None:
        super().setUp()
        self.write("agents.py", AGENTS)

    def test_one_attempt_with_its_environment(self) -> None:
        env = {"OPENAI_BASE_URL": "http://proxy/1/v1", "ANTHROPIC_BASE_URL": "http://proxy/1", "OPENAI_MODEL": "policy", "ROLLMILL_SEED": "7"}
        out, errors = self.ask("agents.py", rows=[task("env")], env=env)
        self.assertEqual(out, [{"trajectory_id": "t-env", "answer": "http://proxy/1/v1 http://proxy/1", "metadata": {"model": "policy", "seed": "7", "work": None}}])
        self.assertIn("thinking", errors)

    def test_a_worker_has_the_environment_of_each_attempt(self) -> None:
        rows = [task("env", base_url=f"http://proxy/{i}/v1", api_key="k", model=f"m{i}", seed=seed, **work) for i, (seed, work) in enumerate([(3, {"work": "/w"}), (None, {})])]
        out, _ = self.ask("-m", "rollmill", "agents.py:play", rows=rows)
        self.assertEqual([a["answer"] for a in out], ["http://proxy/0/v1 http://proxy/0", "http://proxy/1/v1 http://proxy/1"])
        self.assertEqual([a["metadata"] for a in out], [{"model": "m0", "seed": "3", "work": "/w"}, {"model": "m1", "seed": None, "work": None}])

    def test_further_rewards(self) -> None:
        out, _ = self.ask("agents.py", rows=[task("{'reward': 1, 'rewards': {'steps': 7, 'ok': True}}")])
        self.assertEqual((out[0]["reward"], out[0]["rewards"]), (1.0, {"steps": 7.0, "ok": 1.0}))

    def test_values_and_failures(self) -> None:
        out, errors = self.ask("agents.py", rows=[task(q) for q in ("None", "'text'", "{'answer': 'a', 'reward': True}", "1", "{'score': 1}", "[][0]")])
        self.assertEqual([{k: v for k, v in a.items() if k != "trajectory_id"} for a in out[:3]], [{}, {"answer": "text"}, {"answer": "a", "reward": 1.0}])
        self.assertIn("TypeError: an agent returns text", out[3]["error"])
        self.assertIn("not ['score']", out[4]["error"])
        trace = out[5].pop("traceback")
        self.assertEqual(out[5], {"trajectory_id": "t-[][0]", "error": "IndexError: list index out of range (agents.py, line 11, in play)"})
        self.assertTrue(trace.endswith("IndexError: list index out of range\n") and trace.count("  File ") == 2, trace)
        self.assertIn("Traceback", errors)

    def test_what_is_no_json_fails_its_attempt(self) -> None:
        when = "__import__('datetime').date(2026, 1, 2)"
        loop = "(lambda d: d.update(again=d) or d)({})"
        words = [f"{{'metadata': {{'at': [1, {when}]}}}}", "{'metadata': {'mean': float('nan')}}", f"{{'metadata': {loop}}}", "{'error': ValueError('lost')}", "'fine'"]
        out, _ = self.ask("agents.py", rows=[task(q) for q in words])
        self.assertEqual([a["trajectory_id"] for a in out], ["t-" + q for q in words])
        self.assertIn("TypeError: metadata.at.1: Object of type date is not JSON serializable (agents.py, line 5)", out[0]["error"])
        self.assertTrue(math.isnan(out[1]["metadata"]["mean"]), "rollmill reads a NaN as null, and counts it")
        self.assertIn("metadata.again", out[2]["error"])
        self.assertEqual(out[3]["error"], "ValueError: lost")
        self.assertEqual(out[4]["answer"], "fine")

    def test_a_print_before_it_serves(self) -> None:
        self.write("early.py", AGENTS.replace("\n@agent", "\n@agent", 1).replace("@agent\nasync", "print('loading', end='')\n@agent\nasync"))
        out, errors = self.ask("early.py", rows=[task("'text'")], env={"_ROLLMILL_PROCESS_x": "1"})
        self.assertEqual(out, [{"trajectory_id": "t-'text'", "answer": "text"}])
        self.assertIn("loading", errors)

    def test_async(self) -> None:
        self.assertEqual([a["answer"] for a in self.ask("-m", "rollmill", "agents.py:later", rows=[task("a"), task("b")])[0]], ["A", "B"])


if __name__ == "__main__":
    unittest.main()
