"""A policy-gradient trainer for `rollmill submit --backend command`, to be copied.

    rollmill submit --in CURATED --backend command --wait --form sequences --row-weight trajectory \
        --trainer 'python trainer.py FOLDER --engine http://127.0.0.1:8000/v1' \
        --settings lr=0.001 --settings passes=2

FOLDER holds the checkpoints step-0.pt, step-1.pt, ...; step 0 must exist. The
batch arrives as a file of sequences of tokens: those that the engine sampled, with
its log probabilities. No text is tokenised here.

A batch is trained once. Its token, the same for each attempt, is in the checkpoint
that the batch made and in all later ones, and a checkpoint appears whole or not at
all. So a killed trainer leaves nothing behind and is run again from the same
weights, and one that had finished is only reported. This needs no other state.

The protocol: go doc github.com/rollmill/rollmill/stages/backends/command
"""

import argparse
import contextlib
import fcntl
import json
import pathlib
import random
import sys

import checkpoints

SETTINGS = {
    "lr": (float, 1e-3),  # of Adam
    "passes": (int, 2),  # over the batch
    "minibatch": (int, 256),  # sequences of one gradient step
    "clip-low": (float, 0.2),  # the ratio counts from 1 - clip-low ...
    "clip-high": (float, 0.28),  # ... to 1 + clip-high
    "kl": (float, 0.0),  # weight of the distance to the policy that sampled
    "max-norm": (float, 1.0),  # of the gradient
    "tolerance": (float, 1e-4),  # between recorded and recomputed log probabilities, in nats
    "shuffle": (int, 0),  # not 0: a seed for handing the advantages to the wrong answers, as a control
    "name": (str, "policy"),  # of the model: the engine answers NAME@STEP
}


def say(**line):
    print(json.dumps(line), flush=True)


def settings(request):
    given = request.get("settings", {})
    if unknown := set(given) - set(SETTINGS):
        raise ValueError(f"unknown settings {sorted(unknown)}; there are {sorted(SETTINGS)}")
    return {name: kind(given[name]) if name in given else default for name, (kind, default) in SETTINGS.items()}


@contextlib.contextmanager
def locked(folder):
    """One trainer at a time. The system frees the lock of a process that dies, so
    after waiting for it nobody else is still training."""
    with open(folder / "lock", "w") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        yield


def served(args, name, step):
    return {"url": args.engine, "model": f"{name}@{step}", "version": step}


def finished(args, s, request):
    """Report the step that the batch made; None if it was not trained."""
    token = request["token"]
    last = checkpoints.newest(args.folder)
    trained = checkpoints.load(args.folder, last)["tokens"]  # the k-th made step k
    if token not in trained:
        return None
    step = trained.index(token) + 1
    files = [checkpoints.path(args.folder, step), *([echo_of(args, token)] if request.get("echo") else [])]
    say(state="completed", step=last, policy=served(args, s["name"], last), files=[str(f) for f in files], message=f"this batch made step {step}")
    return step


def read(path):
    """The batch as rows of formats/foreign/trainers. advantages are of the response's
    tokens, also where the file has only the trajectory's. Rows without an advantage, and
    those whose advantage is 0, have no gradient but count in the mean over tokens."""
    import pyarrow.parquet as pq

    rows = pq.read_table(path).to_pylist()
    for row in rows:
        row["advantages"] = row["advantages"] or [row["advantage"] or 0.0] * len(row["response_ids"])
    return rows


def shuffled(rows, seed):
    """The control: the same advantages, on the wrong answers of the batch."""
    answers = [(row["advantages"], v["start"], v["end"]) for row in rows for v in row["versions"]]
    values = [advantages[start] for advantages, start, _ in answers]
    random.Random(seed).shuffle(values)
    for (advantages, start, end), value in zip(answers, values):
        advantages[start:end] = [value] * (end - start)


class Batch:
    """Sequences as tensors, each row a prompt and its response. All but ids are about
    ids[:, 1:], since the first token of a row has no log probability."""

    def __init__(self, rows):
        import torch

        import model

        def aligned(name, value, dtype):
            return model.pad([[value] * len(r["prompt_ids"]) + r[name] for r in rows], value, dtype, model.device())[:, 1:]

        self.ids = model.pad([r["prompt_ids"] + r["response_ids"] for r in rows], device=model.device())
        self.mask = aligned("loss_mask", False, torch.bool)
        self.old = aligned("logprobs", 0.0, torch.float)
        self.advantage = aligned("advantages", 0.0, torch.float)
        self.weight = torch.tensor([[r["weight"]] for r in rows], dtype=torch.float, device=model.device())


def difference(policy, rows, size):
    """How far the recorded log probabilities are from those of these weights, given
    the same tokens. At the weights that sampled, it is rounding: more says that the
    engine ran other weights, another template or another temperature."""
    import torch

    import model

    worst = 0.0
    with torch.inference_mode():
        for i in range(0, len(rows), size):
            b = Batch(rows[i : i + size])
            worst = max(worst, (model.logprobs(policy, b.ids) - b.old)[b.mask].abs().max().item())
    return worst


def computed(policy, rows, size):
    """The log probabilities of the tokens of each row's response."""
    import torch

    import model

    out = []
    with torch.inference_mode():
        for i in range(0, len(rows), size):
            part = rows[i : i + size]
            for row, values in zip(part, model.logprobs(policy, Batch(part).ids).tolist()):
                start = len(row["prompt_ids"]) - 1
                out.append(values[start : start + len(row["response_ids"])])
    return out


def echo_of(args, token):
    return args.folder / f"{token}" / "echo.parquet"


def write_echo(path, rows, old, new):
    """What rollmill submit --echo asks for; trainers.EchoRow is the definition, of the loss too."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    def loss(row, values):
        mask, (now, was, advantage) = row["loss_mask"], (np.asarray(x, np.float64) for x in (values, row["logprobs"], row["advantages"]))
        return float(-(row["weight"] * advantage * np.exp(now - was))[mask].sum() / max(1, row["tokens"]))

    path.parent.mkdir(exist_ok=True)
    pq.write_table(pa.table({
        "trajectory_id": [r["trajectory_id"] for r in rows],
        "sequence": pa.array([r["sequence"] for r in rows], pa.int32()),
        "old_logprobs": pa.array(old, pa.list_(pa.float32())),
        "new_logprobs": pa.array(new, pa.list_(pa.float32())),
        "loss": [loss(row, values) for row, values in zip(rows, old)],
    }), path)


def objective(policy, b, tokens, s):
    """The clipped policy loss, its sum over the batch's tokens over their number.

    The ratio is that of the policy of now to the one that sampled. Where the
    advantage asks for more of a change that has left the clip range, the token
    gives no gradient. weight corrects for trajectories of several sequences or of
    different length; it multiplies the KL term too.
    """
    import torch

    import model

    now = model.logprobs(policy, b.ids)
    ratio = torch.exp(torch.where(b.mask, now - b.old, 0.0))
    clipped = ratio.clamp(1 - s["clip-low"], 1 + s["clip-high"])
    loss = -torch.minimum(ratio * b.advantage, clipped * b.advantage)
    kl = ratio - 1 - torch.log(ratio)  # never negative; 0 where nothing changed
    total = (b.weight * (loss + s["kl"] * kl))[b.mask].sum() / tokens
    with torch.no_grad():
        figures = {"kl": kl[b.mask].mean().item(), "clipped": (ratio != clipped)[b.mask].float().mean().item(), "loss": total.item()}
    return total, figures


def train(args, s, request):
    import torch

    import model

    step = checkpoints.newest(args.folder)
    state = checkpoints.load(args.folder, step)
    if "sequences" not in request.get("forms", {}):
        raise ValueError("the request names no sequences; submit with --form sequences")
    rows = read(request["forms"]["sequences"]["uri"])
    if not any(any(r["advantages"]) for r in rows):
        return say(state="untrained", step=step, policy=served(args, s["name"], step), message="no sequence has an advantage")
    policy = model.Policy().to(model.device())
    policy.load_state_dict(state["policy"])
    optimizer = torch.optim.Adam(policy.parameters(), lr=s["lr"])
    if state["optimizer"]:
        optimizer.load_state_dict(state["optimizer"])
        for g in optimizer.param_groups:
            g["lr"] = s["lr"]
    fresh = [r for r in rows if all(v["policy_version"] in (step, None) for v in r["versions"])]
    if fresh and (apart := difference(policy, fresh, s["minibatch"])) > s["tolerance"]:
        raise ValueError(f"the recorded log probabilities differ from those of step {step} by up to {apart:.3g} nats, more than tolerance {s['tolerance']:g}")
    if s["shuffle"]:
        shuffled(rows, s["shuffle"] + step)
    batch = list(rows)
    old = computed(policy, batch, s["minibatch"]) if request.get("echo") else None
    order = random.Random(step)  # the same batch gives the same weights
    for _ in range(s["passes"]):
        order.shuffle(rows)
        for i in range(0, len(rows), s["minibatch"]):
            part = rows[i : i + s["minibatch"]]
            loss, figures = objective(policy, Batch(part), sum(r["tokens"] for r in part), s)
            optimizer.zero_grad()
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(policy.parameters(), s["max-norm"])
            optimizer.step()
            say(metrics={**figures, "grad_norm": norm.item(), "sequences": len(part), **({"logprob_difference": apart} if fresh else {})})
    if old is not None:
        write_echo(echo_of(args, request["token"]), batch, old, computed(policy, batch, s["minibatch"]))
    tokens = [*state["tokens"], request["token"]]
    checkpoints.save(args.folder, step + 1, {"policy": policy.state_dict(), "optimizer": optimizer.state_dict(), "tokens": tokens})
    finished(args, s, request)


def answer(args, request):
    s = settings(request)
    match request["request"]:
        case "begin":
            step = checkpoints.newest(args.folder)
            say(step=step, policy=served(args, s["name"], step))
        case "submit":
            with locked(args.folder):
                if finished(args, s, request) is None:
                    train(args, s, request)
        case "resolve":
            with locked(args.folder):
                if finished(args, s, request) is None:
                    say(state="failed", clean=True, message="no checkpoint was made of this batch")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("folder", type=pathlib.Path)
    p.add_argument("--engine", required=True)
    args = p.parse_args()
    try:
        answer(args, json.loads(sys.stdin.readline()))
    except Exception as e:  # a checkpoint is the last thing that is made, so nothing was trained
        say(state="failed", clean=True, message=f"{type(e).__name__}: {e}")
        raise


if __name__ == "__main__":
    main()
