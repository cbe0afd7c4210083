"""Rewards of whole Arrow record batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import _stdio
from ._need import need
from ._rewards import fields


def serve(name: str, function: Callable[[Any], Any], io: _stdio.Stdio) -> None:
    """Answer each record batch with one, until the input ends."""
    pa = need("pyarrow", f"reward {name} takes record batches")
    first = io.requests.peek(1)[:1]  # type: ignore[attr-defined]
    if not first:
        return
    if first == b"{":
        raise SystemExit(f"reward {name} takes Arrow record batches, but gets JSON lines: start it with arrow: instead of command:")
    schema = pa.schema([("id", pa.string()), ("reward", pa.float64()), ("shaped_rewards", pa.list_(pa.float64())), ("error", pa.string())])
    with pa.ipc.open_stream(io.requests) as asked, pa.ipc.new_stream(io.answers, schema) as answers:
        for rows in asked:
            answers.write_batch(_answer(pa, schema, function, rows))
            io.answers.flush()


def _answer(pa: Any, schema: Any, function: Callable[[Any], Any], rows: Any) -> Any:
    try:
        return _columns(pa, schema, rows, function(rows))
    except Exception as error:
        if rows.num_rows > 1 and not isinstance(error, WrongNumber):  # then only the rows that fail alone fail
            parts = [_answer(pa, schema, function, rows.slice(i, 1)) for i in range(rows.num_rows)]
            return pa.Table.from_batches(parts).combine_chunks().to_batches()[0]
        message = _stdio.failure(error, function)
        return pa.RecordBatch.from_pylist([{"id": id.as_py(), "reward": None, "error": message} for id in rows["id"]], schema=schema)


class WrongNumber(ValueError):
    """A function of a batch returned too few or too many rewards."""


def _columns(pa: Any, schema: Any, rows: Any, values: Any) -> Any:
    if not hasattr(values, "__len__"):
        values = list(values)
    n = rows.num_rows
    if len(values) != n:
        raise WrongNumber(f"{len(values)} rewards for a batch of {n} rows")
    try:
        rewards = _numbers(pa, values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        said = [{"id": id.as_py(), **fields(value)} for id, value in zip(rows["id"], values)]
        if any("signals" in row for row in said):
            raise TypeError("signals come from functions of one row: leave batch=True out")
        return pa.RecordBatch.from_pylist(said, schema=schema)
    return pa.record_batch([rows["id"], rewards, pa.nulls(n, schema.field(2).type), pa.nulls(n, pa.string())], schema=schema)


def _numbers(pa: Any, values: Any) -> Any:
    """The values as one array of float64."""
    if hasattr(values, "to_arrow"):  # polars
        values = values.to_arrow()
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if isinstance(values, pa.Array):
        return values.cast(pa.float64())
    return pa.array(values, pa.float64())
