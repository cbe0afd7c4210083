"""The errors of the command, one for each exit code.

A test of cmd/internal/cli compares this list with the codes of the command: the
first words of each class here are the meaning there.
"""

from __future__ import annotations

from collections.abc import Sequence


class CommandError(RuntimeError):
    """The command failed. code is its exit code, stderr the end of what it wrote there,
    which was shown; the message is the cause alone, and its hint."""

    code = -1

    def __init__(self, args: Sequence[str], code: int, stderr: str) -> None:
        super().__init__(f"exit code {code}: {_cause(args[1], stderr)}")
        self.command, self.code, self.stderr = list(args), code, stderr

    def __reduce__(self) -> tuple[type[CommandError], tuple[list[str], int, str]]:
        return type(self), (self.command, self.code, self.stderr)  # so that workers of Ray and others can send it


def _cause(command: str, stderr: str) -> str:
    """The line of the error, and its hint."""
    lines = stderr.strip().splitlines()
    causes = [i for i, line in enumerate(lines) if line.startswith((f"rollmill {command}: ", "rollmill: "))]
    if not causes:
        return f"rollmill {command}" + (f": {lines[-1]}" if lines else "")
    at = causes[-1]
    return "\n".join([lines[at], *(line for line in lines[at + 1 :] if line.startswith("hint: "))])


class FailedError(CommandError):
    """failed"""

    code = 1


class UsageError(CommandError):
    """wrong usage or config"""

    code = 2


class GateError(CommandError):
    """a gate refused the dataset; it is kept"""

    code = 3


class InputError(CommandError):
    """input invalid or incomplete"""

    code = 4


class BudgetError(CommandError):
    """stopped, finished work is kept: the budget is spent, or a service refuses everybody (bill, key, model)"""

    code = 5


class PersonError(CommandError):
    """manual action required; see the hint"""

    code = 6


class CrashError(CommandError):
    """crashed; please report it"""

    code = 70


class TemporaryError(CommandError):
    """temporary; the same command may succeed later"""

    code = 75


class InterruptError(CommandError):
    """interrupted; finished work is kept"""

    code = 130


class AbortError(CommandError):
    """crashed outside the command's own goroutine, or stopped by the Go runtime; please report it too"""

    code = 134


class KilledError(CommandError):
    """killed, often because memory ran out; finished work is kept"""

    code = 137


class TerminatedError(CommandError):
    """terminated; finished work is kept"""

    code = 143


_BY_CODE: dict[int, type[CommandError]] = {kind.code: kind for kind in CommandError.__subclasses__()}


def error(args: Sequence[str], code: int, stderr: str) -> CommandError:
    """The error for an exit code; one that the command does not have gives CommandError."""
    return _BY_CODE.get(code, CommandError)(args, code, stderr)
