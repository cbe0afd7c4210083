from each import MODEL, TASK, add, each
from smolagents import OpenAIModel, ToolCallingAgent, tool


def chat(url, stream):
    model = OpenAIModel(MODEL, api_base=url, api_key="x")
    return ToolCallingAgent([tool(add)], model, instructions="You add.", stream_outputs=stream, max_steps=5).run(TASK)


each(chat=chat)
