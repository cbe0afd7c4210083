"""Import files that the real software wrote, and compare the rows with what the
software itself read from them.

    .venv-data/bin/python check.py BIN OUT [--exported FOLDER] [--only FOLDER...] [--make ENVIRONMENT...]

Every committed file with facts in expected.json goes through `BIN import`, and its
dataset must hold these facts: conversations, tool calls, which messages were
sampled, tokens, logprobs, rewards, preferences. Logs of Inspect go through
rollmill.inspect first, with the packages of .venv-exports. Files that `rollmill export` wrote to
the --exported folder must give the rows of its trajectories.parquet again. With
--make these environments (.ci/venv) make their files and facts anew, below OUT.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pyarrow.parquet

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]

# The program that makes files, its environment, and the folder that it fills.
MAKERS = [
    ("nat", "nat", "nat"), ("art", "art-0.4.11", "art"), ("art", "art-0.5.17", "art"), ("art", "tinker", "art"), ("verifiers", "verifiers", "verifiers"),
    ("verifiers_results", "verifiers-0.1", "verifiers"), ("inspect", "importers", "inspect"), ("trl", "trainers", "trl"), ("otel", "importers", "otel"), ("verl", "trainers", "tokens"),
    ("atif", "nat", "atif"), ("gym", "importers", "gym"), ("openenv", "openenv", "openenv"), ("sessions", "data", "sts"), ("cards", "importers", "."),
]
# The importer of each folder. The check fails if an importer is neither here nor in EXPORTED or ELSEWHERE.
IMPORTERS = {
    "art": "art", "atif": "atif", "gym": "nemo-gym", "harbor": "harbor", "inspect": "rows", "nat": "nat", "openenv": "openenv", "otel": "otel", "public": "chat", "sharegpt": "sharegpt",
    "sts": "sts", "tokens": "tokens", "trl": "chat", "verifiers": "verifiers",
}
# The exported file of importers that have no folder, and the facts of a message in it.
TEXT = ["role", "content", "tool_calls", "tool_call_id"]
EXPORTED = {"rows": ("rows.jsonl", [*TEXT, "parent", "reasoning", "sampled", "tokens", "logprob_sum"])}
# Importers whose files cmd/rollmill/systemtest makes with the real software and compares (TestLiteLLM).
ELSEWHERE = {"litellm", "calls"}
# Flags for files whose columns have names of their own.
FLAGS = {
    "tokens/verl-batch.jsonl": ["--map", "response_logprobs=rollout_log_probs", "--map", "example_id=uid"],
    "public/biology-qa.jsonl": ["--map", "prompt=question", "--map", "completion=answer"],
    "public/theory-of-mind.jsonl": ["--map", "prompt=input", "--map", "completion=target"],
    "public/popularity.jsonl": ["--map", "prompt=question", "--map", "chosen=answer_matching_behavior", "--map", "rejected=answer_not_matching_behavior"],
    "public/swe-zero-openhands-by-card.parquet": ["--map", "messages=trajectory"],
    "public/swe-agent-trajectories-by-card.parquet": ["--map", "messages=trajectory", "--map", "reward=target"],
}


def make(env, out, folders):
    for name, _, folder in [m for m in MAKERS if m[1] == env and (m[2] in folders or m[2] == ".")]:
        print(f"{name} by {env}", flush=True)
        program = [ROOT / f".venv-{env}" / "bin" / "python", "-W", "ignore", HERE / "make" / f"from_{name}.py", out / folder]
        run = subprocess.run(program, capture_output=True, text=True)
        if run.returncode:
            sys.exit(f"from_{name}.py: {run.stdout}{run.stderr}")


def check_names(program):
    """Compare the importers of the program with those that are checked here."""
    run = subprocess.run([program, "import", "--from", "none", "--in", "none", "--check"], capture_output=True, text=True)
    there = set(re.search("importers: (.*)", run.stderr)[1].split(", "))
    wrong = there ^ (set(IMPORTERS.values()) | set(EXPORTED) | ELSEWHERE)
    if wrong:
        sys.exit(f"{', '.join(sorted(wrong))}: mend IMPORTERS, EXPORTED or ELSEWHERE in {__file__}; the importers are {', '.join(sorted(there))}")


def table(*paths):
    rows = [r for path in paths for r in pyarrow.parquet.read_table(path).to_pylist()]
    for r in rows:
        r["metadata"] = json.loads(r["metadata"] or "{}")
    return rows


def imported(program, importer, path, out, flags=()):
    """The rows of the imported file, in the source's order."""
    command = [program, "import", "--from", importer, "--in", str(path), "--out", str(out), *flags]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        raise AssertionError(f"{' '.join(command)}: exit code {run.returncode}\n{run.stderr}")
    return table(*sorted(out.glob("part-*.parquet")))


def inspected(sources, out, *flags):
    """The file of rows that rollmill.inspect makes."""
    command = [ROOT / ".venv-exports/bin/python", "-W", "ignore", "-m", "rollmill.inspect", *flags, *sources]
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("w") as rows:
        run = subprocess.run(command, stdout=rows, stderr=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": str(ROOT / "cmd/python/src")})
    if run.returncode:
        raise AssertionError(f"rollmill.inspect {' '.join(map(str, sources))}: {run.stderr}")
    return out


def check_inspect(folder, out):
    """Rows of a log that has what Inspect seldom writes are as expected, each member; and a log that is cut short is refused by name."""
    wanted = (folder / "schema.rows.jsonl").read_text()
    if inspected([folder / "schema.json"], out / "schema.jsonl").read_text() != wanted:
        raise AssertionError("the rows of schema.json are not those of schema.rows.jsonl")
    cut = out / "cut.eval"
    cut.write_bytes((folder / "sums.eval").read_bytes()[:5000])
    try:
        inspected([cut], out / "cut.jsonl")
    except AssertionError as error:
        if "error: reading" not in str(error) or "cut.eval" not in str(error):
            raise
    else:
        raise AssertionError("a log that is cut short is read")


def scouted(rows, out):
    """The rows of transcripts that rollmill.inspect wrote of rows to a database of Inspect Scout."""
    inspected([rows], out / "none.jsonl", "--to-scout", out / "database")
    return inspected([out / "database"], out / "scout.jsonl", "--scout")


def main_path(row):
    """The row with the messages of its main path: to the leaf under the last one that trains."""
    messages = row["messages"]
    leaf = max((n for n, m in enumerate(messages) if m["call"] >= 0 and row["calls"][m["call"]]["target"]), default=len(messages) - 1)
    for n in range(leaf + 1, len(messages)):
        leaf = n if messages[n]["parent"] == leaf else leaf
    path = []
    while leaf >= 0:
        path.insert(0, messages[leaf])
        leaf = messages[leaf]["parent"]
    return row | {"messages": path}


def text(m):
    if m["content_parts"]:
        return "".join(p.get("text", "") for p in json.loads(m["content_parts"]) if isinstance(p, dict))
    return m["content"] or ""


def arguments(value):
    """Arguments as JSON; nulls are what Arrow adds where rows differ in their fields."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return value
    return {k: v for k, v in value.items() if v is not None} if isinstance(value, dict) else value


def facts(row):
    """The facts of a row, as make/facts.py writes them."""
    messages = []
    for m in row["messages"]:
        f = {"parent": m["parent"] if m["parent"] >= 0 else None, "role": m["role"], "content": text(m), "tool_call_id": m["tool_call_id"], "reasoning": m["reasoning"], "sampled": m["sampled"] or None,
             "tool_calls": [{"id": c["id"], "name": c["name"], "arguments": arguments(c["arguments"])} for c in m["tool_calls"]] or None,
             "token_ids": m["token_ids"], "tokens": len(m["token_ids"] or m["logprobs"] or []) or None, "ids": m["token_ids"], "delta": m["prompt_delta_ids"],
             "trained": row["calls"][m["call"]]["target"] if m["sampled"] else None, "logprob_sum": None if m["logprobs"] is None else sum(m["logprobs"])}
        messages.append(f)
    rewards = {r["name"]: r["value"] for r in row["rewards"]}
    meta = row["metadata"]
    return {"messages": messages, "reward": row["reward"], "rewards": rewards, "id": meta.get("source_id"), "metrics": meta.get("metrics")}


def differs(want, got):
    """The first expected fact that the row does not have."""
    if len(want["messages"]) != len(got["messages"]):
        return f"{len(got['messages'])} messages, not {len(want['messages'])}"
    for n, (w, g) in enumerate(zip(want["messages"], got["messages"])):
        if "parent" in w and w["parent"] != g["parent"]:
            return f"message {n}: its parent is {g['parent']}, not {w['parent']}"
        for key in ("role", "content", "sampled", "tokens", "token_ids", "tool_call_id", "reasoning"):
            if w.get(key) not in (None, False) and w[key] != g[key]:
                return f"message {n}: {key} is {g[key]!r}, not {w[key]!r}"
        if any(key in w and w[key] != g[key] for key in ("ids", "delta", "trained")):
            return f"message {n}: it {'trains' if g['trained'] else 'does not train'} {g['ids']} after {g['delta']}, not {w}"
        if w.get("logprob_sum") is not None and (g["logprob_sum"] is None or abs(w["logprob_sum"] - g["logprob_sum"]) > 1e-3):
            return f"message {n}: the logprobs sum up to {g['logprob_sum']}, not {w['logprob_sum']}"
        calls = [(c["name"], arguments(c["arguments"])) for c in w.get("tool_calls") or []]
        if calls != [(c["name"], c["arguments"]) for c in g["tool_calls"] or []]:
            return f"message {n}: tool calls {g['tool_calls']}, not {calls}"
        ids = [(a["id"], b["id"]) for a, b in zip(w.get("tool_calls") or [], g["tool_calls"] or [])]
        if any(a is not None and a != b for a, b in ids):
            return f"message {n}: ids of tool calls {ids}"
    if want.get("reward") is not None and (got["reward"] is None or abs(want["reward"] - got["reward"]) > 1e-6):
        return f"reward {got['reward']}, not {want['reward']}"
    for name, value in (want.get("rewards") or {}).items():
        if isinstance(value, (int, float)) and (got["rewards"].get(name) is None or abs(got["rewards"][name] - value) > 1e-6):
            return f"reward {name} {got['rewards'].get(name)}, not {value}"
    for name, value in (want.get("metrics") or {}).items():
        has = got["rewards"] | (got["metrics"] or {})
        if has.get(name) != value:
            return f"metric {name} {has.get(name)}, not {value}"
    if want.get("id") is not None and got["id"] != str(want["id"]):
        return f"id {got['id']}, not {want['id']}"
    return None


def agents(row):
    """The conversations of a trace: those of its agents, each with a first message of its own."""
    root = []
    for n, m in enumerate(row["messages"]):
        root.append(n if m["parent"] < 0 else root[m["parent"]])
    return [row | {"messages": [m for n, m in enumerate(row["messages"]) if root[n] == r]} for r in sorted(set(root))]


def compare(rows, wanted):
    """Find for each expected trajectory a row of its own that has all its facts."""
    left = [facts(r) for r in rows]
    if len(left) != len(wanted):
        raise AssertionError(f"{len(left)} rows, not {len(wanted)}")
    for n, want in enumerate(wanted):
        reasons = [differs(want, got) for got in left]
        if None not in reasons:
            raise AssertionError(f"trajectory {n} is none of the rows:" + "".join(f"\n  {r}" for r in reasons))
        left.pop(reasons.index(None))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--exported", type=pathlib.Path)
    parser.add_argument("--only", nargs="*", default=list(IMPORTERS))
    parser.add_argument("--make", nargs="*", default=[])
    o = parser.parse_args()
    check_names(o.program)
    shutil.rmtree(o.out, ignore_errors=True)
    folders = [f for f in IMPORTERS if f in o.only]
    for folder in folders:
        shutil.copytree(HERE / folder, o.out / folder)
    for env in o.make:
        make(env, o.out, folders)
    failed, count = [], 0

    def check(importer, name, path, wanted, made_by, flags=()):
        nonlocal count
        try:
            if name.startswith("inspect/"):
                path = inspected([path], o.out / "imported" / f"{path.name}.rows.jsonl")
            elif name == "exported/scout":
                path = scouted(path, o.out / "imported" / "scout")
            rows = imported(o.program, importer, path, o.out / "imported" / name, flags)
            compare([part for r in rows for part in agents(r)] if importer == "otel" else rows, wanted)
            count += len(wanted)
            print(f"ok {name}: {len(wanted)} trajectories, {made_by}", flush=True)
        except AssertionError as e:
            failed.append(name)
            print(f"FAIL {name} ({made_by}): {e}", flush=True)

    for folder in folders:
        for file, has in json.loads((o.out / folder / "expected.json").read_text())["files"].items():
            name = f"{folder}/{file}"
            check(IMPORTERS[folder], name, o.out / name, has["trajectories"], has["made_by"], FLAGS.get(name, []))
    for importer, (file, kept) in EXPORTED.items() if o.exported else ():
        wanted = [facts(r) for r in table(o.exported / "trajectories.parquet")]
        for w in wanted:
            w["messages"] = [{k: m[k] for k in kept} for m in w["messages"]]
        check(importer, f"exported/{file}", o.exported / file, wanted, "rollmill export")
    if o.exported:
        wanted = [facts(main_path(r)) for r in table(o.exported / "trajectories.parquet") if r["messages"]]
        spoken = [w | {"messages": [{k: m[k] for k in TEXT} for m in w["messages"]]} for w in wanted]
        check("rows", "exported/scout", o.exported / "rows.jsonl", spoken, "rollmill.inspect --to-scout")
    if "inspect" in folders:
        check_inspect(o.out / "inspect", o.out / "imported" / "inspect")
    print(f"{count} trajectories as their software reads them")
    sys.exit(f"{len(failed)} files failed: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
