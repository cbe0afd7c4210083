"""A sample of Inspect as a row."""

from __future__ import annotations

import json
import math
from typing import Any

from ._conversation import Conversation
from ._message import Json


def plain(value: Any) -> Json:
    """An object of Inspect as JSON, without nulls."""
    result: Json = json.loads(value.model_dump_json(exclude_none=True))
    return result


def finite(x: Any, lost: list[float]) -> Any:
    """A value without NaN and infinities, which are no JSON; they are added to lost."""
    if isinstance(x, dict):
        return {k: finite(v, lost) for k, v in x.items()}
    if isinstance(x, list):
        return [finite(v, lost) for v in x]
    if isinstance(x, float) and not math.isfinite(x):
        lost.append(x)
        return None
    return x


def sample_row(s: Json, about: Json, unmarked: bool = False) -> Json:
    """The row of a sample. unmarked: its messages may not say which were generated, and then every answer was."""
    task = about.get("eval", {}).get("task")
    c = Conversation(s, about.get("eval", {}).get("model", ""), unmarked)
    target = s.get("target")
    fields = {"id": s.get("id"), "question": s.get("input"), "answer": target[0] if isinstance(target, list) and len(target) == 1 else target}
    fields |= {k: s[k] for k in ("choices", "metadata", "files", "setup", "sandbox") if s.get(k)}
    row: Json = {"trajectory_id": s.get("uuid"), "generation": s.get("epoch"), "example": {k: v for k, v in fields.items() if v is not None}}
    if s.get("id") is not None:
        row["example_id"] = f"{task}/{s['id']}" if task else str(s["id"])  # ids count the samples of a task
    row |= {"messages": c.messages, "calls": c.calls, "tool_sets": c.tool_sets, "candidates": c.candidates, "token_source": c.source}
    row |= {"started_at": s.get("started_at"), "finished_at": s.get("completed_at"), **c.status(s)}
    read = {"id", "uuid", "epoch", "input", "choices", "target", "messages", "output", "events", "events_data", "attachments", "metadata",
            "files", "setup", "sandbox"}
    row["metadata"] = c.metadata | {k: v for k, v in s.items() if k not in read and v not in ({}, [])} | about
    failed = row.get("status") == "failed"
    row["rewards"] = [r for name, score in s.get("scores", {}).items() for r in rewards_of(name, score.get("value"), failed)]
    if len(row["rewards"]) == 1:
        row["rewards"][0]["weight"] = 1
        row["reward"] = row["rewards"][0].get("value")
    return {k: v for k, v in row.items() if v not in (None, "")}


NUMBERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}


def rewards_of(name: str, value: Any, failed: bool) -> list[Json]:
    """The rewards of a score, as Inspect's own metrics read its value; a failed sample has none."""
    if isinstance(value, (dict, list)):
        parts = value.items() if isinstance(value, dict) else enumerate(value)
        return [r for k, v in parts for r in rewards_of(f"{name}.{k}", v if not isinstance(v, (dict, list)) else json.dumps(v), failed)]
    if failed:
        return [{"name": name, "failure": "trajectory"}]
    try:
        number = NUMBERS.get(value, WORDS.get(value.lower())) if isinstance(value, str) else value
        number = math.nan if value is None else float(value if number is None else number)
    except ValueError:
        number = math.inf
    if math.isnan(number):  # no score
        return [{"name": name, "failure": "missing"}]
    if math.isfinite(number):
        return [{"name": name, "value": number}]
    return [{"name": name, "failure": "answer", "error": f"no number: {str(value)[:60]!r}"}]
