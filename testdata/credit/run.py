"""Compare credit for single messages with credit for whole trajectories, by runs of the demo's
game and of the sums in several turns of pipelines/torch:

    python run.py ROLLMILL WORK [SEEDS] [EPOCHS]

For each task and seed every arm begins with the same weights. The arms are the estimator turns,
with all later rewards or with a message's own alone, grpo, and turns with the batch's values on
the wrong messages. WORK/credit.jsonl gets a line for each run: the mean reward of each validation,
and the tokens trained until then. A finished run is not run again.
"""

import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).absolute().parents[2]
sys.path.insert(0, str(ROOT / "pipelines" / "torch"))
import learn  # noqa: E402

ARMS = {
    "turns": (["estimator=turns"], 0),
    "own rewards": (["estimator=turns", "turns-discount=0", "turns-outcome-weight=0"], 0),
    "trajectories": (["estimator=grpo"], 0),
    "shuffled": (["estimator=turns"], 1),
}
GOAL = {"game": 0.75, "columns": 0.5}  # of the held-out reward, to count epochs until then


def columns(rollmill, work, seed, epochs, shuffle, flags):
    first = work.parent / f"columns-{seed}-first"
    first.mkdir(parents=True, exist_ok=True)
    weights = learn.prepared(first, seed, "columns")
    shutil.copytree(weights, work / "weights", dirs_exist_ok=True)
    return learn.run(rollmill, work, seed, epochs, shuffle, "columns", "columns.yaml", flags)


def game(rollmill, work, seed, epochs, shuffle, flags):
    for name, more in (("train", [64, seed, 0]), ("held-out", [200, seed, 1_000_000])):
        words = zip(("--count", "--seed", "--offset"), map(str, more))
        (work / f"{name}.jsonl").write_bytes(subprocess.check_output([ROOT / "bin" / "tictactoe", "examples", *sum(words, ())]))
    server = subprocess.Popen([rollmill, "sandbox", "--dir", work / "sandbox", "--listen", "127.0.0.1:0", "--seed", str(seed)],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        url = server.stdout.readline().strip()
        env = {**os.environ, "DEMO": str(work), "DEMO_RUN": str(work / "run"), "DEMO_URL": url, "DEMO_EPOCHS": str(epochs), "VALIDATE_EVERY": "1",
               "PYTHONPATH": str(ROOT / "cmd" / "python" / "src")}
        trainer = {"backend": "command", "trainer": f"{sys.executable} {ROOT}/testdata/credit/sandbox_trainer.py {url}", "target": "sandbox",
                   "settings": f"[lr=0.01, shuffle={shuffle * seed}]"}
        own = [w for k, v in trainer.items() for w in ("--set", f"submit.{k}={v}")]
        return learn.train(rollmill, ROOT / "pipelines/demo/rollmill.yaml", work / "run", epochs, env, *own,
                           "--set", "group.compat=none", "--set", f"rollout.sampling-seed={seed}", *flags)
    finally:
        server.terminate()
        server.wait()


def run(rollmill, work, task, arm, seed, epochs):
    flags, shuffle = ARMS[arm]
    folder = work / f"{task}-{seed}-{arm.replace(' ', '-')}"
    folder.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    report = {"game": game, "columns": columns}[task](rollmill, folder, seed, epochs, shuffle, [w for f in flags for w in ("--set", "group." + f)])
    receipts = [e["receipt"] for e in report["epochs"] if e.get("receipt")]
    if [r["state"] for r in receipts] != ["completed"] * epochs:
        sys.exit(f"FAIL: {folder}: {receipts}")
    tokens = [sum(r["tokens"] for r in receipts[:n]) for n in range(epochs + 1)]
    line = {"task": task, "arm": arm, "seed": seed, "values": learn.validations(report), "tokens": tokens}
    print(f"{task}, {arm}, seed {seed}: {line['values'][0]:.3f} -> {line['values'][-1]:.3f} in {epochs} epochs, {time.monotonic() - began:.0f} s", flush=True)
    return line


def main(rollmill, work, seeds="1", epochs="12"):
    rollmill, work, epochs = str(pathlib.Path(rollmill).absolute()), pathlib.Path(work).absolute(), int(epochs)
    os.chdir(ROOT)  # the demo's config names bin/tictactoe
    lines = [run(rollmill, work, task, arm, seed, epochs) for seed in range(1, int(seeds) + 1) for task in GOAL for arm in ARMS]
    (work / "credit.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


if __name__ == "__main__":
    main(*sys.argv[1:])
