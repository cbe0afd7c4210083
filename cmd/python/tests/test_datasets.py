"""Datasets as data frames; needs the command, at $ROLLMILL, and pyarrow."""

from __future__ import annotations

import importlib.util
import math
import os
import pathlib
import subprocess
import tempfile
import unittest
from typing import Any

import rollmill
import rollmill.classes

STORED = pathlib.Path(__file__).parents[3] / "testdata" / "versions" / "2.0"
REWARD = "length=expr:len(answer)"


def has(library: str) -> bool:
    return importlib.util.find_spec(library) is not None


@unittest.skipUnless(os.environ.get("ROLLMILL") and has("pyarrow"), "needs $ROLLMILL and pyarrow")
class Frames(unittest.TestCase):
    def setUp(self) -> None:
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.folder = pathlib.Path(made.name)

    def call(self, command: str, *words: object) -> None:
        done = subprocess.run([os.environ["ROLLMILL"], command, *map(str, words)], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)

    def frames(self, d: rollmill.classes.Dataset, columns: list[str] | None = None) -> dict[str, list[dict[str, Any]]]:
        """The rows in each library that is installed."""
        out = {"arrow": d.to_arrow(columns).to_pylist()}
        if has("polars"):
            out["polars"] = d.to_polars(columns).to_dicts()
        if has("datasets"):
            out["datasets"] = list(d.to_hf(columns))
        return out

    def same_in_pandas(self, d: rollmill.classes.Dataset, column: str, want: list[Any]) -> None:
        if has("pandas"):
            got = [None if isinstance(v, float) and math.isnan(v) else v for v in d.to_pandas(["trajectory_id", column])[column].tolist()]
            self.assertEqual(got, want)

    def test_compacted(self) -> None:
        """Every row is there once, before and after prune removes the old parts."""
        wide, scores = self.folder / "rollout", self.folder / "scores"
        for shard in ("0/3", "1/3", "2/3"):
            self.call("import", "--from", "rows", "--in", self.rows_file(), "--out", wide, "--shard", shard)
        self.call("score", "--in", wide, "--reward", REWARD, "--out", scores)
        columns = ["trajectory_id", "answer", "reward"]
        want = rollmill.open(scores).to_arrow(columns).to_pylist()
        self.assertGreater(len(want), 3)
        parts = len(list(wide.glob("*.parquet")))
        self.assertGreater(parts, 1)
        self.call("compact", wide)
        self.assertGreater(len(list(wide.glob("*.parquet"))), parts, "the old parts are gone already")
        self.check(wide, scores, want, columns)
        self.call("prune", self.folder, "--grace", "0s", "--apply")
        self.assertEqual(len(list(wide.glob("*.parquet"))), 1)
        self.check(wide, scores, want, columns)

    def check(self, wide: pathlib.Path, scores: pathlib.Path, want: list[dict[str, Any]], columns: list[str]) -> None:
        for library, rows in self.frames(rollmill.open(scores), columns).items():
            with self.subTest(library):
                self.assertEqual(rows, want)
        self.same_in_pandas(rollmill.open(scores), "reward", [row["reward"] for row in want])
        d = rollmill.open(wide)
        self.assertEqual(len(d), len(want))
        for library, rows in self.frames(d).items():  # all columns, with the messages
            with self.subTest(library):
                self.assertEqual([(row["trajectory_id"], row["answer"]) for row in rows], [(row["trajectory_id"], row["answer"]) for row in want])
        self.same_in_pandas(d, "answer", [row["answer"] for row in want])

    def rows_file(self) -> pathlib.Path:
        out = self.folder / "rows.jsonl"
        if not out.exists():
            self.call("export", "--in", STORED / "rollout", "--to", "rows", "--out", out)
        return out

    def test_files_that_no_stage_wrote(self) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.table({"trajectory_id": ["a"]}), self.folder / "x.parquet")
        for uri in (self.folder, self.folder / "x.parquet", self.folder / "*.parquet"):
            with self.assertRaisesRegex(rollmill.Error, r"rollmill import --from rows --in '.*\.parquet' --out DATASET"):
                rollmill.open(uri)


if __name__ == "__main__":
    unittest.main()
