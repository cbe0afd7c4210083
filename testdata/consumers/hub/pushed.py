"""Reads what rollmill.hub pushed to acme/rollouts, by its card, with `datasets` and DuckDB.

    HF_ENDPOINT=URL HF_TOKEN=TOKEN PYTHONPATH=cmd/python/src python pushed.py CURATED
"""

import sys

import datasets
import duckdb
from huggingface_hub import snapshot_download

import rollmill

curated = rollmill.open(sys.argv[1])
sampled = sorted((row["trajectory_id"], m["token_ids"], m["logprobs"]) for row in curated.iter_arrow() for row in row.to_pylist() for m in row["messages"] if m["sampled"])

# The sequences hold the tokens of the rows, each once, with its log probability.
datasets.disable_progress_bars()
rows = datasets.load_dataset("acme/rollouts", "sequences", split="train")
told = sorted((r["trajectory_id"], [i for i, m in zip(r["response_ids"], r["loss_mask"]) if m], [p for p, m in zip(r["logprobs"], r["loss_mask"]) if m]) for r in rows)
assert told == sampled and told, (told, sampled)
for pair in datasets.load_dataset("acme/rollouts", "trl-preference", split="train"):
    assert pair["chosen"] != pair["rejected"] and pair["prompt"][-1]["role"] == "user"
got = snapshot_download("acme/rollouts", repo_type="dataset")
count = duckdb.sql(f"SELECT count(*) FROM '{got}/data/sequences/*.parquet'").fetchall()[0][0]
assert count == len(rows), (count, len(rows))
