"""Reads what `rollmill export` wrote with the software that it is for.

    check.py FOLDER...

A FOLDER has the files of every format that only export writes, of the same
trajectories, as testdata/consumers/exports/golden has. Each check compares what
the reader returns with the trajectories themselves, in trajectories.parquet.

    rows           Python's json: every column of every row
    arrow, stream  pyarrow, and Hugging Face datasets for the stream
    csv            Python's csv
    chat           Hugging Face datasets: JSON Lines and Parquet
    atif           the models of nvidia-nat-atif, which are those of Harbor
    verifiers      verifiers' WireEpisode
    rows           inspect_scout's transcripts_from, of what rollmill.inspect --to-scout writes, with Inspect's ChatMessage
    sts            no reader is on PyPI: the published table of fields
    sequences      pyarrow and json: each sampled token once, behind the prompt that the engine saw
"""

import asyncio
import csv
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import pyarrow as pa
import pyarrow.parquet as pq


def lines(path):
    return [json.loads(line) for line in path.read_text().split("\n")[:-1]]


def same(a, b, where):
    """Compares a value of Parquet with one of another reader; a null, an empty list and a key that is not there are equal."""
    if isinstance(a, dict):
        assert set(b or {}) <= set(a), (where, set(b) - set(a))
        for k in a:
            same(a[k], (b or {}).get(k), f"{where}.{k}")
    elif isinstance(a, list):
        assert len(a) == len(b or []), (where, a, b)
        for i, x in enumerate(a):
            same(x, b[i], f"{where}[{i}]")
    elif isinstance(a, float) and b is not None:
        b = float(b)
        if where.endswith("]") and ".logprobs[" in where:
            b = pa.scalar(b, pa.float32()).as_py()
        assert a == b or math.isnan(a) and math.isnan(b), (where, a, b)
    elif hasattr(a, "isoformat"):
        text = b if isinstance(b, str) else b.isoformat(timespec="microseconds").replace("+00:00", "Z")
        assert a.isoformat(timespec="microseconds").replace("+00:00", "Z") == text, (where, a, b)
    else:
        assert a == b or a is None and not b, (where, a, b)


def path_of(row):
    """The main path: to the leaf under the last message that trains."""
    messages = row["messages"]
    last = len(messages) - 1
    for i in reversed(range(len(messages))):
        m = messages[i]
        if m["sampled"] and 0 <= m["call"] < len(row["calls"]) and row["calls"][m["call"]]["target"]:
            last = i
            for j in range(i + 1, len(messages)):
                if messages[j]["parent"] == last:
                    last = j
            break
    out = []
    while last >= 0:
        out.append(messages[last])
        last = messages[last]["parent"]
    return out[::-1]


def text_of(m):
    if not m["content_parts"]:
        return m["content"] or ""
    return "\n".join(p["text"] for p in json.loads(m["content_parts"]) if p["type"] == "text")


def check_rows():
    same(truth, lines(folder / "rows.jsonl"), "rows")


def check_arrow():
    with pa.ipc.open_file(folder / "arrow.arrow") as f:
        same(truth, f.read_all().to_pylist(), "arrow")
    with pa.ipc.open_stream(folder / "arrow-stream.arrows") as f:
        same(truth, f.read_all().to_pylist(), "stream")
    from datasets import Dataset

    assert Dataset.from_file(str(folder / "arrow-stream.arrows")).num_rows == len(truth)


def check_csv():
    with open(folder / "csv.csv", newline="") as f:
        got = list(csv.DictReader(f))
    assert len(got) == len(truth)
    for a, b in zip(truth, got):
        for name, text in b.items():
            if name == "rewards":
                assert json.loads(text or "{}").keys() == {r["name"] for r in a["rewards"]}
                continue
            value = a[name]
            if isinstance(value, float):
                assert value == float(text) or math.isnan(value), (name, value, text)
            elif hasattr(value, "isoformat"):
                same(value, text, name)
            else:
                assert text == ("" if value is None else str(value)), (name, value, text)


def arguments_of(call):
    """Arguments as chat templates read them: an object, or text that is no JSON."""
    try:
        return json.loads(call["arguments"] or "{}")
    except ValueError:
        return call["arguments"]


def check_chat():
    from datasets import load_dataset

    for kind, name in (("json", "chat.jsonl"), ("parquet", "chat.parquet")):
        data = load_dataset(kind, data_files=str(folder / name), split="train", cache_dir=str(scratch / "cache"))
        assert data.num_rows == len(spoken), name
        for row, got in zip(spoken, data):
            assert got["trajectory_id"] == row["trajectory_id"]
            for name in ("reward", "advantage"):
                want = row[name]
                if want is None or math.isnan(want):
                    assert got[name] is None
                else:  # datasets reads a number of JSON as a float of 32 bits
                    assert math.isclose(got[name], want, rel_tol=1e-6 if kind == "json" else 0), (name, want, got[name])
            assert len(got["messages"]) == len(path_of(row))
            for m, g in zip(path_of(row), got["messages"]):
                assert (g["role"], g["content"]) == (m["role"], text_of(m))
                assert (g.get("reasoning_content") or "") == (m["reasoning"] or "")
                calls = [(c["id"], c["function"]["name"], c["function"]["arguments"]) for c in g.get("tool_calls") or []]
                assert calls == [(c["id"], c["name"], arguments_of(c)) for c in m["tool_calls"]]
            if got.get("tools"):
                assert isinstance(json.loads(got["tools"]), list)


def check_atif():
    from nat.atif.trajectory import Trajectory

    documents = {}
    for path in sorted((folder / "atif").iterdir()):
        document = json.loads(path.read_text())
        parsed = Trajectory.model_validate(document)
        assert parsed.steps and parsed.to_json_dict()["steps"], path
        documents[parsed.trajectory_id] = parsed
    assert set(documents) == {r["trajectory_id"] for r in spoken}
    for row in spoken:
        d = documents[row["trajectory_id"]]
        path = path_of(row)
        assert d.final_metrics.total_steps == len(d.steps)
        sampled = [m for m in path if m["role"] == "assistant"]
        steps = [s for s in d.steps if s.source == "agent"]
        assert len(sampled) == len(steps)
        for m, s in zip(sampled, steps):
            assert len(s.tool_calls or []) == len(m["tool_calls"])
            if not m["sampled"]:
                assert s.is_copied_context
                continue
            assert (s.metrics.completion_token_ids or []) == (m["token_ids"] or [])
            for a, b in zip(m["logprobs"] or [], s.metrics.logprobs or []):
                assert a == pa.scalar(b, pa.float32()).as_py() or math.isinf(a) and b == -9999
            if m["prompt_delta_ids"]:
                assert s.metrics.prompt_token_ids[-len(m["prompt_delta_ids"]) :] == m["prompt_delta_ids"]
        results = [r.content for s in d.steps if s.observation for r in s.observation.results]
        assert results == [text_of(m) for m in path if m["role"] == "tool"]
        leaves = set(range(len(row["messages"]))) - {m["parent"] for m in row["messages"]}
        assert len(d.subagent_trajectories or []) == len(leaves) - 1
        extra = d.extra
        assert extra["example"] == row["example"] and extra["run"] == row["run"]


def check_verifiers():
    from verifiers.v1 import WireEpisode

    episodes = [WireEpisode.model_validate_json(line) for line in (folder / "verifiers.jsonl").read_text().split("\n")[:-1]]
    assert len(episodes) == len(spoken)
    for row, e in zip(spoken, episodes):
        (trace,) = e.traces
        assert e.id == trace.id == row["trajectory_id"]
        assert e.ok == (row["status"] in ("ok", "truncated"))
        for r in row["rewards"]:
            got = trace.rewards[r["name"]]
            if r["value"] is None or math.isnan(r["value"]):
                assert got is None
            else:
                assert (got.score, got.weight) == (r["value"], r["weight"])
        trained = [m for m in row["messages"] if m["sampled"] and row["calls"][m["call"]]["target"]]
        nodes = [n for n in trace.nodes if n.sampled and n.message.role == "assistant"]
        assert len(nodes) == sum(m["sampled"] for m in row["messages"])
        kept = [n for n in nodes if any(n.mask)]
        assert [list(m["token_ids"]) for m in trained if m["token_ids"]] == [[t for t, x in zip(n.token_ids, n.mask) if x] for n in kept]
        for n in kept:
            assert len(n.logprobs) == sum(n.mask) and n.advantages == [row["advantage"]] * sum(n.mask)
        for branch in trace.branches:
            assert len(branch.token_ids) == len(branch.sampled_mask) == len(branch.logprobs)
        leaves = set(range(len(row["messages"]))) - {m["parent"] for m in row["messages"]}
        breaks = sum(1 for m in row["messages"] if m["prefix_break"])
        assert len(leaves) <= trace.num_branches <= len(leaves) + breaks
        assert [c.error is not None for c in trace.calls] == [bool(c["error"]) for c in row["calls"]]
        WireEpisode.model_validate(e.to_record())


def check_scout():
    from inspect_ai.model import ChatMessageAssistant
    from inspect_scout import transcripts_from
    from inspect_scout._transcript.types import TranscriptContent

    async def read():
        place = scratch / "scout"
        write = [sys.executable, "-m", "rollmill.inspect", "--to-scout", str(place), str(folder / "rows.jsonl")]
        subprocess.run(write, check=True, env=os.environ | {"PYTHONPATH": str(pathlib.Path(__file__).parents[3] / "cmd/python/src")})
        out = {}
        async with transcripts_from(str(place)).reader() as reader:
            async for info in reader.index():
                out[info.transcript_id] = (info, await reader.read(info, TranscriptContent(messages="all")))
        return out

    got = asyncio.run(read())
    assert set(got) == {r["trajectory_id"] for r in spoken}
    for row in spoken:
        info, transcript = got[row["trajectory_id"]]
        path = path_of(row)
        assert (info.source_type, info.source_id, info.task_id) == ("rollmill", row["run"], row["example_id"])
        assert info.message_count == len(transcript.messages) == len(path)
        assert info.metadata["group_id"] == row["group_id"]
        for m, g in zip(path, transcript.messages):
            assert g.text == text_of(m) or m["content_parts"], (g.text, m)
            if isinstance(g, ChatMessageAssistant):
                assert [(c.id, c.function) for c in g.tool_calls or []] == [(c["id"], c["name"]) for c in m["tool_calls"]]


def check_sts():
    roles = {"system", "user", "assistant", "tool"}
    files = sorted((folder / "sts").iterdir())
    assert len(files) == len(spoken)
    rows = {r["trajectory_id"]: r for r in spoken}
    for path in files:
        header, *messages = lines(path)
        assert header["type"] == "session" and header["harness"] and header["id"] in rows
        expected = path_of(rows[header["id"]])
        assert len(messages) == len(expected)
        for line, m in zip(messages, expected):
            assert line["type"] == "message"
            got = line["message"]
            assert got["role"] in roles and got["content"] == text_of(m)
            assert got.get("toolCallId", "") == (m["tool_call_id"] or "")
            assert [c["function"]["arguments"] for c in got.get("toolCalls", [])] == [c["arguments"] for c in m["tool_calls"]]


def prompt_of(row, i):
    """Returns the ids of the whole prompt of a sampled message, as the engine saw it."""
    m = row["messages"][i]
    above = m["parent"]
    while above >= 0 and not row["messages"][above]["sampled"]:
        above = row["messages"][above]["parent"]
    if above < 0 or m["prefix_break"]:
        return m["prompt_delta_ids"]
    return prompt_of(row, above) + row["messages"][above]["token_ids"] + m["prompt_delta_ids"]


def check_sequences():
    rows = pq.read_table(folder / "sequences.parquet").to_pylist()
    same(rows, lines(folder / "sequences.jsonl"), "sequences")
    trajectories = {r["trajectory_id"]: r for r in truth}
    found = set()
    for s in rows:
        row, trained = trajectories[s["trajectory_id"]], []
        assert s["weight"] == 1 and s["advantage"] == row["advantage"] and s["tokens"] == sum(s["loss_mask"])
        for i, v in zip(s["messages"], s["versions"], strict=True):
            m = row["messages"][i]
            assert (s["trajectory_id"], i) not in found
            found.add((s["trajectory_id"], i))
            assert s["prompt_ids"] + s["response_ids"][: v["start"]] == prompt_of(row, i)
            assert s["response_ids"][v["start"] : v["end"]] == m["token_ids"]
            assert s["logprobs"][v["start"] : v["end"]] == m["logprobs"]
            trained += range(v["start"], v["end"])
        assert [k for k, on in enumerate(s["loss_mask"]) if on] == trained
        assert len(s["response_ids"]) == len(s["loss_mask"]) == len(s["logprobs"]) == trained[-1] + 1
    sampled = {
        (r["trajectory_id"], i)
        for r in truth
        for i, m in enumerate(r["messages"])
        if m["sampled"] and m["call"] >= 0 and r["calls"][m["call"]]["target"]
    }
    gave = {trajectory for trajectory, _ in found}
    assert found == {(t, i) for t, i in sampled if t in gave}, "a token is lost"
    for t in {t for t, _ in sampled} - gave:  # only what no trainer can use is left out
        assert any(m["sampled"] and (not m["token_ids"] or min(m["logprobs"]) == -math.inf) for m in trajectories[t]["messages"]), t


for folder in map(pathlib.Path, sys.argv[1:]):
    scratch = pathlib.Path(tempfile.mkdtemp())
    truth = pq.read_table(folder / "trajectories.parquet").to_pylist()
    spoken = [r for r in truth if r["messages"]]  # the others have no conversation to write
    print(folder)
    for check in (check_rows, check_arrow, check_csv, check_chat, check_atif, check_verifiers, check_scout, check_sts, check_sequences):
        check()
        print(check.__name__.removeprefix("check_"), "ok")
