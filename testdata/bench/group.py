"""Compare statistics and advantages of every group of thin rows with DuckDB and
polars on the same files:

    python group.py BENCH ROLLMILL DIR [ROUNDS]

BENCH is the built command of this folder, whose `thin ROWS DIR` made DIR.
"""

import pathlib
import sys

from measure import THREADS, compare, in_python, ratio, remove

bench, rollmill, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 3
score, rollout, out = folder / "score", folder / "rollout", folder / "out"

DUCK = f"""
import duckdb
score, rollout, out = sys.argv[1:4]
c = duckdb.connect()
c.execute("set threads={THREADS}; set memory_limit='8GB'; set enable_progress_bar=false")
S, R = f"read_parquet('{{score}}/*.parquet')", f"read_parquet('{{rollout}}/*.parquet')"
"""
DUCK_SCAN = DUCK + """
timed(lambda: c.execute(f'''
    select count(*) filter (where k = 1), avg(sd) filter (where k = 1), sum(((reward - m) / (sd + 1e-6)) ** 2) from (
        select reward, avg(reward) over w m, stddev_pop(reward) over w sd, row_number() over w k
        from {S} window w as (partition by example_id, epoch))''').fetchall())
"""
# The same columns as group writes; of two queries, the faster one in DuckDB.
DUCK_WRITE = DUCK + """
def both():
    c.execute(f'''copy (
        with g as (select example_id, epoch, avg(reward) m, stddev_pop(reward) sd, count(reward) n from {S} group by all)
        select trajectory_id, example_id, example_id || '@' || epoch as group_id, epoch, generation, status, reward, rewards, shaped_rewards,
            case when n > 1 then (reward - m) / (sd + 1e-6) end as advantage,
            case when status in ('failed', 'skipped') then 'failed' when reward is null then 'unscored' when n < 2 then 'singleton' end as no_advantage
        from {S} join g using (example_id, epoch)) to '{out}.members.parquet' (format parquet, codec zstd, compression_level 1)''')
    c.execute(f'''copy (
        select example_id || '@' || epoch as group_id, example_id, epoch, count(*) as count, count(reward) as valid, avg(reward) as mean,
            stddev_pop(reward) as std_pop, stddev_samp(reward) as std_sample, min(reward) as min, max(reward) as max, max(reward) - min(reward) as spread,
            avg((reward >= 1)::int) as solved, count(*) filter (where reward >= 1) as solved_count, count(*) filter (where status in ('failed', 'skipped')) as failed,
            sum(sampled_tokens) filter (where reward is not null) as sampled_tokens, avg(sampled_tokens) filter (where reward is not null) as length_mean,
            min(sampled_tokens) filter (where reward is not null) as length_min, max(sampled_tokens) filter (where reward is not null) as length_max
        from (select * from {S} positional join (select sampled_tokens from {R})) group by all)
        to '{out}.groups.parquet' (format parquet, codec zstd, compression_level 1)''')
timed(both)
"""
POLARS = """
import polars as pl
score, rollout, out = sys.argv[1:4]
r, by = pl.col("reward"), ["example_id", "epoch"]
s = pl.scan_parquet(score + "/*.parquet")
"""
POLARS_SCAN = POLARS + """
a = (r - r.mean().over(by)) / (r.std(ddof=0).over(by) + 1e-6)
timed(lambda: s.select((a ** 2).sum()).collect().item())
"""
POLARS_WRITE = POLARS + """
def both():
    g = s.group_by(by).agg(m=r.mean(), sd=r.std(ddof=0), n=r.count())
    s.join(g, on=by, maintain_order="left").with_columns(
        group_id=pl.col("example_id") + "@" + pl.col("epoch").cast(pl.String),
        advantage=pl.when(pl.col("n") > 1).then((r - pl.col("m")) / (pl.col("sd") + 1e-6)),
    ).drop("m", "sd", "n").sink_parquet(out + ".members.parquet", compression="zstd", compression_level=1)
    t = pl.scan_parquet(rollout + "/*.parquet").select("sampled_tokens")
    n = pl.col("sampled_tokens")
    pl.concat([s.select(*by, "reward", "status"), t], how="horizontal").group_by(by).agg(
        count=pl.len(), valid=r.count(), mean=r.mean(), std_pop=r.std(ddof=0), std_sample=r.std(), min=r.min(), max=r.max(),
        solved=(r >= 1).mean(), sampled_tokens=n.sum(), length_mean=n.mean(), length_min=n.min(), length_max=n.max(),
    ).sink_parquet(out + ".groups.parquet", compression="zstd", compression_level=1)
timed(both)
"""

args = (score, rollout, out)
scan = compare("scan: statistics and advantages, nothing written", [
    ("rollmill's reader", [bench, "scan", score]),
    ("DuckDB", in_python(DUCK_SCAN, *args)),
    ("polars", in_python(POLARS_SCAN, *args)),
], rounds)
for name, r in scan.items():
    print(f"    {name}: {r['said']}")
ratio("scan, rollmill to DuckDB", scan["rollmill's reader"], scan.get("DuckDB"), "at most 1.3")


def clean():
    remove(out, f"{out}.members.parquet", f"{out}.groups.parquet")


write = compare("group: the thin dataset written", [
    ("rollmill group", [rollmill, "group", "--in", score, "--out", out, "--quiet"]),
    ("DuckDB", in_python(DUCK_WRITE, *args)),
    ("polars", in_python(POLARS_WRITE, *args)),
], rounds, clean)
clean()
for name in ("DuckDB", "polars"):
    ratio(f"written, rollmill to {name}", write["rollmill group"], write.get(name), "at most 0.83")
