import json

from each import MODEL, TASK, add, each
from qwen_agent.agents import FnCallAgent
from qwen_agent.tools.base import BaseTool


class Add(BaseTool):
    name, description = "add", "Add two numbers."
    parameters = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"]}

    def call(self, params, **kwargs):
        return str(add(**json.loads(params)))


def by(raw):
    def run(url, stream):
        llm = {"model": MODEL, "model_type": "oai", "model_server": url, "api_key": "x", "generate_cfg": {"use_raw_api": raw}}
        for messages in FnCallAgent([Add()], llm, system_message="You add.").run([{"role": "user", "content": TASK}]):
            pass
        return messages[-1]["content"]

    return run


each(chat=by(True), chat_text=by(False))
