"""An agent with a tool, a plain loop over the openai package. Every call to the model
is recorded on the way: the client finds its address in the environment, anew for each
attempt, so it is made in the function."""

import json

from openai import OpenAI
from rollmill import agent

NUMBER = {"type": "integer"}
CALCULATE = {
    "name": "calculate",
    "description": "Add, subtract or multiply two whole numbers.",
    "parameters": {
        "type": "object",
        "properties": {"operation": {"type": "string", "enum": ["add", "subtract", "multiply"]}, "a": NUMBER, "b": NUMBER},
        "required": ["operation", "a", "b"],
    },
}


def calculate(operation, a, b):
    return {"add": a + b, "subtract": a - b, "multiply": a * b}[operation]


@agent
def solve(example):
    messages = [{"role": "user", "content": example["question"]}]
    for _ in range(8):
        reply = OpenAI().chat.completions.create(
            model=example["model"], messages=messages, tools=[{"type": "function", "function": CALCULATE}]
        )
        said = reply.choices[0].message
        if not said.tool_calls:
            return said.content
        messages.append(said.model_dump(exclude_none=True))
        for call in said.tool_calls:
            try:
                result = calculate(**json.loads(call.function.arguments))
            except (KeyError, TypeError, ValueError) as error:  # the model reads its mistake
                result = f"{type(error).__name__}: {error}"
            messages.append({"role": "tool", "tool_call_id": call.id, "content": str(result)})
    return {"stop": "turns"}
