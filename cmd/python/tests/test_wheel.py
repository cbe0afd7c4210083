"""A wheel in an empty environment; needs the command, at $ROLLMILL, and Python 3.11 to make it."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import unittest
import zipfile

from .programs import Served

HERE = pathlib.Path(__file__).parent.parent
# Trajectories, which no package is needed to read.
STORED = HERE.parent.parent / "testdata" / "versions" / "2.0" / "rollout"

REWARD = """
from rollmill import reward

@reward
def words(row):
    return len(row["answer"].split())

if __name__ == "__main__":
    words.serve()
"""


@unittest.skipUnless(os.environ.get("ROLLMILL") and sys.version_info >= (3, 11), "needs $ROLLMILL and Python 3.11")
class Wheels(Served):
    def call(self, *words: str | pathlib.Path, env: dict[str, str] | None = None) -> str:
        done = subprocess.run(words, capture_output=True, text=True, cwd=self.folder, env=env)
        self.assertEqual(done.returncode, 0, f"{words}: {done.stdout}\n{done.stderr}")
        return done.stdout

    def wheel(self, out: str, version: str = "v1.2.3-4-gabcdef0", binary: str = "") -> pathlib.Path:
        binary = binary or str(self.write("small", "any program"))
        env = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
        made = self.call(sys.executable, HERE / "wheel.py", "--version", version, "--out", self.folder / out, f"linux-amd64={binary}", env=env)
        return pathlib.Path(made.strip())

    def test_same_bytes(self) -> None:
        self.assertEqual(self.wheel("a").read_bytes(), self.wheel("b").read_bytes())

    def test_content(self) -> None:
        path = self.wheel("a")
        self.assertTrue(path.name.startswith("rollmill-1.2.3.post4+gabcdef0-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64"))
        with zipfile.ZipFile(path) as z:
            names = z.namelist()
            self.assertEqual(z.getinfo("rollmill-1.2.3.post4+gabcdef0.data/scripts/rollmill").external_attr >> 16, 0o100755)
            licences = [n for n in names if "/licenses/" in n]
            self.assertTrue(all(z.read(n) for n in licences) and len(licences) == 2)
            self.assertEqual(len(names), len(z.read(names[-1]).splitlines()))
        self.assertLessEqual({p.relative_to(HERE / "src").as_posix() for p in (HERE / "src").rglob("*.py")}, set(names))
        self.assertLessEqual({p.name for p in (HERE / "src/rollmill").glob("*.py*")}, {n.split("/")[-1] for n in names})

    def test_versions(self) -> None:
        for described, want in {"v1.2.3": "1.2.3", "v2.0.0-rc1-dirty": "2.0.0rc1+dirty", "768acff": "0.0.0+g768acff", "": "0.0.0+unknown"}.items():
            self.assertIn(f"rollmill-{want}-py3", self.wheel("v", described).name)

    def test_in_an_empty_environment(self) -> None:
        venv = self.folder / "venv"
        self.call(sys.executable, "-m", "venv", venv)
        env = {"PATH": str(venv / "bin"), "HOME": str(self.folder)}
        self.call(venv / "bin/pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", self.wheel("a", binary=os.path.abspath(os.environ["ROLLMILL"])), env=env)
        self.assertIn("dataset schema", self.call(venv / "bin/rollmill", "--version", env=env))
        self.assertEqual(self.call(venv / "bin/python", "-c", "import importlib.metadata as m, rollmill; print(m.version('rollmill'))", env=env).strip(), "1.2.3.post4+gabcdef0")
        self.write("reward.py", REWARD)
        said = self.call(venv / "bin/rollmill", "score", "--in", STORED, "--out", self.folder / "scores", "--reward", "words=command:python reward.py", "--json", "--quiet", env=env)
        self.assertGreater(json.loads(said)["rows"], 0)
        run = "import rollmill; print(rollmill.command.run('show', %r, json=True, rows=1).json['rows'][0]['is']['reward'])" % str(self.folder / "scores")
        self.assertGreaterEqual(float(self.call(venv / "bin/python", "-c", run, env=env)), 1)
        read = "import rollmill; d = rollmill.open(%r); print([len(d), len(d.columns), len(list(d)), d[0]['messages'][0]['role']])" % str(self.folder / "scores")
        self.assertEqual(self.call(venv / "bin/python", "-c", read, env=env).strip(), "[24, 34, 24, 'system']")


if __name__ == "__main__":
    unittest.main()
