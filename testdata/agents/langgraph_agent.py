"""A LangGraph agent with a tool and two turns: an ordinary program that knows
only the OpenAI variables in its environment. Its argument "stream" makes it
stream."""
import json
import os
import sys

from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt import create_react_agent


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


task = json.loads(sys.stdin.readline())
model = ChatOpenAI(model=os.environ["OPENAI_MODEL"], streaming="stream" in sys.argv)
agent = create_react_agent(model, [add], prompt="You can add.", checkpointer=InMemorySaver())
thread = {"configurable": {"thread_id": "1"}}
for text in (task["question"], "Are you sure?"):
    result = agent.invoke({"messages": [("user", text)]}, thread)
print(json.dumps({"metadata": {"answer": result["messages"][-1].content}}))
