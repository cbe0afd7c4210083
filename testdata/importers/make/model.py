"""A model that is small enough to know by heart, behind OpenAI's chat completions.

    with model.serve() as url: ...

It calls the first tool that it is offered, repeats what the tool said, and adds
numbers. A second request for the same prompt gets another answer. Every answer has
token ids and log probabilities that follow from its text alone.
"""

import collections
import contextlib
import http.server
import itertools
import json
import re
import threading
import zlib

NAME = "tiny/adder"


def tokens(text):
    """The pieces of a text and their ids."""
    return [(piece, zlib.crc32(piece.encode()) % 32000) for piece in re.findall(r" ?\w+|\s+|[^\w\s]+", text)]


def logprob(token_id, place):
    return -round((token_id % 97 + place % 7) / 64, 6)


def text_of(content):
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return content or ""


def argument(schema, numbers, words):
    kind = schema.get("type")
    if kind in ("integer", "number"):
        return next(numbers, 1)
    if kind == "boolean":
        return True
    return next(words, "now")


def answer(request, attempt):
    """The answer's message: a tool call first, then what the tools said, or a sum."""
    messages = request["messages"]
    asked = text_of(next((m["content"] for m in reversed(messages) if m["role"] == "user"), ""))
    if messages[-1]["role"] == "tool":
        said = [text_of(m["content"]) for m in messages if m["role"] == "tool"]
        sure = ["It is", "The tool says", "That makes"][attempt % 3]
        return {"role": "assistant", "content": f"{sure} {said[-1]}."}
    if request.get("tools") and "without tools" not in asked:
        function = request["tools"][0]["function"]
        numbers, words = (int(n) for n in re.findall(r"\d+", asked)), iter(re.findall(r"[A-Za-z]{3,}", asked))
        properties = function.get("parameters", {}).get("properties", {})
        arguments = {name: argument(schema, numbers, words) for name, schema in properties.items()}
        call_id = "call_%08x" % zlib.crc32(json.dumps([asked, attempt]).encode())
        call = {"id": call_id, "type": "function", "function": {"name": function["name"], "arguments": json.dumps(arguments)}}
        return {"role": "assistant", "content": None, "tool_calls": [call]}
    if asked.startswith("You are assessing") or "GRADE:" in asked:
        return {"role": "assistant", "content": "The submission names the criterion.\n\nGRADE: C"}
    if "ANSWER: $LETTER" in asked:
        return {"role": "assistant", "content": "ANSWER: " + "BA"[attempt % 2]}
    numbers = [int(n) for n in re.findall(r"\d+", asked)]
    total = sum(numbers) + (1 if attempt % 3 == 1 else 0)  # every third answer is wrong
    return {"role": "assistant", "content": f"{total}" if numbers else f"You said: {asked[:40]}"}


def completion(request, attempt):
    message = answer(request, attempt)
    calls = message.get("tool_calls")
    text = message["content"] or "".join(c["function"]["name"] + c["function"]["arguments"] for c in calls)
    prompt = [i for m in request["messages"] for _, i in tokens(m["role"] + " " + text_of(m.get("content")))]
    sampled = tokens(text)
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop", "logprobs": None}
    if request.get("logprobs"):
        choice["logprobs"] = {"content": [
            {"token": piece, "logprob": logprob(i, n), "bytes": list(piece.encode()),
             "top_logprobs": [{"token": piece, "logprob": logprob(i, n), "bytes": list(piece.encode())}][:request.get("top_logprobs") or 0]}
            for n, (piece, i) in enumerate(sampled)]}
    digest = "%08x" % zlib.crc32(json.dumps([request["messages"], attempt], sort_keys=True).encode())
    body = {"id": "chatcmpl-" + digest, "object": "chat.completion", "created": 1760000000, "model": request.get("model", NAME), "choices": [choice],
            "usage": {"prompt_tokens": len(prompt), "completion_tokens": len(sampled), "total_tokens": len(prompt) + len(sampled)}}
    if request.get("return_token_ids"):
        body["prompt_token_ids"], choice["token_ids"] = prompt, [i for _, i in sampled]
    return body


def chunks(body, usage):
    """The same answer as a stream: the role, the message, the end."""
    choice = body["choices"][0]
    delta = {k: v for k, v in choice["message"].items() if v is not None}
    for index, call in enumerate(delta.get("tool_calls", [])):
        call["index"] = index
    head = {k: body[k] for k in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    first = {"index": 0, "delta": delta, "finish_reason": None, "logprobs": choice["logprobs"]}
    last = {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"], "logprobs": None}
    yield head | {"choices": [first]}
    yield head | {"choices": [last]}
    if usage:
        yield head | {"choices": [], "usage": body["usage"]}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def send(self, code, kind, data):
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def answering(self, request):
        """What another engine does before the answer to a request is sent."""

    def do_GET(self):
        self.send(200, "application/json", json.dumps({"object": "list", "data": [{"id": NAME, "object": "model"}]}).encode())

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = json.dumps([request.get("messages"), request.get("tools")], sort_keys=True)
        with self.server.lock:
            attempt = next(self.server.attempts[prompt])
        if "refuse this" in prompt:
            return self.send(400, "application/json", b'{"error":{"message":"this prompt is refused","type":"invalid_request_error","code":"refused"}}')
        body = completion(request, attempt)
        self.answering(request)
        if request.get("stream"):
            usage = (request.get("stream_options") or {}).get("include_usage")
            lines = b"".join(b"data: " + json.dumps(c).encode() + b"\n\n" for c in chunks(body, usage)) + b"data: [DONE]\n\n"
            return self.send(200, "text/event-stream", lines)
        self.send(200, "application/json", json.dumps(body).encode())


@contextlib.contextmanager
def serve(handler=Handler):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.lock, server.attempts = threading.Lock(), collections.defaultdict(itertools.count)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
