"""An agent of LangGraph with a tool. Every call to the model is recorded on the way:
the client finds its address in the environment, anew for each attempt, so the graph is
made in the function."""

from typing import Literal

from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.prebuilt import create_react_agent
from rollmill import agent


@tool
def calculate(operation: Literal["add", "subtract", "multiply"], a: int, b: int) -> int:
    """Add, subtract or multiply two whole numbers."""
    return {"add": a + b, "subtract": a - b, "multiply": a * b}[operation]


@agent
def solve(example):
    graph = create_react_agent(ChatOpenAI(model=example["model"]), [calculate])
    end = graph.invoke({"messages": [("user", example["question"])]}, {"recursion_limit": 30})
    return end["messages"][-1].content
