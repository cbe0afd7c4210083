"""Token rows of verl: what its dataset of conversations gives its supervised trainer, padded, and a
batch of rollouts (DataProto) as its trainer has it, a line for each row.

    .venv-trainers/bin/python from_verl.py OUT
"""

import importlib.machinery
import itertools
import json
import pathlib
import sys
import tempfile
import types

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "consumers" / "trainers"))

import pandas
import torch

import facts
import tiny

ray = types.ModuleType("ray")  # imported at the top of modules, and not called here
ray.ObjectRef = object
sys.modules["ray"] = ray
spec = importlib.machinery.PathFinder.find_spec("verl")  # its __init__ needs Ray, these classes do not
package = types.ModuleType("verl")
package.__path__ = list(spec.submodule_search_locations)
sys.modules["verl"] = package

images = types.ModuleType("verl.models.transformers.qwen2_vl")  # for images, by another version of transformers
images.get_rope_index = None
sys.modules[images.__name__] = images

from omegaconf import OmegaConf
from verl.protocol import DataProto
from verl.utils.dataset.multiturn_sft_dataset import MultiTurnSFTDataset


def said(role, content):
    return {"role": role, "content": content}


TALKS = [
    [said("system", "You add."), said("user", "2+3?"), said("assistant", "5"), said("user", "And 4?"), said("assistant", "9 \u2713")],
    [said("user", "1+1?"), said("assistant", "2")],
]


def runs(ids, mask, logprobs=None):
    """The answers: the ids of each run of ones."""
    at = 0
    for one, run in itertools.groupby(mask):
        n = len(list(run))
        if one:
            yield facts.message("assistant", "", sampled=True, tokens=ids[at:at + n], token_ids=ids[at:at + n],
                                logprobs=logprobs and logprobs[at:at + n])
        at += n


def supervised(folder):
    pandas.DataFrame({"messages": TALKS}).to_parquet(folder / "talks.parquet")
    config = OmegaConf.create({"max_length": 128, "pad_mode": "right", "truncation": "error"})
    for row in MultiTurnSFTDataset(str(folder / "talks.parquet"), tiny.tokenizer(), config):
        yield {k: row[k].tolist() for k in ("input_ids", "attention_mask", "loss_mask")}


def batch():
    """Prompts are padded on the left, responses on the right, as verl's agent loop does."""
    tensors = {
        "prompts": [[0, 0, 11, 12], [11, 12, 13, 14]], "responses": [[21, 22, 31, 23, 0], [21, 0, 0, 0, 0]],
        "response_mask": [[1, 1, 0, 1, 0], [1, 0, 0, 0, 0]],
        "attention_mask": [[0, 0, 1, 1, 1, 1, 1, 1, 0], [1, 1, 1, 1, 1, 0, 0, 0, 0]],
        "rollout_log_probs": [[-.5, -.25, 0., -1., 0.], [-.125, 0., 0., 0., 0.]],
    }
    tensors = {k: torch.tensor(v) for k, v in tensors.items()}
    tensors["input_ids"] = torch.cat([tensors["prompts"], tensors["responses"]], dim=1)
    data = DataProto.from_dict(tensors, non_tensors={"uid": ["a", "b"]})
    for row in data:
        yield {k: v.tolist() for k, v in row.batch.items()} | {k: str(v) for k, v in row.non_tensor_batch.items()}


def main(out):
    with tempfile.TemporaryDirectory() as scratch:
        rows = {"verl-sft.jsonl": list(supervised(pathlib.Path(scratch))), "verl-batch.jsonl": list(batch())}
    for name, lines in rows.items():
        (out / name).write_text("".join(json.dumps(row) + "\n" for row in lines))
    facts.write(out, {
        "verl-sft.jsonl": [facts.trajectory(list(runs(r["input_ids"], r["loss_mask"]))) for r in rows["verl-sft.jsonl"]],
        "verl-batch.jsonl": [facts.trajectory(list(runs(r["responses"], r["response_mask"], r["rollout_log_probs"])))
                             for r in rows["verl-batch.jsonl"]],
    }, "verl 0.9.1")


main(pathlib.Path(sys.argv[1]))
