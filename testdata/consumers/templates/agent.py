"""A tool agent over the recorder: it answers calls of its tools until there are none."""

import json
import os
import sys
import urllib.request

task = json.loads(sys.stdin.readline())
messages = [{"role": "system", "content": "You use tools."}, {"role": "user", "content": task["question"]}]
with open(os.environ["TOOLS"]) as f:
    tools = json.load(f)
while True:
    body = {"model": os.environ["OPENAI_MODEL"], "messages": messages, "tools": tools}
    request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", json.dumps(body).encode(),
                                     {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]})
    message = json.load(urllib.request.urlopen(request))["choices"][0]["message"]
    messages.append(message)
    if not message.get("tool_calls"):
        break
    for call in message["tool_calls"]:
        messages.append({"role": "tool", "tool_call_id": call["id"], "name": call["function"]["name"], "content": "21 degrees"})
