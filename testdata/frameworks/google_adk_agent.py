from each import MODEL, TASK, add, each
from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.models.lite_llm import LiteLlm
from google.adk.runners import InMemoryRunner
from google.genai import types


async def chat(url, stream):
    agent = LlmAgent(name="adder", model=LiteLlm(model="openai/" + MODEL, api_base=url), instruction="You add.", tools=[add])
    runner = InMemoryRunner(agent, app_name="adder")
    session = await runner.session_service.create_session(app_name="adder", user_id="u")
    config = RunConfig(streaming_mode=StreamingMode.SSE if stream else StreamingMode.NONE)
    message = types.Content(role="user", parts=[types.Part(text=TASK)])
    async for event in runner.run_async(user_id="u", session_id=session.id, new_message=message, run_config=config):
        if event.is_final_response() and event.content:
            answer = "".join(part.text or "" for part in event.content.parts)
    return answer


each(chat=chat)
