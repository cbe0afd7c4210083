import os

os.environ["MSWEA_SILENT_STARTUP"] = "1"

from each import MODEL, TASK, each
from minisweagent.agents.default import DefaultAgent
from minisweagent.environments.local import LocalEnvironment
from minisweagent.models.litellm_model import LitellmModel
from minisweagent.models.litellm_response_model import LitellmResponseModel
from minisweagent.models.litellm_textbased_model import LitellmTextbasedModel


def by(model):
    def run(url, stream):
        by_litellm = model(model_name="openai/" + MODEL, model_kwargs={"api_base": url}, cost_tracking="ignore_errors")
        agent = DefaultAgent(by_litellm, LocalEnvironment(), system_template="You use bash.", instance_template="{{task}}", step_limit=5)
        return agent.run(TASK)["submission"].strip()

    return run


each(chat=by(LitellmModel), responses=by(LitellmResponseModel), chat_text=by(LitellmTextbasedModel))
