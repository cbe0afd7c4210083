"""An engine that renders each prompt with a chat template of TRL's, as vLLM does: the
arguments of tool calls become objects first. Its token ids are the code points of the
rendered text, so a recorded prompt can be read back. The first user message names the
template; the model calls two tools with different arguments, and then answers."""

import http.server
import itertools
import json
import pathlib
import threading

import trl
from transformers.utils.chat_template_utils import render_jinja_template

FOLDER = pathlib.Path(trl.__file__).parent / "chat_templates"
TEMPLATES = {p.stem: p.read_text() for p in sorted(FOLDER.glob("*.jinja"))}


def render(template, messages, tools=None, **more):
    text, _ = render_jinja_template([messages], tools=tools, chat_template=TEMPLATES[template], bos_token="<bos>", eos_token="<eos>", **more)
    return text[0]


def template_of(messages):
    """The template that a conversation names, as the last word of its first user message."""
    return next(m["content"] for m in messages if m["role"] == "user").split()[-1]


def parsed(messages):
    """Messages as vLLM gives them to a template."""
    out = []
    for m in messages:
        m = {k: v for k, v in m.items() if v is not None} | {"content": m.get("content") or ""}
        if "tool_calls" in m:
            m["tool_calls"] = [c | {"function": c["function"] | {"arguments": json.loads(c["function"]["arguments"] or "{}")}} for c in m["tool_calls"]]
        out.append(m)
    return out


def ids(text):
    return [ord(c) for c in text]


def text(ids):
    return "".join(map(chr, ids))


class Engine(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    count = itertools.count()

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        n = next(self.count)
        message = {"role": "assistant", "content": f"It is {n} degrees."}
        if body["messages"][-1]["role"] == "user":
            day, calls = f"2024-01-{1 + n % 28:02}", []
            for name, arguments in (("weather", {"city": "Zürich <&> 'x' \"y\"", "date": day, "unit": None}), ("sum", {"values": [n, 2.5, 2**63], "deep": {"exact": True}})):
                calls.append({"id": f"call_{name}{n:05}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}})
            message = {"role": "assistant", "content": "", "tool_calls": calls[n % 2 :][:1]}
        try:
            prompt = ids(render(template_of(body["messages"]), parsed(body["messages"]), body.get("tools"), add_generation_prompt=True))
        except Exception as error:
            return self.answer(400, {"error": {"message": f"the template refuses it: {error}"}})
        tokens = ids(json.dumps(message))
        self.answer(200, {"id": f"chat-{n}", "object": "chat.completion", "created": 1, "model": body["model"], "prompt_token_ids": prompt, "choices": [{
            "index": 0, "finish_reason": "tool_calls" if "tool_calls" in message else "stop", "message": message, "token_ids": tokens,
            "logprobs": {"content": [{"token": chr(t), "logprob": -1.0, "bytes": None, "top_logprobs": []} for t in tokens]}}],
            "usage": {"prompt_tokens": len(prompt), "completion_tokens": len(tokens), "total_tokens": len(prompt) + len(tokens)}})

    def answer(self, status, value):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


def serve():
    """Starts the engine, and returns its address."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Engine)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/v1"
