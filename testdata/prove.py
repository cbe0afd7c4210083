"""`rollmill prove` finds an epoch equal, and names a number that was changed in a copy of its run.

    python prove.py ROLLMILL EPOCH [FLAGS OF PROVE]

The copies: a reward that is another, a weight that is another (the advantage of a curated row,
if the trainer got no sequences), a token less. Each is changed as a program would, by writing
the Parquet file again."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import pyarrow as pa
import pyarrow.parquet as pq


def prove(rollmill, epoch, flags):
    ran = subprocess.run([rollmill, "prove", epoch, "--json", "--quiet", *flags], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return ran.returncode, json.loads(ran.stdout)


def change(path, how):
    """Write a file again with one of its rows changed."""
    table = pq.read_table(path)
    rows = table.to_pylist()
    how(rows[len(rows) // 2])
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), path)
    return len(rows) // 2


def reward(row):
    first = next(r for r in row["rewards"] if r["value"] is not None)
    first["value"] = 1 - first["value"] if first["value"] != 0.5 else 0.0


def weight(row):
    row["weight"] *= 2


def advantage(row):
    row["advantage"] += 0.5


def token(row):
    message = next(m for m in row["messages"] if m["token_ids"])
    del message["token_ids"][-1], message["logprobs"][-1]


def main(rollmill, epoch, *flags):
    epoch = pathlib.Path(epoch)
    code, whole = prove(rollmill, epoch, flags)
    left = [p for p in whole["proofs"] if p.get("unproved") and "sampled" not in p["unproved"]]
    assert code == 0 and whole["equal"] and not left, (code, whole)
    print(f"{epoch}: equal, {len(whole['proofs'])} proofs")
    given = (epoch / "submit/sequences.parquet").exists()
    weighed = (weight, "submit", "weight") if given else (advantage, "curate", "advantage")
    for how, part, column in ((reward, "score", "rewards."), weighed, (token, "curate", "messages[")):
        with tempfile.TemporaryDirectory() as scratch:
            there = pathlib.Path(scratch) / "run" / epoch.name
            shutil.copytree(epoch.parent, there.parent)
            file = there / "submit/sequences.parquet" if part == "submit" else next((there / part).glob("part-*.parquet"))
            row = change(file, how)
            code, found = prove(rollmill, there, flags)
        named = next(p for p in found["proofs"] if p.get("differs"))
        d = named["differs"]
        assert code == 4 and named["name"].startswith(part) and d["row"] == row and d["column"].startswith(column), (how.__name__, found)
        print(f"  {how.__name__} of row {row}: {named['name']}: {d['column']} is {d['stored']}, computed again {d['computed']}")


if __name__ == "__main__":
    main(*sys.argv[1:])
