"""slime on finished rollouts, of slime.jsonl as `rollmill submit --backend file --kinds slime`
writes it. slime reads no such file itself, and computes advantages from rewards; so:

    --rollout-function-path slime_rollout.generate_rollout
    --custom-reward-post-process-path slime_rollout.advantages
    --advantage-estimator grpo

The environment variable ROLLMILL_SAMPLES is the path, with {rollout_id} for the step.
slime's loss, without --calculate-per-token-loss, is the mean over trajectories of the mean
over their tokens; the weights in the advantages are those for it."""

import json
import os

from slime.utils.types import Sample


def generate_rollout(args, rollout_id, data_source, evaluation=False):
    with open(os.environ["ROLLMILL_SAMPLES"].format(rollout_id=rollout_id)) as f:
        return [Sample.from_dict(json.loads(line)) for line in f]


def advantages(args, samples):
    return [s.reward for s in samples], [s.metadata["advantage"] for s in samples]
