"""From messages to the tokens of a prompt, and from sampled tokens to an answer.

Template uses the tokenizer's own chat template, Renderer the package renderers. Both
have stops (the ids of tokens that end an answer), prompt and answer.
"""

from __future__ import annotations

import functools
import json
import re
from typing import Any

from .._need import need

JSON = dict[str, Any]


class Refused(Exception):
    """A request that gets an error: its HTTP status, and OpenAI's code for it."""

    def __init__(self, message: str, status: int = 400, code: str | None = None) -> None:
        super().__init__(message)
        self.status, self.code = status, code


class Template:
    """The tokenizer's chat template. Tool calls and reasoning are read in the form of Qwen and Hermes."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self.stops: list[int] = [] if tokenizer.eos_token_id is None else [tokenizer.eos_token_id]

    def prompt(self, messages: list[JSON], tools: list[JSON] | None, begin: bool, options: JSON) -> list[int]:
        """The ids of a conversation; begin opens the assistant's answer."""
        text = self.tokenizer.apply_chat_template(messages, tools=tools, add_generation_prompt=begin, tokenize=False, **options)
        return list(self.tokenizer.encode(text, add_special_tokens=False))

    def answer(self, tokens: list[int], prompt: list[int], tools: list[JSON] | None, stops: list[str]) -> JSON:
        """The assistant's message; tokens are without the one that ended them. The text ends before the first of stops."""
        # Some tokenizers count <tool_call> as special, so with tools nothing is left out.
        text = cut(self.tokenizer.decode(tokens, skip_special_tokens=not tools, clean_up_tokenization_spaces=False), stops)
        opened = self.tokenizer.decode(prompt[-8:]).rstrip().endswith("<think>")
        reasoning, text = split_reasoning(text, opened)
        content, calls = split_calls(text) if tools else (text, [])
        return message(content, reasoning, calls)


class Renderer:
    """One of the package renderers, by name; "auto" chooses by the tokenizer's name."""

    def __init__(self, tokenizer: Any, name: str) -> None:
        self.tokenizer, self.name = tokenizer, name
        self.package = need("renderers", "prompts of a renderer")
        self.made: dict[str, Any] = {}
        self.stops: list[int] = list(self._renderer({}).get_stop_token_ids())

    def _renderer(self, options: JSON) -> Any:
        key = json.dumps(options, sort_keys=True)
        if key not in self.made:
            config = self.package.config_from_name(self.name)
            self.made[key] = self.package.create_renderer(self.tokenizer, config, chat_template_kwargs=options or None)
        return self.made[key]

    def prompt(self, messages: list[JSON], tools: list[JSON] | None, begin: bool, options: JSON) -> list[int]:
        return list(self._renderer(options).render_ids(messages, tools=tools, add_generation_prompt=begin))

    def answer(self, tokens: list[int], prompt: list[int], tools: list[JSON] | None, stops: list[str]) -> JSON:
        # What a request's options change of the parsing, such as thinking, is in the prompt.
        parsed = self._renderer({}).parse_response(tokens, tools=tools, prompt_ids=prompt)
        good = [call for call in parsed.tool_calls if tools and str(call.status) == "ok"]
        text = parsed.content + "".join(call.raw for call in parsed.tool_calls if call not in good)  # the rest is not lost
        return message(cut(text, stops), parsed.reasoning_content, [{"name": call.name, "arguments": call.arguments} for call in good])


def message(content: str, reasoning: str | None, calls: list[JSON]) -> JSON:
    """An assistant's message; each of calls has name and arguments."""
    made: JSON = {"role": "assistant", "content": content if content or not calls else None}
    if reasoning is not None:
        made["reasoning_content"] = reasoning
    if calls:
        made["tool_calls"] = [{"type": "function", "function": {"name": c["name"], "arguments": json_text(c["arguments"])}} for c in calls]
    return made


def json_text(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


def cut(text: str, stops: list[str]) -> str:
    return text[: min([at for stop in stops if (at := text.find(stop)) >= 0], default=len(text))]


def split_reasoning(text: str, opened: bool) -> tuple[str | None, str]:
    """Reasoning and content. As in vLLM both keep their line breaks, and all is reasoning while it is not closed.

    opened: the prompt ends with <think>.
    """
    if not opened and not text.lstrip().startswith("<think>"):
        return None, text
    reasoning, _, content = text.partition("</think>")
    return reasoning.lstrip().removeprefix("<think>") if not opened else reasoning, content


def split_calls(text: str) -> tuple[str, list[JSON]]:
    """Content and tool calls in the Hermes form. As in vLLM, one malformed call makes all of the text content."""
    content, found, _ = text.partition("<tool_call>")
    try:
        calls = [json.loads(body) for body in re.findall(r"<tool_call>(.*?)(?:</tool_call>|\Z)", text, re.DOTALL)]
        if found and all(isinstance(call["name"], str) and "arguments" in call for call in calls):
            return content, calls
    except (ValueError, TypeError, KeyError):
        pass
    return text, []


def clean(sent: Any) -> JSON:
    """A message as templates expect it, changed as by vLLM: text as content, and objects as arguments of tool calls."""
    if not isinstance(sent, dict) or not isinstance(sent.get("role"), str):
        raise Refused("each of messages must be an object with a role")
    made = {**sent, "content": plain_text(sent.get("content"))}
    if calls := made.get("tool_calls"):
        try:
            made["tool_calls"] = [{**call, "function": {**call["function"], "arguments": as_object(call["function"].get("arguments"))}} for call in calls]
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise Refused(f"tool_calls of a message: each must have a function, and its arguments must be the JSON text of an object: {error!r}") from None
    else:
        made.pop("tool_calls", None)
    return made


def plain_text(content: Any) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list) or not all(isinstance(part, dict) and isinstance(part.get("text"), str) for part in content):
        raise Refused("the content of a message must be text, or a list of parts of type text")
    return "\n".join(part["text"] for part in content)


def as_object(arguments: Any) -> Any:
    value = json.loads(arguments or "{}") if isinstance(arguments, str) or not arguments else arguments
    if not isinstance(value, dict):
        raise ValueError(f"{arguments!r} is not an object")
    return value


@functools.lru_cache(maxsize=None)
def token_text(tokenizer: Any, token: int) -> tuple[str, bytes]:
    """The text of one token, and its bytes, which the text cannot show if they are a part of a character."""
    name = tokenizer.convert_ids_to_tokens(token) or ""  # none for an id between the vocabulary and the model's padded size
    text = str(tokenizer.decode([token], clean_up_tokenization_spaces=False)) if name else ""
    if name.startswith("\u2581") and not text.startswith(" "):
        text = " " + text  # SentencePiece: decoding alone drops the space before the word
    if "\ufffd" not in text:
        return text, text.encode()
    if single := re.fullmatch("<0x([0-9A-Fa-f]{2})>", name):
        return text, bytes([int(single[1], 16)])
    try:
        return text, bytes(byte_alphabet()[character] for character in name)
    except KeyError:
        return text, text.encode()


@functools.lru_cache(maxsize=None)
def byte_alphabet() -> dict[str, int]:
    """The bytes for which characters stand in byte-level vocabularies, those of GPT-2 and its followers."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in shown]
    return {chr(byte): byte for byte in shown} | {chr(256 + i): byte for i, byte in enumerate(hidden)}
