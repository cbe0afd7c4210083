"""A backend for ART's library without a GPU: art.Backend, the library's own
interface, with everything but the training itself. It tokenizes the batch with
ART's own code and compares it with what was sampled; then it counts a step, in the
folder GPULESS, and reports it as the real backends do.
"""

import json
import os
import pathlib
import sys

import art
from art.preprocessing.tokenize import tokenize_trajectory_groups

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "trainers"))
import tiny


class Tokenizer:
    """As in transformers 4, which ART requires: a chat is a list of ids."""

    def __init__(self):
        self.tokenizer = tiny.tokenizer()
        self.vocab_size = len(self.tokenizer)  # with the token that represents sampled messages

    def __getattr__(self, name):
        return getattr(self.tokenizer, name)

    def apply_chat_template(self, *args, **keywords):
        return self.tokenizer.apply_chat_template(*args, **{"return_dict": False, **keywords})


def tokenized(groups, plain=False):
    return list(tokenize_trajectory_groups(Tokenizer(), groups, allow_training_without_logprobs=plain, scale_rewards=True, shuffle_group_trajectories=False))


def sampled(trajectory):
    """The ids of every choice, by history."""
    for history in [trajectory.messages_and_choices, *(h.messages_and_choices for h in trajectory.additional_histories)]:
        yield [int(t.token.removeprefix("token_id:")) for m in history if not isinstance(m, dict) for t in m.logprobs.content]


class Backend:
    def __init__(self):
        self.folder = pathlib.Path(os.environ["GPULESS"])
        self.folder.mkdir(parents=True, exist_ok=True)

    def _model_inference_name(self, model, step=None):
        return f"{model.name}@{self.count() if step is None else step}"

    def count(self):
        return len(list(self.folder.glob("step-*.json")))

    async def close(self):
        pass

    async def register(self, model):
        assert isinstance(model, art.TrainableModel)

    async def _get_step(self, model):
        return self.count()

    async def _delete_checkpoint_files(self, model, steps_to_keep):
        pass

    async def _prepare_backend_for_training(self, model, config):
        return "http://127.0.0.1:8000/v1", "default"

    async def train(self, model, trajectory_groups, **keywords):
        groups = list(trajectory_groups)
        assert all(isinstance(g, art.TrajectoryGroup) and len(g) > 1 for g in groups)
        results = tokenized(groups)
        for result in results:
            got = [t for t, m in zip(result.token_ids, result.assistant_mask) if m]
            assert any(got == ids for ids in sampled(result.trajectory)), "ART would train other tokens than were sampled"
        tokens = sum(sum(r.assistant_mask) for r in results)
        step = self.count() + 1
        (self.folder / f"step-{step}.json").write_text(json.dumps({"groups": len(groups), "sequences": len(results), "tokens": tokens, "keywords": keywords}))
        return art.TrainResult(step=step, metrics={"loss/train": 0.5, "data/step_trainer_tokens": float(tokens)})
