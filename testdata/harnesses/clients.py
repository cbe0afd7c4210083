"""Talks with models by the clients of Anthropic and OpenAI as they are:
clients.py PROTOCOL whole|stream URL [...]. Each conversation has two turns, with
a tool call between them. It prints what each model said last."""

import json
import os
import sys

import anthropic
import openai

MODEL = "policy"
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"]}
TASK = "Add 17 and 25."
PATIENCE = {"timeout": 5, "max_retries": 0} if os.environ.get("IMPATIENT") else {}  # seconds


def messages(stream):
    client = anthropic.Anthropic(**PATIENCE)
    tools = [{"name": "add", "description": "Add two numbers.", "input_schema": SCHEMA}]
    history = [{"role": "user", "content": TASK}]

    def ask():
        request = dict(model=MODEL, max_tokens=500, system="You add.", tools=tools, messages=history)
        if not stream:
            return client.messages.create(**request)
        with client.messages.stream(**request) as events:
            return events.get_final_message()

    assert client.messages.count_tokens(model=MODEL, messages=history).input_tokens > 0
    answer = ask()
    assert answer.stop_reason == "tool_use", answer
    history.append({"role": "assistant", "content": answer.content})
    history.append({"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": b.id, "content": str(b.input["a"] + b.input["b"])} for b in answer.content if b.type == "tool_use"]})
    return "".join(b.text for b in ask().content if b.type == "text")


def chat(stream):
    client = openai.OpenAI(**PATIENCE)
    tools = [{"type": "function", "function": {"name": "add", "description": "Add two numbers.", "parameters": SCHEMA}}]
    history = [{"role": "system", "content": "You add."}, {"role": "user", "content": TASK}]

    def ask():
        if not stream:
            return client.chat.completions.create(model=MODEL, messages=history, tools=tools).choices[0].message
        with client.chat.completions.stream(model=MODEL, messages=history, tools=tools) as events:
            return events.get_final_completion().choices[0].message

    answer = ask()
    history.append(answer.to_dict())
    for call in answer.tool_calls:
        given = json.loads(call.function.arguments)
        history.append({"role": "tool", "tool_call_id": call.id, "content": str(given["a"] + given["b"])})
    return ask().content


def responses(stream):
    client = openai.OpenAI(**PATIENCE)
    tools = [{"type": "function", "name": "add", "description": "Add two numbers.", "parameters": SCHEMA, "strict": False}]
    history = [{"role": "user", "content": TASK}]

    def ask():
        if not stream:
            return client.responses.create(model=MODEL, instructions="You add.", input=history, tools=tools)
        with client.responses.stream(model=MODEL, instructions="You add.", input=history, tools=tools) as events:
            return events.get_final_response()

    answer = ask()
    for item in answer.output:
        history.append(item.to_dict())
    for call in [item for item in answer.output if item.type == "function_call"]:
        given = json.loads(call.arguments)
        history.append({"type": "function_call_output", "call_id": call.call_id, "output": str(given["a"] + given["b"])})
    return ask().output_text


protocols = {"messages": messages, "chat": chat, "responses": responses}
for protocol, way, url in zip(*[iter(sys.argv[1:])] * 3):
    os.environ["OPENAI_BASE_URL"], os.environ["ANTHROPIC_BASE_URL"] = url, url.removesuffix("/v1")
    print(protocols[protocol](way == "stream"))
