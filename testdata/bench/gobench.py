"""Read the output of go test -bench on stdin, pass it on, and print the ratio of two benchmarks' best times:

    go test -bench 'A|B' | gobench.py TEXT BenchmarkA BenchmarkB AIM
"""

import re
import sys

text, a, b, aim = sys.argv[1:]
best = {}
for line in sys.stdin:
    print(line, end="")
    if m := re.match(r"(Benchmark\S+?)(?:-\d+)?\s+\d+\s+([\d.]+) ns/op", line):
        best[m[1]] = min(float(m[2]), best.get(m[1], float("inf")))
if missing := {a, b} - best.keys():
    sys.exit(f"no result of {', '.join(sorted(missing))}")
print(f"{text}: {best[a] / best[b]:.2f} (aim: {aim})")
