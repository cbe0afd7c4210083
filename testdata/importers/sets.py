"""Print the account of real data sets: members read, kept, withheld and unread, and the rows that findings block.

    sets.py BIN PACKAGES

PACKAGES has the files that .ci/install sets downloads. Each set goes through `BIN import --check` as a user would call
it. The check fails if what a row keeps unread blocks another number of rows than the set's line says: none, where the
set is honest, and else the rows that must not train, with the reason.
"""

import collections
import glob
import json
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import zipfile

# Findings that say that something of a record was not understood.
UNREAD = {"unread_mask", "unread_content", "unread_history", "no_arguments", "content_parts", "media_tokens", "message_weights", "tool_calls", "foreign_calls"}
EXAMPLES = "inspect_ai-*/inspect_ai/dataset/_examples/"
EVALS = "evals-*/evals/registry/data/"
QUESTIONS = ["--map", "prompt=input", "--map", "completion=target"]
PAIRS = ["--map", "prompt=question", "--map", "chosen=answer_matching_behavior", "--map", "rejected=answer_not_matching_behavior"]
GYM = "nemo_gym-*/**/*rollouts*.jsonl"
# Gym's servers whose models saw an image or heard a sound, and those whose files have answers without a word.
MEDIA = ["image_tools", "gui_coordinate", "circle_click", "circle_count", "vlm_eval_kit", "asr_with_pc"]
EMPTY = ["interactive_browser", "math_with_autograder", "openclaw"]

# Name, importer, flags, files, findings with rows, records that are refused.
SETS = [
    ("tinker-cookbook, conversations", "chat", [], "tinker_cookbook-*/tinker_cookbook/example_data/*.jsonl", {}, 0),
    ("oumi, its format", "chat", [], "oumi-*/data/dataset_examples/oumi_format.jsonl", {}, 0),
    ("oumi, Alpaca", "sharegpt", [], "oumi-*/data/dataset_examples/alpaca_format.jsonl", {}, 0),
    ("oumi, images (must not train)", "chat", [], "oumi-*/data/dataset_examples/vision*.jsonl", {"content_parts": 8, "media_tokens": 2}, 0),
    ("axolotl, ShareGPT", "sharegpt", [], "axolotl-*/tests/fixtures/conversation.json", {}, 0),
    ("alpaca-eval, outputs", "sharegpt", [], "alpaca_eval-*/example/outputs.json", {}, 0),
    ("inspect-ai, bias detection", "chat", QUESTIONS, EXAMPLES + "bias_detection.jsonl", {}, 0),
    ("inspect-ai, security guide", "chat", QUESTIONS, EXAMPLES + "security_guide.jsonl", {}, 0),
    ("inspect-ai, theory of mind", "chat", QUESTIONS, EXAMPLES + "theory_of_mind.jsonl", {}, 0),
    ("inspect-ai, biology", "chat", ["--map", "prompt=question", "--map", "completion=answer"], EXAMPLES + "biology_qa.jsonl", {}, 0),
    ("inspect-ai, popularity (pairs)", "chat", PAIRS, EXAMPLES + "popularity.jsonl", {}, 0),
    ("llama-recipes, text to SQL", "chat", ["--map", "prompt=question", "--map", "completion=sql"],
     "llama_recipes-*/3p-integrations/lamini/**/training_data/*.jsonl", {}, 0),
    ("pyrit, many-shot turns", "chat", ["--map", "prompt=user", "--map", "completion=assistant"],
     "pyrit-*/pyrit/datasets/jailbreak/many_shot_examples.json", {}, 0),
    # refused: answers that are lists of answers, or none
    ("evals, samples", "chat", ["--map", "prompt=input", "--map", "completion=ideal"], EVALS + "[a-s]*/samples.jsonl", {}, 10819),
    ("evals, examples in the prompt", "chat", ["--map", "messages=sample"], EVALS + "music-theory/*few-shot.jsonl", {}, 0),
    # refused: four files of aviary, whose output is a list as text
    ("nemo-gym, rollouts", "nemo-gym", [], "honest", {}, 20),
    ("nemo-gym, images and sound (must not train)", "nemo-gym", [], "media", {"content_parts": 40, "media_tokens": 35, "unread_history": 5}, 0),
    ("nemo-gym, answers without a word (must not train)", "nemo-gym", [], "empty", {"unread_content": 12}, 0),
    ("nemo-gym, tasks that were not run (refused)", "nemo-gym", [], "tasks", {}, 130),
    ("bfcl-eval, questions in lists of lists (refused)", "chat", ["--map", "prompt=question", "--map", "tools=function"],
     "bfcl_eval-*/bfcl_eval/data/*simple*.json", {}, 808),
]


def unpack(package, folder):
    if package.suffix == ".whl":
        with zipfile.ZipFile(package) as archive:
            archive.extractall(folder / package.name)
    else:
        with tarfile.open(package) as archive:
            archive.extractall(folder, filter="data")


def gym(folder):
    """Return Gym's files by what they are, without the tables of rewards."""
    kinds = collections.defaultdict(list)
    for path in sorted(glob.glob(str(folder / GYM), recursive=True)):
        with open(path) as file:
            line = file.readline()
        if line[:1] != "{":  # nothing, or a placeholder
            continue
        first = json.loads(line)
        kind = "tasks" if "response" not in first and "_ng_failure_class" not in first else \
            next((kind for kind, names in (("media", MEDIA), ("empty", EMPTY)) if any(n in path for n in names)), "honest")
        kinds[kind].append(path)
    return kinds


def account(program, importer, flags, files):
    """Return what import reports of files."""
    words = [program, "import", "--check", "--json", "--quiet", "--from", importer, *flags]
    done = subprocess.run(words + [w for f in files for w in ("--in", f)], capture_output=True, text=True)
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def main(program, packages):
    faults, total, blocked = [], collections.Counter(), collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for package in sorted(pathlib.Path(packages).iterdir()):
            if package.suffix in (".whl", ".gz"):
                unpack(package, folder)
        kinds = gym(folder)
        print("set | files | rows | refused | members: read, kept, withheld, unread | rows without a finding of unread: sft, kto, dpo | "
              "findings of unread | possible for sft, and what else blocks it")
        for name, importer, flags, pattern, findings, refused in SETS:
            files = kinds[pattern] if pattern in kinds else sorted(glob.glob(str(folder / pattern), recursive=True))
            if importer == "chat" and files and files[0].endswith(".json"):
                files = [as_lines(f) for f in files]
            assert files, name
            told = account(program, importer, flags, files)
            rows = told["lint"]["rows"]
            became = [m["became"] for m in told.get("members") or []]
            members = [sum(word in b for b in became) for word in ("read", "kept", "withheld", "unread")]
            members[0] = sum(b.startswith("read") for b in became)
            found = {f["name"]: f["rows"] for f in told["lint"]["findings"] if f["name"] in UNREAD}
            sft = next((u for u in told["lint"]["uses"] if u["use"] == "sft"), {"possible": 0})
            others = {b["finding"]: b["rows"] for b in sft.get("because") or [] if b["finding"] not in UNREAD}
            uses = {u["use"]: max((b["rows"] for b in u.get("because") or [] if b["finding"] in UNREAD), default=0) for u in told["lint"]["uses"]}
            print(f"{name} | {len(files)} | {rows} | {told['refused_records']} | {', '.join(map(str, members))} | "
                  f"{', '.join(str(rows - uses.get(u, 0)) for u in ('sft', 'kto', 'dpo'))} | {found or '-'} | {sft['possible']} {others or ''}", flush=True)
            if (found, told["refused_records"]) != (findings, refused):
                faults.append(f"{name}: {found}, {told['refused_records']} refused; want {findings}, {refused}")
            if "must not" not in name and "refused" not in name:
                total["rows"] += rows
                blocked.update({u: uses.get(u, 0) for u in ("sft", "kto", "dpo")})
    print(f"honest rows: {total['rows']}; blocked by what is unread: {dict(blocked)}")
    sys.exit("\n".join(faults) or 0)


def as_lines(path):
    """Name a file of JSON lines so."""
    with open(path) as file:
        if file.readline().strip().startswith("["):
            return path
    lines = pathlib.Path(path).with_suffix(".jsonl")
    lines.write_bytes(pathlib.Path(path).read_bytes())
    return str(lines)


main(*sys.argv[1:])
