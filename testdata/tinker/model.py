"""Writes a tiny Qwen3 model, and a tokenizer of bytes and three special tokens:
model.py FOLDER [SEED]

The weights are random, but for one thing that the model knows: after the end of a line,
with which an answer begins, a digit is likely. Which one is left to the reward.
"""

import json
import pathlib
import sys

import numpy
from safetensors.numpy import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

HIDDEN, INNER, LAYERS, HEADS, KEYS, WIDTH = 64, 128, 2, 4, 2, 16
DIGITS = 0.7  # how much their embeddings resemble that of the end of a line
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TEMPLATE = """\
{%- if tools %}<|im_start|>system
{% for t in tools %}{{ t | tojson }}
{% endfor %}<|im_end|>
{% endif %}
{%- for m in messages %}<|im_start|>{{ m.role }}
{{ m.content or '' }}
{%- for c in m.tool_calls or [] %}<tool_call>{{ {"name": c.function.name, "arguments": c.function.arguments} | tojson }}</tool_call>
{%- endfor %}<|im_end|>
{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""


def tokenizer():
    pieces = sorted(pre_tokenizers.ByteLevel.alphabet()) + SPECIAL
    made = Tokenizer(models.BPE(vocab={p: i for i, p in enumerate(pieces)}, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens(SPECIAL)
    whole = PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    whole.chat_template = TEMPLATE
    return whole


def weights(vocabulary, newline, digits, seed):
    random = numpy.random.default_rng(seed)

    def drawn(*shape, scale=0.05):
        return random.normal(0, scale, shape).astype(numpy.float32)

    def ones(n):
        return numpy.ones(n, numpy.float32)

    embedded = drawn(vocabulary, HIDDEN, scale=0.15)
    line = embedded[newline] / numpy.linalg.norm(embedded[newline])
    embedded[digits] += DIGITS * line  # the output is tied to the input: a token is likely after those it resembles
    out = {"model.embed_tokens.weight": embedded, "model.norm.weight": ones(HIDDEN)}
    for i in range(LAYERS):
        layer = {
            "input_layernorm": ones(HIDDEN),
            "post_attention_layernorm": ones(HIDDEN),
            "self_attn.q_norm": ones(WIDTH),
            "self_attn.k_norm": ones(WIDTH),
            "self_attn.q_proj": drawn(HEADS * WIDTH, HIDDEN),
            "self_attn.k_proj": drawn(KEYS * WIDTH, HIDDEN),
            "self_attn.v_proj": drawn(KEYS * WIDTH, HIDDEN),
            "self_attn.o_proj": drawn(HIDDEN, HEADS * WIDTH),
            "mlp.gate_proj": drawn(INNER, HIDDEN),
            "mlp.up_proj": drawn(INNER, HIDDEN),
            "mlp.down_proj": drawn(HIDDEN, INNER),
        }
        out.update({f"model.layers.{i}.{name}.weight": value for name, value in layer.items()})
    return out


def main(folder, seed=0):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    tok = tokenizer()
    tok.save_pretrained(folder)
    vocabulary = 264  # a multiple of 8
    config = {
        "architectures": ["Qwen3ForCausalLM"],
        "model_type": "qwen3",
        "vocab_size": vocabulary,
        "hidden_size": HIDDEN,
        "intermediate_size": INNER,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KEYS,
        "head_dim": WIDTH,
        "hidden_act": "silu",
        "max_position_embeddings": 2048,
        "rms_norm_eps": 1e-6,
        "rope_theta": 10000.0,
        "tie_word_embeddings": True,
        "attention_bias": False,
        "attention_dropout": 0.0,
        "torch_dtype": "float32",
        "dtype": "float32",
        "eos_token_id": tok.eos_token_id,
        "pad_token_id": tok.pad_token_id,
    }
    (folder / "config.json").write_text(json.dumps(config, indent=1))
    save_file(weights(vocabulary, *map(tok.convert_tokens_to_ids, ("Ċ", list("0123456789"))), int(seed)), folder / "model.safetensors", {"format": "pt"})


if __name__ == "__main__":
    main(*sys.argv[1:])
