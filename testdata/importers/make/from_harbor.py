"""A job of Harbor's own runner, with an agent of ours that writes what agents of Harbor write: trajectories by Harbor's
models, and rollout_details. It needs containers and the image of .ci/base-image; CONTAINERS_CONF as in .ci/harbor.

    harbor-python from_harbor.py OUT [harbor]

OUT gets the job's folder without what trials log, and the facts that Harbor's models read of it. In the task
write-file, an agent ends in one of MODES.
"""

import importlib.metadata
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import facts
import model

try:
    from harbor.agents.base import BaseAgent
    from harbor.models.trajectories import Trajectory
    from harbor.models.trial.result import TrialResult
except ImportError:
    sys.exit("Harbor needs Python 3.12: .ci/harbor")

import from_atif

from_atif.VERSION = "ATIF-v1.8"

HERE = pathlib.Path(__file__).resolve().parent
MODES = {"both": {}, "details": {}, "continued": {}, "raises": {}, "slow": {"override_timeout_sec": 2}}
FILES = ["config.json", "result.json", "agent/trajectory*.json", "verifier/reward.*", "artifacts/**/*"]
SYSTEM = "You write files."

class Writer(BaseAgent):
    def __init__(self, *args, mode="both", url="", **more):
        super().__init__(*args, **more)
        self.mode, self.url = mode, url

    @staticmethod
    def name():
        return "writer"

    def version(self):
        return "1"

    async def setup(self, environment):
        pass

    def save(self, name, document):
        (self.logs_dir / name).write_text(json.dumps(document.to_json_dict(), indent=1) + "\n")

    async def run(self, instruction, environment, context):
        steps = from_atif.play(self.url, "What is 17 plus 25?", [from_atif.ADD], system=SYSTEM)
        called = [s.metrics for s in steps if s.source == "agent"]
        detail = {"prompt_token_ids": [m.prompt_token_ids for m in called], "completion_token_ids": [m.completion_token_ids for m in called],
                  "logprobs": [m.logprobs for m in called]}
        if self.mode in ("both", "details"):
            context.rollout_details = [detail]
        if self.mode == "details":
            for s in steps:
                s.metrics = s.metrics and s.metrics.model_copy(update=dict(prompt_token_ids=None, completion_token_ids=None, logprobs=None))
        more = {}
        if self.mode == "continued":
            more = dict(continued_trajectory_ref="trajectory.cont-1.json")
            summary = from_atif.play(self.url, "Count 3 and 4, without tools.", None, system="You sum up.")
            self.save("trajectory.summarization-1-summary.json", from_atif.trajectory("summary", summary))
            copied = [s.model_copy(update={"is_copied_context": True, "metrics": None} if s.source == "agent" else {"is_copied_context": True}) for s in steps]
            after = from_atif.play(self.url, "Count 5 and 6, without tools.", [from_atif.ADD], steps=copied, system="Go on.")
            self.save("trajectory.cont-1.json", from_atif.trajectory("after", after, [from_atif.ADD]))
        if self.mode != "raises":
            self.save("trajectory.json", from_atif.trajectory("main", steps, [from_atif.ADD], **more))
        if self.mode != "details":
            await environment.exec("echo hello > /app/hello.txt")
        if self.mode == "raises":
            raise ValueError("the agent's own error")
        if self.mode == "slow":
            import asyncio
            await asyncio.sleep(60)

def run(harbor, work):
    with model.serve() as url:
        agents = [dict(import_path="from_harbor:Writer", model_name=model.NAME, kwargs=dict(mode=mode, url=url), **more) for mode, more in MODES.items()]
        config = dict(job_name="job", jobs_dir=str(work), n_attempts=1, n_concurrent_trials=1, agents=agents, environment=dict(type="podman"),
                      tasks=[dict(path=str(work / "write-file"))], artifacts=["/app/hello.txt"])
        shutil.copytree(HERE.parents[1] / "harbor/tasks/write-file", work / "write-file")
        task = work / "write-file/task.toml"
        task.write_text(task.read_text().replace('"no-network"', '"public"'))  # Harbor's podman cannot do without
        (work / "config.json").write_text(json.dumps(config))
        subprocess.run([*harbor, "run", "-c", work / "config.json", "-y"], check=True, env=os.environ | {"PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])})
    return work / "job"

def rows(trial):
    """The facts of a trial: sub-agents, the trajectory, and what continues it."""
    result = TrialResult.model_validate_json((trial / "result.json").read_text())
    messages, documents = [], [*sorted(trial.glob("agent/trajectory.s*.json")), trial / "agent/trajectory.json", *sorted(trial.glob("agent/trajectory.cont-*.json"))]
    for path in documents:
        if path.exists():
            messages += from_atif.messages_of(Trajectory.model_validate_json(path.read_text()))
    details = (result.agent_result and result.agent_result.rollout_details or [{}])[0]
    sampled = [m for m in messages if m.get("sampled")]
    for m, ids, logprobs in zip(sampled, details.get("completion_token_ids", []), details.get("logprobs", [])):
        m |= {"tokens": len(ids), "logprob_sum": round(sum(logprobs), 4)}
    failed = result.exception_info and result.exception_info.exception_type != "AgentTimeoutError"
    rewards = None if failed else {k: float(v) for k, v in result.verifier_result.rewards.items()}
    return [facts.trajectory(messages, example=result.task_name, reward=rewards and rewards["reward"], rewards=rewards)]

def clean(text, work):
    """The text of a file without what is of this machine."""
    for path, name in ((work, "/work"), (HERE.parents[2], "/repository"), (sys.prefix, "/python"), (sys.base_prefix, "/python")):
        text = text.replace(str(path), name)
    return re.sub(r"127.0.0.1:\d+", "127.0.0.1", text)


def main(out, *harbor):
    out.mkdir(parents=True, exist_ok=True)
    work = (out / "work").resolve()
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    shutil.rmtree(out / "job", ignore_errors=True)
    job = run(harbor or ["harbor"], work)
    expected = {}
    for trial in sorted(p.parent for p in job.glob("*/result.json")):
        mode = json.loads((trial / "config.json").read_text())["agent"]["kwargs"]["mode"]
        to = out / "job" / f"write-file__{mode}"  # the names are drawn
        for path in (p for pattern in FILES for p in sorted(trial.glob(pattern)) if p.is_file()):
            (to / path.relative_to(trial)).parent.mkdir(parents=True, exist_ok=True)
            (to / path.relative_to(trial)).write_text(clean(path.read_text(), work))
        expected[f"job/{to.name}/result.json"] = rows(to)
    for name in ("config.json", "result.json"):
        (out / "job" / name).write_text(clean((job / name).read_text(), work))
    shutil.rmtree(work, ignore_errors=True)
    facts.write(out, expected, f"harbor {importlib.metadata.version('harbor')}")

if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), *sys.argv[2:])
