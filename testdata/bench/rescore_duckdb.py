"""The reward `len(answer) < 100 ? 1 : 0` over a stored epoch, by DuckDB.

    python rescore_duckdb.py DATASET OUT
"""
import json
import sys
import time

import duckdb

rollout, out = sys.argv[1:3]
wall, cpu = time.perf_counter(), time.process_time()
duck = duckdb.connect()
duck.execute(f"""
    copy (select *, [struct_pack(name := 'short', value := reward, weight := 1.0::double,
                                 failure := case when reward is null then 'trajectory' end, error := null::varchar)] as rewards
          from (select trajectory_id, example_id, epoch, generation, status,
                       case when status in ('ok', 'truncated') then case when length(coalesce(answer, '')) < 100 then 1.0::double else 0.0::double end end as reward
                from read_parquet('{rollout}/*.parquet')))
    to '{out}' (format parquet, compression zstd, compression_level 1)""")
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
rows, scored, total = duck.execute(f"select count(*), count(reward), sum(reward) from read_parquet('{out}')").fetchone()
print(json.dumps({"rows": rows, "scored": scored, "sum": total, "wall": wall, "cpu": cpu}))
