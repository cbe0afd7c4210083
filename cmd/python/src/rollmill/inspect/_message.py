"""Messages of Inspect, and the choices of a model's answer, as messages of rows."""

from __future__ import annotations

import re
from typing import Any

Json = dict[str, Any]


def text_of(parts: list[Json]) -> str:
    return "".join(p.get("text") or "" for p in parts)


def message_of(raw: Json) -> Json:
    """A message of Inspect as a message of rows; what begins with _ is for Conversation."""
    m: Json = {"role": raw["role"], "_id": raw.get("id"), "_source": raw.get("source"), "_model": raw.get("model")}
    thoughts, signed = [raw["reasoning"]] if raw.get("reasoning") else [], []
    parts: list[Json] = []
    content = raw.get("content") or ""
    for p in [{"type": "text", "text": content}] if isinstance(content, str) else content:
        if p["type"] == "reasoning":
            thoughts.append(p.get("summary") if p.get("redacted") else p.get("reasoning"))
            signed += [p] if p.get("signature") or p.get("summary") or p.get("redacted") else []
        elif p["type"] == "image":
            detail = {"detail": p["detail"]} if p.get("detail", "auto") != "auto" else {}
            parts.append({"type": "image_url", "image_url": {"url": p["image"], **detail}})
        else:
            parts.append(p)
    m["content"] = text_of(parts)
    if len(parts) > 1 or any("text" not in p or any(v for k, v in p.items() if k not in ("text", "type")) for p in parts):
        m["content_parts"] = parts
    m["reasoning"] = "\n\n".join(t for t in thoughts if t)
    calls, extras = raw.get("tool_calls") or [], {}
    m["tool_calls"] = [{"id": t["id"], "name": t["function"], "arguments": t["arguments"]} for t in calls]
    for t in calls:
        extra = {k: v for k, v in t.items() if k not in ("id", "function", "arguments") and (k, v) != ("type", "function")}
        if extra:
            extras[t["id"]] = extra
    others = {k: v for k, v in raw.items() if k not in ("id", "role", "source", "model", "function", "reasoning", "content", "tool_calls")}
    if isinstance(raw.get("tool_call_id"), str):  # a user's message may be about several
        m["tool_call_id"] = others.pop("tool_call_id")
    if raw.get("function"):
        m["name"] = raw["function"]
    if raw.get("source") == "operator":
        others["source"] = "operator"
    others |= {"reasoning_parts": signed, "tool_call_extras": extras}
    m["_others"] = {k: v for k, v in others.items() if v not in ({}, [])}
    return m


def same(known: Json, m: Json) -> bool:
    """Whether a message of a prompt is a known one; an answer comes back without its reasoning."""
    keys = ("role", "content", "content_parts", "tool_call_id", "tool_calls")
    return all((known.get(k) or None) == (m.get(k) or None) for k in keys) and (not m["reasoning"] or m["reasoning"] == known["reasoning"])


LOCAL = {"max_connections", "max_retries", "timeout", "attempt_timeout", "adaptive_connections", "batch", "cache"}  # of the client


class Call:
    """An event of a model call, without its prompt."""

    def __init__(self, event: Json, judge: bool = False, agent: str = "", only: bool = False) -> None:
        self.event, self.agent, self.only, self.path = event, agent, only, -1
        self.judge = judge or event.get("role") == "grader"
        self.output = event.get("output") or {}
        self.model = event.get("model") or ""
        self.failure = event.get("error") or self.output.get("error") or ""
        choices = [] if self.failure else self.output.get("choices") or []  # a failed call has an empty choice
        self.answers = [choice_of(c) for c in choices]

    def row(self, model: str) -> Json:
        u, e = self.output.get("usage") or {}, self.event
        cached = u.get("input_tokens_cache_read") or 0
        sampling = {k: v for k, v in (e.get("config") or {}).items() if k not in LOCAL}
        if e.get("tool_choice", "auto") != "auto" and e.get("tools"):
            sampling["tool_choice"] = e["tool_choice"]
        call = {"model": self.output.get("model") or model or self.model, "error": self.failure, "function": self.agent, "sampling": sampling,
                "cached_tokens": cached, "prompt_tokens": u.get("input_tokens", 0) + cached + (u.get("input_tokens_cache_write") or 0),
                "completion_tokens": u.get("output_tokens", 0), "latency_ms": int((self.output.get("time") or 0) * 1000)}
        if e.get("retries"):
            call["attempts"] = e["retries"] + 1
        return call


def choice_of(choice: Json) -> Json:
    m = message_of(choice["message"])
    add_choice(choice, m)
    return m | {"_choice": choice}


def add_choice(choice: Json, m: Json) -> None:
    """Add what a choice says of its message: why it ended, log probabilities, token ids."""
    m["finish_reason"] = choice.get("stop_reason") or ""
    tokens = (choice.get("logprobs") or {}).get("content") or []
    m["_others"] |= {k: choice[k] for k in ("stop_details", "prompt_logprobs") if choice.get(k)}
    if not tokens:
        return
    m["logprobs"] = [t["logprob"] for t in tokens]
    ids = [re.fullmatch(r"token_id:(\d+)", t["token"]) for t in tokens]
    if all(ids):
        m["token_ids"] = [int(i[1]) for i in ids if i]
    else:
        m["token_texts"] = [t["token"] for t in tokens]
    top = [t.get("top_logprobs") for t in tokens]
    if any(x["token"] != t["token"] for t, some in zip(tokens, top) for x in some or []):
        m["_others"]["top_logprobs"] = top
