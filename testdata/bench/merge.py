"""Measure `rollmill import --merge calls`: rows that are one call each, with its whole history,
become trajectories. Beside it, a plain import of the same bytes makes a row of each.

    python merge.py ROLLMILL DIR [CALLS [ROUNDS [SHAPE...]]]

A call has ten messages on average, and a conversation eight calls. The rows come in an order
in which neighbours are of different conversations. The files DIR/SHAPE-CALLS.jsonl are made
when they are missing. Shapes:

    sessions  every row names its session, by which calls are merged
    alone     no row does: a call continues the longest answer with which its prompt begins
    hot       alone, and every conversation begins with the same prompt
    large     sessions of a tenth as many calls, of a hundred messages on average
"""

import math
import os
import pathlib
import subprocess
import sys

from measure import remove, run

rollmill, folder = sys.argv[1], pathlib.Path(sys.argv[2])
calls = int(sys.argv[3]) if len(sys.argv) > 3 else 100_000
rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 1
shapes = sys.argv[5:] or ["sessions", "alone", "hot", "large"]

SYSTEM = "You are a careful assistant that adds numbers and explains each step in a short sentence."
ROW = '{"id":"%d-%d",%s"started_at":%d,"finished_at":%d,"messages":[{"role":"system","content":"' + SYSTEM + '"},%s]}\n'


def turn(conversation, t, hot):
    about = "the first" if hot and t == 0 else f"number {conversation} of turn {t}"
    return f'{{"role":"user","content":"Question about {about}: what comes next, and why do you think so?"}}'


def answer(conversation, t):
    return (f'{{"role":"assistant","content":"Step {t} of {conversation}: I added the ones first, carried what was over, and then'
            f' added the tens, which gives {conversation * 7919 % 100003 + t}."}}')


def line(i, turns, session, hot):
    conversation, t = divmod(i, turns)
    messages = []
    for k in range(t + 1):
        messages += [turn(conversation, k, hot), answer(conversation, k)]
    at = 1_700_000_000_000_000 + conversation * 10_000 + t * 1_000_000
    named = f'"session":"s{conversation}",' if session else ""
    return ROW % (conversation, t, named, at, at + 500_000, ",".join(messages))


def data(shape):
    count, turns = (calls // 10, 98) if shape == "large" else (calls, 8)
    count -= count % turns
    path = folder / f"{shape}-{calls}.jsonl"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        step = 7919 * turns + 1  # neighbours are of different conversations
        while math.gcd(step, count) > 1:
            step += 1
        with open(path.with_suffix(".part"), "w", buffering=1 << 22) as f:
            for i in range(count):
                f.write(line(i * step % count, turns, shape in ("sessions", "large"), shape == "hot"))
        path.with_suffix(".part").rename(path)
    return path, count


print(f"\n{os.cpu_count()} processors, best of {rounds}, load {os.getloadavg()[0]:.1f}\n")
print(f"{'':26}{'calls':>10}{'MB':>8}{'wall s':>9}{'calls/s':>10}{'MB/s':>7}{'CPU s':>8}{'us/call':>9}{'peak MB':>9}")
for shape in shapes:
    path, count = data(shape)
    size = path.stat().st_size
    by = ["--merge-by", "session"] if shape in ("sessions", "large") else []
    for name, options in (("merged", ["--merge", "calls", *by]), ("plain", [])):
        best = None
        for _ in range(rounds):
            out = folder / "out"
            remove(out)
            r = run([rollmill, "import", "--from", "chat", "--in", path, "--out", out, *options])
            if r is None:
                raise SystemExit(1)
            best = min(best or r, r, key=lambda r: r["wall"])
        remove(out)
        print(f"{shape + ', ' + name:26}{count:10,}{size / 1e6:8.0f}{best['wall']:9.1f}{count / best['wall']:10,.0f}{size / 1e6 / best['wall']:7.0f}"
              f"{best['cpu']:8.1f}{best['cpu'] / count * 1e6:9.1f}{best['rss'] / 1e6:9.0f}")
