"""Submit curated datasets to two trainers with rollmill's command line: the PyTorch
loop in this folder, and ART in process, python -m rollmill.art, with all of ART's own
code except the training on a GPU.

    python check.py ROLLMILL RUN SCRATCH

ROLLMILL is the program, RUN the folder of a run of two epochs or more.
"""

import json
import os
import pathlib
import signal
import subprocess
import sys

rollmill, run, scratch = (pathlib.Path(a).absolute() for a in sys.argv[1:4])
here = pathlib.Path(__file__).absolute().parent
elsewhere = scratch / "elsewhere"
elsewhere.mkdir(parents=True)
model = json.loads((run / "epoch-0" / "submit" / "_receipt.json").read_text())["policy"]["model"]  # rows of another model would be refused
env = {**os.environ, "GPULESS": str(scratch / "gpuless"), "LITELLM_LOCAL_MODEL_COST_MAP": "True", "HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": f"{here}:{here.parents[2] / 'cmd/python/src'}"}


def ask(*words, code=0):
    done = subprocess.run([rollmill, *words, "--json", "--quiet"], capture_output=True, text=True, env=env, cwd=elsewhere)
    assert done.returncode == code, f"{words}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    return json.loads(done.stdout) if done.stdout else None


def submit(name, trainer, epoch, *more, code=0):
    out = scratch / f"{name}-{epoch}"
    return out, ask("submit", "--in", str(run / f"epoch-{epoch}" / "curate"), "--backend", "command", "--trainer", trainer, "--out", str(out),
                    "--ledger", str(scratch / f"{name}-ledger"), "--poll-interval", "100ms", *more, code=code)


def completed(result, step):
    r = result["receipt"]
    assert r["state"] == "completed" and r["step_after"] == step, r
    return r


torch = f"{sys.executable} {here / 'trainer.py'} {scratch / 'torch'}"
for epoch in (0, 1):
    out, result = submit("torch", torch, epoch, "--wait", "--settings", "epochs=2")
    r = completed(result, epoch + 1)
    assert r["metrics"]["tokens"] > 0 and r["metrics"]["loss"] == r["metrics"]["loss"] and pathlib.Path(r["files"][0]).exists(), r
    _, again = submit("torch", torch, epoch, "--wait", "--settings", "epochs=2")
    assert again["attached"] and len(list((scratch / "torch").glob("*/result.json"))) == epoch + 1
    print("torch: epoch", epoch, {k: round(v, 4) for k, v in r["metrics"].items()})

# A long job whose submitter ended at once is cancelled from another folder that has only the receipt.
out, result = submit("torch-long", torch + "-long", 0, "--settings", "epochs=1000000")
assert result["receipt"]["state"] == "running"
cancelled = ask("job", "cancel", "--in", str(out))
assert cancelled["receipt"]["state"] == "cancelled", cancelled

art = f"{sys.executable} -m rollmill.art {scratch / 'art'}"
settings = ["--settings", "art_backend=gpuless:Backend", "--settings", f"name={model}", "--settings", "learning_rate=1e-6"]
try:
    ask("submit", "--prepare", "--backend", "command", "--trainer", art, "--out", str(scratch / "art-policy"), *settings)
    os.kill(json.loads((scratch / "art" / "server.json").read_text())["pid"], 0)  # it serves the policy to the first rollout
    for epoch in (0, 1):
        out, result = submit("art", art, epoch, "--wait", *settings)
        r = completed(result, epoch + 1)
        assert r["policy"] == {"url": "http://127.0.0.1:8000/v1", "model": f"{model}@{epoch + 1}", "version": epoch + 1}, r
        told = json.loads((scratch / "gpuless" / f"step-{epoch + 1}.json").read_text())
        assert told["keywords"] == {"learning_rate": 1e-6} and told["tokens"] > 0 and told["groups"] == r["groups"], (told, r)
        if epoch == 0:  # kill the process between the epochs: the next request starts it again
            os.killpg(json.loads((scratch / "art" / "server.json").read_text())["pid"], signal.SIGKILL)
        print("art: epoch", epoch, told)
    _, again = submit("art", art, 1, "--wait", *settings)
    assert again["attached"] and len(list((scratch / "gpuless").glob("step-*"))) == 2
finally:
    subprocess.run([sys.executable, "-m", "rollmill.art", str(scratch / "art"), "--stop"], check=True, env=env)
