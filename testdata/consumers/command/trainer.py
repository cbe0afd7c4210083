"""A trainer for `rollmill submit --backend command`: a plain training loop,
run beside rollmill as a process of its own.

    rollmill submit --in runs/demo/epoch-0/curate --backend command \
        --trainer 'python trainer.py JOBS' --settings epochs=3 --settings lr=0.5 --wait

JOBS is a folder that outlives the commands. A job is the folder JOBS/<token>:
making it fails when it is there already, so that a batch is never trained
twice, whoever asks. What it trains is a toy, one weight for every token id by
policy gradient; put your own model into train().
"""

import glob
import json
import math
import os
import pathlib
import signal
import subprocess
import sys

jobs = pathlib.Path(sys.argv[1])


def say(**line):
    print(json.dumps(line), flush=True)


def write(path, value):
    """All or nothing: a reader never sees half of it."""
    part = path.with_suffix(".part")
    part.write_text(json.dumps(value))
    os.replace(part, path)


def train(job, request):
    """The plain loop. Everything it needs to know stands in the request."""
    import pyarrow.parquet as pq

    settings = request.get("settings", {})
    rate, epochs = float(settings.get("lr", "0.1")), int(settings.get("epochs", "1"))
    parts = sorted(glob.glob(os.path.join(request["curated"], "*.parquet")))
    samples = []
    for row in pq.ParquetDataset(parts).read(columns=["messages", "advantage"]).to_pylist():
        for message in row["messages"]:
            if message["sampled"] and message["token_ids"] and row["advantage"] is not None:
                samples.append((message["token_ids"], row["advantage"]))
    weights = {token: 0.0 for tokens, _ in samples for token in tokens}
    with open(job / "metrics.jsonl", "w") as log:
        for epoch in range(epochs):
            loss = 0.0
            for tokens, advantage in samples:
                total = sum(math.exp(w) for w in weights.values())
                for token in tokens:
                    p = math.exp(weights[token]) / total
                    loss -= advantage * math.log(p) / len(samples)
                    weights[token] += rate * advantage * (1 - p)
            log.write(json.dumps({"loss": loss, "epoch": epoch}) + "\n")
            log.flush()
    write(job / "weights.json", weights)
    return {"state": "completed" if samples else "untrained", "message": f"{len(samples)} messages"}


def worker(job):
    """The process of the job itself; its last act is result.json."""
    request = json.loads((job / "request.json").read_text())
    try:
        result = train(job, request)
    except Exception as e:  # whatever it was, the job has ended by it
        result = {"state": "failed", "message": f"{type(e).__name__}: {e}"}
    write(job / "result.json", result)


def submit(request):
    job = jobs / request["token"]
    jobs.mkdir(parents=True, exist_ok=True)
    try:
        job.mkdir()
    except FileExistsError:
        return status(job)
    write(job / "request.json", request)
    with open(job / "log", "wb") as log:
        process = subprocess.Popen([sys.executable, __file__, str(jobs), "--job", str(job)], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
    write(job / "pid.json", process.pid)
    say(job=request["token"], state="running")


def alive(job):
    try:
        pid = json.loads((job / "pid.json").read_text())
        return str(job) in pathlib.Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return False


def status(job):
    if not job.exists():
        return say(state="failed", clean=True, message="this job was never made")
    running = alive(job)  # before the result: a job that ends meanwhile has one
    if (job / "result.json").exists():
        step = sum(1 for r in jobs.glob("*/result.json") if json.loads(r.read_text())["state"] == "completed")
        for line in (job / "metrics.jsonl").read_text().splitlines() if (job / "metrics.jsonl").exists() else []:
            say(metrics=json.loads(line))
        return say(job=job.name, step=step, files=[str(job / "weights.json")], **json.loads((job / "result.json").read_text()))
    if running:
        return say(job=job.name, state="running")
    if not (job / "pid.json").exists():
        # Made, but perhaps not started: whoever made it may be about to.
        return say(job=job.name, state="unknown", message=f"nobody can tell whether {job} was started")
    say(job=job.name, state="failed", message=f"the process is gone; {job}/log may say why")


def cancel(job):
    if alive(job):
        os.killpg(json.loads((job / "pid.json").read_text()), signal.SIGKILL)
        write(job / "result.json", {"state": "cancelled", "message": "cancelled"})
    status(job)


def main():
    if sys.argv[2:3] == ["--job"]:
        return worker(pathlib.Path(sys.argv[3]))
    request = json.loads(sys.stdin.readline())
    match request["request"]:
        case "begin":
            say(step=sum(1 for r in jobs.glob("*/result.json") if json.loads(r.read_text())["state"] == "completed"))
        case "submit":
            submit(request)
        case "status":
            status(jobs / request["job"])
        case "resolve":
            status(jobs / request["token"])
        case "cancel":
            cancel(jobs / request["job"])


main()
