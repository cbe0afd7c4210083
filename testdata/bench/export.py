"""Compare `rollmill export --to sequences` of a curated dataset with pyarrow, which
reads the same columns, joins the tokens of each row and writes the same lists:

    python export.py ROLLMILL DIR [ROUNDS]

DIR/rollout was made by `wide BYTES DIR` of the command in this folder. Both have one
thread. MB are logical: 4 bytes for each id and log probability, 1 for each element
of the mask; strings and the other numbers, a hundredth, are not counted.
"""

import os
import pathlib
import subprocess
import sys

os.environ["THREADS"] = "1"

import pyarrow.parquet as pq

from measure import compare, in_python, ratio, remove

rollmill, folder = sys.argv[1], pathlib.Path(sys.argv[2])
rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 3
group, curate = folder / "group", folder / "curate"
out, theirs, submitted = folder / "sequences.parquet", folder / "pyarrow.parquet", folder / "submitted"
for command in (["group", "--in", folder / "rollout", "--out", group], ["curate", "--in", group, "--out", curate, "--keep-flat"]):
    subprocess.run([rollmill, *command, "--quiet"], check=True, stdout=subprocess.DEVNULL)

# Only for rows of one branch without prefix breaks, which those of bench are.
PEER = """
import glob
import numpy as np, pyarrow as pa, pyarrow.compute as pc, pyarrow.parquet as pq
pa.set_cpu_count(1), pa.set_io_thread_count(1)
source, out = sys.argv[1:3]
HEAD = ["trajectory_id", "example_id", "group_id", "epoch", "generation", "reward", "advantage", "status"]
LISTS = ["sampled", "token_ids", "logprobs", "prompt_delta_ids"]

def lists(values, lengths):
    return pa.ListArray.from_arrays(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32), values)

def per_row(of_message, counts):
    return np.add.reduceat(of_message, np.concatenate([[0], np.cumsum(counts)[:-1]]))

def sequences(batch):
    m = batch["messages"]
    counts, m = pc.list_value_length(m).to_numpy(), pc.list_flatten(m)
    length = lambda name: pc.fill_null(pc.list_value_length(m.field(name)), 0).to_numpy().astype(np.int64)
    flat = lambda name: pc.list_flatten(m.field(name)).to_numpy()
    delta, tokens, sampled = length("prompt_delta_ids"), length("token_ids"), m.field("sampled").to_numpy(zero_copy_only=False)
    parts = np.empty(2 * len(delta), np.int64)
    parts[0::2], parts[1::2] = delta, tokens
    starts = np.cumsum(parts) - parts
    place = lambda at, n: np.arange(n.sum()) + np.repeat(at - (np.cumsum(n) - n), n)
    of_tokens = place(starts[1::2], tokens)
    ids, mask, logprobs = np.empty(parts.sum(), np.int32), np.zeros(parts.sum(), bool), np.zeros(parts.sum(), np.float32)
    ids[place(starts[0::2], delta)], ids[of_tokens] = flat("prompt_delta_ids"), flat("token_ids")
    mask[of_tokens], logprobs[of_tokens] = True, flat("logprobs")
    row = np.repeat(np.arange(len(counts)), counts)
    first = np.zeros(len(delta), bool)
    first[np.flatnonzero(sampled)[np.unique(row[sampled], return_index=True)[1]]] = True
    prompt = np.zeros(2 * len(delta), bool)
    prompt[0::2] = first
    prompt = np.repeat(prompt, parts)
    prompts = per_row(np.where(first, delta, 0), counts)
    responses = per_row(delta + tokens, counts) - prompts
    columns = {name: batch[name] for name in HEAD}
    columns |= {"prompt_ids": lists(ids[prompt], prompts), "response_ids": lists(ids[~prompt], responses),
                "loss_mask": lists(mask[~prompt], responses), "logprobs": lists(logprobs[~prompt], responses)}
    return pa.table(columns)

def convert():
    writer = None
    for part in sorted(glob.glob(source + "/*.parquet")):
        f = pq.ParquetFile(part)
        columns = HEAD + ["messages.list.element." + name for name in LISTS]
        for batch in f.iter_batches(1024, columns=columns, use_threads=False):
            table = sequences(batch)
            writer = writer or pq.ParquetWriter(out, table.schema, compression="zstd", compression_level=1)
            writer.write_table(table)
    writer.close()

timed(convert)
"""



def clean():
    remove(out, theirs, submitted, f"{submitted}-ledger")


def logical(path):
    columns = pq.ParquetFile(path).metadata
    each = {"prompt_ids": 4, "response_ids": 4, "loss_mask": 1, "logprobs": 4}
    groups = (columns.row_group(g) for g in range(columns.num_row_groups))
    return sum(each.get(c.path_in_schema.split(".")[0], 0) * c.num_values for g in groups for c in (g.column(i) for i in range(g.num_columns)))


export = [rollmill, "export", "--in", curate, "--to", "sequences", "--out", out, "--quiet"]
submit = [rollmill, "submit", "--in", curate, "--backend", "file", "--kinds", "sequences", "--out", submitted, "--ledger", f"{submitted}-ledger", "--quiet"]

# Once, to compare what both write.
clean()
subprocess.run(export, check=True, stdout=subprocess.DEVNULL)
subprocess.run(in_python(PEER, curate, theirs), check=True, stdout=subprocess.DEVNULL)
size, columns = logical(out), ["prompt_ids", "response_ids", "loss_mask", "logprobs"]
for mine, his in zip(*(pq.ParquetFile(p).iter_batches(1024, columns=columns) for p in (out, theirs))):
    assert all(mine[c].to_pylist() == his[c].to_pylist() for c in columns[:3]) and mine["logprobs"].flatten().equals(his["logprobs"].flatten())
    break  # a thousand rows
print(f"{size / 1e6:.0f} MB of sequences in {out.stat().st_size / 1e6:.0f} MB; by pyarrow in {theirs.stat().st_size / 1e6:.0f} MB")

best = compare("export: sequences", [
    ("rollmill export --to sequences", export),
    ("rollmill submit --backend file", submit),
    ("pyarrow, read and written", in_python(PEER, curate, theirs)),
], rounds, clean)
clean()
for name, r in best.items():
    print(f"{name}: {size / 1e6 / r['cpu']:.0f} MB a second of processor time")
ratio("pyarrow to rollmill export", best.get("pyarrow, read and written"), best["rollmill export --to sequences"], "at least 2")
