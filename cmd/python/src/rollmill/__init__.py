"""Rollmill in Python: write rewards, agents and trainers, read datasets, start the command.

    from rollmill import reward

    @reward
    def brevity(row):
        return 1 / (1 + len(row["messages"]))

    if __name__ == "__main__":
        brevity.serve()

    rollmill score --in DATASET --reward 'brevity=command:python3 reward.py'

rollmill.command starts the command; rollmill.classes has the types of what functions get and return.
"""

from . import command as command
from ._agents import agent
from ._dataset import open
from ._errors import Error
from ._rewards import reward
from ._trainers import trainer

__all__ = ["Error", "agent", "open", "reward", "trainer"]
