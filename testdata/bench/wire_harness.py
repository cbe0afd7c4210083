"""The harness's conversion of its trajectories to ART's JSON, on
the rows of a curated dataset: ART's pydantic models are built from its own,
checked by a round trip, and dumped; httpx makes the JSON.

    python wire_harness.py CURATED

Only this is timed: before it starts, the rows are in memory as the harness's own
models. Prints seconds, bytes and peak memory as JSON. Needs openpipe-art 0.5.17's
models (.ci/locks/art-0.5.17.txt has their requirements) and DuckDB, which reads.
"""

import importlib
import importlib.util
import json
import pathlib
import sys
import time
import types

# The package's __init__ imports GPU libraries; its models do not need them.
package = types.ModuleType("art")
package.__path__ = [str(pathlib.Path(importlib.util.find_spec("art").origin).parent)]
sys.modules["art"] = package

import duckdb
import pydantic
from openai.types.chat.chat_completion import Choice, ChoiceLogprobs

art = importlib.import_module("art.trajectories")


class Item(pydantic.BaseModel):
    """The harness's EpisodeItem."""

    role: str
    content: str
    logprobs: ChoiceLogprobs | None = None


class Episode(pydantic.BaseModel):
    """The harness's Trajectory."""

    episode: list[Item]
    reward: float


def item(m):
    logprobs = None
    if m["sampled"]:
        logprobs = ChoiceLogprobs.model_validate({"content": [{"token": f"token_id:{t}", "bytes": None, "logprob": p, "top_logprobs": []} for t, p in zip(m["token_ids"], m["logprobs"])]})
    return Item(role=m["role"], content=m["content"] or "", logprobs=logprobs)


def chat(i):
    return {"role": i.role if i.role in {"user", "system"} else "assistant", "content": i.content}


def convert(members):
    trajectories = []
    for e in members:
        t = art.Trajectory(messages_and_choices=[chat(e.episode[0])], reward=e.reward)
        for i in e.episode[1:]:
            t.messages_and_choices.append(Choice(index=0, logprobs=i.logprobs, message=chat(i), finish_reason="stop") if i.logprobs else chat(i))
        t.model_validate(t.model_dump())
        trajectories.append(t)
    return art.TrajectoryGroup(trajectories=trajectories)


def groups(curated):
    rows = duckdb.execute("select group_id, reward, messages from read_parquet(?)", [f"{curated}/*.parquet"])
    last, members = None, []
    while row := rows.fetchone():
        group, reward, messages = row
        if group != last and members:
            yield members
            members = []
        last = group
        members.append(Episode(episode=[item(m) for m in messages], reward=reward))
    if members:
        yield members


seconds = size = 0
for members in groups(sys.argv[1]):
    started = time.perf_counter()
    body = json.dumps(convert(members).model_dump(), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    seconds += time.perf_counter() - started
    size += len(body.encode())
peak = int(pathlib.Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) << 10
print(json.dumps({"Seconds": seconds, "Bytes": size, "Peak": peak}))
