"""Runs the blocks of the README, in order, in one folder; needs $ROLLMILL and the packages."""

from __future__ import annotations

import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import unittest

from .programs import SRC, Served

README = pathlib.Path(__file__).parent.parent / "README.md"


@unittest.skipUnless(os.environ.get("ROLLMILL") and all(map(importlib.util.find_spec, ("pyarrow", "openai"))), "needs $ROLLMILL, pyarrow and openai")
class Readme(Served):
    def test_blocks(self) -> None:
        tools = self.folder / ".tools"
        tools.mkdir()
        (tools / "rollmill").symlink_to(os.path.abspath(os.environ["ROLLMILL"]))
        env = {**os.environ, "PATH": f"{tools}:{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}", "PYTHONPATH": str(SRC)}
        blocks = re.findall(r"^```(python|sh)\n(.*?)^```$", README.read_text(), re.M | re.S)
        self.assertGreater(len(blocks), 8)
        for kind, text in blocks:
            name = re.match(r"# (\w+\.py)\n", text)
            if name:
                self.write(name[1], text)
                continue
            words = [sys.executable, "-c", text] if kind == "python" else ["bash", "-euo", "pipefail", "-c", text]
            done = subprocess.run(words, cwd=self.folder, env=env, capture_output=True, text=True, timeout=120)
            self.assertEqual(done.returncode, 0, f"{text}\n{done.stdout}\n{done.stderr}")


if __name__ == "__main__":
    unittest.main()
