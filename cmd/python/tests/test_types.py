"""The types of run, which are generated, against the help of the command; needs the
command, at $ROLLMILL."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import unittest
from typing import TYPE_CHECKING

from .programs import SRC

if TYPE_CHECKING:
    import rollmill

    def typed() -> None:
        """What a type checker has to accept."""
        rollmill.command.run("score", in_="data", rewards={"a": len, "b": "match:exact"}, concurrency=2, accept_gate=["x", "y"], json=True)
        rollmill.command.run("group", in_="data", estimator="grpo", set={"group.by": "x"})
        rollmill.command.run("try", agent=len, rewards=[len, "exact=match:exact"], attempts=2)
        for stage in ("score", "group"):
            rollmill.command.run(stage, root="runs", epoch=1)


@unittest.skipUnless(os.environ.get("ROLLMILL"), "needs $ROLLMILL")
class Types(unittest.TestCase):
    def test_flags_are_those_of_the_help(self) -> None:
        stub = ast.parse((SRC / "rollmill" / "_run.pyi").read_text())
        overloads = [each for each in stub.body if isinstance(each, ast.FunctionDef)]
        self.assertGreater(len(overloads), 20)
        for run in overloads[:-1]:
            command = re.findall(r"'(.*)'", ast.unparse(run.args.args[0]))[-1]
            names = {each.arg.rstrip("_").replace("_", "-") for each in run.args.kwonlyargs} - {"cwd", "env", "rewards", "agent"}
            if command == "job":  # its help has a page for each part
                continue
            said = subprocess.run([os.environ["ROLLMILL"], "help", command], capture_output=True, text=True, check=True).stdout
            flags = set(re.findall(r"^  --([a-z0-9-]+)", said, re.M)) - {"agent", "command"}
            with self.subTest(command):
                self.assertLessEqual(flags, names)
                self.assertTrue({"config", "json", "set"} <= names)


if __name__ == "__main__":
    unittest.main()
