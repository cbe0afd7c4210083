from each import MODEL, TASK, add, each
from langchain.agents import create_agent
from langchain_openai import ChatOpenAI


def by(responses):
    def run(url, stream):
        model = ChatOpenAI(model=MODEL, base_url=url, use_responses_api=responses, streaming=stream)
        agent = create_agent(model, [add], system_prompt="You add.")
        return agent.invoke({"messages": [("user", TASK)]})["messages"][-1].text

    return run


each(chat=by(False), responses=by(True))
