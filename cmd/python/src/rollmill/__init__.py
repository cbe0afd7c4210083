"""Rollmill in Python: write rewards, agents and trainers, read datasets, start the command.

    from rollmill import reward

    @reward
    def brevity(row):
        return 1 / (1 + len(row["messages"]))

    if __name__ == "__main__":
        brevity.serve()

    rollmill score --in DATASET --reward 'brevity=command:python3 reward.py'
"""

from ._agents import Agent, Example, agent
from ._command import Result, program
from ._dataset import Dataset, open
from ._errors import (
    AbortError,
    BudgetError,
    CommandError,
    CrashError,
    FailedError,
    GateError,
    InputError,
    InterruptError,
    KilledError,
    PersonError,
    TemporaryError,
    TerminatedError,
    UsageError,
)
from ._look import Attempts, score, try_
from ._manifest import DatasetError
from ._rewards import Message, Reward, Row, reward
from ._rows import Row as DatasetRow
from ._rows import Rows
from ._run import run
from ._trainers import Batch, Trainer, trainer

__all__ = [
    "AbortError",
    "Agent",
    "Attempts",
    "Batch",
    "BudgetError",
    "CommandError",
    "CrashError",
    "Dataset",
    "DatasetError",
    "DatasetRow",
    "Example",
    "FailedError",
    "GateError",
    "InputError",
    "InterruptError",
    "KilledError",
    "Message",
    "PersonError",
    "Result",
    "Reward",
    "Row",
    "Rows",
    "TemporaryError",
    "TerminatedError",
    "Trainer",
    "UsageError",
    "agent",
    "open",
    "program",
    "reward",
    "run",
    "score",
    "trainer",
    "try_",
]
