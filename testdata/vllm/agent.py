"""agent.py MODE calls its model as agents do, with OpenAI's own client."""

import json
import os
import sys

import openai

mode, _, streamed = sys.argv[1].partition("-")
stream = streamed == "stream"
task = json.loads(sys.stdin.readline())
client = openai.OpenAI(max_retries=0)
model = os.environ["OPENAI_MODEL"]
messages = [{"role": "system", "content": "You are a test."}, {"role": "user", "content": task["question"]}]
number = {"type": "integer", "minimum": 0, "maximum": 9}
parameters = {"type": "object", "properties": {"a": number, "b": number}, "required": ["a", "b"], "additionalProperties": False}
tools = [{"type": "function", "function": {"name": "add", "description": "adds", "parameters": parameters}}]


def chat(**settings) -> dict:
    """The assistant's message, streamed or not."""
    settings = dict(model=model, messages=messages, max_tokens=24, temperature=1.0) | settings
    if not stream:
        message = client.chat.completions.create(**settings).choices[0].message
        return {"role": "assistant", "content": message.content, **(
            {"tool_calls": [c.model_dump() for c in message.tool_calls]} if message.tool_calls else {})}
    text, calls = "", {}
    for chunk in client.chat.completions.create(stream=True, **settings):
        delta = chunk.choices[0].delta if chunk.choices else None
        if delta is None or chunk.choices[0].index:
            continue
        text += delta.content or ""
        for part in delta.tool_calls or []:
            call = calls.setdefault(part.index, {"id": "", "type": "function", "function": {"name": "", "arguments": ""}})
            call["id"] += part.id or ""
            call["function"]["name"] += part.function.name or ""
            call["function"]["arguments"] += part.function.arguments or ""
    return {"role": "assistant", "content": text or None, **({"tool_calls": list(calls.values())} if calls else {})}


def respond(history: list, **settings) -> openai.types.responses.Response:
    settings = dict(model=model, input=history, max_output_tokens=24, temperature=1.0) | settings
    if not stream:
        return client.responses.create(**settings)
    for event in client.responses.create(stream=True, **settings):
        if event.type in ("response.completed", "response.incomplete"):
            return event.response
    raise SystemExit("the stream has no end")


def use_tools(choice: str) -> None:
    for _ in range(2):
        answer = chat(tools=tools, tool_choice=choice, max_tokens=60)
        messages.append(answer)
        for call in answer.get("tool_calls", []):
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": "7"})
        if "tool_calls" not in answer:
            messages.append({"role": "user", "content": "again"})


match mode:
    case "turns":
        for i in range(3):
            messages += [chat(), {"role": "user", "content": f"go on {i}, please"}]
    case "stop":
        chat(stop=["e", " "])
    case "choices":
        chat(n=2)
    case "tools":
        use_tools("auto")
    case "required":
        use_tools("required")
    case "schema":
        chat(response_format={"type": "json_schema", "json_schema": {"name": "sum", "schema": parameters}})
    case "settings":
        chat(temperature=0.7, top_p=0.9, presence_penalty=1.5, logit_bias={"3": -5}, extra_body={"top_k": 2, "return_token_ids": False})
    case "completions":
        client.completions.create(model=model, prompt="The quick brown", max_tokens=12, temperature=1.0)
    case "responses":
        history = [{"role": "user", "content": task["question"]}]
        for _ in range(2):
            history += [{"role": "assistant", "content": respond(history).output_text}, {"role": "user", "content": "go on"}]
    case "functions":
        history = [{"role": "user", "content": task["question"]}]
        for _ in range(2):
            answer = respond(history, tools=[{"type": "function", "strict": False, **tools[0]["function"]}], max_output_tokens=60)
            history += [item.model_dump(exclude_none=True) for item in answer.output]
            calls = [item for item in answer.output if item.type == "function_call"]
            history += [{"type": "function_call_output", "call_id": call.call_id, "output": "7"} for call in calls] or [{"role": "user", "content": "again"}]
    case _:
        raise SystemExit(f"no mode {mode!r}")
