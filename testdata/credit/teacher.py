"""Compare what a small student learns of the reward alone, of a teacher alone, and of both, on the
sums in several turns of pipelines/torch. The teacher is a policy of other first weights that the
reward of each message has trained:

    python teacher.py ROLLMILL WORK [SEEDS] [EPOCHS]

All arms of a seed begin with the same weights. WORK/teacher.jsonl gets a line for each run: the
mean reward before each epoch and at the end. A finished run is not run again.
"""

import json
import pathlib
import shutil
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).absolute().parents[2]
sys.path.insert(0, str(ROOT / "pipelines" / "torch"))
import learn  # noqa: E402

TEACHER, TAUGHT = 100, 16  # the seed of its first weights, and its epochs
GOAL = 2  # of five columns
OWN = ["group.estimator=turns", "group.turns-discount=0", "group.turns-outcome-weight=0"]
DISTILL = ["group.estimator=distill", "curate.keep-flat=true"]
ARMS = {"reward": ["group.estimator=grpo"], "teacher": DISTILL, "both": [*DISTILL, "group.distill-outcome-weight=1"]}
REWARD = "right=steps:message.content == example.columns[step]"


def learned(rollmill, folder, seed, epochs, settings):
    """Train a policy, and return its validations."""
    return learn.validations(learn.run(rollmill, folder, seed, epochs, 0, "columns", "columns.yaml", [w for s in settings for w in ("--set", s)]))


def run(rollmill, work, arm, seed, epochs, url):
    folder = work / f"{seed}-{arm}"
    first = work / f"{seed}-first"
    first.mkdir(parents=True, exist_ok=True)
    shutil.copytree(learn.prepared(first, seed, "columns"), folder / "weights", dirs_exist_ok=True)
    taught = f"score.reward=['{REWARD}', 't*0=teacher:{url},model=columns@{TAUGHT}']"
    values = learned(rollmill, folder, seed, epochs, ARMS[arm] + [taught] * (arm != "reward"))
    print(f"seed {seed}, {arm}: " + " ".join(f"{v:.2f}" for v in values), flush=True)
    return {"arm": arm, "seed": seed, "values": values}


def until(values):
    """How many epochs it takes to reach GOAL; one more than there are if it is not reached."""
    return next((n for n, v in enumerate(values) if v >= GOAL), len(values))


def main(rollmill, work, seeds="1", epochs="8"):
    rollmill, work, epochs = str(pathlib.Path(rollmill).absolute()), pathlib.Path(work).absolute(), int(epochs)
    taught = learned(rollmill, work / "teacher", TEACHER, TAUGHT, OWN)
    print(f"teacher: {taught[0]:.2f} -> {taught[-1]:.2f}", flush=True)
    engine = subprocess.Popen([sys.executable, learn.HERE / "engine.py", work / "teacher" / "weights"], stdout=subprocess.PIPE, text=True)
    try:
        url = engine.stdout.readline().strip()
        lines = [run(rollmill, work, arm, seed, epochs, url) for seed in range(1, int(seeds) + 1) for arm in ARMS]
    finally:
        engine.terminate()
        engine.wait()
    (work / "teacher.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    for arm in ARMS:
        of = [line["values"] for line in lines if line["arm"] == arm]
        print(f"{arm}: {statistics.mean(map(until, of)):.1f} epochs to {GOAL}; "
              f"after each epoch {' '.join(f'{statistics.mean(v):.3f}' for v in zip(*of))}", flush=True)
    if len(lines) > len(ARMS) and not statistics.mean(until(x["values"]) for x in lines if x["arm"] == "both") < statistics.mean(
            until(x["values"]) for x in lines if x["arm"] == "reward"):
        sys.exit("FAIL: with the teacher it takes as many epochs as without")


if __name__ == "__main__":
    main(*sys.argv[1:])
