import json, sys
from openai import OpenAI
for line in sys.stdin:
    task = json.loads(line)
    model = OpenAI(base_url=task["base_url"], api_key=task["api_key"])
    model.chat.completions.create(model=task["model"], messages=[{"role": "user", "content": task["question"]}])
    print(json.dumps({"trajectory_id": task["trajectory_id"], "metadata": {}}), flush=True)
