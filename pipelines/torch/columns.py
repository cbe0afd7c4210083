"""The task with several turns: sums of two numbers of five odd digits, a column a turn.

    python columns.py examples       the examples to train on, as lines of JSON
    python columns.py held-out       others, to measure on
    python columns.py FOLDER SEED    the first checkpoint, of a policy that has seen wrong columns

The agent adder.py asks for the columns. The reward is how many are right.
"""

import json
import random
import sys

import sums

COUNT, DIGITS = 40, 5


def added(a, b, answer):
    """The conversation about a + b: each column as it is asked, from the right, and
    what answer made of its sum."""
    carry, turns = 0, []
    for x, y in zip(reversed(a), reversed(b)):
        turns.append((f"{x}+{y}+{carry}=", answer(int(x) + int(y) + carry)))
        carry = int(int(turns[-1][1]) > 9)
    return turns


def draw(chance, answer):
    a, b = ("".join(chance.choices("13579", k=DIGITS)) for _ in "ab")
    return f"{a}+{b}", added(a, b, answer)


def examples(name):
    chance = random.Random(name)
    for n in range(COUNT):
        question, turns = draw(chance, str)
        yield {"id": f"{name}-{n}", "question": question, "columns": [answer for _, answer in turns]}


def conversations(chance):
    """Conversations to imitate: their answers are near the right ones."""
    return [draw(chance, lambda right: sums.near(right, chance))[1] for _ in range(16)]


if __name__ == "__main__":
    if len(sys.argv) > 2:
        sums.pretrain(sys.argv[1], int(sys.argv[2]), conversations)
    else:
        for e in examples(sys.argv[1]):
            print(json.dumps(e))
