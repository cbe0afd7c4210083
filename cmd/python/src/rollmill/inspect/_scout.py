"""Transcripts of Inspect Scout's databases as rows, and rows as transcripts."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from typing import Any

from .._need import need
from ._message import Json
from ._sample import plain, sample_row

NEEDS = "reading and writing databases of Inspect Scout"
# The members of a sample by the field of a transcript; the others that are read have the same name.
SAMPLE = {"transcript_id": "uuid", "task_id": "id", "task_repeat": "epoch", "date": "started_at"}
READ = {"error", "limit", "score", "model", "task_set", "message_count", "metadata"}
LIMITS = {"length": "token", "max_tokens": "token", "turns": "message", "max_calls": "message", "timeout": "time", "budget": "cost"}
# Columns that write_scout adds, and the row has elsewhere.
OURS = {"epoch", "status", "stop_reason", "failure_class", "policy_version", "rewards"}


def scout_rows(source: str) -> Iterator[Json]:
    """The rows of a database."""

    async def read() -> AsyncIterator[Any]:
        scout = need("inspect_scout", NEEDS, "inspect-scout")
        everything = scout.TranscriptContent(messages="all", events="all", timeline="all")
        async with scout.transcripts_from(source).reader() as reader:
            async for info in reader.index():
                yield await reader.read(info, everything)

    async def following() -> Any:
        return await anext(transcripts, None)

    transcripts = read()
    loop = asyncio.new_event_loop()  # which holds the database open from one row to the next
    try:
        while (t := loop.run_until_complete(following())) is not None:
            yield transcript_row(plain(t))
    finally:
        loop.close()


def decoded(v: Any) -> Any:
    """The value of a text with JSON, another value as it is."""
    try:
        return json.loads(v) if isinstance(v, str) else v
    except ValueError:
        return v


def transcript_row(t: Json) -> Json:
    more: Json = t.get("metadata") or {}
    sample = {SAMPLE.get(k, k): v for k, v in t.items() if k not in READ}
    ours = t.get("source_type") == "rollmill"
    for k, v in more.items():
        if not (ours and k in OURS):
            sample["column_" + k if k in sample or k in ("metadata", "input", "target", "output", "scores", "eval") else k] = v
    sample |= {"error": {"message": t["error"]}} if t.get("error") else {}
    sample |= {"limit": {"type": t["limit"]}} if t.get("limit") else {}
    rewards = decoded(more.get("rewards"))
    if ours and isinstance(rewards, dict):
        sample["scores"] = {k: {"value": v} for k, v in rewards.items()}
    elif t.get("score") is not None:
        sample["scores"] = {"score": {"value": decoded(t["score"])}}
    row = sample_row(sample, {"eval": {name: t[k] for name, k in (("model", "model"), ("task", "task_set")) if t.get(k)}}, unmarked=True)
    for call in row["calls"]:
        call["sampling"] = call.get("sampling") or t.get("model_options") or {}
        call["model"] = call.get("model") or t.get("model") or ""
    if not ours:
        return row
    row |= {k: more[k] for k in ("status", "stop_reason", "failure_class", "epoch") if more.get(k) is not None}
    for call in row["calls"]:
        call["policy_version"] = more.get("policy_version")
    row["reward"] = None if row["status"] == "failed" else decoded(t.get("score"))
    return row


def write_scout(folder: str, files: list[str]) -> tuple[int, Counter[str]]:
    """Write the main path of each row as a transcript; fields that a transcript does not have are its metadata.

    Returns how many there are, and how many rows have what a transcript has no place for.
    """
    lost: Counter[str] = Counter()
    scout = need("inspect_scout", NEEDS, "inspect-scout")

    def transcripts() -> Iterator[Any]:
        for file in files:
            with open(file, encoding="utf-8") as lines:
                for n, line in enumerate(lines, 1):
                    try:
                        row = json.loads(line)
                        if row["messages"]:
                            yield scout.Transcript.model_validate(transcript_of(row, lost))
                    except (ValueError, KeyError) as error:
                        raise ValueError(f"{file} line {n}: {type(error).__name__}: {error}") from error

    async def write() -> int:
        all = list(transcripts())
        async with scout.transcripts_db(folder) as db:
            await db.insert(all)
        return len(all)

    return asyncio.run(write()), lost


def transcript_of(row: Json, lost: Counter[str]) -> Json:
    path = main_path(row)
    lost["branches"] += len(path) < len(row["messages"])
    messages = [row["messages"][i] for i in path]
    arguments = [decoded(c["arguments"]) for m in messages for c in m.get("tool_calls") or []]
    parts = [p for m in messages for p in decoded(m.get("content_parts")) or []]
    lost["tool arguments that are not a JSON object"] += not all(isinstance(a, dict) for a in arguments)
    lost["parts that are neither text nor image"] += not all(p.get("text") or p.get("image_url") for p in parts)
    targets = [c for c in row["calls"] if c["target"]]
    began, ended = row.get("started_at"), row.get("finished_at")
    t = {"transcript_id": row["trajectory_id"], "source_type": "rollmill", "source_id": row["run"], "task_id": row["example_id"],
         "task_repeat": row["generation"], "model": row.get("model"), "model_options": decoded(targets[0]["sampling"]) if targets else None,
         "score": row.get("reward"), "error": row.get("error"), "date": began, "message_count": len(path),
         "limit": LIMITS.get(row["stop_reason"]),
         "total_tokens": row["prompt_tokens"] + row["completion_tokens"], "messages": [chat_message(row, i) for i in path]}
    if began and ended:
        t["total_time"] = (datetime.fromisoformat(ended.replace("Z", "+00:00")) - datetime.fromisoformat(began.replace("Z", "+00:00"))).total_seconds()
    kept = ("epoch", "group_id", "status", "stop_reason", "failure_class", "policy_version", "answer", "advantage", "sampled_tokens")
    t["metadata"] = {k: row[k] for k in kept if row.get(k) is not None} | {"rewards": {r["name"]: r.get("value") for r in row["rewards"]}}
    return {k: v for k, v in t.items() if v not in (None, "")}


def main_path(row: Json) -> list[int]:
    """The messages to the leaf under the last one that trains; without one, to the last message."""
    messages = row["messages"]
    trained = [i for i, m in enumerate(messages) if m["call"] >= 0 and row["calls"][m["call"]]["target"]]
    leaf = trained[-1] if trained else len(messages) - 1
    for i in range(leaf + 1, len(messages) if trained else 0):
        leaf = i if messages[i]["parent"] == leaf else leaf
    path = []
    while leaf >= 0:
        path.append(leaf)
        leaf = messages[leaf]["parent"]
    return path[::-1]


def chat_message(row: Json, i: int) -> Json:
    m = row["messages"][i]
    role = {"developer": "system", "function": "tool"}.get(m["role"], m["role"])
    out = {"id": f"{row['trajectory_id']}-{i}", "role": role, "content": content_of(m)}
    if role == "assistant":
        out |= {"source": "generate"} if m["call"] >= 0 else {}
        out |= {"model": row["calls"][m["call"]]["model"]} if m["call"] >= 0 else {}
        out["tool_calls"] = [tool_call(c) for c in m.get("tool_calls") or []] or None
    elif role == "tool":
        out |= {"tool_call_id": m.get("tool_call_id"), "function": m.get("name")}
    else:
        out["source"] = "input"
    return out


def tool_call(c: Json) -> Json:
    arguments = decoded(c["arguments"])
    if isinstance(arguments, dict):
        return {"id": c["id"], "function": c["name"], "arguments": arguments}
    return {"id": c["id"], "function": c["name"], "arguments": {}, "parse_error": "the arguments are not a JSON object"}


def content_of(m: Json) -> Any:
    parts = decoded(m.get("content_parts")) or []
    if not parts and not m.get("reasoning"):
        return m.get("content") or ""
    out: list[Json] = [{"type": "reasoning", "reasoning": m["reasoning"]}] if m.get("reasoning") else []
    for p in parts or [{"text": m.get("content")}]:
        image = p.get("image_url")
        if image:
            out.append({"type": "image", "image": image["url"] if isinstance(image, dict) else image})
        elif p.get("text"):
            out.append({"type": "text", "text": p["text"]})
    return out
