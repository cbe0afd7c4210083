"""A batch of sequences as what a Tinker service trains on."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .._need import need
from .._places import Place

LOSSES = ("importance_sampling", "ppo", "cross_entropy")
CLIP = 0.2  # of ppo, fixed by the service
ECHO = "echo.parquet"


class Unfit(ValueError):
    """A batch that cannot be trained as it is."""


class Tokens:
    """One sequence. The arrays have an entry for each token but the first, which has no
    log probability: 0 for tokens that do not train."""

    def __init__(self, row: Mapping[str, Any]) -> None:
        np = need("numpy", "training")
        self.row = row
        self.ids: list[int] = list(row["prompt_ids"]) + list(row["response_ids"])
        before = max(0, len(row["prompt_ids"]) - 1)

        def aligned(values: Any) -> Any:
            return np.concatenate([np.zeros(before), np.asarray(values, dtype=np.float64)])

        self.mask = aligned(row["loss_mask"]).astype(bool)
        self.logprobs = aligned(row["logprobs"])
        own = row.get("advantages")
        self.advantages = aligned(own) if own is not None else self.mask * (row["advantage"] or 0.0)

        def weights(name: str, default: float) -> Any:
            given = row.get(name)
            return self.mask * row["weight"] * (aligned(given) if given is not None else default)

        plain = row.get("rl_weights") is None
        self.rl, self.ce = weights("rl_weights", 1.0), weights("ce_weights", 0.0)
        self.kl = weights("ref_kl_weights", 0.0)
        self.towards = self.mask * 0.0 if plain else self.mask * (aligned(row["ref_logprobs"]) - self.logprobs)

    @property
    def name(self) -> str:
        return f"trajectory {self.row['trajectory_id']}, sequence {self.row['sequence']}"


def read(uri: str) -> list[Tokens]:
    """The sequences of a file of kind sequences."""
    file = Place(uri)
    place = file.parent()
    with place.filesystem().open_input_file(place.key(file.path.rpartition("/")[2])) as f:
        return [Tokens(row) for row in need("pyarrow.parquet", "reading the batch", "pyarrow").read_table(f).to_pylist()]


def check(batch: Sequence[Tokens], vocabulary: int, longest: int) -> None:
    """Raise Unfit for what the service would misread in silence: it pads short lists
    with 0, and a token beyond the vocabulary gives no number. 0 is no limit."""
    for s in batch:
        lists = (s.mask, s.logprobs, s.advantages, s.rl, s.ce, s.kl, s.towards)
        if any(len(values) != len(s.ids) - 1 for values in lists):
            raise Unfit(f"{s.name}: its lists have {sorted({len(v) for v in lists})} values for {len(s.ids) - 1} tokens")
        if len(s.row["prompt_ids"]) == 0:
            raise Unfit(f"{s.name} has no prompt")
        if vocabulary and not 0 <= min(s.ids) <= max(s.ids) < vocabulary:
            raise Unfit(f"{s.name} has the token {max(s.ids)}; the model's vocabulary ends at {vocabulary - 1}")
        if longest and len(s.ids) > longest:
            raise Unfit(f"{s.name} has {len(s.ids)} tokens; the model takes {longest}: drop such rows with a rule of curate")


def whiten(batch: Sequence[Tokens], how: Mapping[str, Any]) -> None:
    """Do the normalization over tokens that some estimators leave to the trainer:
    formats.Whitening has the formula."""
    np = need("numpy", "training")
    every = np.concatenate([s.advantages[s.mask] for s in batch])
    variance = every.var(ddof=1 if how["sample_variance"] and len(every) > 1 else 0)
    scale = np.sqrt(max(variance, how["floor"]) + how["epsilon"])
    for s in batch:
        s.advantages = s.mask * (s.advantages - every.mean()) / scale


def steps(batch: Sequence[Tokens], count: int, seed: int) -> Iterator[list[Tokens]]:
    """The batch in a random order, cut into count parts, each for one optimizer step."""
    order = list(batch)
    random.Random(seed).shuffle(order)
    count = max(1, min(count, len(order)))
    for k in range(count):
        yield order[k * len(order) // count : (k + 1) * len(order) // count]


def datums(part: Sequence[Tokens], loss: str) -> dict[str, list[tuple[Tokens, Any]]]:
    """What one optimizer step learns from, by the service's loss. The service adds up
    over tokens; a rollmill batch is a mean over the tokens of each loss (SequenceRow), so
    every coefficient is divided by their number. Reference KL is a policy gradient with
    an advantage of its own, and joins that of the reward under one ratio and one clip."""
    if loss == "cross_entropy":
        n = _tokens(part, "mask")
        return {loss: [(s, _datum(s, weights=s.mask * s.row["weight"] / n)) for s in part]}
    rl, ce, kl = (_tokens(part, name) for name in ("rl", "ce", "kl"))
    out = {loss: [(s, _datum(s, logprobs=s.logprobs, advantages=s.rl * s.advantages / rl + s.kl * s.towards / kl)) for s in part]}
    imitated = [(s, _datum(s, weights=s.ce / ce)) for s in part if s.ce.any()]
    return {**out, "cross_entropy": imitated} if imitated else out


def _tokens(part: Sequence[Tokens], name: str) -> int:
    return max(1, sum(int((getattr(s, name) != 0).sum()) for s in part))


def _datum(s: Tokens, **inputs: Any) -> Any:
    types = need("tinker.types", "training", "tinker")
    n = len(s.ids) - 1

    def tensor(values: Any, kind: str) -> Any:
        return types.TensorData(data=[int(v) if kind == "int64" else float(v) for v in values], dtype=kind, shape=[n])

    fields = {"target_tokens": tensor(s.ids[1:], "int64"), **{k: tensor(v, "float32") for k, v in inputs.items()}}
    return types.Datum(model_input=types.ModelInput.from_ints(s.ids[:-1]), loss_fn_inputs=fields)


def echo(uri: str, batch: Sequence[Tokens], **columns: Sequence[Sequence[float]]) -> str:
    """Write what was computed for each sequence, aligned with its response_ids; the file's URI."""
    arrow, parquet = need("pyarrow", "writing the echo"), need("pyarrow.parquet", "writing the echo", "pyarrow")
    rows = {"trajectory_id": [s.row["trajectory_id"] for s in batch], "sequence": arrow.array([s.row["sequence"] for s in batch], arrow.int32())}
    rows["loss"] = [loss(s, values) for s, values in zip(batch, columns["old_logprobs"])]
    for name, lists in columns.items():
        values = [v[len(s.row["prompt_ids"]) - 1 :] for s, v in zip(batch, lists)]
        rows[name] = arrow.array(values, arrow.list_(arrow.float32()))
    place = Place(uri)
    with place.filesystem().open_output_stream(place.key(ECHO)) as out:
        parquet.write_table(arrow.table(rows), out)
    return place.file_uri(ECHO)


def loss(s: Tokens, logprobs: Sequence[float]) -> float:
    """The mean over the trained tokens of the importance-weighted policy gradient."""
    np = need("numpy", "training")
    terms = s.rl * s.advantages * np.exp(np.asarray(logprobs) - s.logprobs)
    return float(-terms[s.mask].sum() / max(1, s.mask.sum()))


def imitation(batch: Sequence[Tokens]) -> list[Any]:
    """Datums whose log probabilities are of interest, and not their loss."""
    return [_datum(s, weights=s.mask) for s in batch]
