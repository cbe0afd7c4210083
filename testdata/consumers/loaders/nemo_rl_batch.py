"""NeMo-RL's training batch of finished rollouts. NeMo-RL has no loader for them: its rollouts
come from vLLM or NeMo-Gym, and advantages from the rewards of groups. What grpo_train gives
its policy after the advantages is this batch, with the sampling policy as the previous one:

    policy.prepare_for_training()
    policy.train(nemo_rl_batch.batch(rows.read("sequences.parquet"), pad), ClippedPGLossFn(config))

With token_level_loss, its default, take mean="tokens", else mean="sequences". Log
probabilities of a reference policy, which a KL penalty needs, are left to
policy.get_reference_policy_logprobs. The number of rows must be a multiple of
train_global_batch_size."""

import torch
from torch.nn.utils.rnn import pad_sequence


def fields(rows, pad_token_id):
    """The batch's tensors. Each is aligned with input_ids; the loss skips the first token."""
    def pad(name, dtype, value=0):
        before = {"response_ids": "prompt_ids"}.get(name)
        return pad_sequence([torch.tensor((r[before] if before else [0] * len(r["prompt_ids"])) + r[name], dtype=dtype) for r in rows], batch_first=True, padding_value=value)

    mask, logprobs = pad("loss_mask", torch.float32), pad("logprobs", torch.float32)
    return {
        "input_ids": pad("response_ids", torch.long, pad_token_id),
        "input_lengths": torch.tensor([len(r["prompt_ids"]) + len(r["response_ids"]) for r in rows]),
        "token_mask": mask, "sample_mask": torch.ones(len(rows)),
        "generation_logprobs": logprobs, "prev_logprobs": logprobs,
        "advantages": pad("advantages", torch.float32),
    }


def batch(rows, pad_token_id):
    from nemo_rl.distributed.batched_data_dict import BatchedDataDict

    return BatchedDataDict(fields(rows, pad_token_id))
