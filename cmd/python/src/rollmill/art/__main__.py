"""python -m rollmill.art JOBS: answers the request of backend command on standard input."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ._server import serve, serving, write


def say(**line: Any) -> None:
    print(json.dumps(line), flush=True)


def begin(folder: Path, request: Mapping[str, Any]) -> dict[str, Any]:
    """Start the process unless it is running; the state of the trainer."""
    if not serving(folder):
        (folder / "stop").unlink(missing_ok=True)
        (folder / "server.json").unlink(missing_ok=True)
        write(folder / "settings.json", request.get("settings", {}))
        words = [sys.executable, "-m", "rollmill.art", str(folder), "--serve"]
        with open(folder / "server.log", "ab") as log:
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        while not (folder / "server.json").exists():
            if process.poll() is not None and not serving(folder):
                sys.exit(f"the process ended: {(folder / 'server.log').read_text()[-2000:]}")
            time.sleep(0.1)
    while not (folder / "server.json").exists():  # another request started it
        if not serving(folder):
            sys.exit(f"the process ended; {folder}/server.log may say why")
        time.sleep(0.1)
    told = json.loads((folder / "server.json").read_text())
    return {"step": told["step"], "policy": told["policy"]}


def submit(folder: Path, request: Mapping[str, Any]) -> None:
    job = folder / request["token"]
    try:
        job.mkdir(parents=True)
        write(job / "request.json", request)
    except FileExistsError:
        if not (job / "request.json").exists():  # the process that made it died before it started the job
            write(job / "request.json", request)
    say(job=request["token"])
    status(folder, request["token"])


def status(folder: Path, name: str) -> None:
    job = folder / name
    if not job.exists():
        return say(state="failed", clean=True, message="this job was never made")
    if not (job / "request.json").exists():
        return say(state="failed", clean=True, message="the job was made and never begun")
    if (job / "result.json").exists():
        for line in (job / "metrics.jsonl").read_text().splitlines() if (job / "metrics.jsonl").exists() else []:
            say(metrics=json.loads(line))
        return say(job=name, **json.loads((job / "result.json").read_text()))
    if not serving(folder):
        begin(folder, json.loads((job / "request.json").read_text()))  # finds the result of the job, or trains it
    say(job=name, state="running" if (job / "begun.json").exists() else "pending")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m rollmill.art", description="The trainer of backend command that calls OpenPipe ART in process.")
    parser.add_argument("jobs", type=Path, metavar="JOBS", help="keep the jobs in this folder, which outlives the commands")
    parser.add_argument("--stop", action="store_true", help="end the process that trains and serves the policy")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    folder: Path = given.jobs.absolute()
    if given.serve:
        return serve(folder)
    if given.stop:
        return (folder / "stop").touch()
    request = json.loads(sys.stdin.readline())
    match request["request"]:
        case "begin":
            say(**begin(folder, request))
        case "submit":
            submit(folder, request)
        case "status":
            status(folder, request["job"])
        case "resolve":
            status(folder, request["token"])


if __name__ == "__main__":
    main()
