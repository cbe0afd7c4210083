"""OpenRLHF's Experiences of finished rollouts. OpenRLHF has no loader for them: its
samples generator asks vLLM. What its experience maker appends to the actor's replay
buffer are these, one for each sequence:

    for e in openrlhf_experience.experiences(rows.read("sequences.parquet")):
        actor.replay_buffer.append(e)

Masks, log probabilities and advantages are those of the next token, one fewer than the
sequence has. Its default, the mean over tokens, takes mean="tokens"."""

import torch
from openrlhf.trainer.ppo_utils.experience import Experience


def experiences(rows):
    for r in rows:
        skip, tokens = [0] * (len(r["prompt_ids"]) - 1), r["prompt_ids"] + r["response_ids"]
        mask = torch.tensor([skip + [int(m) for m in r["loss_mask"]]], dtype=torch.bool)
        logprobs = torch.tensor([skip + r["logprobs"]], dtype=torch.float32)
        yield Experience(
            sequences=torch.tensor([tokens]), attention_mask=torch.ones(1, len(tokens), dtype=torch.long), action_mask=mask,
            action_log_probs=logprobs, rollout_log_probs=logprobs, advantages=torch.tensor([skip + r["advantages"]], dtype=torch.float32),
            rewards=torch.tensor([r["reward"]]), response_length=mask.sum(dim=1), total_length=torch.tensor([len(tokens)]), info={},
        )
