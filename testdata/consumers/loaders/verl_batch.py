"""verl's DataProto of finished rollouts. verl has no loader for them: its agent loops
sample. What RayPPOTrainer.fit gives its actor after the advantages is this batch, with
the sampling policy as the old one (verl's bypass mode):

    actor_rollout_wg.update_actor(verl_batch.batch(rows.read("sequences.parquet"), pad))

loss_agg_mode "token-mean", "token-sum" and "seq-mean-token-sum(-norm)" take mean="tokens",
"seq-mean-token-mean" takes mean="sequences". After compute_log_prob, echo gives back what
the actor computed."""

import pyarrow.parquet as pq
import torch
from torch.nn.utils.rnn import pad_sequence
from verl.protocol import DataProto

import echo as given


def batch(rows, pad_token_id):
    def pad(name, dtype, value=0, side="right"):
        return pad_sequence([torch.tensor(r[name], dtype=dtype) for r in rows], batch_first=True, padding_value=value, padding_side=side)

    def ones(name, side):
        return pad_sequence([torch.ones(len(r[name]), dtype=torch.long) for r in rows], batch_first=True, padding_side=side)

    prompts, responses = pad("prompt_ids", torch.long, pad_token_id, "left"), pad("response_ids", torch.long, pad_token_id)
    attention = torch.cat([ones("prompt_ids", "left"), ones("response_ids", "right")], dim=1)
    mask, logprobs, advantages = pad("loss_mask", torch.long), pad("logprobs", torch.float32), pad("advantages", torch.float32)
    return DataProto.from_dict(
        tensors={
            "prompts": prompts, "responses": responses, "input_ids": torch.cat([prompts, responses], dim=1), "attention_mask": attention,
            "position_ids": (attention.cumsum(dim=1) - 1).clamp(min=0), "response_mask": mask,
            "old_log_probs": logprobs, "rollout_log_probs": logprobs, "advantages": advantages, "returns": advantages,
        },
        meta_info={"global_token_num": attention.sum(dim=1).tolist(), "temperature": 1.0},
    )


def echo(sequences, data, path):
    """Write what verl computed for the rows of sequences.parquet: old_log_probs of the actor
    before its step, and ref_log_prob and entropys if the batch has them."""
    rows = pq.read_table(sequences).to_pylist()
    names = {"old_logprobs": "old_log_probs", "ref_logprobs": "ref_log_prob", "entropies": "entropys"}
    columns = {}
    for ours, theirs in names.items():
        if theirs in data.batch:
            columns[ours] = [x[: len(r["response_ids"])].tolist() for x, r in zip(data.batch[theirs], rows, strict=True)]
    given.write(path, rows, **columns)
