"""What every trainer of `rollmill submit --backend command` needs: jobs that are
created once, run as separate processes, and can be queried and ended. Put your
loop into a function train(job, request) and call

    jobs.main(folder, train)

A job is the folder FOLDER/<token>: creating it fails when it exists already, so
that a batch is never trained twice. FOLDER has to outlive the commands. The
protocol itself (rollmill-trainer/1) is described by
`go doc github.com/rollmill/rollmill/stages/backends/command`.

train may write job/"metrics.jsonl", a line for each step, and returns the content
of the answer's last line: {"state": "completed", ...}.
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import traceback


def say(**line):
    print(json.dumps(line), flush=True)


def write(path, value):
    """Atomic: a reader never sees half of the file."""
    part = path.with_suffix(".part")
    part.write_text(json.dumps(value))
    os.replace(part, path)


def results(folder):
    """All jobs that have ended, the oldest first."""
    ended = sorted(folder.glob("*/result.json"), key=lambda p: (p.stat().st_mtime_ns, p))
    return [(p.parent, json.loads(p.read_text())) for p in ended]


def steps(folder):
    """How often the policy has been trained."""
    return sum(1 for _, r in results(folder) if r["state"] == "completed")


def worker(folder, job, train):
    """The process of the job; writing result.json is its last step."""
    request = json.loads((job / "request.json").read_text())
    try:
        result = train(job, request)
        if result["state"] == "completed":
            result.setdefault("step", steps(folder) + 1)
    except Exception as e:  # every exception ends the job
        traceback.print_exc()
        result = {"state": "failed", "message": f"{type(e).__name__}: {e}"}
    write(job / "result.json", result)


def submit(folder, request):
    job = folder / request["token"]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        job.mkdir()
    except FileExistsError:
        return status(job)
    write(job / "request.json", request)
    with open(job / "log", "wb") as log:
        process = subprocess.Popen([sys.executable, *sys.argv, "--job", str(job)], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
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
    running = alive(job)  # read before the result: a job that ends in between has one
    if (job / "result.json").exists():
        for line in (job / "metrics.jsonl").read_text().splitlines() if (job / "metrics.jsonl").exists() else []:
            say(metrics=json.loads(line))
        return say(job=job.name, **json.loads((job / "result.json").read_text()))
    if running:
        return say(job=job.name, state="running")
    if not (job / "pid.json").exists():
        # Created, but perhaps not started yet: the process that created it may do so now.
        return say(job=job.name, state="unknown", message=f"nobody can tell whether {job} was started")
    say(job=job.name, state="failed", message=f"the process is gone; {job}/log may say why")


def cancel(job):
    if alive(job):
        os.killpg(json.loads((job / "pid.json").read_text()), signal.SIGKILL)
        write(job / "result.json", {"state": "cancelled", "message": "cancelled"})
    status(job)


def main(folder, train, begin=None):
    """Answer one request. begin, if given, returns the state of the trainer."""
    folder = pathlib.Path(folder).absolute()
    if "--job" in sys.argv:
        at = sys.argv.index("--job")
        return worker(folder, pathlib.Path(sys.argv[at + 1]), train)
    request = json.loads(sys.stdin.readline())
    match request["request"]:
        case "begin":
            say(**(begin(request) if begin else {"step": steps(folder)}))
        case "submit":
            submit(folder, request)
        case "status":
            status(folder / request["job"])
        case "resolve":
            status(folder / request["token"])
        case "cancel":
            cancel(folder / request["job"])
