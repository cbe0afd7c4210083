"""Starts programs that serve, as rollmill does."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from typing import Any

SRC = pathlib.Path(__file__).parent.parent / "src"


class Served(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name: str, code: str) -> pathlib.Path:
        path = self.folder / name
        path.write_text(code)
        return path

    def start(self, *words: str, stdin: bytes, code: int = 0, env: dict[str, str] | None = None) -> tuple[bytes, str]:
        """Run Python with these words; its standard output and error."""
        environ = {**os.environ, "PYTHONPATH": str(SRC), "PYTHONUNBUFFERED": "1", **(env or {})}
        done = subprocess.run([sys.executable, *words], input=stdin, capture_output=True, env=environ, cwd=self.folder, timeout=60)
        errors = done.stderr.decode()
        self.assertEqual(done.returncode, code, errors)
        return done.stdout, errors

    def ask(self, *words: str, rows: list[dict[str, Any]], code: int = 0, env: dict[str, str] | None = None) -> tuple[list[dict[str, Any]], str]:
        """The answers to rows sent as JSON lines, and standard error."""
        stdin = "".join(json.dumps(row) + "\n" for row in rows).encode()
        out, errors = self.start(*words, stdin=stdin, code=code, env=env)
        return [json.loads(line) for line in out.splitlines()], errors
