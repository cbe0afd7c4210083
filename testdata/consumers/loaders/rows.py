"""Rows of sequences.parquet, as `rollmill submit --backend file --kinds sequences` writes
them, with the weight folded into the advantage: exact for a clipped policy loss, which is
linear in the advantage on each side of 0; not for a KL term. So are the weights of messages
in the policy gradient's loss. Other losses have no place in these trainers: rows with them
are refused."""

import pyarrow.parquet as pq


def read(path, mean="tokens"):
    """The rows. `advantage` is that of the trajectory, and `advantages` that of each of
    response_ids, times the weight for a trainer whose loss is the mean over "tokens" (or
    their sum over a constant) or over "sequences" of the means of their tokens."""
    rows = pq.read_table(path).to_pylist()
    for r in rows:
        for loss in ("ce", "ref_kl"):
            if any(r[loss + "_weights"] or []):
                raise ValueError(f"trajectory {r['trajectory_id']} trains with the loss {loss}, which this trainer does not have: use prime-rl, or write the rows with --advantages trajectory")
    weighted, tokens = any(r["weight"] != 1 for r in rows), sum(r["tokens"] for r in rows)
    for r in rows:
        if weighted and mean == "sequences":
            r["weight"] *= r["tokens"] * len(rows) / tokens
        each = r["advantages"] or [r["advantage"] * m for m in r["loss_mask"]]
        r["advantages"] = [a * r["weight"] * w for a, w in zip(each, r["rl_weights"] or [1] * len(each))]
        r["advantage"] *= r["weight"]
    return rows
