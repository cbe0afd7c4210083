"""Read the output of go test -bench on stdin, pass it on, and print the ratio of two benchmarks' best times:

    go test -bench 'A|B' | gobench.py TEXT AIM BenchmarkA BenchmarkB

or the median of a metric of each benchmark:

    go test -bench A -count 3 | gobench.py TEXT AIM added-ms
"""

import re
import statistics
import sys

text, aim, *names = sys.argv[1:]
metric = names[0] if len(names) == 1 else "ns/op"
found = {}
for line in sys.stdin:
    print(line, end="")
    if m := re.match(rf"(Benchmark\S+?)(?:-\d+)?\s+\d+\s.*?(-?[\d.]+) {metric}\b", line):
        found.setdefault(m[1], []).append(float(m[2]))
if not found or (missing := set(names) - found.keys()) and len(names) == 2:
    sys.exit(f"no result of {', '.join(names)}")
if len(names) == 1:
    for name, values in found.items():
        print(f"{text}, {name.partition('/')[2]}: {statistics.median(values):.2f} {metric.rpartition('-')[2]} (aim: {aim})")
else:
    a, b = (min(found[name]) for name in names)
    print(f"{text}: {a / b:.2f} (aim: {aim})")
