"""Writes trajectories as Parquet with pyarrow, DuckDB and polars, and checks that
import reads them as rows: a few columns, and all columns of a rollout, in the types
that these tools choose.

    import_rows.py ROLLMILL ROLLOUT FOLDER
"""
import json
import pathlib
import shutil
import subprocess
import sys

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

MINIMUM = "trajectory_id, example_id, generation, status, messages"
REWARD = "x=expr:(generation + len(answer)) % 3"


def by_pyarrow(table, out):
    pq.write_table(table, out, compression="gzip", use_compliant_nested_type=False, row_group_size=7)


def by_duckdb(rows, out):
    duckdb.sql(f"copy (select * from rows) to '{out}' (format parquet)")


def by_polars(table, out):
    frame = pl.from_arrow(table).with_columns(pl.col("status").cast(pl.Categorical))
    frame.write_parquet(out)


WRITERS = {"pyarrow": by_pyarrow, "duckdb": by_duckdb, "polars": by_polars}


def widened(typ):
    """The type that a tool without narrow types has in place of another one."""
    if pa.types.is_list(typ):
        return pa.large_list(widened(typ.value_type))
    if pa.types.is_struct(typ):
        return pa.struct([pa.field(f.name, widened(f.type)) for f in typ])
    if pa.types.is_timestamp(typ):
        return pa.timestamp("ns", typ.tz)
    return {pa.int32(): pa.int64(), pa.float32(): pa.float64(), pa.string(): pa.large_string()}.get(typ, typ)


def run(*words):
    return subprocess.run([str(w) for w in words], capture_output=True, text=True)


def scored(rollmill, source, out):
    """The rows digests of scores, and of what curate keeps of them."""
    for words in (
        ["score", "--in", source, "--reward", REWARD, "--out", out / "score"],
        ["group", "--in", out / "score", "--out", out / "group"],
        ["curate", "--in", out / "group", "--out", out / "curate"],
    ):
        done = run(rollmill, *words, "--quiet")
        assert done.returncode == 0, done.stderr
    return [json.loads((out / d / "_dataset.json").read_text())["dataset"]["rows_digest"] for d in ("score", "group", "curate")]


def rewards(folder):
    """What score gives, in the order of the rows; imported rows without a run have new ids."""
    rows = pa.concat_tables(pq.read_table(p, columns=["reward"]) for p in sorted(folder.glob("part-*.parquet")))
    return rows["reward"].to_pylist()


def main():
    rollmill, rollout, out = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    shutil.rmtree(out, ignore_errors=True)
    table = pa.concat_tables(pq.read_table(p) for p in sorted(rollout.glob("part-*.parquet")))
    wide = pa.Table.from_arrays([c.cast(widened(c.type)) for c in table.columns], names=table.column_names)
    few = duckdb.sql(f"select {MINIMUM.replace(', messages', '')}, [{{role: m.role, content: m.content}} for m in messages] as messages from wide").to_arrow_table()
    want = scored(rollmill, rollout, out / "original")
    for name, write in WRITERS.items():
        for columns, of in {"all": wide, "few": few}.items():
            data = out / name / columns
            data.mkdir(parents=True)
            half = of.num_rows // 2
            write(of.slice(0, half), data / "1.parquet")
            write(of.slice(half), data / "2.parquet")
            done = run(rollmill, "import", "--from", "rows", "--in", data / "*.parquet", "--out", data / "rollout", "--quiet")
            assert done.returncode == 0, done.stderr
            got = scored(rollmill, data / "rollout", data)
            if columns == "all":
                assert got == want, (name, got, want)
            assert rewards(data / "score") == rewards(out / "original" / "score"), (name, columns)
    print(f"score gives {want[0]} for imported files of {', '.join(WRITERS)}, as for the rollout")


main()
