"""Compare scoring stored trajectories with an expression over the answer with
DuckDB, polars and pyarrow on the same files:

    python score.py ROLLMILL ROUNDS DIR...

DIR/rollout was made by `real ROWS DIR` or `thin ROWS DIR` of the command in this
folder. The others write the columns that score writes, compressed as it does,
and sync the file to disk as it does its own; score also digests the rows and
the file, so that both can be verified.

It fails if the programs disagree on the rewards, or if score takes more than
1 GiB of memory or, of large rows, writes 2 % of what it scored.
"""

import pathlib
import subprocess
import sys

from measure import THREADS, compare, in_python, ratio, remove

rollmill, rounds = sys.argv[1], int(sys.argv[2])

SYNCED = """
import os
rollout, out = sys.argv[1:3]
def synced(write):
    write()
    with open(out, "r+b") as f:
        os.fsync(f)
"""
DUCK = SYNCED + f"""
import duckdb
c = duckdb.connect()
c.execute("set threads={THREADS}; set memory_limit='8GB'; set enable_progress_bar=false")
timed(lambda: synced(lambda: c.execute(f'''copy (
    select trajectory_id, example_id, epoch, generation, status, reward,
        [struct_pack(name := 'odd', value := reward, weight := 1.0::double, failure := failure, error := null::varchar)] as rewards,
        null::double[] as shaped_rewards, failure, null::varchar as error
    from (select *, (length(coalesce(answer, '')) % 2)::double as odd,
              case when status in ('ok', 'truncated') then odd end as reward,
              case when reward is null then 'trajectory' end as failure
          from (select trajectory_id, example_id, epoch, generation, status, answer from read_parquet('{{rollout}}/*.parquet'))))
    to '{{out}}' (format parquet, codec zstd, compression_level 1)''')))
"""
POLARS = SYNCED + """
import polars as pl
alive = pl.col("status").is_in(["ok", "truncated"])
reward = pl.when(alive).then((pl.col("answer").fill_null("").str.len_chars() % 2).cast(pl.Float64))
failure, none = pl.when(~alive).then(pl.lit("trajectory")), pl.lit(None, pl.String)
named = pl.struct(name=pl.lit("odd"), value=reward, weight=pl.lit(1.0), failure=failure, error=none)
timed(lambda: synced(lambda: pl.scan_parquet(rollout + "/*.parquet").select(
    "trajectory_id", "example_id", "epoch", "generation", "status", reward=reward, rewards=pl.concat_list(named),
    shaped_rewards=pl.lit(None, pl.List(pl.Float64)), failure=failure, error=none,
).sink_parquet(out, compression="zstd", compression_level=1)))
"""
ARROW = SYNCED + """
import pathlib
import pyarrow as pa, pyarrow.compute as pc, pyarrow.dataset as ds, pyarrow.parquet as pq
def score():
    rows = ds.dataset(sorted(pathlib.Path(rollout).glob("*.parquet"))).to_table(columns=["trajectory_id", "example_id", "epoch", "generation", "status", "answer"])
    alive, n = pc.is_in(rows["status"], pa.array(["ok", "truncated"])), rows.num_rows
    odd = pc.bit_wise_and(pc.utf8_length(pc.fill_null(rows["answer"], "")), 1).cast(pa.float64())
    reward = pc.if_else(alive, odd, None).combine_chunks()
    failure = pc.if_else(alive, None, pa.scalar("trajectory")).combine_chunks()
    named = pa.StructArray.from_arrays([pa.repeat("odd", n), reward, pa.repeat(1.0, n), failure, pa.nulls(n, pa.string())],
                                       names=["name", "value", "weight", "failure", "error"])
    rewards = pa.ListArray.from_arrays(pc.cast(pa.array(range(n + 1)), pa.int32()), named)
    table = rows.drop_columns(["answer"]).append_column("reward", reward).append_column("rewards", rewards)
    table = table.append_column("shaped_rewards", pa.nulls(n, pa.list_(pa.float64()))).append_column("failure", failure).append_column("error", pa.nulls(n, pa.string()))
    pq.write_table(table, out, compression="zstd", compression_level=1)
timed(lambda: synced(score))
"""
# Compares files of rows, in a process of its own, whose memory is its own.
SAME = """
import polars as pl
mine = pl.read_parquet(sys.argv[1] + "/*.parquet")
assert mine["signals"].null_count() == mine.height, "no reward says anything of messages"
mine = mine.drop("signals", "forked_from", "fork_call")  # the others write none
for other in sys.argv[2:]:
    if not mine.equals(pl.read_parquet(other)):
        sys.exit(f"rollmill's rows are not those of {other}")
print(mine.height)
"""


def measure(folder):
    rollout, out = folder / "rollout", folder / "scored"
    outs = {name: folder / f"scored-{name}.parquet" for name in ("DuckDB", "polars", "pyarrow")}
    code = {"DuckDB": DUCK, "polars": POLARS, "pyarrow": ARROW}
    competitors = [("rollmill score", [rollmill, "score", "--in", rollout, "--out", out, "--quiet", "--reward", "odd=expr:len(answer) % 2"]),
                   *((name, in_python(code[name], rollout, outs[name])) for name in outs)]

    def clean():
        remove(out, *outs.values())

    # Once, to compare what they write.
    clean()
    for _, command in competitors:
        subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL)
    rows = int(subprocess.run(in_python(SAME, out, *outs.values()), check=True, stdout=subprocess.PIPE).stdout)
    size, written = (sum(p.stat().st_size for p in d.glob("*.parquet")) for d in (rollout, out))
    print(f"\n{folder.name}: {rows} rows of {size / rows / 1e3:.1f} kB; {written / size:.2%} written, "
          f"by {', '.join(f'{name} {theirs.stat().st_size / size:.2%}' for name, theirs in outs.items())}; all write the same rows")
    if size > 1000 * rows and written >= 0.02 * size:
        sys.exit(f"{folder}: score wrote {written / size:.2%} of what it scored")

    best = compare("score: an expression over the answer, written and synced", competitors, rounds, clean)
    clean()
    for name in outs:
        ratio(f"{folder.name}, rollmill to {name}", best["rollmill score"], best.get(name), "at most 0.83")
    if best["rollmill score"]["rss"] >= 1 << 30:
        sys.exit(f"{folder}: score took {best['rollmill score']['rss'] >> 20} MiB of memory")


for folder in sys.argv[3:]:
    measure(pathlib.Path(folder))
