"""A LlamaIndex agent with a tool and two turns: an ordinary program that knows
only the OpenAI variables in its environment. Its argument "stream" makes it
stream."""
import asyncio
import json
import os
import sys

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.llms.openai_like import OpenAILike


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def main():
    task = json.loads(sys.stdin.readline())
    model = OpenAILike(
        model=os.environ["OPENAI_MODEL"], api_base=os.environ["OPENAI_BASE_URL"], api_key=os.environ["OPENAI_API_KEY"],
        is_chat_model=True, is_function_calling_model=True,
    )
    agent = FunctionAgent(tools=[add], llm=model, system_prompt="You can add.", streaming="stream" in sys.argv)
    memory = ChatMemoryBuffer.from_defaults()
    for text in (task["question"], "Are you sure?"):
        answer = await agent.run(text, memory=memory)
    print(json.dumps({"metadata": {"answer": str(answer)}}))


asyncio.run(main())
