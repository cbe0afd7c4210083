"""A trainer for `rollmill submit --backend command` that calls OpenPipe ART in
process, for versions whose server cannot train over HTTP (0.5.2 and later; 0.5.18
removed the route).

    rollmill submit --in runs/demo/epoch-0/curate --backend command --wait \
        --trainer 'python art_trainer.py JOBS' \
        --settings name=run7 --settings project=demo --settings base_model=Qwen/Qwen2.5-3B-Instruct \
        --settings learning_rate=1e-6

JOBS is a folder that outlives the commands. ART's library contains both the
inference engine and the trainer, so one process has to run between the epochs:
the first request starts it (its log is JOBS/server.log), it trains the jobs of
JOBS in order, and every answer has its inference URL and the policy's name, for
the next rollout (`--policy RECEIPT`). `python art_trainer.py JOBS --stop` ends it.

Settings: name, project, base_model; internal_config, server_args and train_args
as JSON objects (train_args are keywords of backend.train); learning_rate; and
art_backend, MODULE:CLASS, default art.local:LocalBackend. The process uses the
settings of the request that starts it.

ART needs a batch as objects in memory, so unlike rollmill this holds all of it.
Needs openpipe-art[backend] and pyarrow.
"""

import asyncio
import fcntl
import glob
import importlib
import json
import os
import pathlib
import subprocess
import sys
import time

import jobs


def rows(curated):
    import pyarrow.parquet as pq

    columns = ["trajectory_id", "example_id", "group_id", "messages", "calls", "tool_sets", "reward", "rewards", "policy_version"]
    for part in sorted(glob.glob(os.path.join(curated, "*.parquet"))):
        for batch in pq.ParquetFile(part).iter_batches(batch_size=16, columns=columns):
            yield from batch.to_pylist()


def trained(row, i):
    m = row["messages"][i]
    return m["sampled"] and m["call"] >= 0 and row["calls"][m["call"]]["target"]


def paths(row):
    """The main path first, which ends with the last sampled message that is trained; then those to the other leaves."""
    messages = row["messages"]
    parents = {m["parent"] for m in messages}
    leaves = [i for i in range(len(messages)) if i not in parents]

    def path(i):
        out = []
        while i >= 0:
            out.insert(0, i)
            i = messages[i]["parent"]
        return out

    all_paths = [path(leaf) for leaf in leaves]
    last = max((i for i in range(len(messages)) if trained(row, i)), default=-1)
    return sorted(all_paths, key=lambda p: last not in p)


def history(row, path, done):
    """The part of a path that ART trains, up to its last choice; None when there is nothing new on it."""
    from openai.types.chat.chat_completion import Choice

    fresh = [i for i in path if trained(row, i) and i not in done]
    if not fresh:
        return None
    if any(i in done for i in path):
        raise ValueError(f"{row['trajectory_id']}: a sampled turn is on more than one branch, and ART would train it twice")
    done.update(fresh)
    entries = []
    for i in path[: path.index(fresh[-1]) + 1]:
        m = row["messages"][i]
        calls = [{"id": c["id"], "type": "function", "function": {"name": c["name"], "arguments": c["arguments"]}} for c in m["tool_calls"]]
        message = {"role": m["role"], "content": m["content"] or ""}
        message.update({k: m[k] for k in ("name", "tool_call_id") if m[k]})
        if calls:
            message["tool_calls"] = calls
        if i not in fresh:
            entries.append(message)
            continue
        tokens = [{"token": f"token_id:{t}", "logprob": max(p, -9999.0), "bytes": None, "top_logprobs": []} for t, p in zip(m["token_ids"], m["logprobs"], strict=True)]
        entries.append(Choice.model_validate({"finish_reason": m["finish_reason"] or "stop", "index": 0, "message": message, "logprobs": {"content": tokens, "refusal": None}}))
    tools = row["calls"][row["messages"][fresh[0]]["call"]]["tools"]
    return entries, json.loads(row["tool_sets"][tools]) if tools >= 0 else None


def trajectory(row):
    import art

    done, histories = set(), []
    for path in paths(row):
        if h := history(row, path, done):
            histories.append(h)
    if not histories:
        raise ValueError(f"{row['trajectory_id']}: nothing on it was sampled by the policy")
    (entries, tools), *more = histories
    return art.Trajectory(
        messages_and_choices=entries, tools=tools, reward=row["reward"],
        additional_histories=[art.trajectories.History(messages_and_choices=e, tools=t) for e, t in more],
        metrics={r["name"]: r["value"] for r in row["rewards"] if r["value"] is not None},
        metadata={"scenario_id": row["example_id"], "trajectory_id": row["trajectory_id"]},
        initial_policy_version=row["policy_version"], final_policy_version=row["policy_version"],
    )


def groups(curated):
    """The curated dataset as art.TrajectoryGroups. Its rows are sorted by group."""
    import art

    out, last = [], None
    for row in rows(curated):
        if row["reward"] is None:
            raise ValueError(f"{row['trajectory_id']}: no reward; a failure never votes")
        if row["group_id"] != last:
            out.append([])
            last = row["group_id"]
        out[-1].append(trajectory(row))
    return [art.TrajectoryGroup(members) for members in out]


class Server:
    """The process that keeps running."""

    def __init__(self, folder, settings):
        import art

        self.folder, self.settings = folder, settings
        module, name = settings.get("art_backend", "art.local:LocalBackend").split(":")
        self.backend = getattr(importlib.import_module(module), name)()
        internal = json.loads(settings.get("internal_config", "null"))
        self.model = art.TrainableModel(
            name=settings.get("name", "trainer_run"), project=settings.get("project", "trainer_project"),
            base_model=settings.get("base_model", "Qwen/Qwen2.5-7B-Instruct"), **({"_internal_config": internal} if internal else {}),
        )

    async def standing(self):
        step = await self.model.get_step()
        return {"step": step, "policy": {"url": self.model.inference_base_url, "model": self.model.get_inference_name(step), "version": step}}

    async def tell(self):
        jobs.write(self.folder / "server.json", {"pid": os.getpid(), **await self.standing()})

    async def run(self):
        server_args = json.loads(self.settings.get("server_args", "{}"))
        await self.model.register(self.backend, _openai_client_config={"server_args": server_args} if server_args else None)
        for job in self.waiting():  # started by a process that is gone
            if (job / "begun.json").exists():
                await self.found(job)
        await self.tell()
        while not (self.folder / "stop").exists():
            for job in self.waiting():
                await self.work(job)
                await self.tell()
            await asyncio.sleep(0.2)
        await self.backend.close()

    def waiting(self):
        ready = [p.parent for p in self.folder.glob("*/request.json") if not (p.parent / "result.json").exists()]
        return sorted(ready, key=lambda j: ((j / "request.json").stat().st_mtime_ns, j))

    async def found(self, job):
        """After the process of a training died, only ART's step shows whether it happened."""
        before, now = json.loads((job / "begun.json").read_text())["step"], await self.standing()
        if now["step"] > before:
            return jobs.write(job / "result.json", {"state": "completed", "message": f"the step went from {before} to {now['step']}; the metrics are lost", **now})
        jobs.write(job / "result.json", {"state": "failed", "message": f"the process was gone before a checkpoint came of it; the step is still {before}"})

    async def work(self, job):
        try:
            request = json.loads((job / "request.json").read_text())
            jobs.write(job / "begun.json", before := await self.standing())
            keywords = json.loads(self.settings.get("train_args", "{}"))
            if "learning_rate" in self.settings:
                keywords["learning_rate"] = float(self.settings["learning_rate"])
            result = await self.backend.train(self.model, groups(request["curated"].removeprefix("file://")), **keywords)
            (job / "metrics.jsonl").write_text(json.dumps({k: v for k, v in result.metrics.items() if v == v}) + "\n")
            state = "completed" if result.step > before["step"] else "untrained"
            jobs.write(job / "result.json", {"state": state, **await self.standing()})
        except Exception as e:
            jobs.write(job / "result.json", {"state": "failed", "message": f"{type(e).__name__}: {e}"})


def serving(folder):
    """Whether the process is running: it holds a lock while it is."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "server.lock", "a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def serve(folder):
    lock = open(folder / "server.lock", "a")
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # of two concurrent processes the second ends here
    (folder / "server.json").unlink(missing_ok=True)
    asyncio.run(Server(folder, json.loads((folder / "settings.json").read_text())).run())


def begin(folder, request):
    if not serving(folder):
        (folder / "stop").unlink(missing_ok=True)
        (folder / "server.json").unlink(missing_ok=True)
        jobs.write(folder / "settings.json", request.get("settings", {}))
        with open(folder / "server.log", "ab") as log:
            process = subprocess.Popen([sys.executable, __file__, str(folder), "--serve"], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
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


def submit(folder, request):
    job = folder / request["token"]
    try:
        job.mkdir(parents=True)
        jobs.write(job / "request.json", request)
    except FileExistsError:
        if not (job / "request.json").exists():  # the process that made it died before it started the job
            jobs.write(job / "request.json", request)
    jobs.say(job=request["token"])
    status(folder, request["token"])


def status(folder, name):
    job = folder / name
    if not job.exists():
        return jobs.say(state="failed", clean=True, message="this job was never made")
    if (job / "result.json").exists() or not (job / "request.json").exists():
        if not (job / "request.json").exists():
            return jobs.say(state="failed", clean=True, message="the job was made and never begun")
        return jobs.status(job)
    if not serving(folder):
        begin(folder, json.loads((job / "request.json").read_text()))  # finds the result of the job, or trains it
    jobs.say(job=name, state="running" if (job / "begun.json").exists() else "pending")


def main():
    folder = pathlib.Path(sys.argv[1]).absolute()
    if "--serve" in sys.argv:
        return serve(folder)
    if "--stop" in sys.argv:
        return (folder / "stop").touch()
    request = json.loads(sys.stdin.readline())
    match request["request"]:
        case "begin":
            jobs.say(**begin(folder, request))
        case "submit":
            submit(folder, request)
        case "status":
            status(folder, request["job"])
        case "resolve":
            status(folder, request["token"])


if __name__ == "__main__":
    main()
