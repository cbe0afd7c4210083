"""The main path of a sample and its branches, by the events of model calls."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

from ._message import Call, Json, add_choice, message_of, same

# What is counted: how the messages came about. Of the other events the metadata has all.
COUNTED = {"span_begin", "span_end", "step", "sample_init", "state", "store", "tool", "subtask", "sandbox", "logger", "score", "error"}
LIMITS = {"context": "length", "token": "max_tokens", "message": "turns", "turn": "turns", "time": "timeout", "working": "timeout",
          "cost": "budget", "operator": "cancelled"}


class Conversation:
    """The messages and calls of a sample: the main path, and the branches of other calls."""

    def __init__(self, s: Json, model: str, unmarked: bool) -> None:
        self.model, self.source, self.last_error = model, "", ""
        self.messages: list[Json] = []
        self.calls: list[Json] = []
        self.tool_sets: list[Any] = []
        self.candidates: list[Json] = []
        self.children: dict[int, list[int]] = {}
        self.at = -1
        self.metadata: Json = {}
        self.events: list[Call] = []
        self.counts: Counter[str] = Counter()
        path = [message_of(m) for m in s.get("messages") or []]
        if unmarked and not any(m["_source"] == "generate" for m in path):
            for m in path:
                if m["role"] == "assistant" and not m["_source"]:
                    m["_source"] = "generate"
        self.read_events(s.get("events") or [])
        if (s.get("output") or {}).get("choices"):
            self.events.append(Call({"output": s["output"]}, only=True))  # the last call of a log without events
        self.build(path, self.match(path))
        if self.counts:
            self.metadata["event_counts"] = dict(sorted(self.counts.items()))

    def read_events(self, events: list[Json]) -> None:
        """Find the calls of models, in tools and subtasks of old logs too; the rest is kept or counted."""
        spans: dict[Any, Json] = {}
        kept: list[Json] = []
        scoring = 0  # steps of scorers that are open, in logs without spans

        def read(e: Json) -> None:
            nonlocal scoring
            kind = e["event"]
            if kind == "model":
                judge, agent, id = scoring > 0, "", e.get("span_id")
                while id in spans:
                    span, id = spans[id], spans[id].get("parent_id")
                    judge = judge or span.get("type") in ("scorer", "scorers")
                    agent = agent or (span.get("name", "") if span.get("type") == "agent" else "")
                self.events.append(Call(e, judge, agent))
                return
            if kind == "span_begin":
                spans[e["id"]] = e
            elif kind == "step" and (e.get("type") or "").startswith("scorer"):
                scoring = scoring + 1 if e["action"] == "begin" else max(0, scoring - 1)
            if kind in COUNTED:
                self.counts[kind] += 1
            else:
                kept.append(e)
            for nested in e.get("events") or []:
                read(nested)

        for e in events:
            read(e)
        if kept:
            self.metadata["events"] = kept

    def match(self, path: list[Json]) -> dict[int, Call]:
        """The call of each answer of the path: by the id of its message, or in logs without ids by its content."""
        calls: dict[int, Call] = {}
        by_id: dict[str, Call] = {}
        answered = [e for e in self.events if e.answers and not e.judge]
        for e in answered:
            if e.answers[0]["_id"]:
                by_id.setdefault(e.answers[0]["_id"], e)
        following = 0  # events are in the order of the path
        for i, m in enumerate(path):
            if m["role"] != "assistant" or m["_source"] == "input":
                continue
            found = by_id.get(m["_id"])
            for k in range(following, len(answered)) if found is None else ():
                a = answered[k].answers[0]
                if answered[k].path < 0 and not (a["_id"] and m["_id"]) and same(a, m):
                    found, following = answered[k], k + 1
                    break
            if found is not None and found.path < 0:
                found.path, calls[i] = i, found
        return calls

    def build(self, path: list[Json], calls: dict[int, Call]) -> None:
        """Add the calls in order, each after its prompt, and then the rest of the path."""
        last = max((n for n, e in enumerate(self.events) if e.path >= 0), default=-1)
        end, at = 0, -1

        def until(stop: int) -> None:
            nonlocal end, at
            for n in range(end, stop):
                m, self.at = path[n], at
                if n in calls:
                    at = self.answer(calls[n], m, True)
                elif m["role"] == "assistant" and m["_source"] == "generate":
                    at = self.sampled(m, {"target": True, "model": m["_model"], "tools": -1})
                else:
                    at = self.follow(m, lambda known: known.get("call", -1) < 0)
            end = max(end, stop)

        for n, e in enumerate(self.events):
            if e.path >= 0:
                until(e.path + 1)
            elif e.judge:
                self.counts["scorer_model_calls"] += 1
            elif not e.only and not e.event.get("pending"):
                if e.failure:
                    self.add_call(e.row("") | {"target": self.model in ("", e.model), "tools": -1})
                    self.last_error = e.failure
                elif e.answers:
                    self.at = -1
                    for raw in e.event.get("input") or []:
                        self.follow(message_of(raw), lambda known: True)
                    self.answer(e, dict(e.answers[0]), last < 0 or n < last)
        until(len(path))

    def answer(self, e: Call, m: Json, trained: bool) -> int:
        first = e.answers[0]["_choice"]
        if m is not e.answers[0]:
            add_choice(first, m)
        chosen = any(x.model == self.model and not x.judge and not x.only for x in self.events)  # an agent may choose its models itself
        call = e.row(m["_model"]) | {"target": trained and (not self.model or not e.model or e.model == self.model or not chosen), "tools": -1}
        if e.event.get("tools"):
            tools = [{"type": "function", "function": t} for t in e.event["tools"]]
            if tools not in self.tool_sets:
                self.tool_sets.append(tools)
            call["tools"] = self.tool_sets.index(tools)
        self.last_error = ""
        if m.get("token_ids"):
            self.source = "logprobs.token_id"
        at = self.sampled(m, call)
        for other in e.answers[1:]:
            kept = ("content", "reasoning", "tool_calls", "finish_reason", "token_ids", "logprobs", "token_texts")
            self.candidates.append({"message": at, "call": len(self.calls) - 1, "reason": "alternative"} | {k: other[k] for k in kept if other.get(k)})
        return at

    def sampled(self, m: Json, call: Json) -> int:
        siblings = self.children.get(self.at, [])
        branch = "retry" if any(self.messages[i].get("call", -1) >= 0 for i in siblings) else self.diverges()
        self.add_call(call)
        return self.add(m, branch, len(self.calls) - 1)

    def add_call(self, call: Json) -> None:
        self.calls.append({k: v for k, v in call.items() if v not in (None, "")})

    def follow(self, m: Json, want: Callable[[Json], bool]) -> int:
        """Go on to a message, and add it as input unless it is known."""
        for i in self.children.get(self.at, []):
            if want(self.messages[i]) and same(self.messages[i], m):
                self.at = i
                return i
        return self.add(m, self.diverges(), -1)

    def diverges(self) -> str:
        if not self.children.get(self.at):
            return ""
        return "subagent" if self.at < 0 else "history"

    def add(self, m: Json, branch: str, call: int) -> int:
        out = {k: v for k, v in m.items() if not k.startswith("_") and v not in (None, "", [])} | m["_others"]
        out |= {"reasoning": m["reasoning"], "content": m["content"], "parent": self.at, "call": call} | ({"branch": branch} if branch else {})
        self.children.setdefault(self.at, []).append(len(self.messages))
        self.messages.append(out)
        self.at = len(self.messages) - 1
        return self.at

    def status(self, s: Json) -> Json:
        """How the sample ended: by its error, by a limit, or without an answer."""
        if s.get("error"):
            text = s["error"]["message"]
            return {"status": "failed", "failure_class": self.failure(text), "error": text}
        if s.get("limit"):
            return {"status": "truncated", "stop_reason": LIMITS.get(s["limit"]["type"].rstrip("s"), "length")}
        if not any(m["call"] >= 0 for m in self.messages):
            return {"status": "failed", "failure_class": "no_calls", "error": "no message was generated by a model"}
        return {}

    def failure(self, text: str) -> str:
        status = r"(?i)(?:error code|status(?: code)?|http)[ :]+"
        if self.last_error:
            refused = re.search(status + r"4\d\d\b", self.last_error) and not re.search(status + r"(?:408|429)\b", self.last_error)
            return "engine_refused" if refused else "engine"
        if re.match(r"(?i)\w*timeout(?:error|expired)?\b", text):
            return "timeout"
        return "cancelled" if re.match(r"(?i)\w*(?:cancel+ed|keyboardinterrupt)", text) else "internal"
