"""Insert faults into curated rows with a real tokenizer and pyarrow, seal them again,
and check the results of `rollmill audit` and `rollmill submit` for each: the checks
that find it, with which basis, and whether submit refuses.

    faults.py ROLLMILL EPOCH FOLDER   EPOCH holds curate and validation/rollout
"""

import copy
import hashlib
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import tokenizers
import xxhash

import digest

ROWS = 48  # in whole groups of eight
MARKS = ["<|end|>", "<|system|>", "<|user|>", "<|assistant|>", "<|tool|>"]
TOOLS = '[{"type":"function","function":{"name":"move","parameters":{"type":"object"}}}]'


# A tokenizer that encodes like Hugging Face's.


def trained_on(rows):
    bpe = tokenizers.Tokenizer(tokenizers.models.BPE())
    bpe.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    bpe.decoder = tokenizers.decoders.ByteLevel()
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=300, special_tokens=MARKS, initial_alphabet=alphabet, show_progress=False)
    bpe.train_from_iterator((m["content"] for r in rows for m in r["messages"]), trainer)
    return bpe


def encode(bpe, text):
    return bpe.encode(text).ids


def turn(bpe, m):
    return encode(bpe, f"<|{m['role']}|>") + encode(bpe, m["content"]) + encode(bpe, "<|end|>")


def sampled(bpe, text, rng):
    """Ids of a text as a model samples them, which are not always those that
    the tokenizer returns for the whole text."""
    at = rng.choice([0, 0, 3])
    return encode(bpe, text[:at]) + encode(bpe, text[at:]) + encode(bpe, "<|end|>")


def logprobs(prompt, ids):
    """Log probabilities that depend on every earlier id."""
    return [-(xxhash.xxh3_64_intdigest(repr((prompt, ids[: i + 1])).encode()) % 4000) / 1000 - 0.001 for i in range(len(ids))]


def speak(bpe, rows):
    """The rows as recorded from an engine with this tokenizer."""
    rng = random.Random(1)
    for r in rows:
        prompt, new = [], []
        for i, m in enumerate(r["messages"]):
            assert m["parent"] == i - 1, "the demo's conversations have no branches"
            if not m["sampled"]:
                new += turn(bpe, m)
                continue
            new += encode(bpe, "<|assistant|>")
            prompt, call = prompt + new, r["calls"][m["call"]]
            m["prompt_delta_ids"], m["token_ids"] = new, sampled(bpe, m["content"], rng)
            m["logprobs"] = logprobs(prompt, m["token_ids"])
            call["prompt_tokens"], call["completion_tokens"] = len(prompt), len(m["token_ids"])
            prompt, new = prompt + m["token_ids"], []
        count(r)


def count(r):
    for column in "prompt_tokens", "completion_tokens":
        r[column] = sum(c[column] for c in r["calls"])
    r["sampled_tokens"] = sum(len(m["token_ids"]) for m in answers(r))


def answers(r):
    return [m for m in r["messages"] if m["sampled"]]


# The faults. Each changes rows in place.


def nothing(rows, bpe):
    pass


def answers_again(rows, bpe):
    """The ids of a text instead of those that were sampled, with their log probabilities."""
    for r in rows:
        for m in answers(r):
            m["token_ids"] = turn(bpe, m)[1:]
            m["logprobs"] = logprobs([], m["token_ids"])
        count(r)


def answers_again_alone(rows, bpe):
    for r in rows:
        for m in answers(r):
            m["token_ids"] = turn(bpe, m)[1:]
        count(r)


def history_again(rows, bpe):
    """Each prompt is the conversation's text encoded again, and the engine
    counted that; the recorded ids still continue from the sampled ones."""
    for r in rows:
        again = []
        for i, m in enumerate(r["messages"]):
            if m["sampled"]:
                r["calls"][m["call"]]["prompt_tokens"] = len(again) + 1
            again += turn(bpe, m)
        count(r)


def broken(rows, bpe, why):
    for r in rows:
        again = []
        for i, m in enumerate(r["messages"]):
            if m["sampled"] and i > 2:
                m["prompt_delta_ids"], m["prefix_break"] = again + encode(bpe, "<|assistant|>"), why
                r["calls"][m["call"]]["prompt_tokens"] = len(m["prompt_delta_ids"])
            again += turn(bpe, m)
        count(r)


def breaks_marked(rows, bpe):
    broken(rows, bpe, "retokenized")


def breaks_unmarked(rows, bpe):
    broken(rows, bpe, None)


def other_ids_as_many(rows, bpe):
    """The same number of other ids for the same text. No count differs: only
    the engine can detect it, by its log probabilities for them."""
    for r in rows:
        for m in answers(r):
            ids, wanted = m["token_ids"], bpe.decode(m["token_ids"])
            for k in range(len(m["content"])):
                other = encode(bpe, m["content"][:k]) + encode(bpe, m["content"][k:]) + ids[-1:]
                if len(other) == len(ids) and other != ids and bpe.decode(other) == wanted:
                    m["token_ids"] = other
                    break


def ids_late(rows, bpe):
    """Every answer begins with the last id of its prompt."""
    for r in rows:
        for m in answers(r):
            m["token_ids"] = m["prompt_delta_ids"][-1:] + m["token_ids"][:-1]


def ids_early(rows, bpe):
    """Every answer ends with the first id of the turn after it."""
    for r in rows:
        for m in answers(r):
            m["token_ids"] = m["token_ids"][1:] + encode(bpe, "<|user|>")


def logprobs_late(rows, bpe):
    """In every second row a log probability is that of the id before."""
    for r in rows[::2]:
        for m in answers(r):
            m["logprobs"] = [-0.001] + m["logprobs"][:-1]


def all_logprobs_late(rows, bpe):
    """The same in every row: members agree, and only the engine can detect it."""
    logprobs_late(rows, bpe)
    logprobs_late(rows[1:], bpe)


def answers_again_counted(rows, bpe):
    """Like answers_again, with matching counts, as from an engine that sampled
    these ids: only its prompt logprobs for them can show it."""
    answers_again(rows, bpe)
    for r in rows:
        so_far = 0
        for m in answers(r):
            call = r["calls"][m["call"]]
            call["prompt_tokens"] = so_far = so_far + len(m["prompt_delta_ids"])
            call["completion_tokens"] = len(m["token_ids"])
            so_far += len(m["token_ids"])
        count(r)


def one_short(rows, bpe):
    for r in rows:
        for m in answers(r):
            m["token_ids"], m["logprobs"] = m["token_ids"][:-1], m["logprobs"][:-1]
        count(r)


def more_logprobs(rows, bpe):
    for m in answers(rows[3]):
        m["logprobs"] = m["logprobs"] + [-0.5]


def with_tools(rows, bpe):
    """Moves are tool calls, and boards are the tool's answers."""
    for r in rows:
        r["tool_sets"] = [TOOLS]
        for c in r["calls"]:
            c["tools"] = 0
        for n, m in enumerate(answers(r)):
            m["tool_calls"] = [{"id": f"call-{n}", "name": "move", "arguments": json.dumps({"to": m["content"]})}]
        made = None
        for m in r["messages"]:
            if m["sampled"]:
                made = m["tool_calls"][0]["id"]
            elif made:
                m["role"], m["tool_call_id"] = "tool", made
    speak(bpe, rows)


def calls_lost(rows, bpe):
    with_tools(rows, bpe)
    for r in rows[:5]:
        for m in answers(r):
            m["tool_calls"] = []


def definitions_lost(rows, bpe):
    with_tools(rows, bpe)
    for r in rows[:5]:
        r["tool_sets"] = []
        for c in r["calls"]:
            c["tools"] = -1


def tool_answers_lost(rows, bpe):
    with_tools(rows, bpe)
    for m in rows[0]["messages"]:
        if m["role"] == "tool":
            m["role"], m["tool_call_id"] = "user", None


def twice(rows, bpe):
    rows.insert(1, copy.deepcopy(rows[0]))


def one_id(rows, bpe):
    rows[1]["trajectory_id"] = rows[0]["trajectory_id"]


def copied(rows, bpe):
    rows.insert(1, copy.deepcopy(rows[0]) | {"trajectory_id": "0123456789abcdef01234567"})


def held_out(rows, validation, name):
    """The rows of the first group are of an example that was held out under another name."""
    for r in rows[:8]:
        r["example_id"], r["example"] = name, json.dumps(json.loads(validation["example"]) | {"id": name})
        r["group_id"] = f"{r['example_id']}@{r['epoch']}" if r["group_id"] else r["group_id"]


def two_policies(rows, bpe):
    for r in rows[::2]:
        r["policy_version"] += 1
        for c in r["calls"]:
            c["policy_version"] += 1


def floors(rows, bpe):
    answers(rows[9])[-1]["logprobs"][1] = -9999.0


def clamped(rows, bpe):
    for r in rows[:6]:
        answers(r)[-1]["logprobs"][1] = -20.0


def settings(mode=None, **more):
    def change(rows, bpe):
        for r in rows:
            for c in r["calls"]:
                c["sampling"] = json.dumps(json.loads(c["sampling"]) | more)
                c["logprobs_mode"] = mode
    return change


# name: fault, checks that audit reports with their basis, whether submit refuses.
# If nothing reports a fault, its comment says what would detect it.
FAULTS = {
    "untouched": (nothing, {}, False),
    "answers encoded again": (answers_again, {"answer_ids": "proved", "prompt_ids": "proved"}, True),
    "answers encoded again, logprobs as they were": (answers_again_alone, {"rows": "proved", "prompt_ids": "proved"}, True),
    "answers encoded again, with counts to match": (answers_again_counted, {}, False),
    "history encoded again": (history_again, {"prompt_ids": "proved"}, True),
    "prefix breaks, marked": (breaks_marked, {"prefix_breaks": "proved"}, False),
    "prefix breaks, unmarked": (breaks_unmarked, {"prompt_ids": "proved"}, True),
    "other ids, as many": (other_ids_as_many, {}, False),
    "ids late by one": (ids_late, {"shifted": "inferred", "disagreement": "proved"}, True),
    "ids early by one": (ids_early, {"shifted": "inferred"}, False),
    "logprobs off by one in some rows": (logprobs_late, {"disagreement": "proved"}, True),
    "logprobs off by one in all rows": (all_logprobs_late, {}, False),
    "answers without their last id": (one_short, {"answer_ids": "proved", "prompt_ids": "proved"}, True),
    "more logprobs than ids": (more_logprobs, {"rows": "proved", "answer_ids": "proved"}, True),
    "tools": (with_tools, {}, False),
    "tool calls lost": (calls_lost, {"tool_calls": "proved"}, True),
    "tools' definitions lost": (definitions_lost, {"no_tools": "proved"}, False),
    "tools' answers lost": (tool_answers_lost, {"unanswered_calls": "proved"}, False),
    "a row twice": (twice, {"repeated": "proved", "copies": "proved"}, True),
    "two rows under one id": (one_id, {"repeated": "proved", "copies": "proved"}, True),
    "a row under two ids": (copied, {"copies": "proved"}, True),
    "mixed policies": (two_policies, {"models": "proved"}, False),
    "floors": (floors, {"logprob_floors": "proved"}, True),
    "clamped": (clamped, {"clamped": "inferred"}, False),
    "truncated support": (settings(top_p=0.9, top_k=40), {"support": "inferred"}, False),
    "raw logprobs at a temperature": (settings("raw", temperature=0.7), {"temperature": "inferred"}, False),
    "logprobs of an unknown kind at a temperature": (settings(temperature=0.7), {"temperature": "engine"}, False),
    # Rows with raw log probabilities that are marked as processed: only the
    # engine's prompt logprobs can show it; `rollmill check` compares them.
    "raw logprobs that are called processed": (settings("processed", temperature=0.7), {}, False),
    "penalties and raw logprobs": (settings("raw", presence_penalty=0.5), {"reshaped": "inferred"}, False),
}


def seal(source, rows, schema, out, payloads=True):
    """Replace the rows of a dataset, with digests according to the
    documentation, so that only the rows themselves can show the fault."""
    shutil.copytree(source, out, ignore=shutil.ignore_patterns(".rollmill"))  # the shards' own records
    manifest = out / "_dataset.json"
    whole = json.loads(manifest.read_text())
    said = whole["dataset"]
    for given in said["inputs"]:
        given["uri"] = str((source / given["uri"]).resolve())
    marks = json.loads(schema.metadata[b"rollmill"])
    for r in rows if payloads else []:
        r["payload_digest"] = xxhash.xxh3_128_hexdigest(digest.columns(r, schema, volatile=set(marks["volatile"]), wanted=lambda n: n in marks["payload"]))
    for old in said["parts"][1:]:
        os.remove(out / old["name"])
    part = said["parts"][0]
    said["parts"] = [part]
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), out / part["name"])
    data = (out / part["name"]).read_bytes()
    end = 8 + int.from_bytes(data[-8:-4], "little")  # the footer, its length and the magic number
    part |= {"rows": len(rows), "row_groups": [len(rows)], "bytes": len(data)}
    part |= {"digest": hashlib.sha256(data).hexdigest(), "footer_digest": hashlib.sha256(data[-end:]).hexdigest()}
    said["rows"] = len(rows)
    said["bytes"] = sum(p["bytes"] for t in [said, *said["tables"].values()] for p in t["parts"])
    if payloads:
        said["rows_digest"] = digest.digest(out, said["parts"])
    manifest.write_text(json.dumps(whole))


def run(rollmill, *words):
    done = subprocess.run([rollmill, *map(str, words), "--json", "--quiet"], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def audit(rollmill, at, *more):
    code, out, err = run(rollmill, "audit", "--in", at, *more)
    found = json.loads(out)["findings"] if out else []
    return code, {f["check"]: f["basis"] for f in found}, (found, err)


def hold(name, wrong, *seen):
    if wrong:
        sys.exit("\n".join([f"{name}: {wrong}", *map(str, seen)]))


# Submit reads only the parts that the manifest names, and no validation; it reports
# a duplicate trajectory as a copy. Each trainer decides whether it accepts a row,
# and reports it in its own words.
ONLY_AUDIT = {"repeated", "leak", "unnamed", "rows", "prefix_breaks", "no_tools", "unanswered_calls"}


class World:
    def __init__(self, rollmill, epoch, work):
        self.rollmill, self.epoch, self.work, self.n = rollmill, epoch, work, 0
        self.source = epoch / "curate"
        self.table = pq.read_table(self.source / parts(self.source)[0]).slice(0, ROWS)
        self.bpe = trained_on(self.table.to_pylist())
        self.rows = self.table.to_pylist()
        speak(self.bpe, self.rows)

    def make(self, name, fault=nothing, **how):
        """A dataset with a fault."""
        rows, at = copy.deepcopy(self.rows), self.work / re.sub("[^a-z]+", "-", name) / "curate"
        fault(rows, self.bpe)
        hold(name, fault is not nothing and rows == self.rows and "the fault changes nothing")
        seal(self.source, rows, self.table.schema, at, **how)
        return at

    def judge(self, name, at, checks, refused, *more):
        self.n += 1
        code, found, seen = audit(self.rollmill, at, *more)
        hold(name, found != checks and f"audit finds {found}, want {checks}", *seen)
        code, out, err = run(self.rollmill, "submit", "--in", at, "--backend", "file", "--out", at.parent / "sent", "--dry-run")
        hold(name, (code != 0) != refused and f"submit ends with {code}", out, err)
        said = err + out
        missing = [c for c, basis in checks.items() if c not in ONLY_AUDIT and f"{c} ({basis})" not in said]
        hold(name, missing and f"submit does not name {missing}", out, err)
        proved = [c for c in checks if f"--accept-finding {c}" in err]
        hold(name, refused != bool(proved) and f"submit refuses by {proved}", err)


def parts(folder):
    return [p["name"] for p in json.loads((folder / "_dataset.json").read_text())["dataset"]["parts"]]


def damaged(world, name, at):
    """Audit and submit exit with the code for damage."""
    world.n += 1
    for words in ["audit"], ["submit", "--backend", "file", "--out", at.parent / "sent", "--dry-run"]:
        code, out, err = run(world.rollmill, *words, "--in", at)
        hold(name, code != 4 and f"{words[0]} ends with {code}", out, err)


def main():
    rollmill, epoch, work = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    shutil.rmtree(work, ignore_errors=True)
    world = World(rollmill, epoch, work)
    for name, (fault, checks, refused) in FAULTS.items():
        world.judge(name, world.make(name, fault), checks, refused)

    name = "a part that the manifest does not name"
    at = world.make(name)
    shutil.copy(at / parts(at)[0], at / "more.parquet")
    world.judge(name, at, {"unnamed": "proved"}, False)

    validation = epoch / "validation" / "rollout"
    held = pq.read_table(validation / parts(validation)[0]).slice(0, 1).to_pylist()[0]
    for name, fault, checks in (
        ("held-out examples", lambda rows, bpe: held_out(rows, held, held["example_id"]), {"leak": "proved"}),
        ("held-out examples under another name", lambda rows, bpe: held_out(rows, held, "renamed"), {"leak": "proved"}),
        ("none held out", nothing, {}),
    ):
        world.judge(name, world.make(name, fault), checks, False, "--held-out", validation)

    name = "floors, accepted by name"
    world.n += 1
    code, out, err = run(rollmill, "submit", "--in", world.make(name, floors), "--backend", "file", "--out", work / "sent", "--dry-run", "--accept-finding", "logprob_floors")
    hold(name, (code or "logprob_floors (proved)" not in out) and f"submit ends with {code}", out, err)

    # Changed rows with an unchanged or half updated manifest.
    at = world.make("rows changed alone")
    file = at / parts(at)[0]
    pq.write_table(pq.read_table(file).slice(1), file)
    damaged(world, "rows changed alone", at)
    damaged(world, "payloads changed alone", world.make("payloads changed alone", answers_again, payloads=False))
    print(f"audit and submit say what is due of {world.n} datasets that pyarrow and a tokenizer made")


main()
