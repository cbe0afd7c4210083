"""Masks proven by the template of a small tokenizer; needs the command, at $ROLLMILL, pyarrow and transformers."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import unittest
from collections.abc import Callable
from typing import Any

import rollmill
from rollmill import masks
from .programs import Served

TEMPLATE = """{%- for t in tools or [] %}<|im_start|>tool {{ t.function.name }}<|im_end|>
{% endfor %}{%- for m in messages %}<|im_start|>{{ m.role }}
{% if m.reasoning_content and KEEP %}<think>{{ m.reasoning_content }}</think>{% endif %}{{ m.content }}
{%- for c in m.tool_calls or [] %}<call>{{ c.function.name }} {{ c.function.arguments | tojson }}</call>{% endfor %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]
READY = all(importlib.util.find_spec(name) for name in ("pyarrow", "transformers", "tokenizers", "jinja2"))


@unittest.skipUnless(os.environ.get("ROLLMILL") and READY, "needs $ROLLMILL, pyarrow and transformers")
class Masks(Served):
    def tokenizer(self, keep: str = "true") -> Any:
        """A tokenizer of bytes, whose template leaves out reasoning of earlier answers unless told to keep it."""
        import tokenizers
        import transformers

        alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
        made = tokenizers.Tokenizer(tokenizers.models.BPE(vocab={c: i for i, c in enumerate(alphabet)}, merges=[]))
        made.pre_tokenizer, made.decoder = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False), tokenizers.decoders.ByteLevel()
        made.add_special_tokens(["<|im_start|>", "<|im_end|>"])
        fast: Any = transformers.PreTrainedTokenizerFast
        out = fast(tokenizer_object=made, eos_token="<|im_end|>", additional_special_tokens=["<|im_start|>"])
        out.chat_template = TEMPLATE.replace("KEEP", keep)
        out.save_pretrained(self.folder / "tokenizer")
        return out

    def row(self, name: str, stop: bool = True, ids: bool = True) -> dict[str, Any]:
        """A question, a call of a tool and an answer, as an engine with the template that keeps reasoning records them.
        An engine that drops the stop token has it in the prompt after it."""
        encode = self.tokenizer_.encode
        texts = ['<think>well</think>so<call>look {"x": 1}</call>', "done"]
        offered = "<|im_start|>tool look<|im_end|>\n"
        end = "" if stop else "<|im_end|>"
        prompts = [offered + f"<|im_start|>user\n{name}<|im_end|>\n<|im_start|>assistant\n", end + "\n<|im_start|>tool\n5<|im_end|>\n<|im_start|>assistant\n"]
        messages: list[dict[str, Any]] = [
            {"role": "user", "content": name},
            {"role": "assistant", "content": "so", "reasoning": "well", "tool_calls": [{"id": "c", "name": "look", "arguments": '{"x": 1}'}], "finish_reason": "tool_calls"},
            {"role": "tool", "content": "5", "tool_call_id": "c"},
            {"role": "assistant", "content": "done", "finish_reason": "stop"},
        ]
        for i, m in enumerate(messages):
            m.update({"tool_calls": [], **m, "parent": i - 1, "sampled": i % 2 == 1, "call": i // 2 if i % 2 else -1})
            if m["sampled"] and ids:
                m["token_ids"], m["prompt_delta_ids"] = encode(texts[i // 2] + ("<|im_end|>" if stop else "")), encode(prompts[i // 2])
            if m["sampled"]:
                m["logprobs"] = [-0.5] * len(m.get("token_ids") or "abc")
        calls = [{"model": "m", "sampling": "{}", "tools": 0, "prompt_tokens": 1, "completion_tokens": 1, "target": True, "latency_ms": 1, "attempts": 1}] * 2
        return {"trajectory_id": name, "example_id": name, "epoch": 0, "generation": 0, "example": "{}", "messages": messages, "calls": calls,
                "tool_sets": [json.dumps(TOOLS)], "status": "ok", "answer": "done", "model": "m"}

    def setUp(self) -> None:
        super().setUp()
        self.tokenizer_ = self.tokenizer()

    def prove(self, *rows: dict[str, Any], file: str | None = None) -> dict[str, Any]:
        """What is found in a dataset of these rows: how many answers of each kind, and the names of examples."""
        self.dataset(*rows)
        uri = str(self.folder / "rows")
        result = masks.prove(uri, self.tokenizer_, file and str(self.folder / file), 3)
        names = {row["trajectory_id"]: row["example_id"] for row in rollmill.open(uri).to_arrow(["trajectory_id", "example_id"]).to_pylist()}
        found = {kind: count for kind, count in result["counts"].items() if count}
        return {**result, "found": found, "first": [{**f, "trajectory_id": names[f["trajectory_id"]]} for f in result["first"]]}

    def dataset(self, *rows: dict[str, Any]) -> None:
        if not (self.folder / "rows").exists():
            self.write("rows.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
            self.command("import", "--from", "rows", "--in", "rows.jsonl", "--out", "rows")

    def command(self, *words: str) -> None:
        done = subprocess.run([os.environ["ROLLMILL"], *words], capture_output=True, text=True, timeout=60, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_clean(self) -> None:
        result = self.prove(self.row("a"), self.row("b"))
        self.assertEqual((result["turns"], result["proven"], result["found"], result["rows"]), (4, 4, {}, {"checked": 2}), result["first"])

    def test_stop_tokens_in_the_next_prompt(self) -> None:
        result = self.prove(self.row("a"), self.row("b", stop=False))
        self.assertEqual((result["proven"], result["found"], result["shares"]["stop"]), (2, {"stop": 2}, 0.5), result["first"])
        first = result["first"][0]
        self.assertEqual((first["trajectory_id"], first["message"]), ("b", 1))
        self.assertNotIn("<|im_end|>", first["recorded"])
        self.assertIn("<|im_end|>", first["template"])

    def test_an_end_that_is_not_known(self) -> None:
        cut, unknown = self.row("a", stop=False), self.row("b", stop=False)
        for m in cut["messages"]:
            m.update({"finish_reason": "length"} if m["sampled"] else {})
        for m in unknown["messages"]:
            m.pop("finish_reason", None)
        result = self.prove(cut, unknown)
        self.assertEqual((result["proven"], result["found"]), (2, {"unknown_stop": 2}), result["first"])

    def test_a_template_that_leaves_reasoning_out(self) -> None:
        self.tokenizer_ = self.tokenizer(keep="loop.last")
        result = self.prove(self.row("a"))
        self.assertEqual((result["proven"], result["found"], result["first"][0]["message"]), (0, {"rewritten": 1, "prompt": 1}, 1), result["first"])
        self.assertIn("<think>", result["first"][0]["recorded"])

    def test_an_engine_that_leaves_reasoning_out(self) -> None:
        """Its prompts are the template's; the answer is another one in them than was sampled."""
        self.tokenizer_ = self.tokenizer(keep="loop.last")
        row = self.row("a")
        first, last = row["messages"][1], row["messages"][3]
        answer = self.tokenizer_.encode(self.tokenizer_.decode(first["token_ids"]).replace("<think>well</think>", ""))
        last.update(prompt_delta_ids=first["prompt_delta_ids"] + answer + last["prompt_delta_ids"], prefix_break="reasoning")
        result = self.prove(row)
        self.assertEqual((result["proven"], result["found"], result["first"][0]["message"]), (1, {"rewritten": 1}, 1), result["first"])

    def test_another_template_proves_nothing(self) -> None:
        changed = self.row("a")
        changed["messages"][0]["content"] = "b"  # not what the engine saw
        result = self.prove(changed)
        self.assertEqual((result["proven"], result["found"]), (0, {"prompt": 2}), result["first"])

    def test_a_mask_that_leaves_tokens_out(self) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self.dataset(self.row("a"), self.row("b"))
        self.command("export", "--in", "rows", "--to", "sequences", "--out", "all.parquet")
        table = pq.read_table(self.folder / "all.parquet")

        def learn(change: Callable[[list[bool]], list[bool]]) -> dict[str, Any]:
            masks = table["loss_mask"].to_pylist()
            masks[1] = change(masks[1])
            at = table.schema.get_field_index("loss_mask")
            pq.write_table(table.set_column(at, "loss_mask", pa.array(masks)), self.folder / "s.parquet")
            return self.prove(file="s.parquet")

        result = learn(lambda mask: [*mask[:-1], False])  # the last stop token
        self.assertEqual((result["found"], result["first"][0]["trajectory_id"], result["first"][0]["message"]), ({"uncovered": 1}, "b", 3))
        self.assertEqual(learn(lambda mask: [False] * len(mask))["found"], {"uncovered": 2})

    def test_rows_without_ids_are_named(self) -> None:
        result = self.prove(self.row("a"), self.row("b", ids=False))
        self.assertEqual((result["proven"], result["found"]), (2, {"no_ids": 2}), result["first"])
        self.assertEqual({f["trajectory_id"] for f in result["first"]}, {"b"})
        words = ("-m", "rollmill.masks", "rows", "--tokenizer", "tokenizer")
        self.assertIn("2 of 4 answers are proven", self.start(*words, stdin=b"", code=3)[0].decode())
        self.assertEqual(json.loads(self.start(*words, "--json", stdin=b"", code=3)[0])["counts"]["no_ids"], 2)

    def test_only_rows_without_ids(self) -> None:
        self.assertEqual(self.prove(self.row("a", ids=False))["found"], {"no_ids": 2})


class Missing(unittest.TestCase):
    def test_a_missing_package_is_named(self) -> None:
        code = "import sys; sys.modules['transformers'] = None; from rollmill import masks; sys.argv[1:] = ['rows', '--tokenizer', 'dir']; masks.main()"
        end = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        self.assertEqual((end.returncode, end.stderr), (2, "rollmill.masks: proving masks, which needs transformers: pip install transformers\n"))


if __name__ == "__main__":
    unittest.main()
