"""What a trainer computed of sequences.parquet, as the file that rollmill's reward echo
reads: `rollmill score --in CURATED --reward 'trainer=echo:echo.parquet'`, or the file that a
program names that `submit --backend command --echo` runs.

    python echo.py sequences.parquet OUTPUT_DIR/token_exports/step_N echo.parquet

reads prime-rl's token exports (trainer.enable_token_export = true). verl_batch.echo reads
verl's batch. Each list is aligned with response_ids."""

import json
import math
import pathlib
import sys

import pyarrow as pa
import pyarrow.parquet as pq

LISTS = ("old_logprobs", "new_logprobs", "ref_logprobs", "entropies")


def loss(row, old):
    """The importance-weighted policy gradient, without a clip: a mean over the trained tokens."""
    each = row["advantages"] or [row["advantage"] or 0.0] * len(row["loss_mask"])
    weights = row["rl_weights"] or [1.0] * len(each)
    terms = [a * w * math.exp(p - q) for a, w, p, q, m in zip(each, weights, old, row["logprobs"], row["loss_mask"], strict=True) if m]
    return -row["weight"] * sum(terms) / max(1, len(terms))


def write(path, rows, **columns):
    """rows are those of sequences.parquet; columns have what was computed for each, or None."""
    table = {"trajectory_id": [r["trajectory_id"] for r in rows], "sequence": pa.array([r["sequence"] for r in rows], pa.int32())}
    for name, values in columns.items():
        kind = pa.list_(pa.float32()) if name in LISTS else pa.float64()
        table[name] = pa.array([v if name not in LISTS else [float(x) for x in v] for v in values], kind)
    table["loss"] = [loss(r, old) for r, old in zip(rows, columns["old_logprobs"], strict=True)]
    pq.write_table(pa.table(table), path)


def prime_rl(rows, folder):
    """prime-rl's records have no ids: a row's is one with its tokens and log probabilities."""
    records = {}
    for file in sorted(pathlib.Path(folder).glob("rank_*.jsonl")):
        for line in file.read_text().splitlines():
            r = json.loads(line)
            if r["schema_version"] != 1:
                raise ValueError(f"{file.name}: token exports of version {r['schema_version']}; this reads 1")
            records.setdefault(tuple(r["token_ids"]), []).append(r)
    old, entropies, clipped = [], [], []
    for row in rows:
        ids = (*row["prompt_ids"], *row["response_ids"])
        if not records.get(ids):
            raise ValueError(f"trajectory {row['trajectory_id']}, sequence {row['sequence']}: no record has its {len(ids)} tokens")
        r = records[ids].pop(0)
        start = len(row["prompt_ids"])
        old.append([v if m else 0.0 for v, m in zip(r["trainer_logprobs"][start:], row["loss_mask"], strict=True)])
        entropies.append([v if m else 0.0 for v, m in zip(r["entropy"][start:], row["loss_mask"], strict=True)])
        masked = [v for v, m in zip(r["is_masked"][start:], row["loss_mask"]) if m and v is not None]
        clipped.append(sum(masked) / len(masked) if masked else None)
    return {"old_logprobs": old, "entropies": entropies, "clip_share": clipped}


if __name__ == "__main__":
    sequences, folder, out = sys.argv[1:]
    rows = pq.read_table(sequences).to_pylist()
    write(out, rows, **prime_rl(rows, folder))
