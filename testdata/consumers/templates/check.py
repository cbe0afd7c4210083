"""Every chat template that TRL ships renders the rows of exported files as it rendered
the engine's prompts.

    python check.py ROLLMILL FOLDER

Tool agents (agent chat, a program behind the recorder) talk to engine.py, an engine
with each template; other rows are imported. `submit --backend file` and `export` write
every kind of file with messages for templates. Each is loaded as its trainer loads it,
and rendered with each template: prompts must be those that the engine recorded, and
whole conversations those of the stored messages with their arguments parsed, as vLLM
renders them. A row that no template can be given must have been refused by name.
"""

import collections
import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest.mock

os.environ.update(HF_HUB_OFFLINE="1", CUDA_VISIBLE_DEVICES="", TRL_EXPERIMENTAL_SILENCE="1", TOKENIZERS_PARALLELISM="false")

sys.modules.setdefault("pylatexenc", unittest.mock.MagicMock())  # of OpenRLHF's rewards

import datasets
import pyarrow.parquet as pq
from openrlhf.datasets import prompts_dataset, reward_dataset
from trl.data_utils import maybe_convert_to_chatml

import engine

HERE = pathlib.Path(__file__).resolve().parent
BIN, OUT = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
datasets.disable_progress_bars()

KINDS = ["trl-sft", "trl-preference", "trl-preference.parquet", "trl-kto", "trl-prompts", "openrlhf-prompts", "openrlhf-preference", "openrlhf-kto", "nemo-rl-preference", "verl"]
EXPORTS = ["chat", "chat.parquet"]
TOOLS = [{"type": "function", "function": {"name": name, "description": what, "parameters": {"type": "object", "properties": parameters}}} for name, what, parameters in (
    ("weather", "the weather of a day", {"city": {"type": "string"}, "date": {"type": "string", "format": "date"}, "unit": {"type": ["string", "null"], "enum": ["c", "f", None]}}),
    ("sum", "adds <numbers> & more", {"values": {"type": "array", "items": {"type": "number"}}, "deep": {"type": "object", "properties": {"exact": {"type": "boolean"}}}}))]


def rollmill(*args, **environment):
    run = subprocess.run([BIN, *map(str, args)], capture_output=True, text=True, env=os.environ | environment)
    if run.returncode:
        sys.exit(f"rollmill {' '.join(map(str, args))}: exit code {run.returncode}\n{run.stderr}")
    return run.stdout


# Rows to import: what the loaders of JSON and Arrow change. A row's number is its name.
ANSWERS = {
    "dates": ({"date": "2024-01-01"}, {"date": "2024-01-02T03:04:05"}),
    "keys": ({"a": None, "b": {"c": [1, {"d": None}]}}, {"e": "é \" ' <&> \u2028 \\", "": ""}),
    "numbers": ({"n": 2**63, "m": -(2**63), "x": 0.5, "y": 1e-5}, {"n": 1.0, "m": 12.25, "x": 9007199254740993}),
    "none": ({}, {"q": "{}"}),
}
REFUSED = {
    "floats": ({"x": 0.7}, {"x": 0.30000000000000004}, "numbers"),
    "huge": ({"n": 2**70}, {"n": 1}, "numbers"),
    "lists": ([1], {"n": 1}, "arguments"),
    "broken": ("{", {"n": 1}, "arguments"),
}


def call(n, arguments):
    return {"role": "assistant", "content": "", "tool_calls": [{"id": f"call_{n:05}", "type": "function", "function": {
        "name": "weather", "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments)}}]}


def imported(path, tools, pairs):
    """Writes pairs of answers that call a tool after a turn that called one, or conversations. Tools are offered in every row, or in none."""
    with path.open("w") as out:
        for n, (name, (good, bad, *_)) in enumerate((ANSWERS | REFUSED).items()):
            before = [{"role": "user", "content": f"Ask about {name}."}, call(2 * n, {"first": name, "date": "2024-05-06"}), {"role": "tool", "tool_call_id": f"call_{2 * n:05}", "name": "weather", "content": "21"}]
            before.append({"role": "user", "content": "2024-01-01"})
            row = {"prompt": before, "chosen": [call(2 * n + 1, good)], "rejected": [call(2 * n + 1, bad)], "prompt_id": name}
            if not pairs:
                row = {"messages": before + [call(2 * n + 1, good)], "prompt_id": name}
            out.write(json.dumps(row | ({"tools": TOOLS} if tools else {})) + "\n")


def key(messages):
    """Names messages by all that a template may read. Arguments are objects, with their keys in order."""
    return json.dumps([[m["role"], m["content"] or "", m.get("name") or "", m.get("reasoning_content") or "", m.get("tool_call_id") or "",
                        [[c["id"], c["function"]["name"], c["function"]["arguments"]] for c in m.get("tool_calls") or []]] for m in messages])


class Stored:
    """The stored trajectories of a run: the reference of its files."""

    def __init__(self, rollout):
        rollmill("export", "--in", rollout, "--to", "trajectories", "--out", rollout.parent / "trajectories.parquet")
        self.prompts = {}  # the recorded prompt, or None, by the messages before an answer
        self.whole = {}  # messages as vLLM parses them, and tools, by themselves
        for row in pq.read_table(rollout.parent / "trajectories.parquet").to_pylist():
            for i, m in enumerate(row["messages"]):
                if m["sampled"]:
                    self.add(row, i)

    def add(self, row, i):
        path, at = [], i
        while at >= 0:
            path.insert(0, at)
            at = row["messages"][at]["parent"]
        try:
            messages = [self.message(row["messages"][j]) for j in path]
        except ValueError:  # arguments that are not JSON
            return
        n = row["calls"][row["messages"][i]["call"]]["tools"]
        tools = json.loads(row["tool_sets"][n]) if n >= 0 else None
        self.prompts[key(messages[:-1])] = self.recorded(row, i), messages[:-1], tools
        self.whole[key(messages)] = messages, tools

    def message(self, m):
        made = {"role": m["role"], "content": m["content"], "name": m["name"], "reasoning_content": m["reasoning"], "tool_call_id": m["tool_call_id"]}
        made["tool_calls"] = [{"id": c["id"], "type": "function", "function": {"name": c["name"], "arguments": c["arguments"]}} for c in m["tool_calls"] or []]
        return engine.parsed([{k: v for k, v in made.items() if v or k == "content"}])[0]

    def recorded(self, row, i):
        m = row["messages"][i]
        if not m["prompt_delta_ids"]:
            return None
        at = m["parent"]
        while at >= 0 and not row["messages"][at]["sampled"]:
            at = row["messages"][at]["parent"]
        before = "" if at < 0 or m["prefix_break"] else self.recorded(row, at) + engine.text(row["messages"][at]["token_ids"])
        return before + engine.text(m["prompt_delta_ids"])


def load(path):
    rows = datasets.load_dataset("parquet" if path.suffix == ".parquet" else "json", data_files=str(path), split="train", cache_dir=str(OUT / "cache"))
    return rows.map(lambda row: {"mapped": True})  # the trainers map their rows, which writes and reads them once more


def conversations(kind, row):
    """The prompts and answers of a row as its trainer renders them, and the tools that it gives to the template."""
    tools = json.loads(row["tools"]) if row.get("tools") else None
    match kind:
        case "trl-sft" | "chat" | "chat.parquet":
            messages = maybe_convert_to_chatml(row)["messages"]
            return [(messages[:-1], messages[-1:])], tools
        case "trl-preference" | "trl-preference.parquet":
            return [(row["prompt"], row["chosen"]), (row["prompt"], row["rejected"])], tools
        case "trl-kto":
            return [(row["prompt"], row["completion"])], tools
        case "trl-prompts" | "verl":
            return [(row["prompt"], None)], ...  # the trainer's own setting
        case "openrlhf-prompts":
            return [(row["input"], None)], None
        case "openrlhf-preference":
            return [(row["prompt"], row["chosen"]), (row["prompt"], row["rejected"])], None
        case "openrlhf-kto":
            return [(row["input"], row["output"])], None
        case "nemo-rl-preference":
            return [(row["context"], c["completion"]) for c in row["completions"]], None


def rendered(kind, template, prompt, answer, tools):
    """What the trainer's own code renders; an exception's text for one that the template raises."""
    def apply(messages, tokenize=False, add_generation_prompt=False):
        return engine.render(template, messages, tools, add_generation_prompt=add_generation_prompt)

    try:
        if kind == "openrlhf-prompts":
            return prompts_dataset.preprocess_data({"input": prompt}, apply_chat_template=apply)[0], None
        if kind == "openrlhf-preference":
            return reward_dataset.preprocess_data({"prompt": prompt, "chosen": answer, "rejected": answer}, prompt_key="prompt", apply_chat_template=apply)[:2]
        return apply(prompt, add_generation_prompt=True), answer and apply(prompt + answer)
    except Exception as error:
        return f"raises {error}", None


lossy = collections.Counter()  # and those that --lossy counts
texts = collections.Counter()  # rows of export whose arguments stay text, by run and kind
counts = collections.Counter()  # rows, by run, kind, template and result


def compare(run, kind, template, prompt, answer, tools, stored):
    """Compares a row with the stored messages of the same run."""
    recorded, before, offered = stored.prompts.get(key(prompt), (None, None, None))
    whole, _ = stored.whole.get(key(prompt + answer), (None, None)) if answer else (before, None)
    if before is None or whole is None:
        return "differ: the messages are not those that were stored"
    if tools is ...:
        tools = offered
    elif tools != offered:
        return "differ: the tools are not those that were offered"
    want, got = rendered(kind, template, before, answer and whole[len(before) :], tools), rendered(kind, template, prompt, answer, tools)
    if want[0].startswith("raises "):
        return "the template refuses the engine's messages"
    if got != want:
        return f"differ: {got} instead of {want}"
    if recorded is not None and kind != "openrlhf-prompts" and got[0] != recorded:
        return f"differ: {got[0]!r} instead of the recorded {recorded!r}"
    return "equal to the recorded prompt" if recorded is not None else "equal"


def check(run, files, stored, templates):
    for path, kind in files:
        if not path.exists():
            continue
        for row in load(path):
            pairs, tools = conversations(kind, row)
            if kind in EXPORTS and any(isinstance(c["function"]["arguments"], str) for m in row["messages"] for c in m.get("tool_calls") or []):
                texts[run, kind] += 1
                continue
            for prompt, answer in pairs:
                for template in templates or [engine.template_of(prompt)]:
                    result = compare(run, kind, template, prompt, answer, tools, stored)
                    counts[run, kind, template, result] += 1


def submitted(run, of, kinds):
    """The files of a run, and what they refused."""
    refused = {}
    rollmill("submit", "--in", of, "--backend", "file", *[f"--kinds={k}" for k in kinds], "--out", OUT / run / "files", "--best", "-1")
    for f in json.loads(rollmill("export", "--in", of, *[f"--to={k}" for k in EXPORTS], "--out", OUT / run / "exports", "--lossy", "--json"))["files"]:
        lossy[run, f["format"]] = sum(f.get("dropped", {}).values())
    for f in json.loads((OUT / run / "files" / "_files.json").read_text())["files"]:
        refused[f["name"]] = f.get("skipped", {})
    name = {k: k if "." in k else k + (".parquet" if k == "verl" else ".jsonl") for k in kinds + EXPORTS}
    return [(OUT / run / "files" / name[k], k) for k in kinds] + [(OUT / run / "exports" / name[k], k) for k in EXPORTS], refused


def agents(url):
    """The tool agents: each example names a template."""
    (OUT / "tools.json").write_text(json.dumps(TOOLS))
    (OUT / "examples.jsonl").write_text("".join(json.dumps({"id": t, "question": f"How warm is it? {t}", "answer": "21"}) + "\n" for t in engine.TEMPLATES))
    chat = ["--agent", "chat", "--tools", OUT / "tools.json", "--tool", "weather=echo 21", "--tool", "sum=cat", "--system", "Be brief."]
    program = ["--agent", f"command: {sys.executable} {HERE / 'agent.py'}", "--agent-env", f"TOOLS={OUT / 'tools.json'}"]
    for run, agent, kinds in (("agent chat", chat, ["trl-sft", "trl-preference", "trl-preference.parquet", "trl-prompts", "verl"]),
                              ("agent chat, one turn", chat + ["--turns", "1"], ["trl-sft", "trl-preference", "trl-kto"]),
                              ("agent command", program, ["trl-sft", "trl-preference", "trl-preference.parquet", "trl-prompts"])):
        at = OUT / run
        rollmill("rollout", "--examples", OUT / "examples.jsonl", *agent, "--url", url, "--model", "m", "--generations", "2", "--out", at / "rollout", "--max-failure-rate", "1", "--max-initial-failures", "-1")
        rollmill("score", "--in", at / "rollout", "--reward", "even=expr:generation % 2", "--out", at / "score")
        rollmill("group", "--in", at / "score", "--pairs", "best-worst", "--pair-at", "first-difference", "--labels", "--out", at / "group")
        rollmill("curate", "--in", at / "group", "--out", at / "curate")
        files, _ = submitted(run, at / "curate", kinds)
        check(run, files, Stored(at / "rollout"), None)


def main():
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    agents(engine.serve())
    for run, tools, pairs in (("imported pairs with tools", True, True), ("imported pairs", False, True), ("imported conversations with tools", True, False), ("imported conversations", False, False)):
        at = OUT / run
        at.mkdir()
        imported(at / "rows.jsonl", tools, pairs)
        rollmill("import", "--from", "chat", "--in", at / "rows.jsonl", "--out", at / "rollout")
        of, kinds = at / "rollout", ["trl-sft"]
        if pairs:
            rollmill("group", "--in", of, "--pairs", "best-worst", "--labels", "--out", at / "group")
            rollmill("curate", "--in", at / "group", "--out", at / "curate")
            of, kinds = at / "curate", [k for k in KINDS if k not in ("trl-sft", "verl") and not (tools and k.startswith(("openrlhf", "nemo")))]
        files, refused = submitted(run, of, kinds)
        check(run, files, Stored(at / "rollout"), list(engine.TEMPLATES))
        print(f"{run}: refused:", refused)
        assert all({r for f, reasons in refused.items() if "prompts" not in f for r in reasons} == {"arguments", "numbers"} for f in refused), refused
    for (run, kind, template, result), n in sorted(counts.items()):
        if result.startswith("differ"):
            print(run, kind, template, result[:2000])
    summary = collections.Counter()
    for (run, kind, template, result), n in counts.items():
        summary[run, kind, result.split(":")[0]] += n
    for (run, kind, result), n in sorted(summary.items()):
        templates = {t for (r, k, t, x) in counts if (r, k) == (run, kind) and x.startswith(result)}
        print(f"{run}: {kind}: {result}: {n} rows, {len(templates)} templates")
    assert +texts == +lossy, (texts, lossy)
    sys.exit(any(result == "differ" for _, _, result in summary))


main()
