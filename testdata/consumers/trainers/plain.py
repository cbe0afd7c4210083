"""Parse the groups that are sent to a frontend server with OpenPipe ART 0.5.17, as
that server does, and tokenize them with its own code: every assistant message must
be trained, as exactly the tokens of its text.

    python plain.py FILE
"""

import json
import os
import pathlib
import sys

os.environ.update(LITELLM_LOCAL_MODEL_COST_MAP="True", HF_HUB_OFFLINE="1", CUDA_VISIBLE_DEVICES="")
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "command"))

import art
import pydantic

import gpuless

# As `art run` does before it starts to listen.
art.TrajectoryGroup.__new__ = lambda cls, *_, **__: pydantic.BaseModel.__new__(cls)
art.TrajectoryGroup.__init__ = lambda self, *args, **keywords: pydantic.BaseModel.__init__(self, *args, **keywords)
groups = pydantic.TypeAdapter(list[art.TrajectoryGroup])
tokenizer = gpuless.Tokenizer()
messages = 0
for line in pathlib.Path(sys.argv[1]).read_bytes().splitlines():
    (group,) = groups.validate_json(b"[" + line + b"]")
    results = gpuless.tokenized([group], plain=True)
    assert gpuless.tokenized([group]) == [], "without the switch nothing of it trains"
    expected = []
    for t in json.loads(line)["trajectories"]:
        for h in [t, *t["additional_histories"]]:
            expected.append([m["content"] for m in h["messages_and_choices"] if m["role"] == "assistant"])
    assert len(results) == len(expected), (len(results), len(expected))
    for result, said in zip(results, expected):
        trained, run = [], []
        for token, mask in [*zip(result.token_ids, result.assistant_mask), (None, 0)]:
            if mask:
                run.append(token)
            elif run:
                trained, run = [*trained, tokenizer.decode(run)], []
        assert trained == said, (trained, said)
        messages += len(said)
print("openpipe-art 0.5.17:", messages, "plain messages train")
