"""The function run, whose types for each command are in _run.pyi."""

from ._command import run as run
