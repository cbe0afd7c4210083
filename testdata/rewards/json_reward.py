"""A reward by a program: a line of JSON in, a line of JSON out. Standard library only."""
import json
import sys

for line in sys.stdin:
    row = json.loads(line)
    reward = 1.0 if len(row["answer"]) < 100 else 0.0
    print(json.dumps({"id": row["id"], "reward": reward}), flush=True)
