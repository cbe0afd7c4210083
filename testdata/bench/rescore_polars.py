"""The reward `len(answer) < 100 ? 1 : 0` over a stored epoch, by polars.

    python rescore_polars.py DATASET OUT
"""
import json
import sys
import time

import polars as pl

rollout, out = sys.argv[1:3]
wall, cpu = time.perf_counter(), time.process_time()
alive = pl.col("status").is_in(["ok", "truncated"])
reward = pl.when(alive).then((pl.col("answer").fill_null("").str.len_chars() < 100).cast(pl.Float64))
named = pl.struct(name=pl.lit("short"), value=reward, weight=pl.lit(1.0), failure=pl.when(~alive).then(pl.lit("trajectory")), error=pl.lit(None, pl.String))
pl.scan_parquet(rollout + "/*.parquet").select(
    "trajectory_id", "example_id", "epoch", "generation", "status", reward=reward, rewards=pl.concat_list(named),
).sink_parquet(out, compression="zstd", compression_level=1)
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
rows, scored, total = pl.scan_parquet(out).select(pl.len(), pl.col("reward").count().alias("n"), pl.col("reward").sum().alias("sum")).collect().row(0)
print(json.dumps({"rows": rows, "scored": scored, "sum": total, "wall": wall, "cpu": cpu}))
