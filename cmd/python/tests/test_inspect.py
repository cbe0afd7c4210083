"""Samples of Inspect as rows; testdata/importers/check.py reads logs with Inspect's own packages."""

import unittest
from collections import Counter
from typing import Any

from rollmill.inspect._sample import finite, rewards_of, sample_row
from rollmill.inspect._scout import transcript_of, transcript_row

ABOUT = {"eval": {"task": "sums", "model": "m/one"}}


def message(id: str, role: str, content: str, **more: Any) -> dict[str, Any]:
    return {"id": id, "role": role, "content": content, **({"source": "generate"} if role == "assistant" else {}), **more}


def called(answer: dict[str, Any], *prompt: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"event": "model", "model": "m/one", "input": list(prompt), "output": {"model": "one", "choices": [{"message": answer, "stop_reason": "stop"}]}, **more}


ASK, ANSWER = message("a", "user", "2+2?"), message("b", "assistant", "4")
SAMPLE = {"id": 1, "uuid": "u", "epoch": 2, "input": "2+2?", "target": "4", "messages": [ASK, ANSWER], "scores": {"s": {"value": "C"}}}


class Samples(unittest.TestCase):
    def test_only_calls_before_the_last_answer_of_the_path_train(self) -> None:
        helper = message("c", "user", "Help.")
        events = [called(message("d", "assistant", "I help."), helper), called(ANSWER, ASK), called(message("e", "assistant", "Late."), helper),
                  {"event": "span_begin", "id": "s", "type": "scorer", "name": "s"}, called(message("f", "assistant", "C"), helper, span_id="s")]
        row = sample_row(SAMPLE | {"events": events}, ABOUT)
        said = [(m["content"], m["parent"], m["call"], m.get("branch")) for m in row["messages"]]
        self.assertEqual(said, [("Help.", -1, -1, None), ("I help.", 0, 0, None), ("2+2?", -1, -1, "subagent"), ("4", 2, 1, None), ("Late.", 0, 2, "retry")])
        self.assertEqual([c["target"] for c in row["calls"]], [True, True, False])
        self.assertEqual(row["metadata"]["event_counts"], {"scorer_model_calls": 1, "span_begin": 1})
        self.assertEqual((row["example_id"], row["generation"], row["reward"]), ("sums/1", 2, 1.0))

    def test_an_answer_that_was_given_does_not_train(self) -> None:
        row = sample_row(SAMPLE | {"messages": [ASK, ANSWER | {"source": "input"}]}, ABOUT)
        self.assertEqual((row["calls"], row["status"], row["failure_class"]), ([], "failed", "no_calls"))
        self.assertEqual(row["rewards"][0]["failure"], "trajectory")

    def test_scores(self) -> None:
        self.assertEqual([rewards_of("s", v, False)[0].get("value") for v in ("P", "Yes", "0.25", True, 2)], [0.5, 1, 0.25, 1, 2])
        self.assertEqual([rewards_of("s", v, False)[0]["failure"] for v in (None, float("nan"), "NaN", "maybe")], ["missing"] * 3 + ["answer"])
        self.assertEqual([r["name"] for r in rewards_of("s", {"a": 1, "b": [2, 3]}, False)], ["s.a", "s.b"])
        lost: list[float] = []
        self.assertEqual((finite({"a": [float("inf"), 1.0]}, lost), lost), ({"a": [None, 1.0]}, [float("inf")]))

    def test_limits_and_errors(self) -> None:
        row = sample_row(SAMPLE | {"limit": {"type": "messages"}}, ABOUT)
        self.assertEqual((row["status"], row["stop_reason"]), ("truncated", "turns"))
        failed = called(ANSWER, ASK, error="HTTP 400") | {"output": {}}
        row = sample_row(SAMPLE | {"messages": [ASK], "events": [failed], "error": {"message": "boom"}}, ABOUT)
        self.assertEqual((row["failure_class"], row["error"], row["calls"][0]["error"]), ("engine_refused", "boom", "HTTP 400"))

    def test_a_transcript_comes_back(self) -> None:
        row = sample_row(SAMPLE | {"started_at": "2026-01-02T03:04:05Z"}, ABOUT)
        row |= {"run": "r", "status": "ok", "stop_reason": "done", "prompt_tokens": 3, "completion_tokens": 1, "epoch": 4}
        row["calls"][0] |= {"sampling": "{}", "model": "one"}
        lost: Counter[str] = Counter()
        transcript = transcript_of(row, lost)
        again = transcript_row(transcript)
        for key in ("trajectory_id", "example_id", "generation", "reward", "status", "epoch"):
            self.assertEqual(again[key], row[key], key)
        self.assertEqual([(m["role"], m["content"], m["call"]) for m in again["messages"]], [("user", "2+2?", -1), ("assistant", "4", 0)])
        self.assertFalse(any(lost.values()))
