"""A reward program: reads and writes lines of JSON. Standard library only."""
import json
import sys

for line in sys.stdin:
    row = json.loads(line)
    reward = 1.0 if len(row["answer"]) < 100 else 0.0
    print(json.dumps({"id": row["id"], "reward": reward}), flush=True)
