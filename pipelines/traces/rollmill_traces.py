"""A night over a log of calls as an Airflow DAG run: what is new becomes files for TRL.

    export LOGS=s3://bucket/calls ROOT=s3://bucket/traces

night.sh, beside this file, has the steps and their settings. Without anything new there is no
epoch, and the later tasks are skipped. The variable rollmill_traces of Airflow is the first epoch
whose files are not complete, so that a night which failed is completed by the next. A task may be
retried, or run twice because its worker was lost: the first to finish counts.
"""

import os
import subprocess
from datetime import datetime, timedelta
from pathlib import Path

from airflow.sdk import Variable, dag, task
from airflow.sdk.exceptions import AirflowException, AirflowFailException

NIGHT = os.environ.get("NIGHT", str(Path(__file__).resolve().parent / "night.sh"))
RETRIED = (75, 137, 143)  # temporary, killed, terminated
FIRST = "rollmill_traces"


def night(*words: str) -> str:
    """Run a step, and return what it printed or raise the exception for its exit code."""
    process = subprocess.Popen([NIGHT, *words], stdout=subprocess.PIPE, text=True)
    try:
        printed, _ = process.communicate()
    except BaseException:  # the task is cancelled: end the step, which keeps its work
        process.terminate()
        process.wait()
        raise
    if process.returncode in RETRIED or process.returncode < 0:
        raise AirflowException(f"{words}: exit code {process.returncode}, will be retried")
    if process.returncode:
        raise AirflowFailException(f"{words}: code {process.returncode}")
    return printed


@task
def imported() -> list[int]:
    night("import")
    return [int(epoch) for epoch in night("epochs", Variable.get(FIRST, default="0")).split()]


@task
def files(epoch: int) -> None:
    night("files", str(epoch))


@task
def done(epochs: list[int]) -> None:
    Variable.set(FIRST, str(max(epochs) + 1))


@dag(schedule="0 3 * * *", start_date=datetime(2026, 1, 1), catchup=False, max_active_runs=1,
     default_args={"retries": 4, "retry_delay": timedelta(seconds=int(os.environ.get("RETRY_DELAY", "60")))})
def rollmill_traces():
    epochs = imported()
    files.expand(epoch=epochs) >> done(epochs)


rollmill_traces()
