"""The task: sums of two digits.

    python sums.py            the examples, as lines of JSON
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


def pretrain(folder, seed):
    """Teach random weights what an answer looks like: a number near the sum, and
    right by chance only. The rest is left to the reward."""
    import torch

    import checkpoints
    import model

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    chance = random.Random(seed)
    policy = model.Policy().to(model.device())
    optimizer = torch.optim.Adam(policy.parameters(), lr=2e-3)
    prompts = [(model.prompt([{"role": "user", "content": e["question"]}]), int(e["answer"])) for e in examples()]
    for _ in range(STEPS):
        answers = [model.encode(str(max(0, s + chance.randint(-OFF, OFF)))) + [model.END] for _, s in prompts]
        ids = model.pad([p + a for (p, _), a in zip(prompts, answers)], device=model.device())
        mask = model.pad([[False] * len(p) + [True] * len(a) for (p, _), a in zip(prompts, answers)], False, torch.bool, model.device())[:, 1:]
        loss = -model.logprobs(policy, ids)[mask].mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    checkpoints.save(folder, 0, {"policy": policy.state_dict(), "optimizer": None, "tokens": []})


if __name__ == "__main__":
    if len(sys.argv) > 1:
        pretrain(sys.argv[1], int(sys.argv[2]))
    else:
        for e in examples():
            print(json.dumps(e))
