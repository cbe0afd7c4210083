"""OpenPipe ART's own trajectory logs: Parquet of version 1 (0.5), JSON lines (0.4).

    .venv-art-0.4.11/bin/python from_art.py OUT     trajectories.jsonl
    .venv-art-0.5.17/bin/python from_art.py OUT     trajectories.v1.parquet
    .venv-tinker/bin/python from_art.py OUT         trajectories.v2.parquet; group.json and groups.json, which are compact (0.5.23)
"""

import importlib
import importlib.metadata
import importlib.util
import json
import pathlib
import sys
import types
import urllib.request

import facts
import model

# The package's __init__ imports GPU libraries; its models and loggers do not need them.
package = types.ModuleType("art")
package.__path__ = [str(pathlib.Path(importlib.util.find_spec("art").origin).parent)]
sys.modules["art"] = package
utils = types.ModuleType("art.utils")
utils.__path__ = [package.__path__[0] + "/utils"]
sys.modules["art.utils"] = utils
trajectories = importlib.import_module("art.trajectories")
package.Trajectory, package.TrajectoryGroup = trajectories.Trajectory, trajectories.TrajectoryGroup
if not importlib.util.find_spec("yaml"):  # only to read older files
    sys.modules["yaml"] = types.ModuleType("yaml")
if not importlib.util.find_spec("litellm"):  # only to call models
    for name in ("litellm", "litellm.types", "litellm.types.utils"):
        sys.modules[name] = types.ModuleType(name)
    sys.modules["litellm.types.utils"].Choices = type("Choices", (), {})
logging = importlib.import_module("art.utils.trajectory_logging")

from openai.types.chat import ChatCompletion
from openai.types.chat.chat_completion import Choice

VERSION = importlib.metadata.version("openpipe-art")
NEW = not VERSION.startswith("0.4.")
TOOLS = [{"type": "function", "function": {"name": "add", "description": "Add two numbers.", "parameters": {
    "type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"]}}}]
QUESTIONS = {"sum-1": ("What is 17 plus 25?", "42"), "sum-2": ("Add 100 and 1, without tools.", "101")}


def ask(url, messages):
    body = json.dumps({"model": model.NAME, "messages": messages, "tools": TOOLS, "logprobs": True, "return_token_ids": True}).encode()
    with urllib.request.urlopen(urllib.request.Request(url + "/chat/completions", body)) as answer:
        return ChatCompletion.model_validate_json(answer.read()).choices[0]


def rollout(url, key):
    question, want = QUESTIONS[key]
    t = trajectories.Trajectory(messages_and_choices=[{"role": "system", "content": "You add numbers."}, {"role": "user", "content": question}],
                                tools=TOOLS, reward=0.0)
    if NEW:
        t.initial_policy_version = t.final_policy_version = 7
    while True:
        choice = ask(url, plain(t))
        t.messages_and_choices.append(choice)
        if not choice.message.tool_calls:
            break
        for call in choice.message.tool_calls:
            given = json.loads(call.function.arguments)
            t.messages_and_choices.append({"role": "tool", "tool_call_id": call.id, "content": str(given["a"] + given["b"])})
    t.reward = float(want in choice.message.content)
    t.metrics = {"right": bool(t.reward), "turns": sum(not isinstance(m, dict) for m in t.messages_and_choices)}
    t.metadata = {"question_id": key, "topic": "sums"}
    t.logs = ["answered " + choice.message.content]
    return t


def plain(t):
    return [m if isinstance(m, dict) else m.message.to_dict() for m in t.messages_and_choices]


def message(m, tokens=None):
    """A message or a Choice, as ART's readers return them; that of compact files makes no Choice of one."""
    if isinstance(m, dict) and "message" in m:
        m = Choice.model_validate(m)
    if isinstance(m, dict):
        return facts.chat(m, tool_call_id=m.get("tool_call_id"))
    logprobs = [t.logprob for t in m.logprobs.content] if m.logprobs and m.logprobs.content else None
    return facts.chat(m.message.to_dict(), sampled=True, tokens=getattr(m, "token_ids", None), logprobs=logprobs)


def rows(groups):
    return [facts.trajectory([message(m) for m in t.messages_and_choices], group=n, reward=t.reward, metrics=t.metrics, metadata=t.metadata, logs=t.logs)
            for n, group in enumerate(groups) for t in group.trajectories]


def marked(path, expected):
    """Version 1's reader forgets which messages were sampled; the column has it."""
    import pyarrow.parquet

    for row, t in zip(pyarrow.parquet.read_table(path).to_pylist(), expected):
        for column, m in zip(row["messages"], t["messages"], strict=True):
            if column["trainable"]:
                m["sampled"] = True
    return expected


def main(out):
    out.mkdir(parents=True, exist_ok=True)
    with model.serve() as url:
        groups = [trajectories.TrajectoryGroup([rollout(url, key) for _ in range(3)]) for key in QUESTIONS]
    name = "trajectories.jsonl" if not NEW else "trajectories.v2.parquet" if hasattr(logging, "_FORMAT_VERSION") else "trajectories.v1.parquet"
    if NEW:
        logging.write_trajectory_groups_parquet(groups, out / name)
        read = marked(out / name, rows(logging.read_trajectory_groups_parquet(out / name)))
    else:
        (out / name).write_text(logging.serialize_trajectory_groups(groups))
        read = rows(logging.deserialize_trajectory_groups((out / name).read_text()))
    made = {name: read}
    if hasattr(trajectories, "compact_dump"):
        for name, value in (("group.json", groups[0]), ("groups.json", groups)):
            (out / name).write_text(json.dumps(trajectories.compact_dump(value)) + "\n")
            again = trajectories.compact_validate_json((out / name).read_text())
            made[name] = rows(again if isinstance(again, list) else [again])
    facts.write(out, made, f"openpipe-art {VERSION}")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
