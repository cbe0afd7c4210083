"""Write a rollout's parts again with pyarrow and with DuckDB, in their own pages, and
check that score, group and curate give the same rows as for the original: curate
decodes what it cannot copy.

    foreign.py ROLLMILL ROLLOUT FOLDER
"""

import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys

import duckdb
import pyarrow.parquet as pq

WRITERS = {
    "itself": None,
    "pyarrow": lambda source, out: pq.write_table(pq.read_table(source), out, compression="snappy", row_group_size=50, data_page_version="1.0"),
    "duckdb": lambda source, out: duckdb.sql(f"copy (select * from read_parquet('{source}')) to '{out}' (format parquet)"),
}


def rewrite(folder, write):
    manifest = folder / "_dataset.json"
    whole = json.loads(manifest.read_text())
    said = whole["dataset"]
    for part in said["parts"]:
        file, new = folder / part["name"], folder / "new"
        write(file, new)
        os.replace(new, file)
        footer = pq.read_metadata(file)
        part["row_groups"] = [footer.row_group(i).num_rows for i in range(footer.num_row_groups)]
        data = file.read_bytes()
        part["bytes"], part["digest"] = len(data), hashlib.sha256(data).hexdigest()
        end = 8 + int.from_bytes(data[-8:-4], "little")  # the footer, its length and the magic number
        part["footer_digest"] = hashlib.sha256(data[-end:]).hexdigest()
    said["bytes"] = sum(part["bytes"] for part in said["parts"])
    manifest.write_text(json.dumps(whole))


def main():
    rollmill, rollout, out = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    shutil.rmtree(out, ignore_errors=True)
    digests = {}
    for name, write in WRITERS.items():
        at = out / name
        shutil.copytree(rollout, at / "rollout")
        if write:
            rewrite(at / "rollout", write)
        for words in (
            ["score", "--in", at / "rollout", "--reward", "x=expr:(generation + len(answer)) % 3"],
            ["group", "--in", at / "score"],
            ["curate", "--in", at / "group", "--sample-trajectories", "0.7", "--seed", "3"],
        ):
            subprocess.run([rollmill, *words, "--quiet"], check=True, stdout=subprocess.DEVNULL)
        digests[name] = json.loads((at / "curate" / "_dataset.json").read_text())["dataset"]["rows_digest"]
    assert len(set(digests.values())) == 1 and not digests["itself"].startswith("0-"), digests
    print(f"curate keeps {digests['itself']} of rollouts written by {', '.join(digests)}")


main()
