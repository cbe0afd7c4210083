"""Sums of two digits below 4, as lines of JSON."""

import json

for a in range(4):
    for b in range(4):
        print(json.dumps({"id": f"{a}+{b}", "question": f"{a}+{b}=", "answer": str(a + b)}))
