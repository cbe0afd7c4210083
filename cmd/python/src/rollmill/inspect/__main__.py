"""The command; the package says how it is called."""

from __future__ import annotations

import argparse
import json
import pathlib
import sys
from collections.abc import Iterator

import rollmill.inspect

from .._need import need
from ._message import Json
from ._sample import finite, plain, sample_row
from ._scout import scout_rows, write_scout


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m rollmill.inspect", description=(rollmill.inspect.__doc__ or "").split("\n")[0])
    parser.add_argument("sources", nargs="+", metavar="SOURCE", help="logs of Inspect, or folders of them")
    way = parser.add_mutually_exclusive_group()
    way.add_argument("--scout", action="store_true", help="the sources are databases of Inspect Scout")
    way.add_argument("--to-scout", metavar="FOLDER", help="write the rows in the sources to this database of Inspect Scout")
    o = parser.parse_args()
    if o.to_scout:
        try:
            count, lost = write_scout(o.to_scout, o.sources)
        except ValueError as error:
            sys.exit(f"error: {error}")
        left_out = ", ".join(f"{what} of {n} rows" for what, n in lost.items() if n)
        print(f"{o.to_scout}: {count} transcripts" + (f"; left out: {left_out}" if left_out else ""), file=sys.stderr)
        return
    for source in o.sources:
        count, misfits = 0, list[float]()
        try:
            for row in scout_rows(source) if o.scout else log_rows(source):
                print(json.dumps(finite(row, misfits), ensure_ascii=False, separators=(",", ":"), allow_nan=False))
                count += 1
        except Exception as error:  # of Inspect's reader, which names no file
            sys.exit(f"error: reading {source!r}, after {count} rows: {type(error).__name__}: {error}")
        print(f"{source}: {count} rows" + (f"; null in place of NaN and infinity: {len(misfits)} numbers" if misfits else ""), file=sys.stderr)


def log_rows(source: str) -> Iterator[Json]:
    """The rows of a log, or of all logs in a folder; the repeats of a sample are adjacent."""
    log = need("inspect_ai.log", "reading logs of Inspect", "inspect-ai")
    if pathlib.Path(source).is_dir():
        for info in log.list_eval_logs(source, descending=False):
            yield from log_rows(info.name)
        return
    whole = source.endswith(".json")  # an .eval file is read sample by sample
    about = log.read_eval_log(source, header_only=not whole, resolve_attachments=True)
    if whole:
        samples = about.samples or []
    else:
        order: Json = {}
        for s in log.read_eval_log_sample_summaries(source):
            order.setdefault(s.id, []).append(s.epoch)
        samples = (log.read_eval_log_sample(source, id, epoch, resolve_attachments=True) for id in order for epoch in order[id])
    header = plain(about.model_copy(update={"samples": None}))
    if header["status"] != "success":
        print(f"{source}: the evaluation has the status {header['status']!r}, and only the samples that were logged", file=sys.stderr)
    header["eval"]["dataset"].pop("sample_ids", None)
    header = {k: header[k] for k in ("eval", "plan") if header.get(k)}
    for sample in samples:
        yield sample_row(plain(sample), header)


if __name__ == "__main__":
    main()
