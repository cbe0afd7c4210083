"""Compare what rollmill.art makes from a curated dataset, for ART's library in
process, with what rollmill sends to a server for the same rows: the histories,
choices, tools and rewards must be equal. Then tokenize it with ART's own code.

    python in_process.py CURATED ART.JSONL
"""

import json
import math
import os
import pathlib
import sys

os.environ.update(LITELLM_LOCAL_MODEL_COST_MAP="True", HF_HUB_OFFLINE="1", CUDA_VISIBLE_DEVICES="")
here = pathlib.Path(__file__).absolute()
sys.path[:0] = [str(here.parents[1] / "command"), str(here.parents[3] / "cmd/python/src")]

import gpuless
from rollmill.art import _groups


def plain(entry):
    """A message or a choice as sent over HTTP."""
    if isinstance(entry, dict):
        return entry
    e = entry.model_dump()
    message = {k: v for k, v in e["message"].items() if v is not None and k in {"role", "content", "name", "tool_call_id", "tool_calls"}}
    tokens = [(t["token"], t["bytes"], t["top_logprobs"]) for t in e["logprobs"]["content"]]
    return {"finish_reason": e["finish_reason"], "index": 0, "message": message, "tokens": tokens}, [t["logprob"] for t in e["logprobs"]["content"]]


def sent(entry):
    if "message" not in entry:
        return entry
    content = entry["logprobs"]["content"]
    tokens = [(t["token"], t["bytes"], t["top_logprobs"]) for t in content]
    return {"finish_reason": entry["finish_reason"], "index": 0, "message": entry["message"], "tokens": tokens}, [t["logprob"] for t in content]


def same(ours, theirs):
    assert len(ours) <= len(theirs)  # ART cuts what follows the last choice
    assert all("message" not in e for e in theirs[len(ours):])
    for a, b in zip(map(plain, ours), map(sent, theirs)):
        if isinstance(a, dict):
            assert a == b, (a, b)
            continue
        assert a[0] == b[0], (a, b)
        assert all(math.isclose(x, y, rel_tol=1e-6) for x, y in zip(a[1], b[1], strict=True))


groups = _groups.groups(sys.argv[1])
lines = pathlib.Path(sys.argv[2]).read_bytes().splitlines()
assert len(groups) == len(lines) > 0
histories = 0
for group, line in zip(groups, map(json.loads, lines)):
    for t, there in zip(group.trajectories, line["trajectories"], strict=True):
        assert (t.reward, t.metrics, t.metadata) == (there["reward"], there["metrics"], there["metadata"])
        mine = [(t.messages_and_choices, t.tools), *((h.messages_and_choices, h.tools) for h in t.additional_histories)]
        for (entries, tools), h in zip(mine, [there, *there["additional_histories"]], strict=True):
            same(entries, h["messages_and_choices"])
            assert tools == h["tools"]
            histories += 1
for result in gpuless.tokenized(groups):
    got = [t for t, m in zip(result.token_ids, result.assistant_mask) if m]
    assert any(got == ids for ids in gpuless.sampled(result.trajectory)), "ART would train other tokens than were sampled"
print("rollmill.art:", histories, "histories as on the wire")
