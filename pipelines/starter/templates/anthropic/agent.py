"""An agent with a tool, a plain loop over the anthropic package. Every call to the
model is recorded on the way, with any OpenAI-compatible engine: the client finds its
address in the environment, anew for each attempt, so it is made in the function."""

from anthropic import Anthropic
from rollmill import agent

NUMBER = {"type": "integer"}
CALCULATE = {
    "name": "calculate",
    "description": "Add, subtract or multiply two whole numbers.",
    "input_schema": {
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
        reply = Anthropic().messages.create(model=example["model"], max_tokens=512, messages=messages, tools=[CALCULATE])
        calls = [block for block in reply.content if block.type == "tool_use"]
        if not calls:
            return "".join(block.text for block in reply.content if block.type == "text")
        messages.append({"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in reply.content]})
        results = []
        for call in calls:
            try:
                result = calculate(**call.input)
            except (KeyError, TypeError, ValueError) as error:  # the model reads its mistake
                result = f"{type(error).__name__}: {error}"
            results.append({"type": "tool_result", "tool_use_id": call.id, "content": str(result)})
        messages.append({"role": "user", "content": results})
    return {"stop": "turns"}
