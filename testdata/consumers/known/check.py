"""Imports rows with every member of a message that Rollmill knows, exports them, and reads each file with its consumer's loader.

    check.py ROLLMILL FOLDER

Hugging Face datasets loads the files. What a trainer would see must be what the rows said: masks are in the file or
the row is left out by name, calls are whole with nulls of their own, reasoning is there, parts of text are text.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys

os.environ.setdefault("HF_HUB_OFFLINE", "1")
from datasets import load_dataset

ARGUMENTS = {"city": "Rome", "unit": None, "days": [1, 2]}
TOOLS = [{"type": "function", "function": {"name": "w", "parameters": {"type": "object", "properties": {"unit": {"type": "string", "default": None}}}}}]
CALL = {"role": "assistant", "content": "Let me look.", "reasoning_content": "I need it.",
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "w", "arguments": json.dumps(ARGUMENTS)}}]}
RESULT = {"role": "tool", "content": [{"type": "text", "text": "sunny"}], "tool_call_id": "c1"}
ASK = [{"role": "system", "content": "Be short."},
       {"role": "user", "name": "ann", "content": [{"type": "text", "text": "Weather?", "cache_control": {"type": "ephemeral"}}]}]
MASKED = [{"weight": 0}, {"train": False}, {"training": False}, {"loss_weight": 0}, {"step_loss_mask": 0}, {"loss_scale": 0.0}, {"loss": False}, {"is_demo": True}]


def rows():
    """The first row trains whole; each of the others has one answer that does not train, under each name, and the last half a weight."""
    yield {"id": "whole", "messages": [*ASK, CALL, RESULT, {"role": "assistant", "content": "Sunny.", "reasoning_content": "Done."}]}
    for mark in MASKED:
        yield {"id": next(iter(mark)), "messages": [*ASK, {**CALL, **mark}, RESULT, {"role": "assistant", "content": "Sunny."}]}
    yield {"id": "half", "messages": [*ASK, CALL, RESULT, {"role": "assistant", "content": "Sunny.", "loss_weight": 0.5}]}


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, (words, done.stderr)
    return json.loads(done.stdout) if "--json" in words else None


def call(message):
    f = message["tool_calls"][0]["function"]
    return f["name"], f["arguments"] if isinstance(f["arguments"], dict) else json.loads(f["arguments"])


def main(rollmill, folder):
    folder = pathlib.Path(folder)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    source = folder / "in.jsonl"
    made = list(rows())
    source.write_text("".join(json.dumps({**r, "tools": TOOLS, "reward": 1}) + "\n" for r in made))
    run(rollmill, "import", "--from", "chat", "--in", str(source), "--map", "example_id=id", "--out", str(folder / "rows"))

    for form in ("chat.jsonl", "chat.parquet"):
        run(rollmill, "export", "--in", str(folder / "rows"), "--to", form, "--out", str(folder / form))
        kind = "parquet" if form.endswith("parquet") else "json"
        loaded = {r["example_id"]: r for r in load_dataset(kind, data_files=str(folder / form), split="train", cache_dir=str(folder / "cache"))}
        assert len(loaded) == len(made), (form, set(loaded))
        for row in made:
            messages = loaded[row["id"]]["messages"]
            messages = [json.loads(m) if isinstance(m, str) else m for m in messages]
            assert [m["role"] for m in messages] == [m["role"] for m in row["messages"]], (form, row["id"])
            assert messages[1]["content"] == "Weather?" and messages[1]["name"] == "ann" and messages[3]["content"] == "sunny", (form, messages)
            assert call(messages[2]) == ("w", ARGUMENTS), (form, call(messages[2]))
            assert messages[2]["reasoning_content"] == "I need it.", (form, messages[2])
            weights = [m.get("weight") for m in messages if m["role"] == "assistant"]
            want = {"whole": [None, None], "half": [None, 0.5]}.get(row["id"], [0, None])
            assert weights == want, (form, row["id"], weights)
            assert json.loads(loaded[row["id"]]["tools"]) == TOOLS, form

    # forms without weights leave the masked rows out by name, or write what they hold
    for form, reasons in (("trl-sft.jsonl", {"others": len(MASKED), "message_weights": 1}), ("customizer-sft.jsonl", None)):
        report = subprocess.run([rollmill, "export", "--in", str(folder / "rows"), "--to", form, "--best", "-1", "--out", str(folder / form), "--json"],
                                capture_output=True, text=True)
        if reasons is None:
            assert report.returncode != 0 and "reasoning" in report.stderr, (form, report.stderr)
            continue
        skipped = json.loads(report.stdout)["files"][0]["skipped"]
        assert skipped == reasons, (form, skipped)
        (row,) = load_dataset("json", data_files=str(folder / form), split="train", cache_dir=str(folder / "cache"))
        messages = [json.loads(m) if isinstance(m, str) else m for m in row["messages"]]
        assert call(messages[2]) == ("w", ARGUMENTS) and messages[4]["reasoning_content"] == "Done.", messages
    print(f"{len(made)} rows with every known member: masks, calls, reasoning and parts are in the files as datasets reads them")


main(*sys.argv[1:])
