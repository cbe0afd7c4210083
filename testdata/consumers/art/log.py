"""Load a trajectory log of version 1 with ART 0.5's own reader.

    python log.py art-log-v1.parquet art.jsonl

The two files have the same groups: the fields in the log must be equal.
"""

import importlib
import importlib.util
import json
import pathlib
import sys
import types


def stub(name, **members):
    module = types.ModuleType(name)
    module.__dict__.update(members)
    sys.modules[name] = module
    return module


# The package's __init__ imports GPU libraries; the reader does not need them.
root = pathlib.Path(importlib.util.find_spec("art").origin).parent
stub("art").__path__ = [str(root)]
stub("art.utils").__path__ = [str(root / "utils")]
stub("litellm"), stub("litellm.types"), stub("litellm.types.utils", Choices=type("Choices", (), {}))

read = importlib.import_module("art.utils.trajectory_logging").read_trajectory_groups_parquet


def plain(entry):
    return entry.get("message", entry)


groups = read(sys.argv[1])
lines = [json.loads(line) for line in pathlib.Path(sys.argv[2]).read_bytes().splitlines()]
assert len(groups) == len(lines)
n = 0
for group, line in zip(groups, lines):
    assert len(group.trajectories) == len(line["trajectories"])
    for t, sent in zip(group.trajectories, line["trajectories"]):
        assert t.reward == sent["reward"] and t.metadata == sent["metadata"] and t.metrics == sent["metrics"]
        assert len(t.messages_and_choices) == len(sent["messages_and_choices"])
        for got, entry in zip(t.messages_and_choices, sent["messages_and_choices"]):
            want = plain(entry)
            assert got["role"] == want["role"] and got["content"] == want["content"]
            assert got.get("tool_calls") == want.get("tool_calls")
            n += 1
print(f"{len(groups)} groups, {n} messages")
