"""A plain PyTorch loop: policy gradient on a curated dataset. It is
independent of its caller; trainer.py in this folder makes it a trainer for rollmill.

The policy is a tiny recurrent model, created for the first batch; put
your own model into policy(), and your own loss into step(). The dataset is plain
Parquet and is read a few rows at a time, so memory does not grow with it.
"""

import glob
import os

import pyarrow.parquet as pq
import torch
from torch import nn

COLUMNS = ["messages", "advantage"]


class Policy(nn.Module):
    def __init__(self, vocabulary, width=32):
        super().__init__()
        self.embed, self.rnn, self.head = nn.Embedding(vocabulary, width), nn.GRU(width, width, batch_first=True), nn.Linear(width, vocabulary)

    def forward(self, ids):
        return self.head(self.rnn(self.embed(ids))[0])


def sequences(messages):
    """Each path through the tree as token ids and a mask of what trains. A
    message that was sampled trains on the first path that it is on, and is
    context on the others."""
    trained, parents = set(), {m["parent"] for m in messages}
    for leaf in (i for i in range(len(messages)) if i not in parents):
        path = []
        while leaf >= 0:
            path.insert(0, leaf)
            leaf = messages[leaf]["parent"]
        ids, mask = [], []
        for i in path:
            m = messages[i]
            if not m["sampled"] or not m["token_ids"]:
                continue
            if m["prefix_break"]:  # then prompt_delta_ids is the whole prompt, and a new sequence begins
                if any(mask):
                    yield ids, mask
                ids, mask = [], []
            context = m["prompt_delta_ids"] or []
            ids = ids + context + m["token_ids"]
            mask = mask + [0] * len(context) + [int(i not in trained)] * len(m["token_ids"])
            trained.add(i)
        if any(mask):
            yield ids, mask


def samples(curated):
    for part in sorted(glob.glob(os.path.join(curated, "*.parquet"))):
        for batch in pq.ParquetFile(part).iter_batches(batch_size=16, columns=COLUMNS):
            for row in batch.to_pylist():
                if row["advantage"]:  # null: excluded; 0: no effect
                    yield from ((ids, mask, row["advantage"]) for ids, mask in sequences(row["messages"]))


def policy(curated, previous):
    """The weights after the last batch, or new ones for a vocabulary with every id."""
    torch.manual_seed(0)
    if previous:
        saved = torch.load(previous)
        model = Policy(saved["vocabulary"])
        model.load_state_dict(saved["weights"])
        return model, saved["vocabulary"]
    vocabulary = 1 + max((max(ids) for ids, _, _ in samples(curated)), default=0)
    return Policy(vocabulary), vocabulary


def train(curated, weights, previous=None, lr=0.01, epochs=1, batch=16, tell=print):
    """Train on every sequence of the dataset, epochs times; tell() is called with the metrics of each step.
    Returns the number of sequences, and saves the new weights when there were any."""
    model, vocabulary = policy(curated, previous)
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)

    def step(rows):
        width = max(len(ids) for ids, _, _ in rows)
        ids = torch.tensor([ids + [0] * (width - len(ids)) for ids, _, _ in rows]) % vocabulary
        mask = torch.tensor([mask + [0] * (width - len(mask)) for _, mask, _ in rows], dtype=torch.float32)[:, 1:]
        advantage = torch.tensor([a for _, _, a in rows])[:, None]
        chosen = torch.log_softmax(model(ids[:, :-1]), -1).gather(2, ids[:, 1:, None])[:, :, 0]
        loss = -(advantage * chosen * mask).sum() / mask.sum().clamp(min=1)
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        tell({"loss": loss.item(), "grad_norm": norm.item(), "tokens": int(mask.sum())})

    seen = 0
    for _ in range(epochs):
        rows = []
        for sample in samples(curated):
            rows.append(sample)
            seen += 1
            if len(rows) == batch:
                step(rows)
                rows = []
        if rows:
            step(rows)
    if seen:
        torch.save({"vocabulary": vocabulary, "weights": model.state_dict()}, f"{weights}.part")
        os.replace(f"{weights}.part", weights)
    return seen
