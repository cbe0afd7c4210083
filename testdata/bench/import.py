"""Compare `rollmill import` of small chat trajectories with Hugging Face's `datasets`:
load JSON lines, map messages to the same columns in one process, save Parquet.

    python import.py ROLLMILL DIR [ROWS [PEER_ROWS [ROUNDS]]]

DIR/chat-ROWS.jsonl is made when it is missing: about 500 bytes a row, four
attempts at each prompt. datasets gets PEER_ROWS of them, since it takes minutes
for a million; what counts is rows per second of processor time.
"""

import json
import pathlib
import subprocess
import sys

import pyarrow.parquet as pq

from measure import compare, in_python, remove

rollmill, folder = sys.argv[1], pathlib.Path(sys.argv[2])
rows = int(sys.argv[3]) if len(sys.argv) > 3 else 1_000_000
peer_rows = min(rows, int(sys.argv[4])) if len(sys.argv) > 4 else min(rows, 50_000)
rounds = int(sys.argv[5]) if len(sys.argv) > 5 else 1

SYSTEM = "You are a careful assistant that adds numbers and explains each step in a short sentence."
ROW = (
    '{"id":"row-%d","messages":[{"role":"system","content":"' + SYSTEM + '"},{"role":"user","content":"Question %d: what is %d plus %d? Answer with'
    ' the number, then with one sentence about how you found it."},{"role":"assistant","content":"%d. I added the ones first, carried what was over, and'
    ' then added the tens and the hundreds, which gives %d in attempt %d."}],"reward":%s,"source":"sums"}\n'
)


def generate(path, count):
    with open(path.with_suffix(".part"), "w", buffering=1 << 22) as f:
        for start in range(0, count, 10_000):
            f.write("".join(line(i) for i in range(start, min(start + 10_000, count))))
    path.with_suffix(".part").rename(path)


def line(i):
    prompt, attempt = divmod(i, 4)
    a, b = prompt * 7919 % 1000, prompt * 104729 % 1000
    return ROW % (i, prompt, a, b, a + b, a + b, attempt, "1.0" if attempt % 2 else "0.25")


def data(count):
    path = folder / f"chat-{count}.jsonl"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        generate(path, count)
    return path


# datasets reads the lines, maps each row with the function that follows, and saves Parquet.
PEER = """
import collections, hashlib, json, os, shutil, tempfile
os.environ["HF_HUB_OFFLINE"] = "1"
import datasets, pyarrow.parquet
datasets.disable_progress_bars()
source, out = sys.argv[1:3]
cache = tempfile.mkdtemp(dir=os.path.dirname(out))
features = None

def digest(value):
    return hashlib.sha256(value.encode()).hexdigest()[:24]

def work():
    d = datasets.load_dataset("json", data_files=source, split="train", cache_dir=cache)
    d = d.map(convert, remove_columns=d.column_names, features=features)
    d.to_parquet(out)
    return len(d)
"""

# Only the columns of an import that have a value which the source gives: ids from digests, messages with their
# parents, the answer, the reward, the metadata.
FEW = PEER + """
def convert(row):
    messages = row["messages"]
    prompt = json.dumps(messages[:-1])
    example = digest(prompt)
    return {"trajectory_id": digest(example + row["id"]), "example_id": example,
            "messages": [{"parent": n - 1, "role": m["role"], "content": m["content"], "sampled": m["role"] == "assistant"} for n, m in enumerate(messages)],
            "answer": messages[-1]["content"], "reward": float(row["reward"]), "metadata": json.dumps({"source_id": row["id"], "source": row["source"]})}

timed(work)
shutil.rmtree(cache)
"""

# All columns of an import, in the schema of the Parquet file that sys.argv[3] names. Columns without a value are
# null, as they are in an import. What an import does beyond this has no part in it: the digest of the source and
# those of the rows, the checks of the rows, of text and of numbers.
ALL = PEER + """
features = datasets.Features.from_arrow_schema(pyarrow.parquet.read_schema(sys.argv[3]))
attempts = collections.Counter()
of_row, of_message, of_call = (dict.fromkeys(x) for x in (features, features["messages"].feature, features["calls"].feature))
of_row |= {"run": "run", "epoch": 0, "example": "{}", "tool_sets": [], "candidates": [], "status": "ok", "stop_reason": "done", "prompt_tokens": 0,
           "completion_tokens": 0, "sampled_tokens": 0, "rewards": [], "attempts": 0}
of_message |= {"tool_calls": [], "sampled": False, "call": -1}
call = of_call | {"model": "", "sampling": "{}", "tools": -1, "prompt_tokens": 0, "completion_tokens": 0, "cached_tokens": 0, "target": True, "latency_ms": 0, "attempts": 0}

def convert(row):
    messages, calls = [], []
    for n, m in enumerate(row["messages"]):
        if m["role"] == "assistant":
            m = m | {"sampled": True, "call": len(calls)}
            calls.append(call)
        messages.append(of_message | m | {"parent": n - 1})
    prompt = json.dumps(row["messages"][:-1])
    example = digest(prompt)
    attempts[example] += 1
    payload = hashlib.md5(json.dumps([messages, calls]).encode()).hexdigest()
    return of_row | {"trajectory_id": digest(example + row["id"]), "example_id": example, "generation": attempts[example] - 1, "messages": messages, "calls": calls,
                     "answer": messages[-1]["content"], "payload_digest": payload, "reward": float(row["reward"]),
                     "metadata": json.dumps({"source_id": row["id"], "source": row["source"]}, separators=(",", ":"))}

timed(work)
shutil.rmtree(cache)
"""

source, small = data(rows), data(peer_rows)
out, peer_out, sample = folder / "imported", folder / "imported.parquet", folder / "sample"
print(f"{rows} rows, {source.stat().st_size / rows:.0f} bytes each; {peer_rows} of them for datasets")


def imports(source, out):
    return [rollmill, "import", "--from", "chat", "--in", source, "--out", out, "--quiet", "--overwrite"]


def clean():
    if (out / "_dataset.json").exists():
        assert json.loads((out / "_dataset.json").read_text())["dataset"]["rows"] == rows
    if peer_out.exists():
        check()
    remove(out, peer_out)


def check():
    """The peer's rows are those of the import, but for ids and digests, in the columns that it has."""
    theirs = pq.ParquetFile(peer_out)
    for mine, row in zip(pq.read_table(first).to_pylist(), next(theirs.iter_batches(batch_size=8)).to_pylist(), strict=True):
        for name in row.keys() - {"trajectory_id", "example_id", "payload_digest"}:
            assert covers(mine[name], row[name]), (name, mine[name], row[name])
    assert theirs.metadata.num_rows == peer_rows


def covers(mine, theirs):
    if isinstance(theirs, dict):
        return all(covers(mine[k], v) for k, v in theirs.items())
    if isinstance(theirs, list):
        return len(mine) == len(theirs) and all(map(covers, mine, theirs))
    return mine == theirs or isinstance(theirs, str) and theirs[:1] == "{" and json.loads(theirs) == json.loads(mine)


subprocess.run([str(x) for x in imports(data(8), sample)], check=True, stdout=subprocess.DEVNULL)
first = next(sample.glob("part-*.parquet"))
MINE, THEIRS, WHOLE = "rollmill import", "datasets map, 6 of its columns", "datasets map, all columns"
mine = compare("import of chat messages, datasets in one process", [
    (MINE, imports(source, out)), (THEIRS, in_python(FEW, small, peer_out)), (WHOLE, in_python(ALL, small, peer_out, first)),
], rounds, clean)
rate = {name: (rows if name == MINE else peer_rows) / r["cpu"] for name, r in mine.items()}
for name, value in rate.items():
    print(f"{name}: {value:,.0f} rows per second of processor time")
print(f"peak memory of rollmill import: {mine[MINE]['rss'] / 1e6:.0f} MB (aim: at most 1074)")
for name in rate.keys() - {MINE}:
    print(f"rollmill import to {name}, per core: {rate[MINE] / rate[name]:.1f} (aim: at least 20)")
clean()
remove(sample)
