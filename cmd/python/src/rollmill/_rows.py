"""Rows of a dataset as dicts, read by the command, so that no package is needed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ._command import program
from ._errors import error


class Row(dict[str, Any]):
    """A row by its columns. A notebook shows its conversation."""

    def _repr_html_(self) -> str:
        from . import _html

        return _html.conversation(self)


class Rows(list[Row]):
    """Some rows. A notebook shows them as a table."""

    def _repr_html_(self) -> str:
        from . import _html

        return _html.table(self)


def show(uri: str, *words: str, base: str | None) -> Iterator[dict[str, Any]]:
    """The JSON objects that `rollmill show` prints."""
    import subprocess
    import tempfile

    args = [program(), "show", "--quiet", *words, *(["--base", base] if base else []), uri]
    with tempfile.TemporaryFile() as said, subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=said) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                yield json.loads(line)
        except GeneratorExit:
            process.kill()  # the rest is not read
            raise
        if code := process.wait():
            said.seek(0)
            raise error(args, code, said.read().decode(errors="replace"))
