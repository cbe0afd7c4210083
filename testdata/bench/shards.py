"""Measure score and group on a bucket: in 1, 2, 4 and 8 shards, and with the rows doubled three times.

    shards.py BENCH ROLLMILL URI QUERY ROWS

BENCH is the built generator of this folder. Shards run one after another, because
there are few processors: the result is the sum of their times.
"""

import os
import sys

from measure import run

bench, rollmill, root, query, rows = sys.argv[1:5] + [int(sys.argv[5])]


def at(*names):
    return "/".join([root.rstrip("/"), *names]) + (f"?{query}" if query else "")


def command(stage, data, out, shard):
    if stage == "score":
        return [rollmill, "score", "--quiet", "--in", at(data, "rollout"), "--reward", "short=expr:len(answer) < 20 ? 1 : 0", "--shard", shard, "--out", at(out, "score")]
    return [rollmill, "group", "--quiet", "--in", at(data, "score"), "--shard", shard, "--out", at(out, "group")]


def measure(stage, data, out, shards):
    runs = [run(command(stage, data, out, f"{i}/{shards}")) for i in range(shards)]
    return {"cpu": sum(r["cpu"] for r in runs), "longest": max(r["wall"] for r in runs), "read": sum(r["read"] for r in runs), "rss": max(r["rss"] for r in runs)}


def table(title, results):
    print(f"\n{title} (load {os.getloadavg()[0]:.1f})\n")
    print(f"{'':24}{'rows':>10}{'shards':>8}{'CPU s':>9}{'us a row':>10}{'longest s':>11}{'read MB':>9}{'bytes a row':>13}{'peak MB':>9}")
    for stage, n, shards, r in results:
        print(f"{stage:24}{n:10}{shards:8}{r['cpu']:9.2f}{r['cpu'] / n * 1e6:10.2f}{r['longest']:11.2f}{r['read'] / 1e6:9.1f}{r['read'] / n:13.1f}{r['rss'] / 1e6:9.0f}")


for factor in (1, 2, 4, 8):
    run([bench, "thin", str(rows * factor), at(f"rows-{factor}")])
top = "rows-8"
table("The same rows in more shards", [(stage, rows * 8, n, measure(stage, top, f"shards-{n}", n)) for stage in ("score", "group") for n in (1, 2, 4, 8)])
table("More rows", [(stage, rows * f, 1, measure(stage, f"rows-{f}", f"more-{f}", 1)) for stage in ("score", "group") for f in (1, 2, 4, 8)])
