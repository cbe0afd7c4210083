"""The error of the command and of datasets."""

from __future__ import annotations

from collections.abc import Sequence


class Error(RuntimeError):
    """The command failed, or a dataset cannot be read. code is the exit code of the command
    (rollmill --help lists them), stderr the end of what it wrote there, which was shown; the
    message is the cause alone, and its hint."""

    def __init__(self, message: str, code: int = 4, command: Sequence[str] = (), stderr: str = "") -> None:
        super().__init__(message)
        self.code, self.command, self.stderr = code, list(command), stderr


def error(args: Sequence[str], code: int, stderr: str) -> Error:
    """The error of a command that ended with a code."""
    return Error(f"exit code {code}: {_cause(args[1], stderr)}", code, args, stderr)


def _cause(command: str, stderr: str) -> str:
    """The line of the error, and its hint."""
    lines = stderr.strip().splitlines()
    causes = [i for i, line in enumerate(lines) if line.startswith((f"rollmill {command}: ", "rollmill: "))]
    if not causes:
        return f"rollmill {command}" + (f": {lines[-1]}" if lines else "")
    at = causes[-1]
    return "\n".join([lines[at], *(line for line in lines[at + 1 :] if line.startswith("hint: "))])
