"""What the worker of backend tinker does before a service is asked. The rest is checked
at a real one, in testdata/tinker."""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import unittest
from typing import Any

from rollmill.tinker import _batch, connect
from rollmill.tinker._client import state_of
from rollmill.tinker._journal import Journal
from rollmill.tinker._train import before


def row(advantage: float | None = 1.0, response: tuple[int, ...] = (4, 5, 6), mask: tuple[bool, ...] = (True, False, True), **changed: Any) -> dict[str, Any]:
    made = {"trajectory_id": "t", "sequence": 0, "prompt_ids": [1, 2, 3], "response_ids": list(response), "loss_mask": list(mask), "weight": 2.0}
    return {**made, "logprobs": [-0.5 if m else 0.0 for m in mask], "advantage": advantage, "advantages": None, **changed}


class Missing(unittest.TestCase):
    def test_a_missing_package_is_named(self) -> None:
        code = "import sys; sys.modules['tinker'] = None; sys.argv[1:] = ['serve', '--base-model', 'm']; from rollmill.tinker import __main__ as m; m.main()"
        end = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        self.assertEqual((end.returncode, end.stderr), (2, "rollmill.tinker: sampling, which needs tinker: pip install tinker\n"))


class Saved(unittest.TestCase):
    def test_the_state_beside_weights(self) -> None:
        for path in ("tinker://run:train:0/sampler_weights/n-1", "tinker://run:train:0/n-1"):
            self.assertEqual(state_of(path), "tinker://run:train:0/weights/n-1")
        for path in ("tinker://run", "Qwen/Qwen3-8B", "tinker://run/weights/n/more"):
            with self.assertRaises(ValueError):
                state_of(path)

    def test_an_epoch_begins_from_the_known_policy(self) -> None:
        self.assertEqual(before({}), ("", 0))
        self.assertEqual(before({"before": {"policy": {"model": "Qwen/Qwen3-8B", "version": 0}}}), ("", 0))
        self.assertEqual(before({"before": {"policy": {"model": "tinker://r/n", "version": 4}}}), ("tinker://r/n", 4))

    def test_a_journal_is_of_one_batch(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            first = Journal(folder, "a")
            first.begin("run-1", "n-1")
            for kind, request in (("train", "1"), ("train", "2"), ("sampler", "3"), ("state", "4")):
                first.sent(kind, request)
            want = [{"run": "run-1", "name": "n-1", "requests": 2, "train": "2", "sampler": "3", "state": "4"}]
            self.assertEqual(Journal(folder, "a").attempts, want)
            self.assertEqual(Journal(folder, "b").attempts, [])
            self.assertEqual(json.loads((pathlib.Path(folder) / "tinker.json").read_text()), {"token": "a", "attempts": want})
            self.assertEqual(os.listdir(folder), ["tinker.json"])


class Reached(unittest.TestCase):
    def test_a_service_that_is_not_there(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{free.getsockname()[1]}"
        with self.assertRaisesRegex(ConnectionError, f"no Tinker service answers at {url}: .*refused"):
            connect(url)


@unittest.skipUnless(importlib.util.find_spec("numpy"), "needs numpy")
class Batches(unittest.TestCase):
    def test_arrays_are_of_every_token_but_the_first(self) -> None:
        s = _batch.Tokens(row())
        self.assertEqual(s.ids, [1, 2, 3, 4, 5, 6])
        self.assertEqual(s.mask.tolist(), [False, False, True, False, True])
        self.assertEqual(s.logprobs.tolist(), [0, 0, -0.5, 0, -0.5])
        self.assertEqual(s.advantages.tolist(), [0, 0, 1, 0, 1])
        self.assertEqual(s.rl.tolist(), [0, 0, 2, 0, 2])
        self.assertFalse(s.ce.any() or s.kl.any())
        own = _batch.Tokens(
            row(advantages=[3.0, 0.0, -1.0], rl_weights=[1.0, 0.0, 0.0], ce_weights=[0.0, 0.0, 0.5],
                ref_logprobs=[0.0, 0.0, -2.0], ref_kl_weights=[0.0, 0.0, 1.0])
        )
        self.assertEqual(own.advantages.tolist(), [0, 0, 3, 0, -1])
        self.assertEqual((own.rl.tolist(), own.ce.tolist(), own.towards.tolist()), ([0, 0, 2, 0, 0], [0, 0, 0, 0, 1], [0, 0, 0.5, 0, -1.5]))

    def test_what_a_service_misreads_is_refused(self) -> None:
        _batch.check([_batch.Tokens(row())], 7, 6)
        for changed, vocabulary, longest, words in (
            ({"response": (4, 5, 7)}, 7, 6, "has the token 7"),
            ({}, 7, 5, "has 6 tokens"),
            ({"logprobs": [-0.5, 0.0]}, 0, 0, "its lists have"),
            ({"prompt_ids": []}, 0, 0, "its lists have"),
        ):
            with self.assertRaisesRegex(ValueError, words):
                _batch.check([_batch.Tokens(row(**changed))], vocabulary, longest)

    def test_whitening_counts_every_token(self) -> None:
        batch = [_batch.Tokens(row(1.0)), _batch.Tokens(row(-1.0, (4, 5), (False, True)))]
        _batch.whiten(batch, {"sample_variance": False, "epsilon": 0.0, "floor": 1e-8})  # 1, 1, -1: mean 1/3, variance 8/9
        for value, want in ((batch[0].advantages[2], 2 / 3 / (8 / 9) ** 0.5), (batch[1].advantages[-1], -4 / 3 / (8 / 9) ** 0.5)):
            self.assertAlmostEqual(value, want)
        self.assertEqual(batch[0].advantages[3], 0)

    def test_each_sequence_is_in_one_step(self) -> None:
        batch = [_batch.Tokens(row(float(i))) for i in range(10)]
        for count, sizes in ((3, [3, 3, 4]), (1, [10]), (20, [1] * 10)):
            parts = list(_batch.steps(batch, count, 1))
            self.assertEqual([len(p) for p in parts], sizes)
            self.assertEqual(sorted(s.row["advantage"] for p in parts for s in p), list(range(10)))
            self.assertEqual([s.row["advantage"] for p in parts for s in p], [s.row["advantage"] for p in _batch.steps(batch, count, 1) for s in p])
