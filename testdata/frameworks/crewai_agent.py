import os

os.environ["CREWAI_TRACING_ENABLED"] = os.environ["CREWAI_TELEMETRY"] = "false"
os.environ["CREWAI_DISABLE_TELEMETRY"] = os.environ["OTEL_SDK_DISABLED"] = "true"

from crewai import LLM, Agent, Crew, Task
from crewai.tools import tool
from each import MODEL, TASK, add, each


def chat(url, stream):
    llm = LLM(model="openai/" + MODEL, base_url=url, api_key="x", stream=stream)
    agent = Agent(role="adder", goal="Add", backstory="You add.", tools=[tool(add)], llm=llm)
    return Crew(agents=[agent], tasks=[Task(description=TASK, expected_output="the sum", agent=agent)]).kickoff().raw


each(chat=chat)
