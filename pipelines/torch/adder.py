"""The agent of the task with several turns: it adds two numbers as on paper. The model
gives the sum of each column, from the right; the agent carries what that says, so a wrong
answer may spoil the next column too. How many turns there are is not the model's choice.

A worker for rollmill rollout --agent-workers: tasks come as lines of JSON.
"""

import json
import sys
import urllib.request


def ask(task, messages):
    body = json.dumps({"model": task["model"], "messages": messages}).encode()
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {task['api_key']}"}
    with urllib.request.urlopen(urllib.request.Request(task["base_url"] + "/chat/completions", body, headers)) as response:
        return json.load(response)["choices"][0]["message"]["content"]


def add(task):
    a, b = task["question"].split("+")
    carry, messages = 0, []
    for x, y in zip(reversed(a), reversed(b)):
        messages.append({"role": "user", "content": f"{x}+{y}+{carry}="})
        answer = ask(task, messages)
        messages.append({"role": "assistant", "content": answer})
        carry = int(answer.isdigit() and int(answer) > 9)


for line in sys.stdin:
    task = json.loads(line)
    try:
        add(task)
        result = {}
    except Exception as e:
        result = {"error": repr(e)}
    print(json.dumps({"trajectory_id": task["trajectory_id"], **result}), flush=True)
