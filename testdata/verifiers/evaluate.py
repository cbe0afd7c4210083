"""evaluate.py NAME ARGS COUNT URL: verifiers' own evaluation of an environment, one task after
the other: a line of JSON for each, with the task's id, its reward, and the parts by name."""

import asyncio
import importlib
import json
import os
import sys

os.environ["EVALUATION_KEY"] = "none"
out = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)


def say(**fields):
    print(json.dumps(fields), file=out, flush=True)


async def old(name, args, count, url):
    import verifiers as vf
    from verifiers.legacy.types import ClientConfig

    env = vf.load_environment(name, **args)
    client = ClientConfig(api_base_url=url, api_key_var="EVALUATION_KEY", max_retries=0)
    done = await env.evaluate(client, "policy", num_examples=count, rollouts_per_example=1, max_concurrent=1)
    for output in done["outputs"]:
        say(id=str(output["example_id"]), reward=output["reward"], parts=output["metrics"])


async def new(name, args, count, url):
    import itertools

    import verifiers.v1 as vf

    config = {**args, "taskset": {"id": name, **args["taskset"]}}
    env = vf.load_environment(vf.resolve_env_config(config))
    async with env.serving():
        for task in itertools.islice(env.taskset, count):
            (slot,) = env.slots(task)
            episode = await env.run_slot(slot, vf.ModelContext(model="policy", client=vf.EvalClientConfig(base_url=url, api_key_var="EVALUATION_KEY")))
            trace = episode.traces[0]
            say(id=task.data.id or task.data.name, reward=trace.reward, parts={**trace.metrics, **{k: r.value for k, r in trace.rewards.items()}})


name, args, count, url = sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
run = old if name != "textarena" and hasattr(importlib.import_module(name), "load_environment") else new
asyncio.run(run(name, args, count, url))
