"""Runs the cells of the notebook in order, without network; needs $ROLLMILL and the packages."""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import unittest

from .programs import Served
from .test_rows import Page

NOTEBOOK = pathlib.Path(__file__).parent.parent / "first-epoch.ipynb"

# As IPython does: a cell is compiled with a name of its own, and the value of its last
# expression is shown.
RUNNER = """
import ast, json, linecache, sys

shown, scope = [], {"__name__": "__main__"}
for at, code in enumerate(json.load(open(sys.argv[1]))):
    name = f"<cell {at}>"
    linecache.cache[name] = (len(code), None, code.splitlines(True), name)
    body = ast.parse(code, name).body
    last = ast.Expression(body.pop().value) if isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), name, "exec"), scope)
    value = eval(compile(last, name, "eval"), scope) if last else None
    if value is not None:
        html = getattr(value, "_repr_html_", None)
        shown.append([at, html() if html else repr(value)])
json.dump(shown, open("shown.json", "w"))
"""


@unittest.skipUnless(os.environ.get("ROLLMILL") and all(map(importlib.util.find_spec, ("pyarrow", "openai"))), "needs $ROLLMILL, pyarrow and openai")
class Notebook(Served):
    def test_cells(self) -> None:
        book = json.loads(NOTEBOOK.read_text())
        self.assertGreaterEqual(len(book["cells"]), 20)
        cells = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
        self.assertTrue(all(cell["outputs"] == [] for cell in cells), "it is stored without outputs")
        codes = ["".join(cell["source"]) for cell in cells]
        self.assertIn("%pip install", codes[0])
        self.write("cells.json", json.dumps(codes[1:]))
        self.write("runner.py", RUNNER)
        out, errors = self.start("runner.py", "cells.json", stdin=b"")
        shown = [text for _, text in json.loads((self.folder / "shown.json").read_text())]
        tables = [Page(text).text for text in shown if text.startswith("<")]
        self.assertEqual(len(tables), 6, shown)
        self.assertIn("<svg", shown[-1])
        self.assertIn("128 rows, the first 10", tables[1])
        self.assertIn("What is 1 + 1?", tables[2])
        self.assertIn("of 128 trajectories scored", " ".join(shown))
        self.assertIn("rows have an advantage over 1", out.decode())
        self.assertRegex(out.decode(), r"(?m)^4\+4@0 +\d")
        self.assertTrue((self.folder / "runs" / "notebook" / "epoch-0" / "curate" / "_dataset.json").is_file(), errors)


if __name__ == "__main__":
    unittest.main()
