from each import MODEL, TASK, add, each
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider


def by(model, **settings):
    async def run(url, stream):
        agent = Agent(model(MODEL, provider=OpenAIProvider(base_url=url), settings=settings), instructions="You add.", tools=[add])

        async def events(_, list):
            async for _ in list:
                pass

        return (await agent.run(TASK, event_stream_handler=events if stream else None)).output

    return run


previous = by(OpenAIResponsesModel, openai_previous_response_id="auto")
each(chat=by(OpenAIChatModel), responses=by(OpenAIResponsesModel), responses_previous=previous)
