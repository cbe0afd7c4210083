"""Rows and conversations as HTML for notebooks: no script, and all text escaped."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

FEW = 10  # rows of a table
_LONG = 10  # lines; a tool's result with more is folded
_USUAL = ("trajectory_id", "example_id", "generation", "status", "failure_class", "reward", "advantage", "answer", "error")


def table(rows: Iterable[Mapping[str, Any]], caption: str = "") -> str:
    """A table of some rows: of trajectories the columns that say most, else all that have a value."""
    shown = list(rows)
    every = dict.fromkeys(name for row in shown for name in row)
    names = [c for c in (_USUAL if "messages" in every else every) if any(row.get(c) not in (None, "") for row in shown)]
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td style='text-align:left;vertical-align:top'>{_cell(row.get(name))}</td>" for name in names) + "</tr>" for row in shown)
    return f"<table>{_caption(caption)}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _caption(text: str) -> str:
    return f"<caption style='text-align:left'>{escape(text)}</caption>" if text else ""


def _cell(value: Any) -> str:
    text = "" if value is None else f"{value:.4g}" if isinstance(value, float) else value if isinstance(value, str) else json.dumps(value, default=str)
    return escape(text if len(text) <= 120 else text[:119] + "…")


def conversation(row: Mapping[str, Any]) -> str:
    """The messages of a trajectory, or a table of the row without any."""
    messages = row.get("messages")
    if not messages:
        return table([row])
    facts = [f"{name} {_cell(row[name])}" for name in _USUAL[:-2] if row.get(name) not in (None, "")]
    failed = f"<p>{escape(str(row['error']))}</p>" if row.get("error") else ""
    return f"<div><p><small>{' · '.join(facts)}</small></p>{failed}{''.join(map(_message, range(len(messages)), messages))}</div>"


def _message(at: int, message: Mapping[str, Any]) -> str:
    parent = message.get("parent", at - 1)
    notes = [escape(str(message.get("role", ""))), escape(str(message.get("name") or ""))]
    notes += ["sampled" if message.get("sampled") else "", f"branch after message {parent}" if parent != at - 1 else ""]
    edge = "solid" if message.get("sampled") else "dotted"
    parts = [_folded("reasoning", message.get("reasoning") or message.get("reasoning_content"))]
    content = message.get("content_parts") or message.get("content") or ""
    parts.append(_text(content, message.get("role") == "tool"))
    for call in message.get("tool_calls") or ():
        function = call.get("function") or call
        parts.append(_text(f"→ {function.get('name')} {function.get('arguments')}", False))
    return f"<div style='border-left:3px {edge};padding-left:.7em;margin:.7em 0'><small><b>{' · '.join(filter(None, notes))}</b></small>{''.join(parts)}</div>"


def _text(value: Any, folds: bool) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    lines = text.count("\n") + 1
    return _folded(f"{lines} lines, {len(text)} characters", text) if folds and (lines > _LONG or len(text) > 200 * _LONG) else _pre(text)


def _folded(summary: str, text: Any) -> str:
    return f"<details><summary>{escape(summary)}</summary>{_pre(str(text))}</details>" if text else ""


def _pre(text: str) -> str:
    return f"<div style='white-space:pre-wrap;overflow-wrap:anywhere'>{escape(text)}</div>" if text else ""
