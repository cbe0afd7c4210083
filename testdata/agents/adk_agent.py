"""A Google ADK agent with a tool and two turns: an ordinary program that knows
only the OpenAI variables in its environment. Its argument "stream" makes it
stream."""
import asyncio
import json
import os
import sys

from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.models.lite_llm import LiteLlm
from google.adk.runners import InMemoryRunner
from google.genai import types


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def main():
    task = json.loads(sys.stdin.readline())
    model = LiteLlm(model="openai/" + os.environ["OPENAI_MODEL"])
    runner = InMemoryRunner(LlmAgent(name="adder", model=model, instruction="You can add.", tools=[add]), app_name="adder")
    session = await runner.session_service.create_session(app_name="adder", user_id="u")
    config = RunConfig(streaming_mode=StreamingMode.SSE if "stream" in sys.argv else StreamingMode.NONE)
    answer = ""
    for text in (task["question"], "Are you sure?"):
        message = types.Content(role="user", parts=[types.Part(text=text)])
        async for event in runner.run_async(user_id="u", session_id=session.id, new_message=message, run_config=config):
            if event.is_final_response() and event.content:
                answer = "".join(part.text or "" for part in event.content.parts)
    print(json.dumps({"metadata": {"answer": answer}}))


asyncio.run(main())
