"""Open every dataset of a run with pyarrow and with DuckDB, and compare row
counts, mean rewards and advantages with `rollmill report --json`, and
the rows that curate copied with those of the rollout.

    python datasets.py RUN REPORT_JSON
"""

import json
import math
import pathlib
import sys

import duckdb
import pyarrow.compute as pc
import pyarrow.parquet as pq

duck = duckdb.connect()


def tables(run):
    """Every table of every dataset: (manifest, name, folder, rows)."""
    for path in sorted(run.rglob("_dataset.json")):
        manifest = json.loads(path.read_text())["dataset"]
        yield manifest, "", path.parent, manifest["rows"]
        for name, table in manifest.get("tables", {}).items():
            yield manifest, name, path.parent / name, table["rows"]


def read(folder):
    """All parts of a table as one Arrow table; None when it has no parts."""
    parts = sorted(folder.glob("*.parquet"))
    return pq.ParquetDataset(parts).read() if parts else None


def same(what, a, b):
    if a is None or b is None:
        assert a is None and b is None, f"{what}: {a} and {b}"
    else:
        assert math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12), f"{what}: {a} and {b}"


def mean(table, column):
    return None if table is None else pc.mean(table[column]).as_py()


def rows(sql):
    return duck.execute(sql).fetchall()


def query(sql, folder):
    if not list(folder.glob("*.parquet")):
        return None
    return rows(sql.replace("ROWS", f"read_parquet('{folder}/*.parquet')"))[0][0]


def check_counts(run):
    seen = 0
    for manifest, name, folder, said in tables(run):
        table = read(folder)
        arrow_rows = 0 if table is None else table.num_rows
        duck_rows = query("select count(*) from ROWS", folder) or 0
        assert arrow_rows == said == duck_rows, f"{folder}: {said} rows, pyarrow {arrow_rows}, DuckDB {duck_rows}"
        if table is not None:  # decode everything once in DuckDB too
            rows(f"select * from read_parquet('{folder}/*.parquet')")
        seen += 1
    return seen


def check_epoch(run, epoch):
    folder = run / f"epoch-{epoch['epoch']}"
    for stage, sample in (("score", "train"), ("validation/score", "validation"), ("curate", "kept")):
        at, said = folder / stage, epoch.get(sample)
        if said is None:
            continue
        same(f"{at}: pyarrow's mean reward", mean(read(at), "reward"), said["mean"])
        same(f"{at}: DuckDB's mean reward", query("select avg(reward) from ROWS", at), said["mean"])
    if epoch.get("train"):
        check_advantages(folder)


def check_advantages(folder):
    """Compute the advantages of group with a window function."""
    params = json.loads((folder / "group" / "_dataset.json").read_text())["dataset"]["params"]
    assert params["estimator"] == "grpo" and params["compat"] in ("art", "none"), params
    members = f"read_parquet('{folder}/group/*.parquet')"
    off, nulls = rows(f"""
        with g as (select group_id, reward, advantage,
                          avg(reward) over w as mu, stddev_pop(reward) over w as sd, count(reward) over w as n
                   from {members} window w as (partition by group_id))
        select max(abs(advantage - (reward - mu) / (sd + 1e-6))),
               count(*) filter (where (advantage is null) != (reward is null or n < 2))
        from g""")[0]
    assert off is None or off < 1e-6, f"{folder}/group: an advantage is off by {off}"
    assert nulls == 0, f"{folder}/group: {nulls} advantages are null where they should not be, or the reverse"
    if list((folder / "curate").glob("*.parquet")):
        kept, differ = rows(f"""
            select count(*), max(abs(m.advantage - c.advantage))
            from {members} m join read_parquet('{folder}/curate/*.parquet') c using (trajectory_id)""")[0]
        assert differ in (None, 0), f"{folder}/curate: an advantage differs from group's by {differ}"
        assert kept == rows(f"select count(*) from read_parquet('{folder}/curate/*.parquet')")[0][0], f"{folder}/curate: a row is not in group"


PAYLOAD = ("example", "messages", "calls", "tool_sets", "candidates")


def check_copies(folder):
    """Curated rows have the payload of their rollout, whose pages curate copied."""
    kept, base = folder / "curate", folder / "rollout"
    if not list(kept.glob("*.parquet")) or json.loads((kept / "_dataset.json").read_text())["dataset"]["rows"] == 0:
        return 0
    same = " and ".join(f"k.{c} is not distinct from b.{c}" for c in PAYLOAD)
    n, equal = rows(f"""
        select count(*), count(*) filter (where {same})
        from read_parquet('{kept}/*.parquet') k join read_parquet('{base}/*.parquet') b using (trajectory_id)""")[0]
    copies, originals = read(kept), read(base)
    assert n == equal == copies.num_rows, f"{kept}: {copies.num_rows} rows, DuckDB finds {n} of them in {base} and {equal} with the same payload"
    place = {t: i for i, t in enumerate(originals["trajectory_id"].to_pylist())}
    originals = originals.take([place[t] for t in copies["trajectory_id"].to_pylist()])
    for c in PAYLOAD:
        assert copies[c].to_pylist() == originals[c].to_pylist(), f"{kept}: pyarrow reads another {c} than in {base}"
    return n


def main():
    run, report = pathlib.Path(sys.argv[1]), json.loads(pathlib.Path(sys.argv[2]).read_text())
    seen = check_counts(run)
    copied = 0
    for epoch in report["epochs"]:
        check_epoch(run, epoch)
        copied += check_copies(run / f"epoch-{epoch['epoch']}")
    assert copied, "no copied row was checked"
    assert seen and report["epochs"], "nothing was checked"
    print(f"{seen} tables of {len(report['epochs'])} epochs and {copied} copied rows agree with pyarrow and DuckDB")


if __name__ == "__main__":
    main()
