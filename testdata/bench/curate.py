"""Compare keeping 30 % of the groups of wide datasets with DuckDB and polars
writing the same rows, and with cp of as many bytes:

    python curate.py ROLLMILL ROUNDS DIR...

DIR/rollout was made by `wide BYTES DIR SHAPE` of the command in this folder.
"""

import json
import pathlib
import subprocess
import sys

import duckdb  # only to write names, before anything is measured

from measure import THREADS, compare, in_python, ratio, remove

rollmill, rounds = sys.argv[1], int(sys.argv[2])

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


def measure(folder):
    rollout, group, out, chosen, names = (folder / name for name in ("rollout", "group", "out", "chosen", "names.parquet"))
    subprocess.run([rollmill, "group", "--in", rollout, "--out", group, "--quiet"], check=True, stdout=subprocess.DEVNULL)
    curate = [rollmill, "curate", "--in", group, "--out", out, "--quiet", "--keep-flat", "--sample-groups", "0.3", "--seed", "1"]

    def clean():
        remove(out, f"{out}.parquet")

    # Once, to choose the rows: the names of the groups for the others, and as many bytes for cp.
    clean()
    subprocess.run(curate, check=True, stdout=subprocess.DEVNULL)
    kept = json.loads((out / "_dataset.json").read_text())["dataset"]
    bytes_kept = sum(p["bytes"] for p in kept["parts"])
    with open(chosen, "wb") as f:
        for p in kept["parts"]:
            f.write((out / p["name"]).read_bytes())
    size = sum(p.stat().st_size for p in rollout.glob("*.parquet"))
    print(f"\n{folder.name}: {size / 1e9:.2f} GB of rollouts; {kept['rows']} rows of {bytes_kept / kept['rows'] / 1e3:.1f} kB are kept, {bytes_kept / 1e9:.2f} GB")
    duckdb.execute(f"copy (select distinct example_id from read_parquet('{out}/*.parquet')) to '{names}'")
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
    ratio("rollmill to cp", mine, best["cp of the chosen bytes"], "none: cp alone leaves the bytes in memory")
    ratio("rollmill to cp and sync, as rollmill syncs", mine, best["cp, and sync to disk"], "at most 4")
    print(f"rollmill's peak memory: {mine['rss'] / 1e6:.0f} MB (aim: at most 120)")


for folder in sys.argv[3:]:
    measure(pathlib.Path(folder))
