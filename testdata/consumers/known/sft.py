"""Train a step with TRL's SFT trainer on what check.py exported, and read from its labels what trains.

    sft.py FOLDER

The templates are TRL's own training templates of Qwen: they render tools, calls and reasoning, and mark the answers.
"""

import os
import pathlib
import sys
import tempfile

os.environ.update(HF_HUB_OFFLINE="1", CUDA_VISIBLE_DEVICES="", TRL_EXPERIMENTAL_SILENCE="1", TOKENIZERS_PARALLELISM="false")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "trainers"))

import datasets
import transformers
import trl
from trl import chat_template_utils

import tiny

datasets.disable_progress_bars()
transformers.logging.set_verbosity_error()

CALL = '<tool_call>\n{"name": "w", "arguments": {"city": "Rome", "unit": null, "days": [1, 2]}}\n</tool_call><|im_end|>\n'
# What trains of the two answers, with each template. Qwen 2.5's has no place for reasoning, and trains the line break before an answer.
TRAINS = {
    "qwen3_training": "<think>\nI need it.\n</think>\n\nLet me look.\n" + CALL + "<think>\nDone.\n</think>\n\nSunny.<|im_end|>\n",
    "qwen2_5_training": "\nLet me look.\n" + CALL + "\nSunny.<|im_end|>\n",
}


def main(folder):
    with tempfile.TemporaryDirectory() as scratch:
        for name, want in TRAINS.items():
            rows = datasets.load_dataset("json", data_files=str(pathlib.Path(folder) / "trl-sft.jsonl"), split="train", cache_dir=scratch)
            tokenizer = tiny.tokenizer()
            tokenizer.chat_template = pathlib.Path(chat_template_utils.__file__).with_name("chat_templates").joinpath(name + ".jinja").read_text()
            config = trl.SFTConfig(output_dir=scratch, max_steps=1, max_length=2048, assistant_only_loss=True, report_to=[], save_strategy="no", use_cpu=True,
                                   bf16=False, gradient_checkpointing=False, disable_tqdm=True)
            trainer = trl.SFTTrainer(model=tiny.save(pathlib.Path(scratch) / "base"), args=config, train_dataset=rows, processing_class=tokenizer)
            trainer.train()
            for batch in trainer.get_train_dataloader():
                whole = tokenizer.decode(batch["input_ids"][0])
                trains = tokenizer.decode(batch["labels"][0][batch["labels"][0] != -100])
                assert trains == want, (name, trains)
                assert all(text in whole for text in ("Be short.", "Weather?", "sunny", '"default": null')), (name, whole)
            print(f"{name}: TRL trains both answers whole, with the call's null, and nothing else")


main(*sys.argv[1:])
