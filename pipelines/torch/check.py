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
