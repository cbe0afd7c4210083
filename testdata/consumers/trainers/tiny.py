"""A language model that is small enough to be created in the test, and its
tokenizer: a token for every byte, ChatML around every message."""

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

TEMPLATE = (
    "{%- if tools %}<|im_start|>system\n{{ tools | tojson }}<|im_end|>\n{%- endif %}"
    "{%- for m in messages %}<|im_start|>{{ m.role }}\n"
    "{%- if m.role == 'assistant' %}{% generation %}{{ m.content }}"
    "{%- for c in m.tool_calls or [] %}<tool_call>{{ c.function | tojson }}</tool_call>{%- endfor %}<|im_end|>{% endgeneration %}"
    "{%- else %}{{ m.content }}<|im_end|>{%- endif %}\n{%- endfor %}"
    "{%- if add_generation_prompt %}<|im_start|>assistant\n{%- endif %}"
)


def tokenizer():
    special = ["<|pad|>", "<|im_start|>", "<|im_end|>", "<|unused|>"]  # ART needs one that no chat contains
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    t = Tokenizer(models.BPE(vocab={c: i for i, c in enumerate(alphabet)}, merges=[]))
    t.pre_tokenizer, t.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False), decoders.ByteLevel()
    t.add_special_tokens(special)
    fast = PreTrainedTokenizerFast(tokenizer_object=t, pad_token="<|pad|>", eos_token="<|im_end|>")
    fast.chat_template = TEMPLATE
    return fast


def model(vocabulary):
    torch.manual_seed(0)
    return LlamaForCausalLM(LlamaConfig(
        vocab_size=vocabulary, hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=2,
        max_position_embeddings=2048, pad_token_id=vocabulary - 4, eos_token_id=vocabulary - 2, bos_token_id=None,
    ))


def save(folder):
    t = tokenizer()
    t.save_pretrained(folder)
    model(len(t)).save_pretrained(folder)
    return str(folder)
