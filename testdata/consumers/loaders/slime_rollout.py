"""slime on finished rollouts, of slime.jsonl as `rollmill submit --backend file --kinds slime`
writes it. slime reads no such file itself, and computes advantages from rewards; so:

    --rollout-function-path slime_rollout.generate_rollout
    --custom-reward-post-process-path slime_rollout.advantages
    --custom-advantage-function-path slime_rollout.of_tokens
    --advantage-estimator grpo

The third is for rows in which messages have advantages of their own. The environment variable ROLLMILL_SAMPLES is the path, with {rollout_id} for the
step. slime's loss, without --calculate-per-token-loss, is the mean over trajectories of the
mean over their tokens; the weights in the advantages are those for it."""

import json
import os

import torch
from slime.utils.types import Sample


def generate_rollout(args, rollout_id, data_source, evaluation=False):
    with open(os.environ["ROLLMILL_SAMPLES"].format(rollout_id=rollout_id)) as f:
        return [Sample.from_dict(json.loads(line)) for line in f]


def advantages(args, samples):
    """The rewards, and what takes their place: a number, or a list with one for each token of the response."""
    return [s.reward for s in samples], [s.metadata.get("advantages") or s.metadata["advantage"] for s in samples]


def of_tokens(args, rollout_data):
    """Called by the trainer, on each rank, with that rank's samples."""
    from slime.backends.megatron_utils.cp_utils import slice_log_prob_with_cp

    sizes = zip(rollout_data["rewards"], rollout_data["total_lengths"], rollout_data["response_lengths"], rollout_data["kl"], strict=True)
    each = [(a if isinstance(a, list) else [a] * n, total, n, kl.device) for a, total, n, kl in sizes]
    rollout_data["advantages"] = [torch.tensor(slice_log_prob_with_cp(a, total, n), dtype=torch.float32, device=device) for a, total, n, device in each]
    rollout_data["returns"] = list(rollout_data["advantages"])
    rollout_data["rewards"] = [sum(a) / n for a, _, n, _ in each]  # slime logs their mean
