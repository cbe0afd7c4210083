"""An environment of the older API of verifiers: one question, one answer."""

import verifiers as vf
from datasets import Dataset


def correct(completion, answer):
    return float(answer in completion[-1]["content"])


def length(completion):
    return float(len(completion[-1]["content"]))


def sober(completion, answer):
    """A reward that fails for one task, which verifiers itself counts as 0."""
    if answer == "4":
        raise ValueError("four is not scored")
    return 0.5


def load_environment(count: int = 4, broken: bool = False) -> vf.Environment:
    tasks = Dataset.from_list([{"question": f"What is {i} + {i}?", "answer": str(2 * i)} for i in range(count)])
    rubric = vf.Rubric(funcs=[correct, length, *([sober] if broken else [])], weights=[1.0, 0.01, *([0.5] if broken else [])])
    return vf.SingleTurnEnv(dataset=tasks, system_prompt="Answer with a number.", rubric=rubric)
