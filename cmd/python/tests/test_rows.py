"""Rows of datasets as dicts and in notebooks; needs the command, at $ROLLMILL."""

from __future__ import annotations

import html.parser
import importlib.util
import json
import os
import shutil
import unittest

import rollmill
import rollmill.classes
from rollmill._places import Place

from .programs import SRC, Served

STORED = SRC.parents[2] / "testdata" / "versions" / "2.0"
KINDS = ("rollout", "score", "group", "curate")


class Page(html.parser.HTMLParser):
    """The elements and the text of a page whose elements are closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.text = ""
        self.feed(text)
        assert not self.open, self.open

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, tag

    def handle_data(self, data: str) -> None:
        self.text += data


class Files(unittest.TestCase):
    def test_the_uri_of_a_file_keeps_the_parameters_last(self) -> None:
        for folder, file in (("/a/b", "/a/b/x"), ("s3://b/a?endpoint=http%3A%2F%2Fh", "s3://b/a/x?endpoint=http%3A%2F%2Fh"), ("gs://b/a", "gs://b/a/x")):
            self.assertEqual(Place(folder).file_uri("x"), file)


@unittest.skipUnless(os.environ.get("ROLLMILL"), "needs $ROLLMILL")
class RowsOfDatasets(Served):
    def test_places_and_slices(self) -> None:
        for kind in KINDS:
            with self.subTest(kind):
                d = rollmill.open(STORED / kind)
                ids = [row["trajectory_id"] for row in d]
                self.assertEqual(len(d), len(ids))
                for key in (slice(2, 5), slice(None, None, -3), slice(-3, None), slice(7, 7)):
                    self.assertEqual([row["trajectory_id"] for row in d[key]], ids[key])
                self.assertEqual((d[0]["trajectory_id"], d[-1]["trajectory_id"]), (ids[0], ids[-1]))
                self.assertTrue(d[0]["messages"][0]["content"])
                with self.assertRaisesRegex(IndexError, f"row {len(d)} of {len(d)}"):
                    d[len(d)]

    @unittest.skipUnless(importlib.util.find_spec("pyarrow"), "needs pyarrow")
    def test_the_same_rows_as_arrow(self) -> None:
        names = ["trajectory_id", "reward", "status", "answer", "sampled_tokens"]
        for kind in KINDS:
            with self.subTest(kind):
                d = rollmill.open(STORED / kind)
                self.assertLessEqual(set(d[0]), set(d.columns))
                self.assertEqual([{name: row[name] for name in names} for row in d], [{**row, "answer": row["answer"] or ""} for row in d.to_arrow(names).to_pylist()])
                some = d.filter("sampled_tokens > 40").filter("generation == 0 || status == 'ok'")
                self.assertEqual([row["trajectory_id"] for row in some], some.to_arrow(names)["trajectory_id"].to_pylist())
                self.assertEqual(sorted(d._shown["columns"]), sorted(d._schema().names))

    def test_filters(self) -> None:
        d = rollmill.open(STORED / "score")
        some = d.filter("reward > 0.5")
        want = [row["trajectory_id"] for row in d if (row["reward"] or 0) > 0.5]
        self.assertTrue(0 < len(want) < len(d))
        self.assertEqual((len(some), [row["trajectory_id"] for row in some]), (len(want), want))
        self.assertEqual((some[1]["trajectory_id"], [row["trajectory_id"] for row in some[-2:]]), (want[1], want[-2:]))
        self.assertEqual((len(some.filter("false")), len(d)), (0, 24))
        with self.assertRaisesRegex(rollmill.Error, "exit code 2: (?s:.*)unknown name foo"):
            len(d.filter("foo > 3"))

    def test_an_iteration_that_is_left(self) -> None:
        for row in rollmill.open(STORED / "rollout"):
            break
        self.assertTrue(row["trajectory_id"])

    def test_a_base_that_was_moved(self) -> None:
        shutil.copytree(STORED / "score", self.folder / "score")
        shutil.copytree(STORED / "rollout", self.folder / "elsewhere")
        d = rollmill.open(self.folder / "score", base=str(self.folder / "elsewhere"))
        self.assertEqual(d[3]["answer"], rollmill.open(STORED / "rollout")[3]["answer"])

    def test_in_a_notebook(self) -> None:
        d = rollmill.open(STORED / "group")
        page = Page(d._repr_html_())
        self.assertEqual(page.seen.count("tr"), 11)
        self.assertIn("24 rows, the first 10", page.text)
        self.assertIn("0 rows", Page(d.filter("false")._repr_html_()).text)
        row = d[0]
        page = Page(row._repr_html_())
        for message in row["messages"]:
            self.assertIn(message["content"], page.text)


class Conversations(unittest.TestCase):
    def test_all_text_is_escaped(self) -> None:
        bad = "<script>alert('&')</script>"
        call = {"function": {"name": bad, "arguments": json.dumps({"x": bad})}}
        messages = [
            {"role": bad, "name": bad, "content": bad, "reasoning": bad, "tool_calls": [call]},
            {"role": "tool", "content": "\n".join([bad] * 40)},
            {"role": "user", "parent": 0, "content": [{"type": "text", "text": bad}]},
        ]
        row = rollmill.classes.Rows([rollmill.classes.DatasetRow(trajectory_id=bad, status=bad, error=bad, messages=messages)])
        for text in (row._repr_html_(), row[0]._repr_html_()):
            self.assertNotIn("script", Page(text).seen)
            self.assertIn(bad, Page(text).text)
        self.assertEqual(Page(row[0]._repr_html_()).text.count(bad), 50)
        self.assertIn("40 lines", text)
        self.assertIn("branch after message 0", text)


if __name__ == "__main__":
    unittest.main()
