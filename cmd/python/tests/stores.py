"""Datasets in a bucket, run by .ci/stores; needs $ROLLMILL_TEST_BUCKET, the URI of an empty S3 bucket, $ROLLMILL and pyarrow."""

from __future__ import annotations

import importlib.util
import os
import pathlib
import subprocess
import unittest

import rollmill

STORED = pathlib.Path(__file__).parents[3] / "testdata" / "versions" / "2.0"
BUCKET, _, QUERY = os.environ.get("ROLLMILL_TEST_BUCKET", "").partition("?")


@unittest.skipUnless(BUCKET and os.environ.get("ROLLMILL") and importlib.util.find_spec("pyarrow"), "needs a bucket, $ROLLMILL and pyarrow")
class Buckets(unittest.TestCase):
    def at(self, name: str) -> str:
        return f"{BUCKET}{name}?{QUERY}"

    def call(self, command: str, *words: str) -> None:
        done = subprocess.run([os.environ["ROLLMILL"], command, *words], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_thin_data_joined_with_its_base(self) -> None:
        self.call("score", "--in", str(STORED / "rollout"), "--out", self.at("scores"), "--reward", "length=expr:len(answer)", "--overwrite")
        self.call("curate", "--in", str(STORED / "group"), "--out", self.at("curated"), "--overwrite")
        self.call("group", "--in", self.at("curated"), "--out", self.at("groups"), "--overwrite")
        for name, columns in (("scores", ["trajectory_id", "messages", "reward"]), ("curated", ["trajectory_id", "messages"]), ("groups", ["trajectory_id", "messages", "advantage"])):
            with self.subTest(name):
                there = rollmill.open(self.at(name))
                rows = there.to_arrow(columns)
                self.assertEqual((rows.num_rows, rows.schema.names), (len(there), columns))
                self.assertGreater(rows.num_rows, 0)
        self.assertEqual(sum(map(len, rollmill.open(self.at("groups")).iter_groups(["reward"]))), len(rollmill.open(self.at("groups"))))
        with self.assertRaisesRegex(rollmill.Error, "has no dataset"):
            rollmill.open(self.at("nothing"))


if __name__ == "__main__":
    unittest.main()
