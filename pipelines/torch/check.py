"""Check the trainer on a run that learn.py made:

    python check.py ROLLMILL RUN      RUN has the folders run and weights

The log probabilities that the engine recorded are those of the trainer at the
weights that sampled, and of no others. A batch is trained once, also when the
trainer is killed or run again. A batch of other weights is refused. The engine
gives a seed the same answer in any batch, and refuses what it cannot do.
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import checkpoints
import model
import trainer

HERE = pathlib.Path(__file__).absolute().parent
TOLERANCE = 1e-4  # nats


def same_logprobs(rollmill, run, step):
    with tempfile.TemporaryDirectory() as scratch:
        out = pathlib.Path(scratch) / "sequences.parquet"
        subprocess.run([rollmill, "export", "--in", run / "run" / f"epoch-{step}" / "rollout", "--to", "sequences", "--out", out, "--quiet"], check=True, stdout=subprocess.DEVNULL)
        rows = trainer.read(out)
    apart = []
    for weights in (step, step + 1):
        policy = model.Policy()
        policy.load_state_dict(checkpoints.load(run / "weights", weights)["policy"])
        apart.append(trainer.difference(policy, rows, 256))
    tokens = sum(r["tokens"] for r in rows)
    assert tokens and apart[0] <= TOLERANCE < apart[1], (step, tokens, apart)
    print(f"epoch {step}: {tokens} recorded log probabilities are within {apart[0]:.1e} nats of the trainer's; one step later within {apart[1]:.2f}")


class Trainer:
    """The program, asked as rollmill asks it, over weights of its own."""

    def __init__(self, folder, first):
        self.words = [sys.executable, str(HERE / "trainer.py"), str(folder), "--engine", "http://127.0.0.1:1/v1"]
        self.folder = folder
        folder.mkdir()
        shutil.copy(first, checkpoints.path(folder, 0))

    def start(self, request, sequences, token="batch"):
        p = subprocess.Popen(self.words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        p.stdin.write(json.dumps({"protocol": "rollmill-trainer/1", "request": request, "token": token, "forms": {"sequences": {"uri": str(sequences)}}, "model": "policy"}) + "\n")
        p.stdin.close()
        return p

    def ask(self, *about):
        p = self.start(*about)
        lines = p.stdout.read().splitlines()
        p.stderr.read()
        p.wait()
        return json.loads(lines[-1])

    def steps(self):
        return sorted(p.name for p in self.folder.glob("*.pt"))


def once(run, scratch):
    batch = run / "run" / "epoch-0" / "submit" / "sequences.parquet"
    t = Trainer(scratch / "once", checkpoints.path(run / "weights", 0))
    p = t.start("submit", batch)
    assert "metrics" in json.loads(p.stdout.readline()), "a gradient step was reported"
    p.kill()
    p.wait()
    assert t.steps() == ["step-0.pt"], t.steps()
    said = t.ask("resolve", batch)
    assert said["state"] == "failed" and said["clean"], said
    for request in ("submit", "submit", "resolve"):
        said = t.ask(request, batch)
        assert said["state"] == "completed" and said["step"] == 1 and t.steps() == ["step-0.pt", "step-1.pt"], (request, said)
    print("a batch whose trainer was killed, then sent three times, is trained once")

    t = Trainer(scratch / "other", checkpoints.path(run / "weights", 1))
    said = t.ask("submit", batch)
    assert said["state"] == "failed" and said["clean"] and "log probabilities differ" in said["message"], said
    assert t.steps() == ["step-0.pt"]
    print("a batch of other weights is refused:", said["message"])


def columns(folder, name, *wanted):
    """The rows of a dataset, or of a file, with these columns."""
    import pyarrow.parquet as pq

    return [row for part in sorted(folder.glob(name)) for row in pq.read_table(part, columns=list(wanted)).to_pylist()]


def turns(run):
    """Advantages of answers, by their definition from the rewards: those of the first
    epoch's sequences, and the gradient of a batch is their sum."""
    import torch

    epoch, want = run / "run" / "epoch-0", {}
    for members in grouped(columns(epoch / "group", "*.parquet", "group_id", "trajectory_id", "shaped_rewards")):
        members = [m for m in members if m["shaped_rewards"]]  # others failed
        returns = torch.tensor([m["shaped_rewards"] for m in members], dtype=torch.double).flip(1).cumsum(1).flip(1)
        centred, std = returns - returns.mean(0), returns.std(0, correction=0)
        values = centred[:, :1] / (std[0] + 1e-6) + centred / (std.max() + 1e-6)
        want.update(zip((m["trajectory_id"] for m in members), values))
    rows = trainer.read(epoch / "submit" / "sequences.parquet")
    policy = model.Policy()
    policy.load_state_dict(checkpoints.load(run / "weights", 0)["policy"])
    total, tokens, checked = 0.0, sum(r["tokens"] for r in rows), 0
    for row in rows:
        now = model.logprobs(policy, model.pad([row["prompt_ids"] + row["response_ids"]]))[0, len(row["prompt_ids"]) - 1 :]
        for message, v in zip(row["messages"], row["versions"], strict=True):
            value = want[row["trajectory_id"]][message // 2]  # a question and an answer each turn
            got = row["advantages"][v["start"] : v["end"]]
            assert torch.allclose(torch.tensor(got, dtype=torch.double), value, atol=1e-5), (row["trajectory_id"], got, value)
            total = total - row["weight"] * value.float() * now[v["start"] : v["end"]].sum() / tokens
            checked += len(got)
    gradients = []
    for loss in (total, trainer.objective(policy, trainer.Batch(rows), tokens, trainer.settings({}))[0]):
        policy.zero_grad()
        loss.backward()
        gradients.append(torch.cat([p.grad.flatten() for p in policy.parameters()]))
    apart = (gradients[0] - gradients[1]).norm() / gradients[0].norm()
    assert checked == tokens and apart < 1e-3, (checked, tokens, apart)
    print(f"the gradient of {tokens} tokens is the sum over answers, each by its own advantage; their difference is {apart:.1e} of it")


def grouped(rows):
    groups = {}
    for row in rows:
        groups.setdefault(row["group_id"], []).append(row)
    return groups.values()


def ask_engine(url, **fields):
    """The first choice, or the status of an error."""
    fields = {"model": "sums@0", "messages": [{"role": "user", "content": "3+4="}], "logprobs": True, "return_token_ids": True, **fields}
    try:
        with urllib.request.urlopen(urllib.request.Request(url + "/chat/completions", json.dumps(fields).encode())) as r:
            return json.load(r)["choices"][0]
    except urllib.error.HTTPError as e:
        return e.code


def engine(run):
    p = subprocess.Popen([sys.executable, HERE / "engine.py", run / "weights"], stdout=subprocess.PIPE, text=True)
    try:
        url = p.stdout.readline().strip()
        alone = [ask_engine(url, seed=seed) for seed in range(40)]
        with ThreadPoolExecutor(40) as pool:
            together = list(pool.map(lambda seed: ask_engine(url, seed=seed), range(40)))
        assert [c["token_ids"] for c in alone] == [c["token_ids"] for c in together] and len({c["message"]["content"] for c in alone}) > 1
        assert all(len(c["logprobs"]["content"]) == len(c["token_ids"]) for c in alone)
        cut = ask_engine(url, seed=1, max_tokens=1)
        assert cut["finish_reason"] == "length" and len(cut["token_ids"]) == 1, cut
        refused = [ask_engine(url, **f) for f in ({"model": "sums@99999"}, {"model": "sums"}, {"n": 2}, {"stream": True}, {"messages": [{"role": "user", "content": "9" * 99}]})]
        assert refused == [404, 400, 400, 400, 400], refused
    finally:
        p.terminate()
        p.wait()
    print("the engine's answer to a seed is the same alone and among 40; what it cannot do is refused")


def main(rollmill, run):
    rollmill, run = str(pathlib.Path(rollmill).absolute()), pathlib.Path(run).absolute()
    engine(run)
    same_logprobs(rollmill, run, 0)
    same_logprobs(rollmill, run, checkpoints.newest(run / "weights") - 1)
    with tempfile.TemporaryDirectory() as scratch:
        once(run, pathlib.Path(scratch))


if __name__ == "__main__":
    main(*sys.argv[1:])
