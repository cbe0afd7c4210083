"""What the agents of this folder have in common: NAME_agent.py PROTOCOL[/KIND] whole|stream URL [...] holds a conversation each
and prints what the agent answered."""

import asyncio
import inspect
import os
import sys

TASK = "Add 17 and 25."
MODEL = "policy"
os.environ["OPENAI_API_KEY"] = "x"
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # or LiteLLM fetches prices


def add(a: int, b: int) -> int:
    """Add two numbers.

    Args:
        a: the first number
        b: the second number
    """
    return a + b


def each(**protocols):
    """The function of each PROTOCOL_KIND gets the URL and whether to stream, and returns the answer, or a coroutine of it."""
    out, sys.stdout = sys.stdout, sys.stderr  # frameworks print
    loop = asyncio.new_event_loop()
    for protocol, way, url in zip(*[iter(sys.argv[1:])] * 3):
        answer = protocols[protocol.replace("/", "_")](url, way == "stream")
        if inspect.isawaitable(answer):
            answer = loop.run_until_complete(answer)
        print(answer, file=out, flush=True)
