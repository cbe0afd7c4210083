"""Imports of packages that are not required."""

from __future__ import annotations

import importlib
from typing import Any


def need(package: str, why: str, install: str = "") -> Any:
    """Import a package, or say what to install."""
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package.split(".")[0]:
            raise
        raise ModuleNotFoundError(f"{why}, which needs {package}: pip install {install or package}", name=error.name) from None
