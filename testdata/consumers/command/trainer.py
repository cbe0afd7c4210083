"""A trainer for `rollmill submit --backend command`: the PyTorch loop of loop.py.

    rollmill submit --in runs/demo/epoch-0/curate --backend command \
        --trainer 'python trainer.py JOBS' --settings epochs=3 --settings lr=0.01 --wait

JOBS is a folder that outlives the commands; each job continues from the weights of
the one before. To use your own loop, change train().
"""

import json
import sys

import jobs


def newest(folder):
    """The weights of the last completed job."""
    for job, result in reversed(jobs.results(folder)):
        if result["state"] == "completed":
            return job / "weights.pt"


def train(job, request):
    """Runs in the job's own process. The request has everything that it needs."""
    import loop

    settings = {name: kind(value) for name, kind in (("lr", float), ("epochs", int), ("batch", int)) if (value := request.get("settings", {}).get(name))}
    with open(job / "metrics.jsonl", "w", buffering=1) as log:
        seen = loop.train(
            request["curated"].removeprefix("file://"), job / "weights.pt", newest(job.parent), tell=lambda m: log.write(json.dumps(m) + "\n"), **settings)
    if not seen:
        return {"state": "untrained", "message": "no row has an advantage and token ids"}
    return {"state": "completed", "message": f"{seen} sequences", "files": [str(job / "weights.pt")]}


if __name__ == "__main__":
    jobs.main(sys.argv[1], train)
