"""The task: sums of two digits.

    python sums.py examples       the examples, as lines of JSON
    python sums.py FOLDER SEED    the first checkpoint, of a policy that has seen wrong sums

The 100 examples are all there are, so the policy is measured on those it trains on:
this shows that the reward moves the policy, not that it generalises.
"""

import json
import pathlib
import random
import sys

STEPS, OFF = 250, 2


def examples():
    for a in range(10):
        for b in range(10):
            yield {"id": f"{a}+{b}", "question": f"{a}+{b}=", "answer": str(a + b)}


def near(right, chance):
    """A number near the right one, and right by chance only."""
    return str(max(0, right + chance.randint(-OFF, OFF)))


def conversations(chance):
    """Conversations to imitate, each a list of questions and answers."""
    return [[(e["question"], near(int(e["answer"]), chance))] for e in examples()]


def pretrain(folder, seed, conversations):
    """Teach random weights what an answer looks like. The rest is left to the reward."""
    import torch

    import checkpoints
    import model

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    chance = random.Random(seed)
    policy = model.Policy().to(model.device())
    optimizer = torch.optim.Adam(policy.parameters(), lr=2e-3)
    for _ in range(STEPS):
        rows = [[(model.prompt([{"role": "user", "content": q}]), model.encode(a) + [model.END]) for q, a in turns] for turns in conversations(chance)]
        ids = model.pad([[i for p, a in turns for i in p + a] for turns in rows], device=model.device())
        mask = model.pad([[m for p, a in turns for m in [False] * len(p) + [True] * len(a)] for turns in rows], False, torch.bool, model.device())[:, 1:]
        loss = -model.logprobs(policy, ids)[mask].mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    checkpoints.save(folder, 0, {"policy": policy.state_dict(), "optimizer": None, "tokens": []})


if __name__ == "__main__":
    if len(sys.argv) > 2:
        pretrain(sys.argv[1], int(sys.argv[2]), conversations)
    else:
        for e in examples():
            print(json.dumps(e))
