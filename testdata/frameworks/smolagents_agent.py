from each import MODEL, TASK, add, each
from smolagents import CodeAgent, OpenAIModel, ToolCallingAgent, tool


def of(kind):
    def run(url, stream):
        model = OpenAIModel(MODEL, api_base=url, api_key="x")
        return kind([tool(add)], model, instructions="You add.", stream_outputs=stream, max_steps=5).run(TASK)

    return run


each(chat=of(ToolCallingAgent), chat_code=of(CodeAgent))
