"""One epoch of a run as an Airflow DAG run, and the next epoch after it.

    export CONFIG=rollmill.yaml ROOT=s3://bucket/run SHARDS=4 VALIDATE_EVERY=5
    airflow dags trigger rollmill_epoch --conf '{"epoch": 0, "epochs": 15}'

Each stage is mapped over SHARDS tasks, and a sensor waits for the dataset's
manifest before the next stage. With REFILL=N, submit first samples more while too few
groups give a training signal, in up to N rounds. A task may be retried, or run twice
because its worker was lost: the first to finish counts.

Airflow does not pass the index of a mapped task to programs. This file sets it in
AIRFLOW_CTX_MAP_INDEX, from which `--shard auto/n` takes it.
"""

import os
import subprocess
from datetime import timedelta
from pathlib import Path

from airflow.providers.standard.operators.trigger_dagrun import TriggerDagRunOperator
from airflow.sdk import Param, dag, get_current_context, task
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException

STAGE = os.environ.get("STAGE", str(Path(__file__).resolve().parents[1] / "stage.sh"))
SHARDS = int(os.environ.get("SHARDS", "4"))
RETRIED = (75, 137, 143)  # temporary, killed, terminated
VALIDATE_EVERY = int(os.environ.get("VALIDATE_EVERY", "0"))  # epochs; 0 for no held-out examples


def epoch() -> int:
    return get_current_context()["params"]["epoch"]


def run(*words: str, index: int = -1) -> None:
    """Run one task of a stage, and raise the exception for its exit code."""
    process = subprocess.Popen([STAGE, *words], env={**os.environ, "AIRFLOW_CTX_MAP_INDEX": str(index), "SHARDS": str(SHARDS)})
    try:
        code = process.wait()
    except BaseException:  # the task is cancelled: end the stage, which keeps its work
        process.terminate()
        process.wait()
        raise
    if code == 99:  # from --empty-exit-code 99: nothing to train on
        raise AirflowSkipException(f"{words}: nothing is left")
    if code in RETRIED or code < 0:  # below 0: a signal ended stage.sh
        raise AirflowException(f"{words}: exit code {code}, will be retried")
    if code:
        raise AirflowFailException(f"{words}: code {code}")


@task
def once(stage: str) -> None:
    run(stage, str(epoch()))


@task
def shard(stage: str, index: int) -> None:
    run(stage, str(epoch()), index=index)


@task.sensor(poke_interval=5, timeout=3600, mode="reschedule", retries=0)
def sealed(stage: str) -> bool:
    """Wait until every shard of the stage's dataset is complete."""
    rollmill = os.environ.get("ROLLMILL", "rollmill")
    code = subprocess.run([rollmill, "seal", "--root", os.environ["ROOT"], "--epoch", str(epoch()), "--stage", stage]).returncode
    if code not in (0, 4, *RETRIED):  # 4: shards are missing
        raise AirflowFailException(f"seal {stage} of epoch {epoch()}: code {code}")
    return code == 0


@task.short_circuit
def prepare() -> bool:
    if epoch() == 0:
        run("prepare", "0")
    if VALIDATE_EVERY and epoch() % VALIDATE_EVERY == 0:
        run("validation", str(epoch()))
    return True


@task.short_circuit
def another() -> bool:
    params = get_current_context()["params"]
    return params["epoch"] + 1 < params["epochs"]


@dag(
    schedule=None,
    max_active_runs=1,
    render_template_as_native_obj=True,  # the next epoch is a number
    params={"epoch": Param(0, type="integer", minimum=0), "epochs": Param(1, type="integer", minimum=1)},
    default_args={"retries": 4, "retry_delay": timedelta(seconds=int(os.environ.get("RETRY_DELAY", "60")))},
)
def rollmill_epoch():
    last = prepare()
    for stage in ("rollout", "score", "group", "curate"):
        shards = shard.override(task_id=stage).partial(stage=stage).expand(index=list(range(SHARDS)))
        manifest = sealed.override(task_id=f"{stage}_sealed")(stage)
        last >> shards >> manifest
        last = manifest
    submitted = once.override(task_id="submit")("submit")
    following = TriggerDagRunOperator(
        task_id="next",
        trigger_dag_id="rollmill_epoch",
        conf={"epoch": "{{ params.epoch + 1 }}", "epochs": "{{ params.epochs }}"},
    )
    reported = once.override(task_id="report")("report")
    last >> submitted >> reported >> another() >> following


rollmill_epoch()
