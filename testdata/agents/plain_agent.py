"""An agent that needs only Python: it asks a question, asks for confirmation, and
prints the result. Any language that can read a line, read an environment
variable and post JSON can do the same."""
import json
import os
import sys
import urllib.request


def ask(messages):
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions",
        data=json.dumps({"model": os.environ["OPENAI_MODEL"], "messages": messages}).encode(),
        headers={"Content-Type": "application/json", "Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]},
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["choices"][0]["message"]


task = json.loads(sys.stdin.readline())
messages = [{"role": "user", "content": task["question"]}]
messages.append(ask(messages))
messages.append({"role": "user", "content": "Are you sure?"})
messages.append(ask(messages))
print(json.dumps({"metadata": {"same": messages[1]["content"] == messages[3]["content"]}, "stop": "done"}))
