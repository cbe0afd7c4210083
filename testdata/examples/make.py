"""Writes the task files of this folder. Run it here, with pyarrow and duckdb.

table.*   the same three rows in every format that rollmill reads
foreign-* Parquet by pyarrow and DuckDB, with features that our own files never
          have: LZ4_RAW pages that compress well, dictionaries, decimals, large
          strings, times, fixed-size lists, enums, UUIDs, bytes. The .jsonl next
          to each has the rows that must be read; review it when it changes.
          -polars and -spark use the defaults of these tools, -spark-old and
          -spark-v2 older defaults and options of Spark; -delta, -int96 and -v1
          use options of pyarrow that are defaults of other tools. The rows of
          all these must equal those that arrow-go reads.

Made in a virtual environment outside of the tree with pyarrow, datasets, duckdb,
polars and pyspark from PyPI, and Java; make.py NAME ... makes only those foreign files again.
"""
import csv
import datetime as dt
import json
import shutil
import sys
import tempfile
from decimal import Decimal

import datasets
import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq


def text(name):
    return open(name, "w", encoding="utf-8", newline="")


def tables():
    rows = [
        {"id": "q1", "question": "2+2?", "answer": "4"},
        {"id": "q2", "question": 'where, "exactly"?', "answer": "None"},
        {"id": "007", "question": "trois\nlignes é <b>?", "answer": ""},
    ]
    with text("table.json") as f:
        json.dump(rows, f, ensure_ascii=False, indent=2)
        f.write("\n")
    with text("table.jsonl") as f:  # with a byte order mark and blank lines
        f.write("\ufeff" + "\n\n".join(json.dumps(r, ensure_ascii=False) for r in rows) + "\n")
    with text("table.columns.json") as f:
        json.dump({k: {str(i): r[k] for i, r in enumerate(rows)} for k in rows[0]}, f)
    with text("table.csv") as f:
        w = csv.DictWriter(f, list(rows[0]), lineterminator="\n")
        w.writeheader()
        w.writerows(rows)
    pq.write_table(pa.Table.from_pylist(rows), "table.parquet", compression="lz4")
    with tempfile.TemporaryDirectory() as saved:  # a shard as Hugging Face's datasets writes it
        datasets.Dataset.from_list(rows).save_to_disk(saved)
        shutil.copy(f"{saved}/data-00000-of-00001.arrow", "table.arrow")


turn = pa.struct([("role", pa.string()), ("n", pa.int8())])
moment = dt.datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=dt.timezone.utc)
table = pa.table({
    "id": pa.array([1.0, 2.0, None], pa.float64()),
    "question": pa.array(["a" * 3000, "b", "c"], pa.large_string()),
    "topic": pa.array(["math", "art", "math"]).dictionary_encode(),
    "price": pa.array([Decimal("1.50"), None, Decimal("-0.05")], pa.decimal128(7, 2)),
    "at": pa.array([moment] * 3, pa.timestamp("ms", "UTC")),
    "day": pa.array([dt.date(2026, 1, 2)] * 3),
    "time": pa.array([dt.time(1, 2, 3)] * 3, pa.time64("us")),
    "flags": pa.array([[True, None], [], None], pa.list_(pa.bool_())),
    "turns": pa.array([[{"role": "user", "n": 1}], [{"role": "x", "n": None}, None], []], pa.list_(turn)),
    "scores": pa.array([[("a", 1.5)], [], [("b", float("nan"))]], pa.map_(pa.string(), pa.float32())),
    "vector": pa.array([[1, 2], [3, 4], [5, 6]], pa.list_(pa.float32(), 2)),
    "raw": pa.array([b"\xff\x00", b"text", None]),
    "big": pa.array([2**64 - 1, 0, 1], pa.uint64()),
})
more = pa.table({
    "id": pa.array(range(300), pa.int32()),
    "word": pa.array([f"prefix-{i // 7}-{i}" for i in range(300)]),
    "word_or_not": pa.array([None if i % 3 else "x" * (i % 5) for i in range(300)]),
    "n": pa.array([i * i * 977 - 40000 for i in range(300)], pa.int64()),
    "small": pa.array([None if i % 11 == 0 else i - 100 for i in range(300)], pa.int16()),
    "unsigned": pa.array([2**32 - 1 - i for i in range(300)], pa.uint32()),
    "yes": pa.array([i % 3 == 0 for i in range(300)]),
    "half": pa.array([i / 8 for i in range(300)], pa.float16()),
    "single": pa.array([i / 3 for i in range(300)], pa.float32()),
    "wide": pa.array([Decimal(i - 150) * Decimal("12345678901234567890.12345") for i in range(300)], pa.decimal128(38, 5)),
    "lists": pa.array([[[i, None], [], None] if i % 2 else None for i in range(300)], pa.list_(pa.list_(pa.int64()))),
    "maps": pa.array([[(i, [str(i)])] for i in range(300)], pa.map_(pa.int32(), pa.list_(pa.string()))),
})
at = pa.table({
    "ns": pa.array([0, 1_767_322_845_678_901_234, -1, None], pa.timestamp("ns")),
    "zone": pa.array([0, 1_767_322_845_678_901, -1, None], pa.timestamp("us", "Europe/Berlin")),
    "s": pa.array([0, 1_767_322_845, -1, None], pa.timestamp("s")),
})


def pyarrow():
    pq.write_table(table, "foreign-pyarrow.parquet", compression="lz4", data_page_version="2.0", row_group_size=2)


def delta():
    encodings = {"id": "DELTA_BINARY_PACKED", "n": "DELTA_BINARY_PACKED", "word": "DELTA_BYTE_ARRAY", "word_or_not": "DELTA_LENGTH_BYTE_ARRAY",
                 "single": "BYTE_STREAM_SPLIT", "wide": "DELTA_BYTE_ARRAY", "unsigned": "BYTE_STREAM_SPLIT", "yes": "RLE"}
    pq.write_table(more, "foreign-delta.parquet", compression="gzip", use_dictionary=False, column_encoding=encodings,
                   data_page_version="2.0", data_page_size=512)


def v1():
    pq.write_table(more, "foreign-v1.parquet", compression="brotli", version="1.0", data_page_version="1.0", data_page_size=512,
                   row_group_size=77, store_schema=False, use_compliant_nested_type=False)


def int96():
    pq.write_table(at, "foreign-int96.parquet", use_deprecated_int96_timestamps=True)


def polars():
    frame = pl.from_arrow(more.drop_columns(["maps", "half"])).with_columns(
        pl.col("word").cast(pl.Categorical).alias("category"), pl.lit("x").cast(pl.Enum(["x", "y"])).alias("enum"),
        pl.lit(dt.time(1, 2, 3, 4)).alias("time"),
        pl.struct("id", pl.col("word").alias("w")).alias("struct"), pl.lit(None).alias("nothing"))
    frame.write_parquet("foreign-polars.parquet")


def spark():
    import glob
    import os
    import shutil

    from pyspark.sql import SparkSession

    for name, options in {
        "spark": {},
        "spark-old": {"spark.sql.parquet.writeLegacyFormat": "true", "spark.sql.parquet.outputTimestampType": "INT96"},
        "spark-v2": {"spark.hadoop.parquet.writer.version": "v2", "spark.sql.parquet.compression.codec": "zstd"},
    }.items():
        builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config("spark.sql.session.timeZone", "UTC")
        for key, value in options.items():
            builder = builder.config(key, value)
        session = builder.getOrCreate()
        session.sql("""
          select id, concat('word ', id) as word, cast(id / 7 as decimal(9, 3)) as price, cast(id as decimal(30, 2)) as large,
            timestamp_micros(1767322845678901 + id) as at, timestamp_ntz '2026-01-02 03:04:05.6' as local, date '2026-01-02' as day,
            case when id % 3 = 0 then null else array(id, null) end as maybe, array(cast(id as int)) as list,
            array(named_struct('role', 'user', 'n', id), null) as turns, array(array('a'), array()) as nested,
            map('k', id, 'l', null) as map, map(id, array(true)) as numbered,
            cast(id as byte) as tiny, cast(id / 3 as float) as single, x'ff00' as raw, array(named_struct('one', id)) as ones
          from range(40)""").coalesce(1).write.mode("overwrite").parquet("spark.tmp")
        os.replace(glob.glob("spark.tmp/*.parquet")[0], f"foreign-{name}.parquet")
        shutil.rmtree("spark.tmp")
        session.stop()


def duckdb_():
    db = duckdb.connect()
    db.sql("create type kind as enum('x', 'y')")
    db.sql("""
copy (select * from (values
  (1, 'a', '{"k":[1,2]}'::json, 1.25::decimal(5,2), 'x'::kind, [{'r': 'u', 'n': [1]}], map {'k': 1},
   timestamp '2026-01-02 03:04:05', uuid '12345678-1234-5678-1234-567812345678', '\\xFF'::blob),
  (2, 'b', null, null, 'y'::kind, null, map {}, null, null, null)
) t(id, question, j, price, kind, turns, m, moment, u, b))
to 'foreign-duckdb.parquet' (format parquet, compression lz4_raw)""")


makers = {"pyarrow": pyarrow, "delta": delta, "v1": v1, "int96": int96, "polars": polars, "spark": spark, "duckdb": duckdb_}
if not sys.argv[1:]:
    tables()
for name in sys.argv[1:] or makers:
    makers[name]()
