"""The agent answers one example. Every call to the model is recorded on the way.

Use any SDK or framework: the address, the key and the model's name are in the
variables OPENAI_BASE_URL, OPENAI_API_KEY and OPENAI_MODEL, where clients look, anew
for each attempt: make the client in the function. With the openai package, ask is

    from openai import OpenAI

    def ask(messages):
        reply = OpenAI().chat.completions.create(model=os.environ["OPENAI_MODEL"], messages=messages)
        return reply.choices[0].message.content
"""

import json
import os
import urllib.request

from rollmill import agent


@agent
def solve(example):
    # One question, one answer. An agent may call the model as often as it likes.
    return ask([{"role": "user", "content": example["question"]}])


def ask(messages):
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions",
        data=json.dumps({"model": os.environ["OPENAI_MODEL"], "messages": messages}).encode(),
        headers={"Content-Type": "application/json", "Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]},
    )
    with urllib.request.urlopen(request) as reply:
        return json.load(reply)["choices"][0]["message"]["content"]
