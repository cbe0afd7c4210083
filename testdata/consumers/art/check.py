"""Parse every line of art.jsonl files with OpenPipe ART's own models, as its
server does with the body of /_train_model.

    python check.py FILE...

Up to 0.5.0 a sampled message has to arrive as a Choice with the same token ids
and logprobs. From 0.5.3 on messages skip validation and come first in the
union, so that even a correct Choice arrives as a plain dict: the groups parse,
but contain nothing to train on. Therefore rollmill refuses those servers, and
this check fails when that changes.
"""

import importlib
import importlib.metadata
import importlib.util
import json
import pathlib
import sys
import types

# The package's __init__ imports GPU libraries; its models do not need them.
root = pathlib.Path(importlib.util.find_spec("art").origin).parent
package = types.ModuleType("art")
package.__path__ = [str(root)]
sys.modules["art"] = package

import pydantic
from openai.types.chat.chat_completion import Choice

models = importlib.import_module("art.trajectories")


def new(cls, *_args, **_kwargs):
    return pydantic.BaseModel.__new__(cls)


def init(self, *args, **kwargs):
    pydantic.BaseModel.__init__(self, *args, **kwargs)


# As `art run` does before it starts to listen.
models.TrajectoryGroup.__new__ = new
models.TrajectoryGroup.__init__ = init

groups = pydantic.TypeAdapter(list[models.TrajectoryGroup])
choices_survive = importlib.metadata.version("openpipe-art").startswith("0.4.")


def histories(trajectory):
    return [trajectory, *trajectory["additional_histories"]]


def check_choice(sent, got):
    assert got.finish_reason == sent["finish_reason"]
    assert (got.message.content or "") == (sent["message"]["content"] or "")
    assert len(got.message.tool_calls or []) == len(sent["message"].get("tool_calls", []))
    tokens = sent["logprobs"]["content"]
    assert len(got.logprobs.content) == len(tokens) > 0
    for a, b in zip(tokens, got.logprobs.content):
        assert int(b.token.split(":")[1]) == int(a["token"].split(":")[1])
        assert b.logprob == a["logprob"]
    bytes(got.logprobs.content[0].bytes or []).decode("utf-8")


def check_message(sent, got):
    """A plain message keeps its keys; lists in it become iterators that are read once."""
    assert isinstance(got, dict), type(got)
    for key, value in sent.items():
        assert key in got, f"{key} was lost"
        if isinstance(value, str):
            assert got[key] == value


counts = {"groups": 0, "trajectories": 0, "histories": 0, "choices": 0, "messages": 0, "tokens": 0}
for path in sys.argv[1:]:
    for line in pathlib.Path(path).read_bytes().splitlines():
        sent = json.loads(line)
        (got,) = groups.validate_json(b"[" + line + b"]")
        counts["groups"] += 1
        assert len(got.trajectories) == len(sent["trajectories"]) > 1
        for a, b in zip(sent["trajectories"], got.trajectories):
            counts["trajectories"] += 1
            assert b.reward == a["reward"] and b.metadata == a["metadata"] and b.metrics == a["metrics"]
            assert len(b.additional_histories) == len(a["additional_histories"])
            for h, arrived in zip(histories(a), [b, *b.additional_histories]):
                counts["histories"] += 1
                assert (arrived.tools is None) == (h["tools"] is None)
                assert len(arrived.messages_and_choices) == len(h["messages_and_choices"])
                for x, y in zip(h["messages_and_choices"], arrived.messages_and_choices):
                    if "message" not in x:
                        counts["messages"] += 1
                        check_message(x, y)
                        continue
                    counts["choices"] += 1
                    counts["tokens"] += len(x["logprobs"]["content"])
                    if choices_survive:
                        assert isinstance(y, Choice), f"a choice arrived as {type(y)}"
                        check_choice(x, y)
                    else:
                        assert isinstance(y, dict), f"a choice arrived as {type(y)}: this server can be trained on now"
assert counts["choices"] > 0, "no choice in these files"
print("openpipe-art", importlib.metadata.version("openpipe-art"), "pydantic", pydantic.VERSION, *(f"{v} {k}" for k, v in counts.items()))
