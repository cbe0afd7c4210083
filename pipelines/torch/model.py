"""The policy: a small transformer over characters, and what the engine and the
trainer must agree on: the tokens of a conversation.

For a model of your own, replace Policy, encode and prompt. The trainer never makes
token ids from text: it takes those that the engine recorded.
"""

import torch
import torch.nn.functional as F
from torch import nn

CHARACTERS = [chr(c) for c in range(32, 127)]
SPECIAL = ["<system>", "<user>", "<assistant>", "<tool>", "<end>"]
TOKENS = CHARACTERS + SPECIAL
END = TOKENS.index("<end>")
CONTEXT = 64  # tokens of a prompt and its answer


def encode(text):
    """One token for each character; others than printable ASCII become "?"."""
    return [ord(c) - 32 if " " <= c <= "~" else ord("?") - 32 for c in text]


def prompt(messages):
    """The chat template: the role, the text, the end, and then the model's turn."""
    ids = []
    for m in messages:
        ids += [TOKENS.index(f"<{m['role']}>"), *encode(m["content"]), END]
    return [*ids, TOKENS.index("<assistant>")]


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        rows, length, width = x.shape
        q, k, v = self.qkv(self.before(x)).view(rows, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(rows, length, width))
        return x + self.mlp(self.after(x))


class Policy(nn.Module):
    """About 115,000 parameters. forward returns the logits of each next token."""

    def __init__(self, width=64, layers=2, heads=4):
        super().__init__()
        self.token, self.position = nn.Embedding(len(TOKENS), width), nn.Embedding(CONTEXT, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, len(TOKENS))

    def forward(self, ids):
        x = self.token(ids) + self.position(torch.arange(ids.shape[1], device=ids.device))
        return self.head(self.norm(self.blocks(x)))


def pad(rows, value=END, dtype=torch.long, device="cpu"):
    """Rows of different length as one tensor, filled at the end: attention is
    causal, so what follows a row does not change it."""
    most = max(map(len, rows))
    return torch.tensor([row + [value] * (most - len(row)) for row in rows], dtype=dtype, device=device)


def logprobs(policy, ids):
    """The log probability of each token of ids but the first, given those before it."""
    return torch.log_softmax(policy(ids)[:, :-1].float(), -1).gather(-1, ids[:, 1:, None])[..., 0]


def device():
    return "cuda" if torch.cuda.is_available() else "cpu"
