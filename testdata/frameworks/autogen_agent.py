from autogen_agentchat.agents import AssistantAgent
from autogen_ext.models.openai import OpenAIChatCompletionClient
from each import MODEL, TASK, add, each


async def chat(url, stream):
    info = {"vision": False, "function_calling": True, "json_output": False, "structured_output": False, "family": "unknown"}
    client = OpenAIChatCompletionClient(model=MODEL, base_url=url, model_info=info)
    agent = AssistantAgent("adder", client, tools=[add], system_message="You add.", max_tool_iterations=5, model_client_stream=stream)
    async for item in agent.run_stream(task=TASK):
        pass
    return item.messages[-1].content


each(chat=chat)
