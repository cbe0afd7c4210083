"""Tokenize what check.py exported as chat with axolotl's own strategy, and read from its labels what trains.

    masks.py FOLDER PACKAGES

PACKAGES has the files that .ci/install sets downloads. Axolotl reads the weights if it is told where they are; if it is
not, answers train that must not: the help of the format says so, and this check fails when that is no longer true.
"""

import json
import pathlib
import sys
import tarfile
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "trainers"))

import tiny

LOOK, DONE, SUNNY = "I need it.", "Done.", "Sunny."


def trained(strategy, tokenizer, row):
    """Return the texts of the two answers that train."""
    out = strategy.tokenize_prompt({"messages": row["messages"], "tools": row["tools"]})
    assert all(y in (-100, i) for i, y in zip(out["input_ids"], out["labels"])), row
    text = tokenizer.decode([i for i, y in zip(out["input_ids"], out["labels"]) if y != -100])
    assert "Weather?" not in text and "sunny" not in text, text
    return {t for t in (LOOK, '"city": "Rome"', DONE, SUNNY) if t in text}


def main(folder, packages):
    packages = pathlib.Path(packages)
    with tempfile.TemporaryDirectory() as scratch:
        with tarfile.open(next(packages.glob("axolotl-*.tar.gz"))) as archive:
            archive.extractall(scratch, filter="data")
        sys.path[:0] = [str(p) for p in (*pathlib.Path(scratch).glob("axolotl-*/src"), *packages.glob("addict-*.whl"), *packages.glob("colorama-*.whl"))]
        from axolotl.prompt_strategies.chat_template import ChatTemplatePrompter, ChatTemplateStrategy
        from trl import chat_template_utils

        tokenizer = tiny.tokenizer()
        template = pathlib.Path(chat_template_utils.__file__).with_name("chat_templates").joinpath("qwen3.jinja").read_text()
        rows = [json.loads(line) for line in (pathlib.Path(folder) / "chat.jsonl").read_text().splitlines()]
        for field in ("weight", None):
            prompter = ChatTemplatePrompter(tokenizer, chat_template=template, message_property_mappings={"role": "role", "content": "content"},
                                            field_messages="messages", message_field_training=field)
            strategy = ChatTemplateStrategy(prompter, tokenizer=tokenizer, train_on_inputs=False, sequence_len=4096, roles_to_train=["assistant"])
            for row in rows:
                want = {SUNNY}
                if row["example_id"] in ("whole", "half") or field is None:
                    want |= {LOOK, '"city": "Rome"'}
                if row["example_id"] == "whole":
                    want.add(DONE)
                got = trained(strategy, tokenizer, row)
                assert got == want, (field, row["example_id"], got)
        print(f"axolotl: of {len(rows)} rows nothing trains that has the weight 0, if message_field_training is weight")


main(*sys.argv[1:])
