"""The worker of `rollmill submit --backend tinker`.

An epoch begins from saved weights, or from a fresh adapter, and ends with two saved
things of one new name: weights to sample from, which the receipt names as the next
policy, and the state that the next epoch begins from. What lies between is a model of
this process alone. So an answer that is lost costs an attempt and not a policy: the
model is dropped, and the epoch is trained again from where it began.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any

from .. import _manifest
from .._need import need
from .._places import Place
from .._trainers import Batch, trainer
from . import _batch, connect
from ._client import Lost, Model, restore, result
from ._journal import Journal

ATTEMPTS = 4  # at one epoch, by one process


def settings(request: Mapping[str, Any]) -> dict[str, Any]:
    return dict(json.loads(request["settings"]["tinker"]))


def policy(model: str, version: int, s: Mapping[str, Any]) -> dict[str, Any]:
    return {"step": version, "policy": {"url": s.get("engine", ""), "model": model, "version": version}}


def before(request: Mapping[str, Any]) -> tuple[str, int]:
    """The policy that the epoch begins from: the path of saved weights, "" for the base model."""
    known = (request.get("before") or {}).get("policy") or {}
    model = str(known.get("model", ""))
    return (model, int(known.get("version") or 0)) if model.startswith("tinker://") else ("", 0)


def train(batch: Batch) -> Iterator[dict[str, Any]]:
    """Train an epoch, and name the policy that it made."""
    s = settings(batch)
    rows = _batch.read(batch["forms"]["sequences"]["uri"])
    prepare(rows, batch, s)
    journal = Journal(s["journal"], batch.token)
    for attempt in range(1, ATTEMPTS + 1):
        service = None
        try:
            service = connect(s.get("url", ""))
            yield from epoch(service, rows, journal, batch, s)
            return
        except (Lost, ConnectionError) as lost:
            yield {"note": f"attempt {attempt} at the epoch is dropped, as the answer to a request was lost: {lost}"}
            if attempt == ATTEMPTS or attempt == 1 and isinstance(lost, ConnectionError):
                raise
            time.sleep(2**attempt)
        finally:
            if service:
                service.holder.close()


def prepare(rows: list[_batch.Tokens], batch: Batch, s: Mapping[str, Any]) -> None:
    """Do what the dataset leaves to its trainer."""
    state = _manifest.read(Place(batch.curated), None).content.get("state") or {}
    if how := (state.get("advantages") or {}).get("whiten"):
        _batch.whiten(rows, how)
    if s["loss"] != "cross_entropy" and not any(r.advantages.any() or r.ce.any() or r.kl.any() for r in rows):
        raise _batch.Unfit("no sequence has an advantage: every attempt of each example got the same reward")


def longest(service: Any, s: Mapping[str, Any]) -> int:
    """The length that the model takes, 0 if unknown; raise Unfit for a model that the service does not have."""
    models = {m.model_name: m for m in service.get_server_capabilities().supported_models}
    if s["base"] not in models:
        raise _batch.Unfit(f"the service has no model {s['base']!r}; it has {', '.join(sorted(map(str, models)))}")
    return int(s.get("max_length") or getattr(models[s["base"]], "max_context_length", 0) or 0)


def epoch(service: Any, rows: list[_batch.Tokens], journal: Journal, batch: Batch, s: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """One attempt at the epoch, with a model of its own."""
    saved, version = before(batch)
    model = restore(service, saved, s["base"], s["rank"], s["seed"])
    _batch.check(rows, model.vocabulary(s["base"]), longest(service, s))
    name = re.sub(r"[^a-zA-Z0-9_-]", "-", f"{batch['model']}-{version + 1}-{batch.token[:8]}-{secrets.token_hex(4)}")
    journal.begin(model.run, name)
    model.sent = journal.sent
    asked = _batch.imitation(rows) if batch.get("echo") else []
    old = model.logprobs(asked) if asked else []
    metrics: list[dict[str, float]] = []
    for n in range(s["passes"]):
        for part in _batch.steps(rows, s["substeps"], version + n):
            metrics.append(step(model, part, s, first=not metrics))
    files = [_batch.echo(s["journal"], rows, old_logprobs=old, new_logprobs=model.logprobs(asked))] if asked else []
    path = model.save(name)
    yield from ({"metrics": m} for m in metrics)
    yield {"job": model.run, "state": "completed", "files": files, **policy(path, version + 1, s)}


def step(model: Model, part: list[_batch.Tokens], s: Mapping[str, Any], first: bool) -> dict[str, float]:
    """One optimizer step and what it showed: the policy's log probabilities are those before it."""
    np = need("numpy", "training")
    losses = _batch.datums(part, s["loss"])
    found = model.learn(losses, {"learning_rate": s["learning_rate"], **s.get("adam", {})})[s["loss"]]
    now = np.concatenate([np.asarray(lp)[r.mask] for r, lp in zip(part, found)])
    if not np.isfinite(now).all():
        raise _batch.Unfit("the service computed log probabilities that are no numbers")
    old, advantage = (np.concatenate([getattr(r, name)[r.mask] for r in part]) for name in ("logprobs", "advantages"))
    apart = np.abs(now - old)
    if first and s.get("tolerance") is not None and apart.mean() > s["tolerance"]:
        raise _batch.Unfit(
            f"the log probabilities of the batch and of the weights that it was sampled from differ by {apart.mean():.3g} nats on average, "
            f"more than the tolerance {s['tolerance']:g}"
        )
    ratio = np.exp(now - old)
    shown = {"sequences": float(len(part)), "tokens": float(len(now))}
    if s["loss"] == "cross_entropy":
        return {**shown, "loss": float(-now.mean())}
    clipped = np.clip(ratio, 1 - _batch.CLIP, 1 + _batch.CLIP) if s["loss"] == "ppo" else ratio
    loss = -np.minimum(ratio * advantage, clipped * advantage).mean()
    kl = (ratio - 1 - np.log(ratio)).mean()
    shown = {**shown, "loss": float(loss), "kl": float(kl), "clipped": float((clipped != ratio).mean())}
    return {**shown, "logprob_difference": float(apart.mean())} if first else shown


def ended(request: Mapping[str, Any]) -> dict[str, Any]:
    """How a submission ended whose sender is dead. The last request of an epoch is the one
    that saves its state; without its id, nothing of the epoch is left. With it, its result says."""
    s = settings(request)
    attempts = Journal(s["journal"], request["token"]).attempts
    _, version = before(request)
    for attempt in reversed(attempts):
        if "state" not in attempt:
            continue
        service = connect(s.get("url", ""))
        try:
            path = result(service, "sampler", attempt["sampler"]).path
            result(service, "state", attempt["state"])
        except (ValueError, need("tinker", "asking").RequestFailedError) as error:
            print(f"attempt {attempt['name']} saved nothing: {error}", file=sys.stderr)
            continue
        files = [Place(s["journal"]).file_uri(_batch.ECHO)] if request.get("echo") else []  # written before the weights were saved
        return {"job": attempt["run"], "state": "completed", "message": f"it had saved {path}", "files": files, **policy(str(path), version + 1, s)}
    return {"state": "failed", "clean": True, "message": f"none of {len(attempts)} attempts saved its state, so nothing was trained"}


def main() -> None:
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    made = trainer(clean=True)(train)

    def begin(request: Mapping[str, Any]) -> dict[str, Any]:
        saved, version = before(request)
        return policy(saved or settings(request)["base"], version, settings(request))

    made.begin(begin)
    made.resolve(ended)
    made.serve()
