"""Trains a chat model of 400,000 parameters for a minute: it writes valid text, ends its turns and calls a tool as Hermes models do.

    model.py FOLDER [SEED]    another seed gives other weights, for the same tokenizer

With random weights answers would contain invalid UTF-8, and later turns would not continue earlier ones.
"""

import json
import random
import sys

import tokenizers
import torch
import transformers

STEPS = 300
ANSWERS = ["Two plus two is four.", "The quick brown fox jumps over the lazy dog.", "Grüße aus München, 你好 世界!",
           "A policy learns from rewards 🙂.", "привет мир, it is fine.", "I do not know.", "Yes, go on.", "No, thank you."]
QUESTIONS = ["What is two plus two?", "Grüße aus München, 你好 世界 🙂", "Say something", "go on 0, please", "go on 1, please",
             "go on 2, please", "go on", "again", "Add 3 and 4", "7", "The result is 7"]
NUMBER = {"type": "integer"}
TOOLS = [{"type": "function", "function": {"name": "add", "description": "adds", "parameters": {
    "type": "object", "properties": {"a": NUMBER, "b": NUMBER}, "required": ["a", "b"]}}}]
TEMPLATE = """{{ bos_token }}{% if tools %}<|im_start|>system
{{ tools | tojson }}<|im_end|>
{% endif %}{% for m in messages %}<|im_start|>{{ m.role }}
{% if m.content %}{{ m.content }}{% endif %}{% for c in m.tool_calls or [] %}{% if m.content or not loop.first %}
{% endif %}<tool_call>
{{ {'name': c.function.name, 'arguments': c.function.arguments} | tojson }}
</tool_call>{% endfor %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""


def tool_call(a: int, b: int) -> str:
    return "<tool_call>\n" + json.dumps({"name": "add", "arguments": {"a": a, "b": b}}) + "\n</tool_call>"


def make_tokenizer() -> transformers.PreTrainedTokenizerFast:
    level = tokenizers.pre_tokenizers.ByteLevel
    bpe = tokenizers.Tokenizer(tokenizers.models.BPE())
    bpe.pre_tokenizer, bpe.decoder = level(add_prefix_space=False), tokenizers.decoders.ByteLevel()
    texts = ANSWERS + QUESTIONS + [tool_call(1, 2), json.dumps(TOOLS), "user assistant system tool You are a test."]
    bpe.train_from_iterator(texts * 4, tokenizers.trainers.BpeTrainer(
        vocab_size=700, special_tokens=["<|pad|>", "<|bos|>", "<|im_start|>", "<|im_end|>"],
        initial_alphabet=level.alphabet(), show_progress=False))
    out = transformers.PreTrainedTokenizerFast(tokenizer_object=bpe, bos_token="<|bos|>", eos_token="<|im_end|>", pad_token="<|pad|>")
    out.chat_template = TEMPLATE
    return out


def conversation(tokenizer) -> tuple[list[int], list[int]]:
    """Token ids and labels of a random conversation; only answers are trained."""
    ids, labels = [1], [-100]

    def add(text: str, learned: bool) -> None:
        tokens = tokenizer(text, add_special_tokens=False)["input_ids"]
        ids.extend(tokens)
        labels.extend(tokens if learned else [-100] * len(tokens))

    tools = random.random() < 0.5
    if tools:
        add(f"<|im_start|>system\n{json.dumps(TOOLS)}<|im_end|>\n", False)
    if random.random() < 0.5:
        add("<|im_start|>system\nYou are a test.<|im_end|>\n", False)
    for _ in range(random.randint(1, 3)):
        role = random.choice(["user", "user", "tool"])
        add(f"<|im_start|>{role}\n{random.choice(QUESTIONS)}<|im_end|>\n<|im_start|>assistant\n", False)
        calls = tools and random.random() < 0.8
        add((tool_call(random.randint(0, 9), random.randint(0, 9)) if calls else random.choice(ANSWERS)) + "<|im_end|>", True)
        add("\n", False)
    return ids[:384], labels[:384]


def train(model, tokenizer) -> float:
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for step in range(STEPS):
        batch = [conversation(tokenizer) for _ in range(8)]
        longest = max(len(ids) for ids, _ in batch)
        ids, labels, mask = (torch.tensor(rows) for rows in (
            [i + [0] * (longest - len(i)) for i, _ in batch], [l + [-100] * (longest - len(l)) for _, l in batch],
            [[1] * len(i) + [0] * (longest - len(i)) for i, _ in batch]))
        for group in optimizer.param_groups:
            group["lr"] = 3e-3 * min(1, (step + 1) / 20) * (1 - step / STEPS) + 1e-5
        loss = model(ids, labels=labels, attention_mask=mask).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return loss.item()


def main() -> None:
    random.seed(3)
    tokenizer = make_tokenizer()
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    random.seed(seed)
    torch.manual_seed(seed)
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=128, intermediate_size=256, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, head_dim=32, max_position_embeddings=2048, bos_token_id=1, eos_token_id=3, pad_token_id=0,
        tie_word_embeddings=False)).float()
    print("loss", train(model, tokenizer))
    tokenizer.save_pretrained(sys.argv[1])
    model.eval().save_pretrained(sys.argv[1])


main()
