"""Starting the command."""

from __future__ import annotations

import json as jsonlib
import os
import shutil
import sys
import sysconfig
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ._errors import error

if TYPE_CHECKING:
    from ._calls import Calls

_KEPT = 4096  # characters of stderr kept for an error


class Result(NamedTuple):
    """What the command wrote to standard output."""

    args: list[str]
    stdout: str
    stderr: str = ""  # its end

    def __repr__(self) -> str:
        """What the command said in its last line, and the beginning of its result."""
        said = [line for line in self.stderr.splitlines() if line and not line.startswith("time=")]
        result = self.stdout.strip()
        return "\n".join(filter(None, [said[-1] if said else "", result if len(result) <= 200 else result[:200] + "..."]))

    @property
    def uri(self) -> str:
        """The URI of the dataset that a stage wrote."""
        return self.stdout.strip()

    @property
    def json(self) -> Any:
        """The JSON object that --json gives."""
        return jsonlib.loads(self.stdout)


def program() -> str:
    """The path of the command: $ROLLMILL, that of this Python environment, or the one on the PATH."""
    given = os.environ.get("ROLLMILL")
    if given:
        return given
    found = shutil.which("rollmill", path=sysconfig.get_path("scripts")) or shutil.which("rollmill")
    if found is None:
        raise FileNotFoundError("the command rollmill is not on the PATH: pip install rollmill, or set ROLLMILL to its path")
    return found


def run(command: str, *args: str | os.PathLike[str], cwd: str | os.PathLike[str] | None = None, env: Mapping[str, str] | None = None, **flags: Any) -> Result:
    """Start `rollmill COMMAND` and wait for its end; an exit code other than 0 raises Error.

        rollmill.command.run("score", in_=dataset, reward=["exact=match:exact"], json=True).json
        rollmill.command.run("score", in_=dataset, rewards={"mine": reward_function, "exact": "match:exact"})

    Flags may be words or keywords: in_="x" is --in x, run_id="a" is --run-id a, a list
    repeats the flag, a dict repeats it with KEY=VALUE, True is the flag alone, None is
    no flag. Standard error is shown; quiet=True is the flag --quiet.

    agent= and rewards= take functions of this process, which are called here, and
    examples= the path of a task file or dicts, whose ids are their numbers by default.
    """
    from ._calls import Calls  # here, since agents that start for each attempt do not need it

    with Calls() as calls:
        words = line(command, calls.flags(command, flags), args)
        code, out, said = start(words, cwd, {**os.environ, **(env or {}), **calls.env}, calls)
    if code:
        raise error(words, code, said)
    return Result(words, out, said)


def line(command: str, flags: Mapping[str, Any], args: Iterable[str | os.PathLike[str]] = ()) -> list[str]:
    """The words of a command."""
    return [program(), command, *(os.fspath(arg) for arg in args), *(word for name, value in flags.items() for word in flag(name, value))]


def start(words: list[str], cwd: str | os.PathLike[str] | None, env: Mapping[str, str], calls: Calls) -> tuple[int, str, str]:
    """Start a command, and make the calls that it asks for until it ends: its exit code,
    standard output and the end of standard error."""
    import subprocess
    import threading

    said: list[str] = []
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd, env=env) as process:
        out: list[bytes] = []
        talk = threading.Thread(target=_show, args=(process.stderr, said))
        read = threading.Thread(target=_read, args=(process.stdout, out, calls))
        talk.start()
        read.start()
        try:
            calls.work()
        finally:
            code = process.wait()  # an interrupt reaches it, too, and it keeps its work
            talk.join()
            read.join()
    return code if code >= 0 else 128 - code, out[0].decode(errors="replace"), "".join(said)[-_KEPT:]


def _read(stdout: Any, out: list[bytes], calls: Calls) -> None:
    out.append(stdout.read())
    calls.end()


def flag(name: str, value: Any) -> list[str]:
    """The words of one flag."""
    word = "--" + name.strip("_").replace("_", "-")
    if value is None:
        return []
    if value is True:
        return [word]
    if value is False:
        return [f"{word}=false"]
    if isinstance(value, Mapping):
        return [w for k, v in value.items() for w in (word, f"{k}={v}")]
    if isinstance(value, (list, tuple)):
        return [w for v in value for w in flag(name, v)]
    if callable(value):
        raise TypeError(f"{name}: a function of this process is an agent= or one of rewards=; others go into a file: 'python -m rollmill FILE.py:NAME'")
    return [word, os.fspath(value) if isinstance(value, os.PathLike) else str(value)]


def _show(stderr: Any, said: list[str]) -> None:
    for line in stderr:
        text = line.decode(errors="replace")
        said.append(text)
        del said[:-200]
        sys.stderr.write(text)
        sys.stderr.flush()
