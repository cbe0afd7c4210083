"""Compare keeping 30 % of the groups of a wide dataset with DuckDB and polars
writing the same rows, and with cp of as many bytes:

    python curate.py ROLLMILL DIR [ROUNDS]

DIR/rollout was made by `wide BYTES DIR` of the command in this folder.
"""

import json
import pathlib
import subprocess
import sys

from measure import THREADS, compare, in_python, ratio, remove

rollmill, folder = sys.argv[1], pathlib.Path(sys.argv[2])
rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 3
rollout, group, out, chosen = folder / "rollout", folder / "group", folder / "out", folder / "chosen"
subprocess.run([rollmill, "group", "--in", rollout, "--out", group, "--quiet"], check=True, stdout=subprocess.DEVNULL)
curate = [rollmill, "curate", "--in", group, "--out", out, "--quiet", "--keep-flat", "--sample-groups", "0.3", "--seed", "1"]


def size(path):
    return sum(p.stat().st_size for p in path.rglob("*") if p.is_file())


def clean():
    remove(out, f"{out}.parquet")


# Once, to choose the rows: the names of the groups for the others, and as many bytes for cp.
clean()
subprocess.run(curate, check=True, stdout=subprocess.DEVNULL)
kept = json.loads((out / "_dataset.json").read_text())["dataset"]
remove(chosen)
bytes_kept = sum(p["bytes"] for p in kept["parts"])
with open(chosen, "wb") as f:  # source for cp: bytes of the dataset
    left = bytes_kept
    for part in sorted(rollout.glob("*.parquet")):
        with open(part, "rb") as src:
            while left > 0 and (block := src.read(min(left, 8 << 20))):
                f.write(block)
                left -= len(block)
print(f"{size(rollout) / 1e9:.2f} GB of rollouts; {kept['rows']} rows in {bytes_kept / 1e9:.2f} GB are kept")

import duckdb  # only to write the names, before anything is measured

names = folder / "names.parquet"
duckdb.execute(f"copy (select distinct example_id from read_parquet('{out}/*.parquet')) to '{names}'")

# Less work than curate does: the same rows unchanged, without rewards and advantages.
DUCK = f"""
import duckdb
rollout, names, out = sys.argv[1:4]
c = duckdb.connect()
c.execute("set threads={THREADS}; set memory_limit='8GB'; set preserve_insertion_order=false")
timed(lambda: c.execute(f'''copy (
    select * from read_parquet('{{rollout}}/*.parquet') where example_id in (select example_id from read_parquet('{{names}}')))
    to '{{out}}.parquet' (format parquet, codec zstd, compression_level 1)''').fetchall())
"""
POLARS = """
import polars as pl
rollout, names, out = sys.argv[1:4]
q = pl.scan_parquet(rollout + "/*.parquet").join(pl.scan_parquet(names), on="example_id", how="semi")
timed(lambda: q.sink_parquet(out + ".parquet", compression="zstd", compression_level=1))
"""
args = (rollout, names, out)
best = compare("curate: 30 % of the groups", [
    ("rollmill curate", curate),
    ("cp of the chosen bytes", ["cp", "--reflink=never", chosen, f"{out}.parquet"]),
    ("cp, and sync to disk", ["sh", "-c", 'cp --reflink=never "$0" "$1" && sync "$1"', chosen, f"{out}.parquet"]),
    ("DuckDB copy to", in_python(DUCK, *args)),
    ("polars sink_parquet", in_python(POLARS, *args)),
], rounds, clean)
clean()
remove(chosen, names)
mine = best["rollmill curate"]
ratio("DuckDB to rollmill", best.get("DuckDB copy to"), mine, "at least 5")
ratio("rollmill to cp", mine, best["cp of the chosen bytes"], "at most 4")
ratio("rollmill to cp and sync, as rollmill syncs", mine, best["cp, and sync to disk"], "at most 4")
