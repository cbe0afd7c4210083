"""An engine that answers OpenAI's chat completions by sampling at a Tinker service.

It writes the prompt and reads the answer (see _template), so the service sees tokens
only, and the tokens and log probabilities of an answer are those that were sampled.
Fields beyond OpenAI's are vLLM's: return_token_ids, return_tokens_as_token_ids,
chat_template_kwargs, top_k, stop_token_ids, and the endpoint /tokenize. A parameter
that cannot be followed is an error, since it would change what is sampled.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from .._need import need
from . import connect, model_config
from ._template import JSON, Refused, Renderer, Template, clean, token_text

TIMEOUT = 1800.0  # seconds for one request; on errors of the connection the SDK tries again for hours, when nobody waits any more
MAX_TOKENS = 4096  # of an answer whose request sets no limit
UNSUPPORTED = (
    "presence_penalty frequency_penalty repetition_penalty length_penalty logit_bias min_p min_tokens ignore_eos bad_words "
    "allowed_token_ids logits_processors use_beam_search best_of structured_outputs guided_json guided_regex guided_choice "
    "guided_grammar top_logprobs prompt_logprobs echo functions function_call chat_template documents continue_final_message "
    "truncate_prompt_tokens include_stop_str_in_output"
).split()
NEUTRAL = {"repetition_penalty": 1, "length_penalty": 1, "best_of": 1}


class Engine:
    """Answers requests, from several threads at once."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.tinker, self.service, self.base = need("tinker", "sampling"), connect(given.url), given.base_model
        self.clients: dict[str, Any] = {}
        self.lock = threading.Lock()
        self.tokenizer = self._tokenizer(given.tokenizer)
        # A call to settle how the tokenizer pads and truncates: it may not change that while another thread uses it.
        self.tokenizer.encode("a", add_special_tokens=False)
        self.max_len, self.vocabulary = self._sizes()
        self.chat: Template | Renderer = Renderer(self.tokenizer, given.renderer) if given.renderer else Template(self.tokenizer)

    def _tokenizer(self, name: str | None) -> Any:
        if not name:
            try:
                return self.client(self.base).get_tokenizer()
            except self.tinker.TinkerError:
                pass  # not every service tells the base model of a sampling session
        return need("transformers", "writing prompts").AutoTokenizer.from_pretrained(name or self.base)

    def _sizes(self) -> tuple[int | None, int]:
        """How long a sequence may be, if that is known, and how many tokens there are."""
        config = model_config(self.base)
        models = self.service.get_server_capabilities().supported_models
        told = [getattr(model, "max_context_length", None) for model in models if model.model_name == self.base]
        return next(filter(None, told), getattr(config, "max_position_embeddings", None)), getattr(config, "vocab_size", None) or len(self.tokenizer)

    def client(self, model: Any) -> Any:
        """The sampling client of the base model or of a saved one, made at the first use."""
        if not isinstance(model, str) or model != self.base and not model.startswith("tinker://"):
            raise Refused(f"there is no model {model!r}: the base model is {self.base!r}, others start with tinker://", 404, "model_not_found")
        with self.lock:
            if model not in self.clients:
                made = self.service.create_sampling_client(**{"base_model" if model == self.base else "model_path": model})
                self.clients[model] = made.result() if hasattr(made, "result") else made  # a future in newer SDKs
            return self.clients[model]

    def sample(self, model: Any, prompt: list[int], n: int, parameters: JSON) -> list[Any]:
        try:
            future = self.client(model).sample(
                prompt=self.tinker.types.ModelInput.from_ints(prompt),
                num_samples=n,
                sampling_params=self.tinker.types.SamplingParams(**parameters),
            )
            return list(future.result(TIMEOUT).sequences)
        except Refused:
            raise
        except Exception as error:
            refused = refusal(error, saved=model != self.base)
            if refused.status < 500:
                self.clients.pop(model, None)  # what is not known now may be later, and models lists what was sampled
            raise refused from error

    def prompt(self, request: JSON) -> list[int]:
        messages, tools = request.get("messages"), request.get("tools") or None
        if not isinstance(messages, list) or not messages:
            raise Refused("messages must be a list with at least one message")
        cleaned, begin = [clean(message) for message in messages], request.get("add_generation_prompt", True)
        options = {name: request[name] for name in ("reasoning_effort",) if request.get(name)}  # templates take it, as in vLLM
        try:
            return self.chat.prompt(cleaned, tools, begin, {**options, **(request.get("chat_template_kwargs") or {})})
        except Exception as error:  # templates raise whatever they like about what they do not support
            raise Refused(f"the chat template failed: {type(error).__name__}: {error}") from error

    def tokenize(self, request: JSON) -> JSON:
        if "prompt" in request:
            tokens = list(self.tokenizer.encode(str(request["prompt"]), add_special_tokens=bool(request.get("add_special_tokens", True))))
        else:
            tokens = self.prompt(request)
        return {"count": len(tokens), "max_model_len": self.max_len, "tokens": tokens}

    def models(self) -> JSON:
        names = [self.base, *(name for name in list(self.clients) if name != self.base)]
        cards = [{"id": name, "object": "model", "created": 0, "owned_by": "tinker", "root": self.base, "max_model_len": self.max_len} for name in names]
        return {"object": "list", "data": cards}

    def complete(self, request: JSON) -> JSON:
        """The answer to a request for a chat completion."""
        check(request)
        model = request.get("model")
        prompt = self.prompt(request)
        parameters, strings, ids = self.parameters(request, len(prompt))
        if not prompt or max(prompt) >= self.vocabulary:
            raise Refused(f"the prompt must have tokens below {self.vocabulary}, it has {max(prompt, default='none')}: is --tokenizer another model's?")
        n = number(request, "n", 1, 1, 128, int)
        sequences = self.sample(model, prompt, n, parameters)
        choices = [self.choice(request, prompt, strings, ids, index, sequence) for index, sequence in enumerate(sequences)]
        sampled = sum(len(sequence.tokens) for sequence in sequences)
        return {
            "id": f"chatcmpl-{uuid.uuid4().hex}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": model,
            "choices": choices,
            "usage": {"prompt_tokens": len(prompt), "completion_tokens": sampled, "total_tokens": len(prompt) + sampled},
            **({"prompt_token_ids": prompt} if request.get("return_token_ids") else {}),
        }

    def parameters(self, request: JSON, used: int) -> tuple[JSON, list[str], list[int]]:
        """What the SDK is given; the strings and the tokens that end an answer."""
        stop, ids = request.get("stop") or [], request.get("stop_token_ids") or []
        strings = [stop] if isinstance(stop, str) else stop
        if not isinstance(strings, list) or not all(isinstance(text, str) and text for text in strings):
            raise Refused("stop must be a text or a list of texts, none of them empty")
        if not isinstance(ids, list) or not all(isinstance(token, int) and 0 <= token < self.vocabulary for token in ids):
            raise Refused("stop_token_ids must be a list of the model's tokens")
        ids = [*self.chat.stops, *ids]
        # The service takes tokens or texts, not both. With texts the stop tokens become theirs. It then stops at the token that
        # completes a text, all sampled tokens are kept, and only the content is cut (as by vLLM).
        texts = [*strings, *filter(None, (token_text(self.tokenizer, token)[0] for token in ids))]
        parameters = {
            "max_tokens": self.max_tokens(request, used),
            "temperature": float(number(request, "temperature", 1.0, 0, 100)),
            "top_p": float(number(request, "top_p", 1.0, 1e-9, 1)),
            "top_k": number(request, "top_k", -1, -1, 1 << 31, int) or -1,
            "stop": (texts if strings else ids) or None,
        }
        if request.get("seed") is not None:  # services count it up for each of n, and have 31 bits
            parameters["seed"] = number(request, "seed", 0, -(1 << 64), 1 << 64, int) % (1 << 30)
        return parameters, strings, ids

    def max_tokens(self, request: JSON, used: int) -> int:
        name = "max_tokens" if request.get("max_completion_tokens") is None else "max_completion_tokens"
        asked = number(request, name, 0, 1, 1 << 31, int)
        if self.max_len and used + max(asked, 1) > self.max_len:
            raise Refused(
                f"This model's maximum context length is {self.max_len} tokens. However, you requested {used + max(asked, 1)} tokens "
                f"({used} in the messages, {max(asked, 1)} in the completion).",
                code="context_length_exceeded",
            )
        return asked or min(MAX_TOKENS, self.max_len - used if self.max_len else MAX_TOKENS)

    def choice(self, request: JSON, prompt: list[int], strings: list[str], ids: list[int], index: int, sequence: Any) -> JSON:
        tokens, reason = list(sequence.tokens), str(sequence.stop_reason)
        tools = request.get("tools") if request.get("tool_choice") != "none" else None
        message = self.chat.answer(tokens[:-1] if tokens and tokens[-1] in ids else tokens, prompt, tools or None, strings)
        if calls := message.get("tool_calls"):
            message["tool_calls"] = calls = calls if request.get("parallel_tool_calls") is not False else calls[:1]
            for call in calls:
                call["id"] = f"call_{uuid.uuid4().hex}"
        return {
            "index": index,
            "message": message,
            "logprobs": self.logprobs(request, tokens, sequence.logprobs) if request.get("logprobs") else None,
            "finish_reason": "tool_calls" if calls and reason == "stop" else reason,
            **({"token_ids": tokens} if request.get("return_token_ids") else {}),
        }

    def logprobs(self, request: JSON, tokens: list[int], values: list[float] | None) -> JSON:
        if values is None or len(values) != len(tokens):
            raise Refused(f"the service returned {len(values or [])} log probabilities for {len(tokens)} tokens", 503)
        content = []
        for token, value in zip(tokens, values):
            text, raw = token_text(self.tokenizer, token)
            text = f"token_id:{token}" if request.get("return_tokens_as_token_ids") else text
            content.append({"token": text, "logprob": max(value, -9999.0), "bytes": list(raw), "top_logprobs": []})  # JSON has no infinity
        return {"content": content}


def check(request: JSON) -> None:
    """Refuse what would have to be ignored."""
    for name in UNSUPPORTED:
        if (value := request.get(name)) and value != NEUTRAL.get(name):
            raise Refused(f"{name} is not supported, but the request sets it to {json.dumps(value)[:100]}", code="unsupported_parameter")
    if (request.get("response_format") or {"type": "text"}) != {"type": "text"}:
        raise Refused("response_format is not supported, except for text", code="unsupported_parameter")
    if request.get("tool_choice") not in (None, "auto", "none"):
        raise Refused("tool_choice must be auto or none: the service cannot force a call", code="unsupported_parameter")


def number(request: JSON, name: str, default: Any, low: float, high: float, kind: Any = (int, float)) -> Any:
    value = request.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, kind) or not low <= value <= high:
        raise Refused(f"{name} must be {'an integer' if kind is int else 'a number'} from {low} to {high}, not {json.dumps(value)[:100]}")
    return value


def refusal(error: BaseException, saved: bool) -> Refused:
    """An error of the SDK as one of ours: what the service refuses is 400 (404 if it does not know a saved model), else 503, to be tried again."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(getattr(cause, "status_code", None), int):
        cause = cause.__cause__
    status = getattr(cause, "status_code", 400 if str(getattr(error, "category", "")).lower().endswith("user") else 503)
    words = str(cause or error) or type(error).__name__
    if status == 404:
        return Refused(f"the service does not know it: {words}", 404, "model_not_found") if saved else Refused(words, 503)
    return Refused(words, 400 if 400 <= status < 500 and status not in (408, 409, 425, 429) else 503)


def chunks(answer: JSON, request: JSON) -> list[JSON]:
    """A completion as the chunks of a stream: sampling is over when the first is sent."""
    head = {**{name: answer[name] for name in ("id", "created", "model")}, "object": "chat.completion.chunk"}
    made: list[JSON] = []
    for choice in answer["choices"]:
        at, message = {"index": choice["index"]}, dict(choice["message"])
        first = {**at, "delta": {"role": message.pop("role"), "content": ""}, "logprobs": None, "finish_reason": None}
        prompt = {name: answer[name] for name in ("prompt_token_ids",) if name in answer and not made}
        if "tool_calls" in message:
            message["tool_calls"] = [{"index": i, **call} for i, call in enumerate(message["tool_calls"])]
        whole = {**choice, "delta": message, "finish_reason": None}
        del whole["message"]
        last = {**at, "delta": {}, "logprobs": None, "finish_reason": choice["finish_reason"]}
        made += [{**head, "choices": [first], **prompt}, {**head, "choices": [whole]}, {**head, "choices": [last]}]
    if (request.get("stream_options") or {}).get("include_usage"):
        made.append({**head, "choices": [], "usage": answer["usage"]})
    return made


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Server

    def do_GET(self) -> None:
        self.respond({"/health": lambda _: {}, "/models": lambda _: self.server.engine.models()})

    def do_POST(self) -> None:
        self.respond({"/chat/completions": self.server.engine.complete, "/tokenize": self.server.engine.tokenize})

    def respond(self, routes: dict[str, Any]) -> None:
        """Answer with what the route of the path returns; /v1 before it may be missing."""
        try:
            body, path = self.body(), self.path.partition("?")[0].removeprefix("/v1")
            if path not in routes:
                raise Refused(f"there is no {self.command} {self.path}", 404)
            request = parse(body) if self.command == "POST" else {}
            answer = routes[path](request)
            if request.get("stream") and path == "/chat/completions":
                lines = [*map(encode, chunks(answer, request)), b"[DONE]"]
                return self.write(200, "text/event-stream", b"".join(b"data: " + line + b"\n\n" for line in lines))
            self.write(200, "application/json", encode(answer))
        except Refused as error:
            self.fail(error.status, str(error), error.code)
        except ConnectionError:
            self.close_connection = True
        except Exception as error:
            self.fail(500, f"{type(error).__name__}: {error}", None)

    def body(self) -> bytes:
        if "Transfer-Encoding" in self.headers:
            self.close_connection = True
            raise Refused("send a Content-Length", 411)
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def fail(self, status: int, message: str, code: str | None) -> None:
        print(f"{status} {self.command} {self.path}: {' '.join(message.split())}", file=sys.stderr, flush=True)
        kind = "server_error" if status >= 500 else "invalid_request_error"
        self.write(status, "application/json", encode({"error": {"message": message, "type": kind, "code": code}}))

    def write(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Only errors are logged, by fail."""


class Server(ThreadingHTTPServer):
    daemon_threads = True  # the end of the process does not wait for samples
    request_queue_size = 1024
    engine: Engine

    def handle_error(self, request: Any, client_address: Any) -> None:
        print(f"connection of {client_address}: {sys.exc_info()[1]!r}", file=sys.stderr, flush=True)


def parse(body: bytes) -> JSON:
    try:
        request = json.loads(body)
    except ValueError as error:
        raise Refused(f"the body is not JSON: {error}") from None
    if not isinstance(request, dict):
        raise Refused("the body must be a JSON object")
    return request


def encode(value: JSON) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode(errors="replace")


def end(number: int, frame: Any) -> None:
    raise SystemExit(0)


def serve(given: argparse.Namespace) -> None:
    """Answer until SIGTERM or SIGINT. The one line of standard output is the URL, written when requests are answered."""
    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    try:
        engine = Engine(given)
    except ConnectionError as error:
        raise SystemExit(f"rollmill.tinker: {error}") from None
    with Server((given.host, given.port), Handler) as server:
        server.engine = engine
        print(f"http://{given.host}:{server.server_port}/v1", flush=True)
        server.serve_forever()
