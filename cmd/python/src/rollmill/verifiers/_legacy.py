"""Environments of the API that verifiers has up to 0.3.1: load_environment, Rubric."""

from __future__ import annotations

import contextvars
import functools
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import verifiers.legacy as vf  # type: ignore[import-not-found,import-untyped,unused-ignore]
from verifiers.legacy.types import ClientConfig, State  # type: ignore[import-not-found,import-untyped,unused-ignore]

from . import KEY_VARIABLE, Refused, rewards, version

# What reward functions of the current attempt raised: a rubric takes that for 0.
_raised: contextvars.ContextVar[list[str]] = contextvars.ContextVar("raised")


class Legacy:
    def __init__(self, module: str, args: Mapping[str, Any]) -> None:
        self.env = vf.load_environment(module, **args)
        if self.env.requires_group_rollouts:
            raise Refused("its rewards compare the attempts of a group: rollmill group does that, over rewards of each attempt")
        for rubric in _rubrics(self.env.rubric):
            rubric.funcs = [_watched(function) for function in rubric.funcs]

    def examples(self, count: int | None) -> Iterator[dict[str, Any]]:
        for row in self.env.get_dataset(-1 if count is None else count):
            asked = next((m["content"] for m in reversed(row["prompt"]) if m["role"] == "user"), "") if isinstance(row["prompt"], list) else row["prompt"]
            answer = {"answer": row["answer"]} if row.get("answer") else {}
            yield {"id": str(row["example_id"]), "question": asked if isinstance(asked, str) else json.dumps(asked), **answer, "task": dict(row)}

    async def attempt(self, task: dict[str, Any], url: str, model: str) -> dict[str, Any]:
        raised: list[str] = []
        _raised.set(raised)
        client = ClientConfig(api_base_url=url, api_key_var=KEY_VARIABLE, max_retries=0)  # rollmill retries
        out = await self.env.run_rollout(task, client, model, {})
        if out.get("error"):
            return {"error": str(out["error"].get("error_chain_str") or out["error"])}
        if out.get("stop_condition") == "prompt_too_long":  # ended as ok, with what rewards make of it
            return {"error": "the prompt is too long for the engine"}
        if raised:
            return {"error": "; ".join(raised)}
        about = {"stop_condition": out.get("stop_condition"), "verifiers": version()}
        made = {"metadata": about, **rewards(out["reward"], out["metrics"])}
        ran_out = out.get("stop_condition") == "max_turns_reached" and getattr(self.env, "max_turns", 1) > 1
        return {**made, "stop": "turns"} if ran_out else made

    async def score(self, task: dict[str, Any], messages: list[dict[str, Any]], truncated: bool) -> tuple[float, dict[str, float]]:
        raised: list[str] = []
        _raised.set(raised)
        begun = len(task["prompt"]) if isinstance(task["prompt"], list) else 1
        state = State(input=task)
        state.update(task=task, completion=messages[begun:], is_truncated=truncated, is_completed=True, trajectory=[], metrics={}, reward=0.0)
        await self.env.rubric.score_rollout(state)
        if raised:
            raise Refused("; ".join(raised))
        return state["reward"], state["metrics"] or {}


def _rubrics(rubric: Any) -> list[Any]:
    """A rubric, or those of a group."""
    return [inner for each in getattr(rubric, "rubrics", []) for inner in _rubrics(each)] or [rubric]


def _watched(function: Callable[..., Any]) -> Callable[..., Any]:
    """A reward function whose exceptions are noticed."""

    @functools.wraps(function)
    async def watched(*args: Any, **kwargs: Any) -> Any:
        try:
            value = function(*args, **kwargs)
            return await value if hasattr(value, "__await__") else value
        except Exception as error:
            _raised.get([]).append(f"reward {function.__name__}: {type(error).__name__}: {error}")
            raise

    return watched
