"""The whole line on a real Tinker service: check.py ROLLMILL WORK [EPOCHS] [KILLS] [CONTROL]

It starts the service and the engine of this folder. Then

  the policy learns     the mean reward of the validation rises by RISE in EPOCHS epochs,
                        and with CONTROL, it does not where the advantages are shuffled;
                        the log probabilities of each batch are those of the service, within
                        the tolerance of rollmill.yaml, or its worker refuses the batch
  killed and resumed    the first epoch is submitted KILLS times, each killed once, at a
                        random moment or when its last request was sent, every other one with
                        answers lost, and run again: the weights are those of one undisturbed
                        training, up to SAME of their length: the service computes with other
                        roundings while it also works for an attempt that was dropped

  the newest SDK        trains the same weights, through newer.py

WORK is a folder for the runs, made anew.
"""

import contextlib
import json
import os
import pathlib
import random
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import time
import urllib.request

import numpy
from safetensors.numpy import load

HERE = pathlib.Path(__file__).absolute().parent
SRC = HERE.parent.parent / "cmd/python/src"
RISE, FLAT, SAME = 0.10, 0.08, 1e-3
TOGETHER = 10  # kills at one service, whose every step takes longer with each model that it has room for


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@contextlib.contextmanager
def running(*words, **options):
    process = subprocess.Popen([str(w) for w in words], start_new_session=True, **options)
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        process.wait()


@contextlib.contextmanager
def service(folder, models, model=None):
    """The URL of a service, once it trains and samples, with room for so many models, and the folder of its base model."""
    model = model or str(folder / "model")
    port, env = free_port(), {**os.environ, "ADAPTERS": str(models), "MODEL": model}
    folder.mkdir(parents=True)
    with open(folder / "log", "wb") as log, running("sh", HERE / "serve.sh", folder, port, stdout=log, stderr=log, env=env):
        for _ in range(600):
            time.sleep(0.2)
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/healthz")
                break
        else:
            raise SystemExit(f"the service did not start; {folder}/log says why")
        yield f"http://127.0.0.1:{port}", model


@contextlib.contextmanager
def engine(env):
    with running(sys.executable, "-m", "rollmill.tinker", "serve", "--base-model", env["MODEL"], "--url", env["SERVICE"], "--port", "0", env=env,
                 stdout=subprocess.PIPE, text=True) as process:  # fmt: skip
        yield process.stdout.readline().strip()


def train(rollmill, work, env, epochs, worker=("-m", "rollmill.tinker", "train")):
    """The means of the validations."""
    work.mkdir()
    (work / "examples.jsonl").write_bytes(subprocess.check_output([sys.executable, HERE / "examples.py"]))
    env = {**env, "WORK": str(work), "WORKER": shlex.join(map(str, (sys.executable, *worker))), "EPOCHS": str(epochs)}
    subprocess.run([rollmill, "train", "--config", HERE / "rollmill.yaml", "--epochs", str(epochs), "--quiet"], check=True, env=env, stdout=subprocess.DEVNULL)
    report = json.loads(subprocess.check_output([rollmill, "report", "--root", work / "run", "--json", "--quiet"]))
    return [e["validation"]["mean"] for e in report["epochs"] if e.get("validation")]


def learn(rollmill, work, env, epochs, control):
    began = time.monotonic()
    before, *_, after = train(rollmill, work / "learn", env, epochs)
    print(f"validation {before:.3f} -> {after:.3f} in {epochs} epochs, {time.monotonic() - began:.0f} s", flush=True)
    assert after - before >= RISE, "the policy did not learn"
    words = [rollmill, "audit", "--in", work / "learn/run/epoch-1/echo", "--mismatch", "trainer", "--json", "--quiet"]
    found = json.loads(subprocess.check_output(words))["mismatches"][0]
    print(f"the service's log probabilities to the recorded ones: {found}", flush=True)
    assert found["tokens"] > 50 and abs(found["ratio"] - 1) < 1e-4, found
    subprocess.run([sys.executable, HERE.parent / "prove.py", rollmill, work / "learn/run/epoch-1"], check=True)
    if control:
        before, *_, after = train(rollmill, work / "control", env, epochs, worker=(HERE / "shuffled.py",))
        print(f"shuffled advantages: validation {before:.3f} -> {after:.3f}", flush=True)
        assert after - before < FLAT, "the policy learned from shuffled advantages"
        ran = subprocess.run([rollmill, "prove", work / "control/run/epoch-1", "--json", "--quiet"], stdout=subprocess.PIPE)
        assert ran.returncode == 4 and any(p.get("differs", {}).get("column") == "loss" for p in json.loads(ran.stdout)["proofs"]), ran.stdout


def submit(rollmill, curated, out, env, url, python=sys.executable):
    """The words of a submission of the first epoch."""
    flags = {"backend": "tinker", "tinker-url": url, "engine-url": env["ENGINE"], "base-model": env["MODEL"], "name": "killed",
             "worker": f"{python} -m rollmill.tinker train", "rank": 8, "adapter-seed": 3, "learning-rate": 0.001, "substeps": 4,
             "lease": "1s", "poll-interval": "100ms"}  # fmt: skip
    return [rollmill, "submit", "--in", curated, "--out", out, "--ledger", out, "--wait", "--quiet", *(f"--{k}={v}" for k, v in flags.items())]


def weights(folder, receipt):
    """The adapter that a receipt names, as one vector."""
    model = receipt["policy"]["model"].removeprefix("tinker://").split("/")
    with tarfile.open(folder / "checkpoints" / model[0] / "sampler_weights" / f"{model[-1]}.tar.gz") as tar:
        whole = load(next(tar.extractfile(m).read() for m in tar if m.name.endswith("adapter_model.safetensors")))
    return numpy.concatenate([whole[name].ravel() for name in sorted(whole)])


def apart(got, want):
    """The distance of two adapters, as a share of the length of one."""
    return float(numpy.linalg.norm(got - want) / numpy.linalg.norm(want))


def receipt(out):
    return json.loads((out / "_receipt.json").read_text())


def saving(process, out):
    """Wait until the last request of an epoch was sent, while the process runs."""
    while process.poll() is None:
        with contextlib.suppress(OSError, ValueError):
            if "state" in json.loads((out / "tinker.json").read_text())["attempts"][-1]:
                return True
        time.sleep(0.01)
    return False


def killed(rollmill, work, env, numbers, folder):
    """Each submission, killed or with lost answers, makes the weights of one training."""
    curated, calm = work / "learn/run/epoch-0/curate", work / f"calm-{numbers[0]}"
    began = time.monotonic()
    subprocess.run(submit(rollmill, curated, calm, env, env["SERVICE"]), check=True, env=env, stdout=subprocess.DEVNULL)
    whole, want, chance = time.monotonic() - began, weights(folder, receipt(calm)), random.Random(numbers[0] + 1)
    tally = {}
    for n in numbers:
        out, lossy = work / f"killed-{n}", n % 2
        with contextlib.ExitStack() as stack:
            url = env["SERVICE"]
            if lossy:
                words = (sys.executable, HERE / "unreliable.py", url, 40, n)
                proxy = stack.enter_context(running(*words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True))
                url = proxy.stdout.readline().strip()
            words = submit(rollmill, curated, out, env, url)
            with open(work / f"killed-{n}.log", "wb") as log:
                first = subprocess.Popen(words, env=env, stdout=log, stderr=log, start_new_session=True)
                last = n == 0 and saving(first, out)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    first.wait(timeout=0 if last else chance.uniform(0.05, 1.1) * whole)
                if first.poll() is None:
                    os.killpg(first.pid, signal.SIGKILL)
                    first.wait()
                for _ in range(5):
                    if subprocess.run(words, env=env, stdout=log, stderr=log).returncode == 0:
                        break
                    time.sleep(1)
        assert (out / "_receipt.json").exists(), f"no receipt after five runs; {work}/killed-{n}.log says why"
        distance = apart(weights(folder, receipt(out)), want)
        assert distance < SAME, f"{out} has other weights than one training gives: {distance:.2g} of their length apart"
        attempts = len(json.loads((out / "tinker.json").read_text())["attempts"])
        assert not last or attempts == 1, f"{out} was trained again, although its last request had been sent"
        what = f"{attempts} attempts" + (", answers lost" if lossy else "")
        tally[what] = tally.get(what, 0) + 1
    print(f"kills {numbers[0]} to {numbers[-1]}, each within {whole:.1f} s, all with the weights of one training: {tally}", flush=True)


def newest(rollmill, work, env, folder):
    """The newest SDK makes the same weights, and an epoch after saved ones."""
    python = HERE.parent.parent / ".venv-tinker-newest/bin/python"
    with running(python, HERE / "newer.py", env["SERVICE"], stdout=subprocess.PIPE, text=True) as double:
        url = double.stdout.readline().strip()
        words = submit(rollmill, work / "learn/run/epoch-0/curate", work / "newest", env, url, python)
        subprocess.run(words, check=True, env=env, stdout=subprocess.DEVNULL)
        words = submit(rollmill, work / "learn/run/epoch-1/curate", work / "newest-1", env, url, python)
        subprocess.run([*words, "--policy", work / "learn/run/epoch-0/submit"], check=True, env=env, stdout=subprocess.DEVNULL)
    distance = apart(weights(folder, receipt(work / "newest")), weights(folder, receipt(work / "calm-0")))
    assert distance < SAME, f"the newest SDK made other weights: {distance:.2g} of their length apart"
    before, after = receipt(work / "learn/run/epoch-0/submit"), receipt(work / "newest-1")
    assert after["policy"]["version"] == 2 and 0 < apart(weights(folder, after), weights(folder, before)) < 0.5, after["policy"]
    print("the newest SDK trains the same weights and an epoch after saved ones", flush=True)


def main(rollmill, work, epochs="4", kills="3", control=""):
    rollmill, work = str(pathlib.Path(rollmill).absolute()), pathlib.Path(work).absolute()
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    env = {**os.environ, "TINKER_API_KEY": "tml-test", "PYTHONPATH": str(SRC)}
    rounds = [range(n, min(n + TOGETHER, int(kills))) for n in range(0, int(kills), TOGETHER)]
    with service(work / "service", 32 + 6 * len(rounds[0])) as (env["SERVICE"], env["MODEL"]):
        subprocess.run([sys.executable, HERE / "engine_check.py", env["SERVICE"], env["MODEL"]], check=True, env=env)
        with engine(env) as env["ENGINE"]:
            learn(rollmill, work, env, int(epochs), control)
            killed(rollmill, work, env, rounds[0], work / "service")
            newest(rollmill, work, env, work / "service")
    for numbers in rounds[1:]:
        folder = work / f"service-{numbers[0]}"
        with service(folder, 6 + 6 * len(numbers), env["MODEL"]) as (env["SERVICE"], _):
            killed(rollmill, work, env, numbers, folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
