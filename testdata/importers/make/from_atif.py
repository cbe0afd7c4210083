"""Trajectories in ATIF 1.7, built and validated with NVIDIA's models of it
(nvidia-nat-atif), or with Harbor's own where that is installed (it needs Python 3.12).

    .venv-nat/bin/python from_atif.py OUT
    harbor-python from_atif.py OUT ATIF-v1.8     in .ci/harbor
"""

import importlib.metadata
import json
import pathlib
import sys
import urllib.request

import facts
import model

try:
    from harbor.models.trajectories import Agent, FinalMetrics, Metrics, Observation, ObservationResult, Step, SubagentTrajectoryRef, ToolCall, Trajectory
    SOFTWARE = "harbor"
except ImportError:
    from nat.atif import Agent, FinalMetrics, Metrics, Observation, ObservationResult, Step, SubagentTrajectoryRef, ToolCall, Trajectory
    SOFTWARE = "nvidia-nat-atif"

ADD = {"type": "function", "function": {"name": "add", "description": "Add two numbers.", "parameters": {
    "type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"]}}}
VERSION = sys.argv[2] if len(sys.argv) > 2 else "ATIF-v1.7"
AGENT = dict(name="adder", version="1.0", model_name=model.NAME)


def ask(url, messages, tools):
    body = {"model": model.NAME, "messages": messages, "logprobs": True, "return_token_ids": True} | ({"tools": tools} if tools else {})
    with urllib.request.urlopen(urllib.request.Request(url + "/chat/completions", json.dumps(body).encode())) as answer:
        return json.load(answer)


def play(url, question, tools, tokens=True, steps=None, system="You add numbers."):
    """The steps of an agent that asks the model until it calls no tool."""
    steps = list(steps or [])
    messages = [{"role": "system", "content": system}, {"role": "user", "content": question}]
    for source, text in (("system", system), ("user", question)):
        steps.append(Step(step_id=len(steps) + 1, timestamp=stamp(steps), source=source, message=text))
    while True:
        answer = ask(url, messages, tools)
        choice, usage = answer["choices"][0], answer["usage"]
        message = choice["message"]
        metrics = dict(prompt_tokens=usage["prompt_tokens"], completion_tokens=usage["completion_tokens"])
        if tokens:
            metrics |= dict(prompt_token_ids=answer["prompt_token_ids"], completion_token_ids=choice["token_ids"],
                            logprobs=[t["logprob"] for t in choice["logprobs"]["content"]])
        calls = [ToolCall(tool_call_id=c["id"], function_name=c["function"]["name"], arguments=json.loads(c["function"]["arguments"]))
                 for c in message.get("tool_calls") or []]
        results = [ObservationResult(source_call_id=c.tool_call_id, content=str(c.arguments["a"] + c.arguments["b"])) for c in calls]
        steps.append(Step(step_id=len(steps) + 1, timestamp=stamp(steps), source="agent", model_name=model.NAME, message=message["content"] or "",
                          tool_calls=calls or None, observation=Observation(results=results) if results else None, metrics=Metrics(**metrics), llm_call_count=1))
        messages.append(message)
        if not calls:
            return steps
        messages += [{"role": "tool", "tool_call_id": r.source_call_id, "content": r.content} for r in results]


def stamp(steps):
    return f"2026-08-01T10:00:{len(steps):02d}Z"


def trajectory(name, steps, tools=None, **more):
    agent = Agent(**AGENT, tool_definitions=tools)
    return Trajectory(schema_version=VERSION, session_id="session-" + name, trajectory_id=more.pop("trajectory_id", name), agent=agent, steps=steps, **more)


def delegated(url):
    """A parent whose tool is another agent, embedded in it."""
    child = trajectory("child", play(url, "Add 5 and 6.", [ADD], system="You are a calculator."), [ADD])
    ref = SubagentTrajectoryRef(trajectory_id="child", session_id="session-child")
    call = ToolCall(tool_call_id="call_delegate", function_name="delegate", arguments={"task": "Add 5 and 6."})
    steps = [Step(step_id=1, source="user", message="Have somebody add 5 and 6."),
             Step(step_id=2, source="agent", model_name=model.NAME, message="I delegate.", reasoning_content="A calculator knows this.", tool_calls=[call],
                  observation=Observation(results=[ObservationResult(source_call_id="call_delegate", content="11", subagent_trajectory_ref=[ref])]), llm_call_count=1),
             Step(step_id=3, source="agent", model_name=model.NAME, message="It is 11.", llm_call_count=1)]
    return trajectory("parent", steps, subagent_trajectories=[child], final_metrics=FinalMetrics(total_steps=3, extra={"reward": 1.0}))


def continued(url):
    """A trajectory that begins with steps copied from the one before it."""
    first = play(url, "What is 17 plus 25?", [ADD])
    copied = [s.model_copy(update={"is_copied_context": True, "metrics": None} if s.source == "agent" else {"is_copied_context": True}) for s in first]
    return trajectory("continued", play(url, "Count 3 and 4, without tools.", [ADD], steps=copied, system="Go on."), [ADD], notes="the second segment")


def message_text(value):
    return value if isinstance(value, str) else "".join(p.text or "" for p in value or [])


def messages_of(t):
    """The messages of the agents within a trajectory, then its own."""
    messages = [m for child in t.subagent_trajectories or [] for m in messages_of(child)]
    for s in t.steps:
        role = {"agent": "assistant"}.get(s.source, s.source)
        sampled = s.source == "agent" and not s.is_copied_context
        calls = [(c.tool_call_id, c.function_name, c.arguments) for c in s.tool_calls or []]
        m = s.metrics
        messages.append(facts.message(role, message_text(s.message), calls, sampled=sampled if role == "assistant" else None, reasoning=s.reasoning_content,
                                      tokens=m and m.completion_token_ids, logprobs=m and m.logprobs))
        for r in s.observation.results if s.observation else []:
            messages.append(facts.message("tool", message_text(r.content), tool_call_id=r.source_call_id))
    return messages


def rows(t):
    tools = [d["function"]["name"] for d in t.agent.tool_definitions or []]
    return [facts.trajectory(messages_of(t), id=t.trajectory_id, session=t.session_id, tools=tools or None)]


def main(out):
    with model.serve() as url:
        made = {"tools-1.json": trajectory("tools-1", play(url, "What is 17 plus 25?", [ADD]), [ADD]),
                "tools-2.json": trajectory("tools-2", play(url, "What is 17 plus 25?", [ADD]), [ADD]),
                "no-tokens.json": trajectory("no-tokens", play(url, "Count 8 and 9.", None, tokens=False)),
                "subagent.json": delegated(url), "continued.json": continued(url)}
    out.mkdir(parents=True, exist_ok=True)
    expected = {}
    for name, t in made.items():
        (out / name).write_text(json.dumps(t.model_dump(mode="json", exclude_none=True), indent=1) + "\n")
        expected[name] = rows(Trajectory.model_validate_json((out / name).read_text()))
    facts.write(out, expected, f"{SOFTWARE} {importlib.metadata.version(SOFTWARE)}")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
