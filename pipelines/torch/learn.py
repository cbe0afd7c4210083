"""Run the example, from the first checkpoint through EPOCHS epochs of the five
stages, and check that the policy learns.

    python learn.py ROLLMILL WORK [SEEDS] [EPOCHS]

For each seed the share of right sums must rise to GOAL. With several seeds, there
is also a run in which the advantages are on the wrong answers: its share must not
rise by FLAT. WORK is a folder for the runs; a finished run is not run again.
"""

import json
import os
import pathlib
import subprocess
import sys
import time

import checkpoints

HERE = pathlib.Path(__file__).absolute().parent
GOAL, FLAT = 0.70, 0.10


def environment(work, seed, epochs, shuffle, engine):
    return {**os.environ, "WORK": str(work), "HERE": str(HERE), "PYTHON": sys.executable, "ENGINE": engine,
            "SEED": str(seed), "EPOCHS": str(epochs), "SHUFFLE": str(shuffle), "OMP_NUM_THREADS": "1"}


def prepared(work, seed, task):
    """Make the task's examples and the first checkpoint; return the folder of the checkpoints."""
    for name in ("examples", "held-out"):
        (work / f"{name}.jsonl").write_bytes(subprocess.check_output([sys.executable, HERE / f"{task}.py", name]))
    if not checkpoints.path(work / "weights", 0).exists():
        subprocess.run([sys.executable, HERE / f"{task}.py", work / "weights", str(seed)], check=True)
    return work / "weights"


def train(rollmill, config, root, epochs, env, *flags):
    """Run the epochs, and return the report."""
    subprocess.run([rollmill, "train", "--config", config, "--epochs", str(epochs), "--quiet", *flags], check=True, env=env, stdout=subprocess.DEVNULL)
    return json.loads(subprocess.check_output([rollmill, "report", "--root", root, "--json", "--quiet"]))


def run(rollmill, work, seed, epochs, shuffle, task="sums", config="rollmill.yaml", flags=()):
    """Train a task of this folder, and return the report."""
    work.mkdir(parents=True, exist_ok=True)
    engine = subprocess.Popen([sys.executable, HERE / "engine.py", prepared(work, seed, task)], stdout=subprocess.PIPE, text=True)
    try:
        env = environment(work, seed, epochs, shuffle, engine.stdout.readline().strip())
        report = train(rollmill, HERE / config, work / "run", epochs, env, *flags)
    finally:
        engine.terminate()
        engine.wait()
    (work / "report.json").write_text(json.dumps(report))
    return report


def validations(report):
    """The mean reward of each validation."""
    return [e["validation"]["mean"] for e in report["epochs"] if e.get("validation")]


def main(rollmill, work, seeds="1", epochs="12"):
    rollmill, work, epochs = str(pathlib.Path(rollmill).absolute()), pathlib.Path(work).absolute(), int(epochs)
    runs = [(seed, 0) for seed in range(1, int(seeds) + 1)]
    if len(runs) > 1:
        runs.append((1, 1))
    wrong = []
    for seed, shuffle in runs:
        began, name = time.monotonic(), f"seed-{seed}" + ("-shuffled" if shuffle else "")
        before, *_, after = validations(run(rollmill, work / name, seed, epochs, shuffle))
        print(f"{name}: {before:.3f} -> {after:.3f} in {epochs} epochs, {time.monotonic() - began:.0f} s", flush=True)
        if shuffle and after - before >= FLAT:
            wrong.append(f"{name} rose by {after - before:.3f}")
        if not shuffle and after < GOAL:
            wrong.append(f"{name} ended at {after:.3f}, below {GOAL}")
    if wrong:
        sys.exit("FAIL: " + "; ".join(wrong))


if __name__ == "__main__":
    main(*sys.argv[1:])
