"""A curated dataset as what ART trains on."""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Iterator, Sequence
from typing import Any

from .._need import need

PACKAGE = "'openpipe-art[backend]'"
COLUMNS = ["trajectory_id", "example_id", "group_id", "messages", "calls", "tool_sets", "reward", "rewards", "policy_version"]

Row = dict[str, Any]
History = tuple[list[Any], Any]  # messages and choices, and the tools


def rows(curated: str) -> Iterator[Row]:
    parquet = need("pyarrow.parquet", "reading the batch", "pyarrow")
    for part in sorted(glob.glob(os.path.join(curated, "*.parquet"))):
        for batch in parquet.ParquetFile(part).iter_batches(batch_size=16, columns=COLUMNS):
            yield from batch.to_pylist()


def trained(row: Row, i: int) -> bool:
    m = row["messages"][i]
    return bool(m["sampled"] and m["call"] >= 0 and row["calls"][m["call"]]["target"])


def paths(row: Row) -> list[list[int]]:
    """The main path first, which ends with the last sampled message that is trained; then those to the other leaves."""
    messages = row["messages"]
    parents = {m["parent"] for m in messages}
    leaves = [i for i in range(len(messages)) if i not in parents]

    def path(i: int) -> list[int]:
        out: list[int] = []
        while i >= 0:
            out.insert(0, i)
            i = messages[i]["parent"]
        return out

    all_paths = [path(leaf) for leaf in leaves]
    last = max((i for i in range(len(messages)) if trained(row, i)), default=-1)
    return sorted(all_paths, key=lambda p: last not in p)


def history(row: Row, path: Sequence[int], done: set[int]) -> History | None:
    """The part of a path that ART trains, up to its last choice; None when there is nothing new on it."""
    fresh = [i for i in path if trained(row, i) and i not in done]
    if not fresh:
        return None
    if any(i in done for i in path):
        raise ValueError(f"{row['trajectory_id']}: a sampled turn is on more than one branch, and ART would train it twice")
    done.update(fresh)
    entries = []
    for i in path[: path.index(fresh[-1]) + 1]:
        m = row["messages"][i]
        calls = [{"id": c["id"], "type": "function", "function": {"name": c["name"], "arguments": c["arguments"]}} for c in m["tool_calls"]]
        message = {"role": m["role"], "content": m["content"] or ""}
        message.update({k: m[k] for k in ("name", "tool_call_id") if m[k]})
        if calls:
            message["tool_calls"] = calls
        entries.append(choice(m, message) if i in fresh else message)
    tools = row["calls"][row["messages"][fresh[0]]["call"]]["tools"]
    return entries, json.loads(row["tool_sets"][tools]) if tools >= 0 else None


def choice(m: Row, message: dict[str, Any]) -> Any:
    """A sampled message with its token ids and log probabilities, in the form in which ART takes them."""
    completions = need("openai.types.chat.chat_completion", "training in process", PACKAGE)
    tokens = [
        {"token": f"token_id:{t}", "logprob": max(p, -9999.0), "bytes": None, "top_logprobs": []} for t, p in zip(m["token_ids"], m["logprobs"], strict=True)
    ]
    made = {"finish_reason": m["finish_reason"] or "stop", "index": 0, "message": message, "logprobs": {"content": tokens, "refusal": None}}
    return completions.Choice.model_validate(made)


def trajectory(row: Row) -> Any:
    art = need("art", "training in process", PACKAGE)
    done: set[int] = set()
    histories = [h for path in paths(row) if (h := history(row, path, done))]
    if not histories:
        raise ValueError(f"{row['trajectory_id']}: nothing on it was sampled by the policy")
    (entries, tools), *more = histories
    return art.Trajectory(
        messages_and_choices=entries,
        tools=tools,
        reward=row["reward"],
        additional_histories=[art.trajectories.History(messages_and_choices=e, tools=t) for e, t in more],
        metrics={r["name"]: r["value"] for r in row["rewards"] if r["value"] is not None},
        metadata={"scenario_id": row["example_id"], "trajectory_id": row["trajectory_id"]},
        initial_policy_version=row["policy_version"],
        final_policy_version=row["policy_version"],
    )


def groups(curated: str) -> list[Any]:
    """The curated dataset as art.TrajectoryGroups. Its rows are sorted by group."""
    art = need("art", "training in process", PACKAGE)
    out: list[list[Any]] = []
    last = None
    for row in rows(curated):
        if row["reward"] is None:
            raise ValueError(f"{row['trajectory_id']}: no reward; a failure never votes")
        if row["group_id"] != last:
            out.append([])
            last = row["group_id"]
        out[-1].append(trajectory(row))
    return [art.TrajectoryGroup(members) for members in out]
