"""The types of what rewards, agents and trainers get, and of what this package returns."""

from ._agents import Agent, Example
from ._command import Result
from ._dataset import Dataset
from ._look import Attempts
from ._rewards import Message, Reward, Row
from ._rows import Row as DatasetRow
from ._rows import Rows
from ._trainers import Batch, Trainer

__all__ = ["Agent", "Attempts", "Batch", "Dataset", "DatasetRow", "Example", "Message", "Result", "Reward", "Row", "Rows", "Trainer"]
