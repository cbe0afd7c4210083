"""Read an epoch's datasets with Spark, Ray Data and PyIceberg, and compare the
rows with those that pyarrow reads, the log probabilities too.

    python engines.py EPOCH SCRATCH [spark|ray|iceberg ...]
"""

import pathlib
import shutil
import sys
import time

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

STAGES = ("rollout", "score", "group", "curate")
ZONES = ("started_at", "finished_at")  # Spark gives local times without a zone


def parts(folder):
    return sorted(str(p) for p in folder.glob("*.parquet"))


def expected(folder):
    return by_id(pq.ParquetDataset(parts(folder)).read().to_pylist())


def by_id(rows):
    found = {r["trajectory_id"]: {k: v for k, v in r.items() if k not in ZONES} for r in rows}
    assert len(found) == len(rows), "a row was read twice"
    return found


def same(engine, folder, rows, emptied=()):
    """emptied are columns in which the engine has an empty list for null."""
    got, want = by_id(rows), expected(folder)
    assert got.keys() == want.keys(), f"{engine} reads {len(got)} rows of {folder}, pyarrow {len(want)}"
    for id, row in want.items():
        for column, value in row.items():
            assert got[id][column] == ([] if value is None and column in emptied else value), f"{engine} reads another {column} of {id} in {folder}: {got[id][column]!r}, pyarrow {value!r}"


def sampled(rows):
    return sum(len(m["logprobs"] or ()) for r in rows.values() for m in r["messages"])


def spark(epoch, scratch):
    from pyspark.sql import SparkSession

    options = {"spark.ui.enabled": "false", "spark.log.level": "ERROR", "spark.sql.shuffle.partitions": "1", "spark.driver.host": "127.0.0.1",
               "spark.ui.showConsoleProgress": "false", "spark.sql.warehouse.dir": str(scratch / "warehouse")}
    session = SparkSession.builder.master("local[2]").config(map=options).getOrCreate()
    # A file is one split, then many, of which each row group must lie in one.
    for size in ("128m", "16k"):
        session.conf.set("spark.sql.files.maxPartitionBytes", size)
        for stage in STAGES:
            rows = session.read.option("pathGlobFilter", "*.parquet").parquet(str(epoch / stage)).collect()
            same(f"Spark in splits of {size}", epoch / stage, [r.asDict(recursive=True) for r in rows])
    thin, wide = (session.read.parquet(str(epoch / s)).select("trajectory_id", c) for s, c in (("score", "reward"), ("rollout", "messages")))
    joined = thin.join(wide, "trajectory_id").selectExpr("count(*)", "sum(aggregate(messages, 0, (n, m) -> n + coalesce(size(m.logprobs), 0)))").collect()[0]
    want = expected(epoch / "rollout")
    assert tuple(joined) == (len(want), sampled(want)), f"Spark joins {joined}"
    session.stop()
    import pyspark
    return pyspark.__version__


def ray(epoch, scratch):
    import ray as cluster

    cluster.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=200 << 20)
    cluster.data.DataContext.get_current().enable_progress_bars = False
    for stage in STAGES:
        tables = cluster.get(cluster.data.read_parquet(parts(epoch / stage)).to_arrow_refs())
        same("Ray Data", epoch / stage, [r for t in tables for r in t.to_pylist()])
    cluster.shutdown()
    return cluster.__version__


def iceberg(epoch, scratch):
    import pyiceberg
    from pyiceberg.catalog.sql import SqlCatalog

    catalog = SqlCatalog("runs", uri=f"sqlite:///{scratch}/catalog.db", warehouse=f"file://{scratch}/warehouse")
    catalog.create_namespace("demo")
    for stage in STAGES:
        schema = pq.read_schema(parts(epoch / stage)[0])
        table = catalog.create_table(f"demo.{stage}", schema=schema)
        table.add_files(parts(epoch / stage))
        structs = [f.name for f in schema if pa.types.is_list(f.type) and pa.types.is_struct(f.type.value_type)]  # it makes these anew
        same("PyIceberg", epoch / stage, table.scan().to_arrow().to_pylist(), structs)
        assert [f["file_path"] for f in table.inspect.files().to_pylist()] == parts(epoch / stage), "files were rewritten"
    rewards = [r["reward"] for r in expected(epoch / "score").values() if r["reward"] is not None]
    low = catalog.load_table("demo.score").scan(row_filter=f"reward <= {min(rewards)}").to_arrow()
    assert low.num_rows == rewards.count(min(rewards)), f"PyIceberg finds {low.num_rows} rows with the lowest reward"
    duck = duckdb.connect()
    catalog.load_table("demo.score").scan(selected_fields=("trajectory_id", "reward")).to_duckdb("score", connection=duck)
    catalog.load_table("demo.rollout").scan(selected_fields=("trajectory_id", "answer")).to_duckdb("rollout", connection=duck)
    joined = duck.execute("select count(*), avg(reward) from score join rollout using (trajectory_id)").fetchone()
    direct = duck.execute(f"select count(*), avg(s.reward) from '{epoch}/score/*.parquet' s join '{epoch}/rollout/*.parquet' r using (trajectory_id)").fetchone()
    assert joined == direct, f"the join over Iceberg gives {joined}, over the files {direct}"
    return pyiceberg.__version__


def main():
    epoch, scratch = pathlib.Path(sys.argv[1]).absolute(), pathlib.Path(sys.argv[2]).absolute()
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    tokens = sampled(expected(epoch / "rollout"))
    assert tokens, "no log probability to compare"
    for engine in sys.argv[3:] or ("spark", "ray", "iceberg"):
        began = time.monotonic()
        version = {"spark": spark, "ray": ray, "iceberg": iceberg}[engine](epoch, scratch)
        print(f"{engine} {version} reads the rows that pyarrow reads, with {tokens} log probabilities ({time.monotonic() - began:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
