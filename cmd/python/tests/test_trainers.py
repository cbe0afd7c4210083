"""Trainers over the protocol of backend command."""

from __future__ import annotations

import math
import unittest

from .programs import Served

TRAINER = """
from rollmill import trainer

class Tensor:
    def __float__(self): return 0.5

@trainer
def train(batch):
    print("training")
    yield {"metrics": {"loss": Tensor()}}
    if batch.settings.get("nan"): yield {"metrics": {"loss": float("nan")}}
    if batch.settings.get("fail"):
        raise ValueError("no rows in " + batch.curated)
    if batch.settings.get("job"):
        yield {"job": batch.token}
    if batch.settings.get("odd"):
        yield {"status": "completed"}

@train.begin
def begin(request):
    return {"step": 3, "policy": request["before"]["policy"]}

@trainer(clean=True)
def careful(batch):
    raise KeyError("lr")
"""


class Trainers(Served):
    def setUp(self) -> None:
        super().setUp()
        self.write("train.py", TRAINER)

    def test_completed(self) -> None:
        out, errors = self.ask("-m", "rollmill", "train.py:train", rows=[{"request": "submit", "curated": "runs/c", "token": "t"}])
        self.assertEqual(out, [{"metrics": {"loss": 0.5}}, {"state": "completed"}])
        self.assertIn("training", errors)

    def test_a_metric_that_is_no_number(self) -> None:
        """The line stays, in Python's words: rollmill reads them as null, and counts them."""
        out, _ = self.ask("-m", "rollmill", "train.py:train", rows=[{"request": "submit", "token": "t", "settings": {"nan": "1"}}])
        self.assertTrue(math.isnan(out[1]["metrics"]["loss"]))
        self.assertEqual(out[2:], [{"state": "completed"}])

    def test_a_job_goes_on(self) -> None:
        out, _ = self.ask("-m", "rollmill", "train.py:train", rows=[{"request": "submit", "token": "t", "settings": {"job": "1"}}])
        self.assertEqual(out[1:], [{"job": "t"}])

    def test_failures(self) -> None:
        request = {"request": "submit", "curated": "runs/c", "token": "t"}
        for name, settings, want in (
            ("train", {"fail": "1"}, {"state": "failed", "clean": False, "message": "ValueError: no rows in runs/c (train.py, line 13, in train)"}),
            ("careful", {}, {"state": "failed", "clean": True, "message": "KeyError: 'lr' (train.py, line 25, in careful)"}),
        ):
            with self.subTest(name):
                out, errors = self.ask("-m", "rollmill", f"train.py:{name}", rows=[{**request, "settings": settings}], code=1)
                self.assertEqual(out[-1], want)
                self.assertIn("Traceback", errors)
        out, _ = self.ask("-m", "rollmill", "train.py:train", rows=[{**request, "settings": {"odd": "1"}}], code=1)
        self.assertIn("not ['status']", out[-1]["message"])

    def test_other_requests(self) -> None:
        policy = {"url": "http://engine/v1", "model": "m", "version": 3}
        out, _ = self.ask("-m", "rollmill", "train.py:train", rows=[{"request": "begin", "before": {"policy": policy}}])
        self.assertEqual(out, [{"step": 3, "policy": policy}])
        self.assertEqual(self.ask("-m", "rollmill", "train.py:train", rows=[{"request": "cancel", "job": "j"}])[0], [])


if __name__ == "__main__":
    unittest.main()
