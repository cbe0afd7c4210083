"""Read what check.py exported with the code of axolotl, LLaMA-Factory and ms-swift, and compare what trains with the rows.

    masks.py FOLDER PACKAGES

PACKAGES has the files that .ci/install sets downloads. What these trainers do not read, the help of format chat and the
guide trainers say; the check fails when that is no longer true.
"""

import json
import os
import pathlib
import sys
import tarfile
import tempfile
import zipfile

os.environ.update(HF_HUB_OFFLINE="1", DISABLE_VERSION_CHECK="1", MODELSCOPE_LOG_LEVEL="40", LOG_LEVEL="ERROR", LLAMAFACTORY_VERBOSITY="ERROR")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "trainers"))

import datasets

import tiny

datasets.disable_progress_bars()
LOOK, SUNNY, NULL = "Let me look.", "Sunny.", '"unit": null, '
CALL = ('<tool_call>\n{"name": "w", "arguments": {"city": "Rome", ', NULL, '"days": [1, 2]}}\n</tool_call>')
REASONS = ("I need it.", "Done.")
MASKED = {"weight", "train", "training", "loss_weight", "step_loss_mask", "loss_scale", "loss", "is_demo"}


def axolotl(file, field):
    """By row, the ids and the labels of its own strategy."""
    from axolotl.prompt_strategies.chat_template import ChatTemplatePrompter, ChatTemplateStrategy
    from trl import chat_template_utils

    template = pathlib.Path(chat_template_utils.__file__).with_name("chat_templates").joinpath("qwen3.jinja").read_text()
    tokenizer = tiny.tokenizer()
    prompter = ChatTemplatePrompter(tokenizer, chat_template=template, message_property_mappings={"role": "role", "content": "content"},
                                    field_messages="messages", message_field_training=field)
    strategy = ChatTemplateStrategy(prompter, tokenizer=tokenizer, train_on_inputs=False, sequence_len=4096, roles_to_train=["assistant"])
    for row in map(json.loads, file.read_text().splitlines()):
        yield row, strategy.tokenize_prompt({"messages": row["messages"], "tools": row["tools"]})


def llama_factory(file):
    from llamafactory.data.converter import get_dataset_converter
    from llamafactory.data.parser import DatasetAttr
    from llamafactory.data.processor import SupervisedDatasetProcessor
    from llamafactory.data.template import get_template_and_fix_tokenizer
    from llamafactory.hparams import DataArguments

    tags = {"role": "role", "content": "content", "user": "user", "assistant": "assistant", "observation": "tool", "function": "function", "system": "system"}
    attr = DatasetAttr("file", file.name, formatting="openai", messages="messages", tools="tools", **{f"{k}_tag": v for k, v in tags.items()})
    data, tokenizer = DataArguments(template="qwen3", cutoff_len=4096), tiny.tokenizer()
    convert = get_dataset_converter("openai", attr, data)
    process = SupervisedDatasetProcessor(template=get_template_and_fix_tokenizer(tokenizer, data), tokenizer=tokenizer, processor=None, data_args=data)
    for row in loaded(file):
        out = process.preprocess_dataset({k: [v] for k, v in convert(row).items()})
        yield row, {k: out[k][0] for k in ("input_ids", "labels")}


def ms_swift(file):
    import torch
    import transformers
    from swift.dataset import AutoPreprocessor
    from swift.model import ModelInfo, ModelMeta
    from swift.template import get_template

    tokenizer, rows = tiny.tokenizer(), loaded(file)
    tokenizer.model_info = ModelInfo("qwen3", "", torch.float32, 4096, None, None, config=transformers.LlamaConfig(), task_type="causal_lm")
    tokenizer.model_meta = ModelMeta("qwen3", [], template="qwen3")
    template = get_template(tokenizer, template_type="qwen3")
    template.set_mode("train")
    for row, read in zip(rows, AutoPreprocessor()(rows, load_from_cache_file=False), strict=True):
        yield row, template.encode(read)


def loaded(file):
    return datasets.load_dataset("json", data_files=str(file), split="train", cache_dir=str(file.parent / "cache"))


def trained(rows, name):
    """What trains of each row's answers, by example."""
    out = {}
    for row, made in rows:
        assert all(y in (-100, i) for i, y in zip(made["input_ids"], made["labels"], strict=True)), (name, row)
        text = tiny.tokenizer().decode([i for i, y in zip(made["input_ids"], made["labels"]) if y != -100])
        whole = tiny.tokenizer().decode(made["input_ids"])
        assert all(t in whole for t in ("Be short.", "Weather?", "sunny", '"default": null', CALL[0], CALL[2])), (name, whole)
        assert "Weather?" not in text and "sunny" not in text, (name, text)
        out[row.get("example_id", "whole")] = {t for t in (LOOK, *CALL, SUNNY, *REASONS) if t in text}
    return out


def main(folder, packages):
    chat, sft = (pathlib.Path(folder) / f for f in ("chat.jsonl", "trl-sft.jsonl"))
    packages = pathlib.Path(packages)
    with tempfile.TemporaryDirectory() as scratch:
        with tarfile.open(next(packages.glob("axolotl-*.tar.gz"))) as archive:
            archive.extractall(scratch, filter="data")
        for name in ("addict", "colorama", "json_repair", "llamafactory", "modelscope", "ms_swift", "peft", "torchaudio"):
            for file in packages.glob(f"{name}*.whl"):
                zipfile.ZipFile(file).extractall(scratch)
        sys.path[:0] = [scratch, *map(str, pathlib.Path(scratch).glob("axolotl-*/src"))]

        first = {LOOK, *CALL, REASONS[0]}
        whole = {"whole": {*first, SUNNY, REASONS[1]}, "half": {*first, SUNNY}}
        obeyed = whole | {name: {SUNNY} for name in MASKED}
        missed = whole | {name: {*first, SUNNY} for name in MASKED}
        for name, rows, want, dropped in (
            ("axolotl with message_field_training", axolotl(chat, "weight"), obeyed, [NULL]),
            ("axolotl", axolotl(chat, None), missed, [NULL]),
            ("LLaMA-Factory", llama_factory(chat), missed, [LOOK, *REASONS]),
            ("LLaMA-Factory, trl-sft", llama_factory(sft), {"whole": whole["whole"]}, [LOOK, *REASONS]),
            ("ms-swift", ms_swift(chat), missed, REASONS),
            ("ms-swift, trl-sft", ms_swift(sft), {"whole": whole["whole"]}, REASONS),
        ):
            want, got = {k: v.difference(dropped) for k, v in want.items()}, trained(rows, name)
            assert got == want, (name, {k: (got.get(k), want.get(k)) for k in got.keys() | want.keys() if got.get(k) != want.get(k)})
            print(f"{name}: of {len(got)} rows trains what it should" + (f", but for {', '.join(map(repr, dropped))}" if dropped else ""), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
