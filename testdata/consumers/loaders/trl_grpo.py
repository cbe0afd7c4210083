"""TRL's GRPOTrainer on finished rollouts. TRL has no loader for them: its rollout_func
samples, and advantages are computed from the rewards of whole groups. This trainer takes
both from rows.read, as its train_dataset:

    rows = rows.read("sequences.parquet", mean="sequences" if config.loss_type == "grpo" else "tokens")
    FinishedRollouts(model, reward_funcs=[], args=config, train_dataset=datasets.Dataset.from_list(rows))

Its advantages are of whole rows: rows in which messages have their own are refused. The
rollouts are trained once: num_iterations 1, and generation_batch_size a divisor of the rows."""

import math

import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import RandomSampler
from trl import GRPOTrainer


class FinishedRollouts(GRPOTrainer):
    _signature_columns = ["prompt", "prompt_ids", "response_ids", "loss_mask", "logprobs", "advantage", "advantages"]

    def _get_train_sampler(self, dataset=None):
        return RandomSampler(dataset if dataset is not None else self.train_dataset)

    def _generate_and_score_completions(self, inputs):
        def pad(lists, dtype=torch.long, side="right"):
            return pad_sequence([torch.tensor(x, dtype=dtype) for x in lists], batch_first=True, padding_side=side).to(self.accelerator.device)

        if any(not math.isclose(a, r["advantage"], rel_tol=1e-6) for r in inputs for a, m in zip(r["advantages"], r["loss_mask"]) if m):
            raise ValueError("messages have advantages of their own, which TRL does not take: group with another estimator")
        prompts, responses = [r["prompt_ids"] for r in inputs], [r["response_ids"] for r in inputs]
        mask = pad([r["loss_mask"] for r in inputs])
        return {
            "prompt_ids": pad(prompts, side="left"), "prompt_mask": pad([[1] * len(p) for p in prompts], side="left"),
            "completion_ids": pad(responses), "completion_mask": pad([[1] * len(r) for r in responses]), "tool_mask": mask,
            "old_per_token_logps": pad([r["logprobs"] for r in inputs], torch.float32),
            "advantages": torch.tensor([r["advantage"] for r in inputs], device=mask.device),
            "num_items_in_batch": self.accelerator.gather(mask.sum()).sum(),
        }
