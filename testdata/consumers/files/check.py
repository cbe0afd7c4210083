"""Load the files that `rollmill submit --backend file` wrote with the loaders
that their consumers use, `datasets` and pyarrow, and check the format that
each trainer requires.

    python check.py FOLDER

FOLDER is the --out of submit; _files.json has the number of rows of each file.
"""

import json
import pathlib
import sys

import datasets
import pyarrow.parquet as pq

datasets.disable_progress_bars()
folder = pathlib.Path(sys.argv[1])
entries = {f["name"]: f for f in json.loads((folder / "_files.json").read_text())["files"]}
checks = {}


def check(name):
    return lambda f: checks.setdefault(name, f)


def texts(messages):
    """Every message has a role and a text; Arrow has filled no content with null."""
    for m in messages:
        assert m["role"] in {"system", "user", "assistant", "tool"} and isinstance(m["content"], str), m


def asks(messages):
    texts(messages)
    assert messages and messages[-1]["role"] in {"user", "tool"}, messages


def answers(messages):
    texts(messages)
    assert [m["role"] for m in messages] == ["assistant"]


def tools(row):
    if row.get("tools") is not None:
        assert all(t["type"] == "function" for t in json.loads(row["tools"]))


@check("trl-preference.jsonl")
@check("trl-preference.parquet")
def trl_preference(rows):
    for r in rows:
        asks(r["prompt"]), answers(r["chosen"]), answers(r["rejected"]), tools(r)
        assert r["chosen"] != r["rejected"] and r["score_chosen"] > r["score_rejected"] and r["margin"] > 0


@check("trl-kto.jsonl")
def trl_kto(rows):
    for r in rows:
        asks(r["prompt"]), answers(r["completion"]), tools(r)
        assert isinstance(r["label"], bool)
    assert {r["label"] for r in rows} == {True, False}
    balanced("trl-kto.jsonl", rows)


def balanced(name, rows):
    """The weights balance the labels of this file, as TRL's documentation recommends."""
    b = entries[name]["balance"]
    wanted = sum(r["label"] for r in rows)
    assert (b["desirable"], b["undesirable"]) == (wanted, len(rows) - wanted)
    assert 1 - 1e-9 <= b["desirable_weight"] * wanted / (b["undesirable_weight"] * (len(rows) - wanted)) <= 4 / 3 + 1e-9


@check("trl-sft.jsonl")
def trl_sft(rows):
    for r in rows:
        texts(r["messages"]), tools(r)
        assert r["messages"][-1]["role"] == "assistant"
        for m in r["messages"]:
            for call in m.get("tool_calls") or []:
                assert isinstance(call["function"]["arguments"], dict)


@check("trl-prompts.jsonl")
def trl_prompts(rows):
    for r in rows:
        asks(r["prompt"]), tools(r)
        assert isinstance(json.loads(r["example"]), dict)


@check("verl.parquet")
def verl(rows):
    """The fields that verl's RLHFDataset and its reward manager read from a row."""
    for i, r in enumerate(rows):
        asks(r["prompt"])
        assert set(r["prompt"][0]) == {"role", "content"}
        assert isinstance(r["data_source"], str) and isinstance(r["reward_model"]["ground_truth"], str)
        assert r["extra_info"]["index"] == i


@check("openrlhf-prompts.jsonl")
def openrlhf_prompts(rows):
    for r in rows:
        asks(r["input"])
        assert isinstance(r["label"], str)


@check("openrlhf-preference.jsonl")
def openrlhf_preference(rows):
    for r in rows:
        asks(r["prompt"]), answers(r["chosen"]), answers(r["rejected"])
        assert r["margin"] > 0


@check("openrlhf-kto.jsonl")
def openrlhf_kto(rows):
    for r in rows:
        asks(r["input"]), answers(r["output"])
        assert isinstance(r["label"], bool)
    balanced("openrlhf-kto.jsonl", rows)


@check("nemo-rl-preference.jsonl")
def nemo_rl(rows):
    datasets.Dataset.from_list(rows).add_column("task_name", ["t"] * len(rows))  # as its PreferenceDataset does
    for r in rows:
        asks(r["context"])
        assert [c["rank"] for c in r["completions"]] == [0, 1]
        for c in r["completions"]:
            answers(c["completion"])


@check("slime.jsonl")
def slime(rows):
    for r in rows:
        n = r["response_length"]
        assert 0 < n == len(r["loss_mask"]) == len(r["rollout_log_probs"]) < len(r["tokens"])
        assert set(r["loss_mask"]) <= {0, 1} and r["loss_mask"][-1] == 1
        assert all(p == 0 for p, m in zip(r["rollout_log_probs"], r["loss_mask"]) if not m)
        assert r["status"] in {"completed", "truncated"}
        m = r["metadata"]
        assert r["rollout_id"] == r["index"] - m["sequence"] and m["sequence"] < m["sequences"]  # siblings share it, no others do
    assert [r["index"] for r in rows] == list(range(len(rows)))


@check("sequences.parquet")
def sequences(rows):
    for r in rows:
        assert r["prompt_ids"] and len(r["response_ids"]) == len(r["loss_mask"]) == len(r["logprobs"])
        assert r["loss_mask"][0] and r["loss_mask"][-1] and sum(r["loss_mask"]) == r["tokens"]
        assert r["weight"] > 0 and r["sequence"] < r["sequences"]


@check("customizer-dpo.jsonl")
def customizer(rows):
    for r in rows:
        asks(r["prompt"])
        assert r["chosen_response"] != r["rejected_response"] and r["chosen_response"] and r["rejected_response"]
        assert set(r) == {"prompt", "chosen_response", "rejected_response"}


@check("customizer-sft.jsonl")
def customizer_sft(rows):
    for r in rows:
        texts(r["messages"])
        assert r["messages"][-1]["role"] == "assistant" and set(r) <= {"messages", "tools"}
        for m in r["messages"]:
            for call in m.get("tool_calls") or []:
                assert isinstance(json.loads(call["function"]["arguments"]), dict)


@check("art-log-v1.parquet")
def art_log(rows):
    for r in rows:
        texts(r["messages"])
        assert any(m["trainable"] for m in r["messages"])


@check("art-log-v2.parquet")
def art_log_2(rows):
    art_log(rows)
    assert pq.read_schema(folder / "art-log-v2.parquet").metadata[b"art.trajectory_parquet.version"] == b"2"
    groups = {}
    for r in rows:
        assert r["format_version"] == 2 and "trajectories" not in json.loads(r["group_json"])
        assert json.loads(r["trajectory_json"])["reward"] == r["reward"]
        groups.setdefault(r["group_index"], []).append(r["trajectory_index"])
    assert list(groups) == list(range(len(groups)))
    assert all(v == list(range(len(v))) for v in groups.values())


for name, entry in entries.items():
    if name == "art.jsonl":  # choices and messages are in one list: for ART's own models see ../art
        continue
    if name == "prime-rl.bin":  # MessagePack, which datasets does not read: see ../loaders
        continue
    kind = "parquet" if name.endswith(".parquet") else "json"
    if entry["rows"] == 0:
        print(f"{name}: no rows")
        continue
    rows = datasets.load_dataset(kind, data_files=str(folder / name), split="train", keep_in_memory=True)
    assert rows.num_rows == entry["rows"], f"{name}: {rows.num_rows} rows, not {entry['rows']}"
    if kind == "parquet":
        assert pq.read_table(folder / name).num_rows == entry["rows"]
    checks[name](rows.to_list())
    print(f"{name}: {rows.num_rows} rows")
