"""The reward `len(answer) < 100 ? 1 : 0` over a stored epoch, by pyarrow.

    python rescore_pyarrow.py DATASET OUT
"""
import json
import pathlib
import sys
import time

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

rollout, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
wall, cpu = time.perf_counter(), time.process_time()
columns = ["trajectory_id", "example_id", "epoch", "generation", "status", "answer"]
rows = ds.dataset(sorted(rollout.glob("*.parquet"))).to_table(columns=columns)
alive = pc.is_in(rows["status"], pa.array(["ok", "truncated"]))
short = pc.less(pc.utf8_length(pc.fill_null(rows["answer"], "")), 100).cast(pa.float64())
reward = pc.if_else(alive, short, None)
n = rows.num_rows
named = pa.StructArray.from_arrays([
    pa.repeat("short", n), reward.combine_chunks(), pa.repeat(1.0, n),
    pc.if_else(alive, None, pa.scalar("trajectory")).combine_chunks(), pa.nulls(n, pa.string()),
], names=["name", "value", "weight", "failure", "error"])
rewards = pa.ListArray.from_arrays(pa.array(range(n + 1), pa.int32()), named)
table = rows.drop_columns(["answer"]).append_column("reward", reward).append_column("rewards", rewards)
pq.write_table(table, out, compression="zstd", compression_level=1)
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
print(json.dumps({"rows": rows.num_rows, "scored": pc.count(reward).as_py(), "sum": pc.sum(reward).as_py(), "wall": wall, "cpu": cpu}))
