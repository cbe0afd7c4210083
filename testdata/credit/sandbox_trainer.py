"""A trainer for `rollmill submit --backend command` that trains the sandbox on the advantages
of single messages, which ART's rows, and so backend art, do not have:

    --trainer 'python sandbox_trainer.py URL' --settings shuffle=0

With shuffle other than 0, a seed, the batch's advantages are on the wrong messages, as a control.
"""

import json
import random
import sys
import urllib.request

from rollmill import trainer

URL = sys.argv[1]
MODEL = {"name": "demo", "project": "tictactoe", "base_model": "rollmill/sandbox", "trainable": True}


def post(route, body, **headers):
    request = urllib.request.Request(URL + route, json.dumps(body).encode(), {"Content-Type": "application/json", **headers})
    with urllib.request.urlopen(request) as response:
        return response.read()


def state():
    step = json.loads(post("/_get_step", MODEL))
    return {"step": step, "policy": {"url": URL + "/v1", "model": f"demo@{step}", "version": step}}


def entry(message):
    said = {"role": message["role"], "content": message["content"]}
    if not message["sampled"]:
        return said
    tokens = [{"token": f"token_id:{i}", "logprob": p, "bytes": None, "top_logprobs": []} for i, p in zip(message["token_ids"], message["logprobs"])]
    return {"finish_reason": message["finish_reason"], "index": 0, "message": said, "logprobs": {"content": tokens, "refusal": None}}


def trajectory(row):
    """A trajectory in ART's form, each choice with its advantage: its own, else the trajectory's."""
    own = {a["message"]: a["value"] for a in row["advantages"] or []}
    entries = [entry(m) for m in row["messages"]]
    for i, e in enumerate(entries):
        if "message" in e:
            e["advantage"] = own.get(i, row["advantage"])
    return {"messages_and_choices": entries, "reward": row["reward"]}


def shuffle(choices, seed):
    values = [c["advantage"] for c in choices]
    random.Random(seed).shuffle(values)
    for c, value in zip(choices, values):
        c["advantage"] = value


@trainer
def train(batch):
    columns = ["messages", "reward", "advantage", "advantages"]
    groups = [{"trajectories": [trajectory(row) for row in group]} for group in batch.open().iter_groups(columns)]
    if seed := int(batch.settings["shuffle"]):
        choices = [e for g in groups for t in g["trajectories"] for e in t["messages_and_choices"] if "message" in e]
        shuffle(choices, f"{seed}/{batch['epoch']}")
    body = {"model": MODEL, "trajectory_groups": groups, "config": {"learning_rate": float(batch.settings["lr"])}, "dev_config": {}}
    for line in post("/_train_model", body, **{"X-Rollmill-Submission": batch.token}).splitlines():
        yield {"metrics": json.loads(line)}
    yield {"state": "completed", **state()}


@train.begin
def begin(request):
    post("/register", MODEL)
    return state()


if __name__ == "__main__":
    train.serve()
