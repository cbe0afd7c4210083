"""The reward gives each attempt a number. A row has the attempt's "answer", its
"messages", and the "example" as the task file has it."""

import re

from rollmill import reward

SQUARES = {"corner": "A1 A3 C1 C3", "edge": "A2 B1 B3 C2", "centre": "B2"}


@reward
def score(row):
    move = re.search("[A-C][1-3]", row["answer"])
    if not move:
        return 0.0
    return 1.0 if move[0] in SQUARES[row["example"]["answer"]] else 0.2
