"""Show the figures of a run in MLflow or TensorBoard.

    python -m rollmill.track --mlflow URI RUN
    python -m rollmill.track --tensorboard FOLDER RUN
    rollmill report RUN --json | python -m rollmill.track --mlflow URI

It needs the package mlflow (or mlflow-skinny) or tensorboard. The step is the epoch. Run
it again during the run or after it: no figure appears twice.

    score/reward, score/rewards/NAME        means over the scored trajectories
    curate/kept, kept_reward, kept_share    what goes to training
    submit/NAME                             what the trainer reports
    validation/score/...                    the same of held-out examples

For MLflow the environment variables are those of its client: MLFLOW_EXPERIMENT_NAME,
MLFLOW_RUN_ID, MLFLOW_TRACKING_TOKEN, MLFLOW_TRACKING_USERNAME and ..._PASSWORD. The
MLflow run is the one with the name of this run in its tag rollmill.run, made if need be.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import sys
import urllib.parse
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from ._command import run
from ._need import need


def figures(epoch: Mapping[str, Any]) -> dict[str, float]:
    """The numbers of an epoch of `rollmill report --json`, by name. All are finite."""
    found: dict[str, Any] = {}

    def sample(prefix: str, of: Mapping[str, Any]) -> None:
        found[f"{prefix}/reward"] = of.get("mean")
        found.update({f"{prefix}/{key}": of.get(key) for key in ("trajectories", "groups", "scored", "failed", "min", "max")})
        found.update({f"{prefix}/rewards/{name}": mean for name, mean in (of.get("rewards") or {}).items()})

    samples = {"score": epoch.get("train"), "validation/score": epoch.get("validation"), **(epoch.get("scores") or {})}
    for prefix, of in samples.items():
        if of:
            sample(prefix, of)
    drops = epoch.get("drops") or {}
    if kept := epoch.get("kept"):
        rows = kept["trajectories"]
        all_rows = rows + sum(drops.values())
        found |= {"curate/kept": rows, "curate/kept_reward": kept.get("mean"), "curate/kept_share": rows / all_rows if all_rows else None}
    found |= {"group/groups_flat": epoch.get("flat_groups"), "submit/trainer_above_engine": epoch.get("trainer_above_engine")}
    submitted = (epoch.get("receipt") or {}).get("metrics")
    for prefix, table in {"curate/drops/": drops, "rollout/failures/": epoch.get("failures"), "rollout/": epoch.get("cost"), "submit/": submitted}.items():
        found.update({prefix + name: value for name, value in (table or {}).items()})
    found.update({f"{stage}/seconds": value for stage, value in (epoch.get("seconds") or {}).items()})
    return {name: float(value) for name, value in found.items() if isinstance(value, (int, float)) and math.isfinite(value)}


def seconds(epoch: Mapping[str, Any]) -> float:
    """When the epoch's figures were made, in seconds since 1970."""
    return datetime.fromisoformat(epoch["timestamp"][:19] + "+00:00").timestamp()


def to_mlflow(uri: str, name: str, epochs: list[dict[str, Any]]) -> None:
    """Log what the MLflow run does not have yet."""
    mlflow = need("mlflow", "logging to MLflow", "mlflow-skinny")
    client = mlflow.MlflowClient(tracking_uri=uri)
    given = os.environ.get("MLFLOW_RUN_ID")
    there = given or _mlflow_run(client, urllib.parse.quote(name, safe=""), name)
    logged = {key: {(m.step, m.value) for m in client.get_metric_history(there, key)} for key in client.get_run(there).data.metrics}
    for epoch in epochs:
        at, step = int(seconds(epoch) * 1000), epoch["epoch"]
        by_key = {re.sub(r"[^\w\-. /]", "_", key): value for key, value in figures(epoch).items()}  # the characters that MLflow allows
        new = [mlflow.entities.Metric(key, value, at, step) for key, value in by_key.items() if (step, value) not in logged.get(key, ())]
        for begin in range(0, len(new), 1000):  # the most in one request
            client.log_batch(there, metrics=new[begin : begin + 1000])
    if not given:
        client.set_terminated(there)


def _mlflow_run(client: Any, tag: str, name: str) -> str:
    experiment = os.environ.get("MLFLOW_EXPERIMENT_NAME") or "Default"
    known = client.get_experiment_by_name(experiment)
    where = known.experiment_id if known else client.create_experiment(experiment)
    for found in client.search_runs([where], f"tags.`rollmill.run` = '{tag}'", order_by=["attributes.start_time ASC"], max_results=1):
        return str(found.info.run_id)
    return str(client.create_run(where, run_name=name, tags={"rollmill.run": tag, "mlflow.source.name": "rollmill"}).info.run_id)


def to_tensorboard(folder: str, epochs: list[dict[str, Any]]) -> None:
    """Add a file of events with what the folder does not have yet. If a figure has changed,
    the file takes the place of every event from its epoch on."""
    events, writers = (
        need(f"tensorboard.{name}", "writing for TensorBoard", "tensorboard")
        for name in ("backend.event_processing.event_accumulator", "summary.writer.event_file_writer")
    )
    event, summary = (need(f"tensorboard.compat.proto.{name}_pb2", "writing for TensorBoard", "tensorboard") for name in ("event", "summary"))
    os.makedirs(folder, exist_ok=True)
    stored = events.EventAccumulator(folder, size_guidance={"scalars": 0})
    stored.Reload()
    there = {(tag, e.step): e.value for tag in stored.Tags()["scalars"] for e in stored.Scalars(tag)}
    points = [(epoch, tag, value) for epoch in epochs for tag, value in figures(epoch).items()]
    changed = [e["epoch"] for e, tag, value in points if not math.isclose(there.get((tag, e["epoch"]), value), value, rel_tol=1e-6, abs_tol=1e-30)]
    new = [p for p in points if (p[1], p[0]["epoch"]) not in there or changed and p[0]["epoch"] >= min(changed)]
    if not new:
        return
    writer = writers.EventFileWriter(folder)
    if changed:
        writer.add_event(event.Event(step=min(changed), session_log=event.SessionLog(status=event.SessionLog.START)))
    for epoch, tag, value in new:
        values = [summary.Summary.Value(tag=tag, simple_value=value)]
        writer.add_event(event.Event(wall_time=seconds(epoch), step=epoch["epoch"], summary=summary.Summary(value=values)))
    writer.close()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m rollmill.track", description="Show the figures of a run in MLflow or TensorBoard.")
    parser.add_argument("run", nargs="?", metavar="RUN", help="folder or URI of the run; without it, read what `rollmill report --json` prints")
    parser.add_argument("--mlflow", metavar="URI", help="log to the MLflow tracking server at this URI")
    parser.add_argument("--tensorboard", metavar="FOLDER", help="write event files into this FOLDER, one for each run")
    given = parser.parse_args()
    if not given.mlflow and not given.tensorboard:
        parser.error("name --mlflow URI or --tensorboard FOLDER")
    report = run("report", given.run, json=True, no_files=True).json if given.run else json.load(sys.stdin)
    epochs = report["epochs"]
    if given.mlflow:
        name = next((epoch["run_id"] for epoch in reversed(epochs) if epoch.get("run_id")), "")
        to_mlflow(given.mlflow, name or os.path.basename(report["root"].rstrip("/")), epochs)
    if given.tensorboard:
        to_tensorboard(given.tensorboard, epochs)


if __name__ == "__main__":
    main()
