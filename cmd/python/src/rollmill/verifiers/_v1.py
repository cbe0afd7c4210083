"""Environments of verifiers.v1: a taskset, a harness and agents."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import verifiers.v1 as vf  # type: ignore[import-not-found,import-untyped,unused-ignore]

from . import KEY_VARIABLE, Refused, rewards
from ._shared import Shared

# The harness is chat with the environment's tools, and runs here: a harness that gives
# the model a shell, and a runtime elsewhere, are asked for by name.
_AGENT = {"runtime": {"type": "subprocess"}, "harness": {"id": "null"}}


class V1:
    def __init__(self, name: str, args: Mapping[str, Any]) -> None:
        config = _merged({"taskset": {"id": name}}, args)
        plain = vf.resolve_env_config(config)
        agents = {field: _AGENT for field in type(plain).model_fields if isinstance(getattr(plain, field), vf.AgentConfig)}
        self.env = vf.load_environment(vf.resolve_env_config(_merged(agents, config)))
        self.task_class = type(self.env.taskset).task_type()
        self._serving: Any = None
        self._up = Shared(self._serve)

    def examples(self, count: int | None) -> Iterator[dict[str, Any]]:
        if count is None and getattr(self.env.taskset, "INFINITE", False):
            raise Refused("its tasks have no end: say how many with verifiers:NAME:COUNT")
        for task in itertools.islice(self.env.taskset, count):
            data = task.data.model_dump(mode="json", exclude_none=True)
            answer = {"answer": str(data["answer"])} if "answer" in data else {}
            yield {"id": str(task.data.id or task.data.name or task.key), "question": task.data.prompt_text, **answer, "task": data}

    def _task(self, data: dict[str, Any]) -> Any:
        return self.task_class(self.task_class.data_type().model_validate(data), self.env.config.taskset.task)

    async def _serve(self) -> None:
        self._serving = self.env.serving()
        await self._serving.__aenter__()  # until the process ends

    async def attempt(self, task: dict[str, Any], url: str, model: str) -> dict[str, Any]:
        await self._up.ready()
        client = vf.EvalClientConfig(base_url=url, api_key_var=KEY_VARIABLE)
        (slot,) = self.env.slots(self._task(task))
        return _result(await self.env.run_slot(slot, vf.ModelContext(model=model, client=client)))

    async def score(self, task: dict[str, Any], messages: list[dict[str, Any]], truncated: bool) -> tuple[float, dict[str, float]]:
        from verifiers.v1.graph import MessageNode  # type: ignore[import-not-found,import-untyped,unused-ignore]
        from verifiers.v1.trace import AgentInfo, Trace, TraceTask  # type: ignore[import-not-found,import-untyped,unused-ignore]

        made = self._task(task)
        nodes = [
            MessageNode(parent=i - 1 if i else None, message=_message(m), sampled=bool(m.get("sampled", m["role"] == "assistant")))
            for i, m in enumerate(messages)
        ]
        trace = Trace(
            task=TraceTask(type=type(made).__name__, data=made.data, key=made.key),
            agent=AgentInfo(config=vf.AgentConfig()),
            nodes=nodes,
            is_completed=True,
            ok=True,
            stop_condition="max_turns" if truncated else "agent_completed",
        )
        await made.score(trace)
        left = [name for name, value in trace.rewards.items() if value is None]
        if left or not trace.rewards:
            raise Refused(f"rewards need the environment's runtime: {', '.join(left) or 'all'}")
        named = {name: reward.value for name, reward in trace.rewards.items()}
        return trace.reward, {**{name: value for name, value in trace.metrics.items() if value is not None}, **named}


def _result(episode: Any) -> dict[str, Any]:
    traces = [trace for trace in episode.traces if trace.agent.trainable]
    errors = [*episode.errors, *(error for trace in episode.traces for error in trace.errors)]
    if not episode.ok or not traces:
        said, stacks = [f"{e.type}: {e.message}" for e in errors], [e.traceback for e in errors if e.traceback]
        return {"error": "; ".join(said) or "the episode did not complete", "traceback": "\n".join(stacks)}
    if len(traces) > 1:
        raise Refused(f"the environment has {len(traces)} agents behind one address, which cannot be told apart")
    (trace,) = traces
    last = trace.calls[-1].error if trace.calls else None
    if last:  # an engine's refusal ends an episode as ok, with what rewards make of it
        return {"error": f"{last.type}: {last.message}"}
    named = {name: reward and reward.value for name, reward in trace.rewards.items()}
    about = {"stop_condition": trace.stop_condition, "task_key": trace.task.key, "verifiers": trace.verifiers.version}
    out = {"answer": trace.last_reply, "metadata": about, **rewards(trace.reward, {**trace.metrics, **named})}
    return {**out, "stop": "turns"} if trace.stop_condition == "max_turns" else out


def _message(m: dict[str, Any]) -> dict[str, Any]:
    """A message of a trajectory as verifiers has it."""
    out = {"role": m["role"], "content": m.get("content") or ""}
    if calls := m.get("tool_calls"):
        out["tool_calls"] = [{"id": c["id"], "name": c["function"]["name"], "arguments": c["function"]["arguments"]} for c in calls]
    if m["role"] == "tool":
        out["tool_call_id"] = m.get("tool_call_id") or ""
    return out


def _merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    both = {**base, **over}
    for key in base.keys() & over.keys():
        if isinstance(base[key], Mapping) and isinstance(over[key], Mapping):
            both[key] = _merged(base[key], over[key])
    return both
