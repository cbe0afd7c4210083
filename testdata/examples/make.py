"""Writes the task files of this folder. Run it here, with pyarrow and duckdb.

table.*   the same three rows in every format that rollmill reads
foreign-* Parquet as pyarrow and DuckDB write it, with what our own files never
          have: LZ4_RAW pages that compress well, dictionaries, decimals, large
          strings, times, fixed-size lists, enums, UUIDs, bytes. The .jsonl
          beside each is what it must be read as; check it by eye when it changes.
"""
import csv
import datetime as dt
import json
from decimal import Decimal

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

rows = [
    {"id": "q1", "question": "2+2?", "answer": "4"},
    {"id": "q2", "question": 'where, "exactly"?', "answer": "None"},
    {"id": "007", "question": "trois\nlignes é <b>?", "answer": ""},
]


def text(name):
    return open(name, "w", encoding="utf-8", newline="")


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
pq.write_table(table, "foreign-pyarrow.parquet", compression="lz4", data_page_version="2.0", row_group_size=2)

db = duckdb.connect()
db.sql("create type kind as enum('x', 'y')")
db.sql("""
copy (select * from (values
  (1, 'a', '{"k":[1,2]}'::json, 1.25::decimal(5,2), 'x'::kind, [{'r': 'u', 'n': [1]}], map {'k': 1},
   timestamp '2026-01-02 03:04:05', uuid '12345678-1234-5678-1234-567812345678', '\\xFF'::blob),
  (2, 'b', null, null, 'y'::kind, null, map {}, null, null, null)
) t(id, question, j, price, kind, turns, m, moment, u, b))
to 'foreign-duckdb.parquet' (format parquet, compression lz4_raw)""")
