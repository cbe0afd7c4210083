"""A look before a run: a few attempts, and rewards of a few rows. Nothing is kept."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Mapping
from typing import Any

from . import _stdio
from ._command import line, start
from ._dataset import open as open_dataset
from ._errors import error
from ._rewards import Reward, fields, reward
from ._rows import Row, Rows


class Attempts(Rows):
    """Attempts, with their rewards by name; result is what `rollmill try --json` prints."""

    result: dict[str, Any]

    def _repr_html_(self) -> str:
        from . import _html

        ends = [_html.conversation(self.result[end]) for end in ("best", "worst") if self.result.get(end)]
        return "".join([_html.table(self), _html.table([self.result["epoch"]], "a whole epoch, estimated"), *ends])


def try_(agent: Any, rewards: Any, examples: Any, n: int = 4, *, config: str | os.PathLike[str] | None = None, **settings: Any) -> Attempts:
    """Attempt each example n times, and score the attempts, as `rollmill try` does.

        rollmill.command.try_(play, [reward_function], [{"question": "2 + 2?"}], url="http://127.0.0.1:8000/v1", model="my-model")

    agent and rewards are those of run. examples are dicts, or a task file, of which the
    first is attempted. Further settings are rollout's; config has those of a run. An
    attempt that failed is a row with an error.
    """
    import tempfile  # here, as in run

    from ._calls import Calls, setting

    with Calls() as calls, tempfile.TemporaryDirectory(prefix="rollmill-") as folder:
        flags: dict[str, Any] = {"attempts": n, "json": True, "config": config, "reward": rewards}
        flags["agent" if callable(agent) else "set"] = agent if callable(agent) else {"rollout.agent": agent}
        if config is None:
            flags.update(config=os.path.join(folder, "rollmill.yaml"), root=folder)
            with open(flags["config"], "w") as f:
                f.write("{}\n")
        if isinstance(examples, (str, os.PathLike)):
            settings = {"examples": os.fspath(examples), **settings}
        else:
            flags.update(examples=examples, example_count=len(examples))
        for name, value in settings.items():
            flags.setdefault("set", {})[f"rollout.{name.replace('_', '-')}"] = setting(value)
        words = line("try", calls.flags("try", flags))
        code, out, said = start(words, None, {**os.environ, **calls.env}, calls)
    if not out:
        raise error(words, code, said)
    found = Attempts()
    found.result = json.loads(out)
    for attempt in found.result["attempts"]:
        each = attempt.pop("rewards")
        errors = [attempt.pop("error", ""), *(f"{r['name']}: {r['error']}" for r in each if r.get("error"))]
        found.append(Row({**attempt, **{r["name"]: r["value"] for r in each}, "error": "; ".join(filter(None, errors))}))
    return found


def score(rewards: Any, dataset: Any, n: int = 100) -> Rows:
    """Call reward functions with the first n rows of a dataset, or with rows of one:
    its address, open(...).filter(...) or open(...)[:20]. Each row has the rewards by
    name, and an error for those that failed. It stores nothing; run("score") does.
    """
    from ._calls import finished, named

    functions = {}
    for name, value in named(rewards):
        made = value if isinstance(value, Reward) or not callable(value) else reward(value)
        if not isinstance(made, Reward) or made.batch:
            raise TypeError(f"{value!r:.100} is not a function of one row; run('score', rewards=...) takes every reward")
        functions[name.split("*")[0] or made.name] = finished(made.function) if made.is_async else made.function
    found = Rows()
    for row in itertools.islice(open_dataset(dataset) if isinstance(dataset, (str, os.PathLike)) else dataset, n):
        asked, errors = request(row), [row.get("error") or ""]
        values: dict[str, float | None] = asked["rewards"]
        for name, function in functions.items():
            said = _said(function, asked) if row["status"] in ("ok", "truncated") else {}
            values[name] = said.get("reward")
            errors += [f"{name}: {said['error']}"] if said.get("error") else []
        about = {key: row[key] for key in ("trajectory_id", "example_id", "status", "answer")}
        found.append(Row({**about, **{name: values[name] for name in functions}, "error": "; ".join(filter(None, errors))}))
    return found


def _said(function: Any, row: dict[str, Any]) -> dict[str, Any]:
    try:
        return fields(function(row))
    except Exception as error:
        return {"error": _stdio.reason(error, function)}


def request(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of a dataset as `rollmill score` sends it to a program, without the seed."""
    same = ("answer", "status", "stop_reason", "model", "example_id", "epoch", "generation", "prompt_tokens", "completion_tokens", "sampled_tokens")
    loaded = {"example": json.loads(row.get("example") or "null"), "metadata": json.loads(row.get("metadata") or "{}")}
    tools = [json.loads(tools) for tools in row.get("tool_sets") or ()]
    return {**{key: row.get(key) for key in same}, **loaded, "id": row["trajectory_id"], "messages": _main(row), "rewards": {}, "tool_sets": tools, "seed": 0}


def _main(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The messages from the first to what follows the last one sampled by a target call."""
    messages, calls = row["messages"], row.get("calls") or ()
    trained = [i for i, m in enumerate(messages) if m["sampled"] and 0 <= m["call"] < len(calls) and calls[m["call"]]["target"]]
    leaf = trained[-1] if trained else len(messages) - 1
    for i in range(leaf + 1, len(messages)):
        leaf = i if trained and messages[i]["parent"] == leaf else leaf
    path = []
    while leaf >= 0:
        path.append(_message(messages[leaf]))
        leaf = messages[leaf]["parent"]
    return path[::-1]


def _message(m: Mapping[str, Any]) -> dict[str, Any]:
    calls = [{"id": c["id"], "type": "function", "function": {"name": c["name"], "arguments": c["arguments"]}} for c in m["tool_calls"] or ()]
    more = {"name": m["name"], "reasoning_content": m["reasoning"], "tool_calls": calls, "tool_call_id": m["tool_call_id"], "sampled": m["sampled"]}
    content = json.loads(m["content_parts"]) if m["content_parts"] else m["content"] or ""
    return {"role": m["role"], "content": content, **{key: value for key, value in more.items() if value}}
