"""The command: start it, or look first at a few attempts and rewards."""

from ._command import program
from ._look import score, try_
from ._run import run

__all__ = ["program", "run", "score", "try_"]
