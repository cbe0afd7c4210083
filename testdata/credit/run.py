"""Compare credit for single messages with credit for whole trajectories, by runs of the demo's
game and of the sums in several turns of pipelines/torch:

    python run.py ROLLMILL WORK [SEEDS] [EPOCHS] [ARM or TASK ...]

For each task and seed every arm begins with the same weights. The arms are the estimator turns,
with all later rewards or with a message's own alone, grpo, and turns with the batch's values on
the wrong messages. Further arms run when they are named: the estimator value, whose forks measure
what each half of a trajectory is worth, also with its values on the wrong messages, and grpo without
the curriculum, "attempts". In "dynamic" the last third of the attempts goes where rewards are all
alike or differ most, and "fewer" has as many attempts, as many everywhere; "half dynamic" and "half" have
epochs of half as many.

WORK/credit.jsonl gets a line for each run: the mean reward of each validation, and the tokens
trained and sampled until then. A finished run is not run again.

Checked is that every batch is trained, that the arms of a seed train other gradients of the same
first batch, and that those of turns are what the rewards say. Which arm is better is not.
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
import check  # noqa: E402
import learn  # noqa: E402

# Half the attempts, and two continuations from the middle of each: about the tokens of the other arms.
FORKS = ["group.estimator=value", "rollout.generations=4", "validation.generations=1", "curate.plan-forks=even",
         "curate.plan-generations=2", "refill.refill-rounds=1"]
WON = "score.reward=won=command:bin/tictactoe won"  # 1 or 0, so that groups are often flat
LARGER = "submit.settings=[lr=0.0133, shuffle=0]"  # by as much as there are fewer attempts
WHOLE = ["curate.curriculum=false"]
ARMS = {
    "turns": (["group.estimator=turns"], 0),
    "own rewards": (["group.estimator=turns", "group.turns-discount=0", "group.turns-outcome-weight=0"], 0),
    "trajectories": (["group.estimator=grpo"], 0),
    "shuffled": (["group.estimator=turns"], 1),
    "attempts": (["group.estimator=grpo", *WHOLE], 0),
    "forks": (FORKS + WHOLE, 0),
    "forks shuffled": (FORKS + WHOLE, 1),
    "fewer": (["group.estimator=grpo", "rollout.generations=6", "validation.generations=1", *WHOLE], 0),
    "dynamic": (["group.estimator=grpo", "rollout.generations=4", "validation.generations=1", "curate.plan-budget=120", "refill.refill-rounds=1", *WHOLE], 0),
    "fewer, larger steps": (["group.estimator=grpo", "rollout.generations=6", "validation.generations=1", LARGER, *WHOLE], 0),
    "dynamic, larger steps": (["group.estimator=grpo", "rollout.generations=4", "validation.generations=1", "curate.plan-budget=120", "refill.refill-rounds=1",
                               LARGER, *WHOLE], 0),
    "half": (["group.estimator=grpo", "rollout.generations=4", "validation.generations=1", *WHOLE], 0),
    "half dynamic": (["group.estimator=grpo", "rollout.generations=3", "validation.generations=1", "curate.plan-budget=64",
                      "refill.refill-rounds=1", *WHOLE], 0),
    "won": (["group.estimator=grpo", WON, *WHOLE], 0),
    "won dynamic": (["group.estimator=grpo", WON, "rollout.generations=4", "validation.generations=1", "refill.refill-rounds=1", *WHOLE], 0),
}
GOAL = {"game": 0.75, "columns": 2.5}  # of the held-out reward: the epochs until then are counted


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
    report = {"game": game, "columns": columns}[task](rollmill, folder, seed, epochs, shuffle, [w for f in flags for w in ("--set", f)])
    receipts = [e["receipt"] for e in report["epochs"] if e.get("receipt")]
    if [r["state"] for r in receipts] != ["completed"] * epochs:
        sys.exit(f"FAIL: {folder}: {receipts}")
    if (task, arm) == ("columns", "turns"):
        check.turns(folder)
    line = {"task": task, "arm": arm, "seed": seed, "values": learn.validations(report), "gradient": receipts[0]["metrics"]["grad_norm"],
            "tokens": [sum(r["tokens"] for r in receipts[:n]) for n in range(epochs + 1)],
            "sampled": [sum(sampled(e) for e in report["epochs"][:n]) for n in range(epochs + 1)]}
    print(f"{task}, {arm}, seed {seed}: {line['values'][0]:.3f} -> {line['values'][-1]:.3f} in {epochs} epochs, {time.monotonic() - began:.0f} s", flush=True)
    return line


def sampled(epoch):
    return epoch["cost"]["completion_tokens"]


def mean(values):
    """The mean and the standard deviation of a sample, as text."""
    return f"{statistics.mean(values):.3f} ± {statistics.stdev(values) if len(values) > 1 else 0:.3f}"


def figures(task, lines):
    """Print what each arm reached, and by how much it differs from trajectories on the same seed."""
    base = {line["seed"]: line["values"] for line in lines if line["arm"] == "trajectories"}
    print(f"\n{task}: {'after the last epoch':>29}{'mean of all epochs':>20}   to {GOAL[task]}: seeds, epochs, tokens, sampled    less trajectories: last, mean of all")
    for arm in dict.fromkeys(line["arm"] for line in lines):
        runs = [line for line in lines if line["arm"] == arm]
        last, whole = [r["values"][-1] for r in runs], [statistics.mean(r["values"]) for r in runs]
        reached = [(n, r["tokens"][n], r["sampled"][n]) for r in runs if (n := next((n for n, v in enumerate(r["values"]) if v >= GOAL[task]), None)) is not None]
        until = "{} of {}, {:.1f}, {:.0f}, {:.0f}".format(len(reached), len(runs), *map(statistics.mean, zip(*reached))) if reached else "none"
        less = [[f(r["values"]) - f(base[r["seed"]]) for r in runs if r["seed"] in base] for f in (lambda v: v[-1], statistics.mean)]
        print(f"{arm:15}{mean(last):>20}{mean(whole):>20}   {until:36}{'   '.join(mean(v) for v in less if v)}")


def main(rollmill, work, seeds="1", epochs="12", *names):
    rollmill, work, epochs = str(pathlib.Path(rollmill).absolute()), pathlib.Path(work).absolute(), int(epochs)
    os.chdir(ROOT)  # the demo's config names bin/tictactoe
    lines, tasks, arms = [], [n for n in names if n in GOAL] or GOAL, [n for n in names if n not in GOAL] or list(ARMS)[:4]
    for task in tasks:
        for seed in range(1, int(seeds) + 1):
            group = [run(rollmill, work, task, arm, seed, epochs) for arm in arms]
            if len({line["values"][0] for line in group}) > 1 or len({line["gradient"] for line in group}) < len(group):
                sys.exit(f"FAIL: {task}, seed {seed}: the arms do not train the same first batch by other gradients: {group}")
            lines += group
    (work / "credit.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    for task in tasks:
        figures(task, [line for line in lines if line["task"] == task])


if __name__ == "__main__":
    main(*sys.argv[1:])
