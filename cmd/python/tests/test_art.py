"""What rollmill.art answers without ART. The rest is checked with ART's own code, in
testdata/consumers/command/check.py."""

from __future__ import annotations

import importlib.util
import unittest
from typing import Any

from rollmill.art._groups import paths

from .programs import Served


class Requests(Served):
    def asked(self, code: int = 0, **request: Any) -> tuple[list[dict[str, Any]], str]:
        return self.ask("-m", "rollmill.art", "jobs", rows=[request], code=code)

    def test_jobs(self) -> None:
        never = {"state": "failed", "clean": True}
        for request in (self.asked(request="status", job="a"), self.asked(request="resolve", token="a")):
            self.assertEqual(request[0], [{**never, "message": "this job was never made"}])
        job = self.folder / "jobs" / "a"
        job.mkdir(parents=True)
        self.assertEqual(self.asked(request="resolve", token="a")[0], [{**never, "message": "the job was made and never begun"}])
        self.write("jobs/a/request.json", "{}")
        self.write("jobs/a/result.json", '{"state": "completed", "step": 2}')
        self.write("jobs/a/metrics.jsonl", '{"loss": 0.5}\n')
        ended = [{"metrics": {"loss": 0.5}}, {"job": "a", "state": "completed", "step": 2}]
        self.assertEqual(self.asked(request="status", job="a")[0], ended)
        submitted = self.asked(request="submit", token="a")[0]  # again: it is not trained a second time
        self.assertEqual(submitted, [{"job": "a"}, *ended])

    def test_the_process_does_not_start(self) -> None:
        out, errors = self.asked(code=1, request="begin", settings={"art_backend": "nothing_of_this_name:Backend"})
        self.assertEqual(out, [])
        self.assertIn("the process ended: ", errors)
        self.assertIn("ModuleNotFoundError", errors)
        if importlib.util.find_spec("art") is None:
            self.assertIn("needs art: pip install 'openpipe-art[backend]'", errors)

    def test_stop(self) -> None:
        (self.folder / "jobs").mkdir()
        self.start("-m", "rollmill.art", "jobs", "--stop", stdin=b"")
        self.assertTrue((self.folder / "jobs" / "stop").exists())


class Paths(unittest.TestCase):
    def test_the_trained_one_is_first(self) -> None:
        def message(parent: int, call: int = -1) -> dict[str, Any]:
            return {"parent": parent, "sampled": call >= 0, "call": call}

        # 0 question, 1 an answer on a branch of its own, 2 the answer before 3, a question, and 4, the last answer
        row = {"messages": [message(-1), message(0, 0), message(0, 1), message(2), message(3, 2)], "calls": [{"target": True}] * 3}
        self.assertEqual(paths(row), [[0, 2, 3, 4], [0, 1]])
        row["calls"] = [{"target": True}, {"target": False}, {"target": False}]
        self.assertEqual(paths(row), [[0, 1], [0, 2, 3, 4]])
