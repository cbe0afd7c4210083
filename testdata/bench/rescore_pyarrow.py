"""The reward `len(answer) < 100 ? 1 : 0` over a stored epoch, by pyarrow.

    python rescore_pyarrow.py DATASET OUT
"""
import json
import pathlib
import sys

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

rollout, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
columns = ["trajectory_id", "example_id", "epoch", "generation", "status", "answer"]
rows = ds.dataset(sorted(rollout.glob("*.parquet"))).to_table(columns=columns)
alive = pc.is_in(rows["status"], pa.array(["ok", "truncated"]))
short = pc.less(pc.utf8_length(pc.fill_null(rows["answer"], "")), 100).cast(pa.float64())
reward = pc.if_else(alive, short, None)
pq.write_table(rows.drop_columns(["answer"]).append_column("reward", reward), out, compression="zstd")
print(json.dumps({"rows": rows.num_rows, "scored": pc.count(reward).as_py(), "sum": pc.sum(reward).as_py()}))
