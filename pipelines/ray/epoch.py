"""Runs stages of an epoch on a Ray cluster: each shard is a Ray task with retries,
and the dataset is sealed after the last one.

    export CONFIG=rollmill.yaml ROOT=s3://bucket/run SHARDS=8
    python epoch.py EPOCH [STAGE ...]

Stages are rollout, score, group and curate, all of them unless you name some; submit
stays with the program that trains. A task is run again if its worker or node dies,
at most RETRIES times (4), and if its exit code says temporary. It may run twice: the
first to finish counts, and an unfinished one leaves its work to the next. ADDRESS is
the cluster's; without it, Ray uses RAY_ADDRESS, or starts on this machine. PASS names
variables of this shell that the workers get too; anyone who sees the cluster sees them.
"""

import os
import pathlib
import sys

import ray
import rollmill

STAGES = ("rollout", "score", "group", "curate")
RETRIED = (75, 137, 143)
SHARDS, RETRIES = int(os.environ.get("SHARDS", "4")), int(os.environ.get("RETRIES", "4"))
PASSED = ("ROLLMILL", "PYTHONPATH", *os.environ.get("PASS", "").split())  # variables that workers get


class Retried(rollmill.Error):
    """An error after which Ray runs a task again."""


def start(command: str, **flags: str | int | bool) -> str:
    try:
        return rollmill.command.run(command, **flags).uri
    except rollmill.Error as error:
        if error.code in RETRIED:
            raise Retried(str(error), error.code) from None
        raise


@ray.remote(max_retries=RETRIES, retry_exceptions=[Retried])
def shard(stage: str, epoch: int, index: int, config: str, root: str) -> None:
    start(stage, epoch=epoch, shard=f"{index}/{SHARDS}", config=config, root=root, quiet=True)


@ray.remote(max_retries=RETRIES, retry_exceptions=[Retried])
def seal(stage: str, epoch: int, root: str) -> str:
    return start("seal", root=root, epoch=epoch, stage=stage)


def run(epoch: int, stages: tuple[str, ...] = STAGES) -> None:
    config, root = os.environ["CONFIG"], os.environ["ROOT"]
    for stage in stages:
        ray.get([shard.options(name=f"{stage} {epoch} {i}/{SHARDS}").remote(stage, epoch, i, config, root) for i in range(SHARDS)])
        print(ray.get(seal.remote(stage, epoch, root)), flush=True)


def main() -> None:
    stages = tuple(sys.argv[2:]) or STAGES
    if len(sys.argv) < 2 or not sys.argv[1].isdigit() or set(stages) - set(STAGES):
        sys.exit(f"usage: python {pathlib.Path(__file__).name} EPOCH [{'|'.join(STAGES)} ...]")
    ray.init(address=os.environ.get("ADDRESS"), include_dashboard=False, log_to_driver=True,
             runtime_env={"env_vars": {name: os.environ[name] for name in PASSED if name in os.environ}})
    try:
        run(int(sys.argv[1]), stages)
    except rollmill.Error as error:  # the same code as the command's
        sys.exit(getattr(error, "cause", error).code)


if __name__ == "__main__":
    main()
