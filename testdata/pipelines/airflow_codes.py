"""Compares the exceptions that pipelines/airflow and pipelines/traces raise for an exit code with
Airflow's own, and checks the environment that the former sets for a mapped task.

Run from the repository's root.
"""

import os
import pathlib
import sys
import tempfile

folder = pathlib.Path(tempfile.mkdtemp())
stage = folder / "stage.sh"
stage.write_text('#!/bin/sh\necho "$AIRFLOW_CTX_MAP_INDEX of $SHARDS" > "$1"\n[ "$2" = TERM ] && kill -TERM $$\nexit "$2"\n')
stage.chmod(0o755)
os.environ.update(STAGE=str(stage), NIGHT=str(stage), SHARDS="4")
sys.path[:0] = ["pipelines/airflow", "pipelines/traces"]

import rollmill_epoch as dag
import rollmill_traces as traces
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException

retried = ["75", "137", "143", "TERM"]
failed = ["1", "2", "3", "4", "5", "6", "70", "130", "134"]
for code, wanted in {"0": None, "99": AirflowSkipException, **dict.fromkeys(retried, AirflowException), **dict.fromkeys(failed, AirflowFailException)}.items():
    try:
        dag.run(str(folder / "result"), code, index=2)
        got = None
    except AirflowException as e:
        got = type(e)
    assert got is wanted, f"code {code}: {got}, not {wanted}"
    assert (folder / "result").read_text() == "2 of 4\n"
    try:
        traces.night(str(folder / "result"), code)
        got = None
    except AirflowException as e:
        got = type(e)
    assert got is (AirflowFailException if code == "99" else wanted), f"code {code} of a night: {got}" # it has no such code
print("exit codes: 99 skips, 75, 137, 143 and a signal are tried again, the rest fails")
