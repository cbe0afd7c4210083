"""Whole commands: scored by decorated functions, opened as datasets; needs the
command, at $ROLLMILL, and pyarrow."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import os
import pathlib
import pickle
import shutil
import sys
import tempfile
import unittest
from typing import Any
from unittest import mock

import rollmill
import rollmill.classes
from rollmill._command import flag

from .programs import SRC, Served

REWARDS = """
import json
from rollmill import reward

@reward
def short(row):
    print("a print is no answer")
    if row["answer"] == "boom":
        raise ValueError("what a boom")
    return (1 / (1 + len(row["answer"])), {"length": len(row["answer"])})

@reward
async def known(row):
    return row["answer"] == row["example"]["answer"]

@reward(batch=True)
def vector(rows):
    return [float(len(a)) for a in rows["answer"].to_pylist()]
"""


def rows() -> list[dict[str, Any]]:
    return [
        {
            "trajectory_id": f"sum-{a}-{attempt}",
            "example_id": f"sum-{a}",
            "generation": attempt,
            "example": json.dumps({"answer": str(a + 1)}),
            "messages": [{"role": "user", "content": f"What is {a} + 1?"}, {"role": "assistant", "content": "boom" if a == attempt == 2 else str(a + 1 + 9 * attempt)}],
        }
        for a in range(5)
        for attempt in range(3)
    ]


@unittest.skipUnless(os.environ.get("ROLLMILL") and importlib.util.find_spec("pyarrow"), "needs $ROLLMILL and pyarrow")
class Commands(Served):
    made: tempfile.TemporaryDirectory[str]

    @classmethod
    def setUpClass(cls) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        cls.made = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.made.cleanup)
        file = pathlib.Path(cls.made.name, "rows.parquet")
        pq.write_table(pa.Table.from_pylist(rows()), file, row_group_size=4)
        with contextlib.redirect_stderr(io.StringIO()):
            rollmill.command.run("import", from_="rows", in_=file, out=pathlib.Path(cls.made.name, "rollout"))

    def test_result_says_what_was_done(self) -> None:
        result = rollmill.command.run("score", in_=self.made.name + "/rollout", out=self.made.name + "/said", reward="one=expr:1")
        self.assertRegex(repr(result), r"^score: 15 of 15 trajectories scored.*\n.*/said$")

    def setUp(self) -> None:
        super().setUp()
        patch = mock.patch.dict(os.environ, PYTHONPATH=str(SRC))
        patch.start()
        self.addCleanup(patch.stop)
        shutil.copytree(pathlib.Path(self.made.name, "rollout"), self.folder / "rollout")
        self.rewards = self.write("rewards.py", REWARDS)
        self.rows = str(self.folder / "rollout")
        self.scores = str(self.folder / "scores")

    def run_quietly(self, *args: Any, **flags: Any) -> rollmill.classes.Result:
        with contextlib.redirect_stderr(io.StringIO()) as said:
            self.addCleanup(said.close)
            return rollmill.command.run(*args, **flags)

    def served(self, name: str, reward: str, kind: str = "command") -> str:
        return f"{name}={kind}:'{sys.executable}' -m rollmill '{self.rewards}:{reward}'"

    def score(self, **flags: Any) -> rollmill.classes.Result:
        """Score by one function; its file counts for the identity."""
        return self.run_quietly("score", in_=self.rows, out=self.scores, reward=self.served("short", "short"), **flags)

    def score_by_all(self) -> rollmill.classes.Result:
        served = [self.served("short", "short"), self.served("length*0", "short.length"), self.served("known", "known"), self.served("vector*0", "vector", "arrow")]
        return self.run_quietly("score", in_=self.rows, out=self.scores, reward=served)

    def exported(self, uri: str) -> Any:
        import pyarrow as pa

        out = self.folder / "exported.arrow"
        self.run_quietly("export", "--overwrite", in_=uri, to="arrow", out=out)
        return pa.ipc.open_file(out).read_all()

    def test_scores_of_decorated_functions(self) -> None:
        self.assertEqual(os.path.basename(self.score_by_all().uri), "scores")
        scores = rollmill.open(self.scores)
        self.assertEqual((scores.kind, len(scores)), ("scores", 15))
        for row in scores.to_arrow().to_pylist():
            answer = row["messages"][-1]["content"]
            got = {r["name"]: r["value"] for r in row["rewards"]}
            if answer == "boom":
                self.assertEqual((got["short"], got["vector"], row["reward"]), (None, 4.0, None))
                self.assertIn("ValueError: what a boom", json.dumps(row["rewards"]) + str(row["reward_error"]))
                continue
            expected = json.loads(row["example"])["answer"]
            self.assertEqual(got, {"short": 1 / (1 + len(answer)), "length": len(answer), "known": float(answer == expected), "vector": len(answer)})

    def test_identity_has_the_file_of_a_function(self) -> None:
        self.assertFalse(self.score(json=True).json.get("up_to_date"))
        self.assertTrue(self.score(json=True).json["up_to_date"])
        self.rewards.write_text(REWARDS.replace("1 / (1 + len", "2 / (1 + len"))
        with self.assertRaisesRegex(rollmill.Error, "exit code 2: (?s:.*)rewards.py was") as caught:
            self.score()
        self.assertEqual(caught.exception.code, 2)
        self.score(overwrite=True)

    def test_joined_rows_are_those_of_export(self) -> None:
        self.score()
        groups = str(self.folder / "groups")
        self.run_quietly("group", in_=self.scores, out=groups)
        for uri in (self.scores, groups):
            with self.subTest(uri):
                want, d = self.exported(uri), rollmill.open(uri)
                common = [name for name in d.columns if name in want.schema.names]
                self.assertGreaterEqual(set(common), {"messages", "reward", "rewards", "trajectory_id"})
                got = d.to_arrow(["trajectory_id", "example_id", "reward", "rewards"])
                self.assertEqual(got.to_pylist(), want.select(got.schema.names).to_pylist())
        d = rollmill.open(groups)
        advantages = self.exported(groups)["advantage"].to_pylist()
        self.assertEqual(d.to_arrow(["advantage"])["advantage"].to_pylist(), advantages)
        self.assertEqual([len(group) for group in d.iter_groups(["reward"])], [3] * 5)
        self.assertEqual([row["advantage"] for group in d.iter_groups() for row in group], advantages)
        self.assertEqual(d.to_arrow(["advantages", "losses"]).column_names, ["advantages", "losses"])
        self.assertEqual(d.table("_groups").num_rows, 5)
        with self.assertRaisesRegex(KeyError, "no column weights; it has .*advantage"):
            d.to_arrow(["weights"])

    def test_a_base_that_changed(self) -> None:
        self.score()
        moved = str(self.folder / "moved")
        shutil.copytree(self.scores, moved)
        manifest = self.folder / "rollout" / "_dataset.json"
        manifest.write_text(manifest.read_text().replace('"stage": "import"', '"stage": "another"'))
        with self.assertRaisesRegex(rollmill.Error, "its base .* changed since it was made"):
            rollmill.open(self.scores)

    def test_no_rows(self) -> None:
        stored = SRC.parent.parent.parent / "testdata" / "versions" / "2.0" / "group"
        kept, groups = str(self.folder / "kept"), str(self.folder / "groups")
        self.run_quietly("curate", in_=stored, out=kept, filter="false")
        self.run_quietly("group", in_=kept, out=groups)
        for uri, column in ((kept, "messages"), (groups, "advantage")):
            with self.subTest(uri):
                d = rollmill.open(uri)
                self.assertEqual((len(d), d.to_arrow().num_rows, list(d.iter_groups())), (0, 0, []))
                self.assertEqual(d.to_arrow([column]).schema.names, [column])
                if importlib.util.find_spec("pandas"):
                    self.assertEqual(list(d.to_pandas([column]).columns), [column])

    def test_other_libraries(self) -> None:
        self.score()
        d, columns = rollmill.open(self.scores), ["trajectory_id", "reward"]
        want = d.to_arrow(columns).to_pylist()
        if importlib.util.find_spec("polars"):
            self.assertEqual(d.to_polars(columns).to_dicts(), want)
        if importlib.util.find_spec("pandas"):
            self.assertEqual(d.to_pandas(columns)["trajectory_id"].tolist(), [row["trajectory_id"] for row in want])
        if importlib.util.find_spec("datasets"):
            self.assertEqual(list(d.to_hf(columns)), want)

    def test_errors_by_exit_code(self) -> None:
        with self.assertRaisesRegex(rollmill.Error, "exit code 2: (?s:.*)--inn"):
            self.run_quietly("score", inn="x")
        with self.assertRaises(rollmill.Error) as caught:
            self.run_quietly("group", in_=str(self.folder / "none"))
        self.assertEqual((caught.exception.code, caught.exception.command[1]), (4, "group"))
        self.assertIn("no dataset", caught.exception.stderr)
        self.assertRegex(str(caught.exception), r"^exit code 4: rollmill group: .*no dataset.*(\nhint: .*)?$")

    def test_errors_travel_between_processes(self) -> None:
        sent = rollmill.Error("busy", 75, ["rollmill", "score"], "busy, try later")
        got = pickle.loads(pickle.dumps(sent))
        self.assertIs(type(got), rollmill.Error)
        self.assertEqual((got.command, got.code, got.stderr, str(got)), (sent.command, 75, "busy, try later", "busy"))

    def test_gates(self) -> None:
        with self.assertRaisesRegex(rollmill.Error, "exit code 3: "):
            self.score(max_failure_rate=0)
        with self.assertRaisesRegex(rollmill.Error, r"accept_gates=\['max-failure-rate'\]") as caught:
            rollmill.open(self.scores)
        self.assertEqual(caught.exception.code, 3)
        self.assertEqual(rollmill.open(self.scores, accept_gates=["max-failure-rate"]).to_arrow(["reward"]).num_rows, 15)


class Flags(unittest.TestCase):
    def test_flags(self) -> None:
        for name, value, want in (
            ("in_", "x", ["--in", "x"]),
            ("run_id", "a", ["--run-id", "a"]),
            ("reward", ["a=b", "c=d"], ["--reward", "a=b", "--reward", "c=d"]),
            ("settings", {"lr": 0.1}, ["--settings", "lr=0.1"]),
            ("overwrite", True, ["--overwrite"]),
            ("progress", False, ["--progress=false"]),
            ("seed", None, []),
            ("epoch", 3, ["--epoch", "3"]),
            ("out", SRC, ["--out", str(SRC)]),
        ):
            self.assertEqual(flag(name, value), want)

    def test_no_command(self) -> None:
        with mock.patch.dict(os.environ, {"PATH": "", "ROLLMILL": ""}), mock.patch("shutil.which", return_value=None):
            with self.assertRaisesRegex(FileNotFoundError, "pip install rollmill"):
                rollmill.command.run("version")


if __name__ == "__main__":
    unittest.main()
