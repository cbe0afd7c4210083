from agents import Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, function_tool, set_tracing_disabled
from each import MODEL, TASK, add, each
from openai import AsyncOpenAI

set_tracing_disabled(True)


def by(model, hands_off=False):
    async def run(url, stream):
        asked = model(MODEL, AsyncOpenAI(base_url=url))
        agent = Agent(name="adder", instructions="You add.", tools=[function_tool(add)], model=asked)
        if hands_off:
            agent = Agent(name="first", instructions="You hand off.", handoffs=[agent], model=asked)
        if not stream:
            return (await Runner.run(agent, TASK)).final_output
        result = Runner.run_streamed(agent, TASK)
        async for _ in result.stream_events():
            pass
        return result.final_output

    return run


each(
    chat=by(OpenAIChatCompletionsModel),
    chat_handoff=by(OpenAIChatCompletionsModel, True),
    responses=by(OpenAIResponsesModel),
    responses_handoff=by(OpenAIResponsesModel, True),
)
