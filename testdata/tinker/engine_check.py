"""Checks the engine, python -m rollmill.tinker serve, against a live Tinker service, in less than a minute:

    python engine_check.py SERVICE_URL BASE_MODEL

Needs rollmill, tinker and transformers. The base model must be a folder, or one whose tokenizer transformers finds.
"""

import concurrent.futures
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

import httpx
import tinker
from rollmill.tinker import _serve as serve
from rollmill.tinker import _template as template
from transformers import AutoTokenizer

MESSAGES = [{"role": "user", "content": "hi"}]
TOOLS = [{"type": "function", "function": {"name": "add", "parameters": {"type": "object", "properties": {"a": {"type": "number"}}}}}]
CALLED = [
    *MESSAGES,
    {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}]},
    {"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": "é 2"}]},
]


def equal(got, want, what):
    if got != want:
        raise SystemExit(f"{what}: {got!r}, want {want!r}")


class Engine:
    def __init__(self, service, model):
        command = [sys.executable, "-m", "rollmill.tinker", "serve", "--url", service, "--base-model", model, "--port", "0"]
        self.process, self.model = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True), model
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            raise SystemExit(f"the engine did not start: {self.process.communicate()[1]}")

    def post(self, path, fields):
        """The status and the answer."""
        body = fields if isinstance(fields, bytes) else json.dumps({"model": self.model, **fields}).encode()
        url = self.url.removesuffix("/v1") + path
        try:
            with urllib.request.urlopen(urllib.request.Request(url, body), timeout=60) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def complete(self, **fields):
        fields = {"messages": MESSAGES, "max_tokens": 16, "logprobs": True, "return_token_ids": True, **fields}
        status, answer = self.post("/v1/chat/completions", fields)
        equal(status, 200, f"status of {fields}: {answer}")
        return answer if fields.get("stream") else json.loads(answer)

    def refused(self, status, **fields):
        """The message of an error in OpenAI's shape."""
        got, answer = self.post("/v1/chat/completions", {"messages": MESSAGES, "max_tokens": 16, **fields})
        equal(got, status, f"status of {fields}: {answer}")
        error = json.loads(answer)["error"]
        equal(sorted(error), ["code", "message", "type"], "fields of an error")
        return error["message"]


def check_answers():
    call = '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>'
    want = ("ok ", [{"name": "add", "arguments": {"a": 1}}])
    equal(template.split_calls("ok " + call), want, "a tool call")
    equal(template.split_calls("ok " + call.removesuffix("</tool_call>")), want, "a tool call whose end was not sampled")
    equal(len(template.split_calls(call + "\n" + call)[1]), 2, "two tool calls")
    equal(template.split_calls(call + "<tool_call>{no"), (call + "<tool_call>{no", []), "a malformed call")
    made = template.message(*[want[0], "why", want[1]])
    equal(made["tool_calls"][0]["function"], {"name": "add", "arguments": '{"a": 1}'}, "a call in a message")
    equal(template.split_reasoning("<think>\nwhy</think>\n\nso", False), ("\nwhy", "\n\nso"), "reasoning")
    equal(template.split_reasoning("why</think>so", True), ("why", "so"), "reasoning that the prompt opened")
    equal(template.split_reasoning("so</think>", False), (None, "so</think>"), "no reasoning")
    equal(template.cut("a STOP b", ["b", "STOP"]), "a ", "a stop text")


def check_errors():
    request = httpx.Request("POST", "http://service")

    def status(code, saved=False):
        error = ValueError("retrieving")  # so the SDK wraps what retrieve_future answers
        error.__cause__ = tinker.APIStatusError("words of the service", response=httpx.Response(code, request=request), body=None)
        refused = serve.refusal(error, saved)
        equal(str(refused).endswith("words of the service"), True, f"the service's words in {refused}")
        return refused.status

    equal([status(code) for code in (400, 401, 422, 404, 408, 429, 500, 503)], [400, 400, 400, 503, 503, 503, 503, 503], "statuses")
    equal(status(404, saved=True), 404, "status of an unknown saved model")
    for error in (tinker.APIConnectionError(request=request), tinker.APITimeoutError(request=request), concurrent.futures.TimeoutError()):
        equal(serve.refusal(error, True).status, 503, f"status of {error!r}")


def check_prompts(engine, tokenizer):
    objects = [*MESSAGES, {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "add", "arguments": {"a": 1}}}]}]
    objects.append({"role": "tool", "content": "é 2"})
    for sent, same, tools in ((MESSAGES, MESSAGES, None), (MESSAGES, MESSAGES, TOOLS), (CALLED, objects, TOOLS)):
        want = tokenizer.apply_chat_template(same, tools=tools, add_generation_prompt=True, tokenize=True, return_dict=False)
        got = engine.complete(messages=sent, tools=tools)
        equal(got["prompt_token_ids"], want, f"prompt of {sent}, tools {tools}")
        equal(got["usage"]["prompt_tokens"], len(want), "usage")
        counted = json.loads(engine.post("/tokenize", {"messages": sent, "tools": tools})[1])
        equal((counted["tokens"], counted["count"]), (want, len(want)), "/tokenize")
    equal(json.loads(engine.post("/tokenize", {"prompt": "é"})[1])["tokens"], tokenizer.encode("é"), "/tokenize of a text")


def check_samples(engine, client, tokenizer):
    answer = engine.complete(n=3, seed=3)
    equal(answer["choices"], engine.complete(n=3, seed=3)["choices"], "choices of the same seed")
    equal([choice["index"] for choice in answer["choices"]], [0, 1, 2], "choices of n=3")
    equal(len({str(choice["token_ids"]) for choice in answer["choices"]}), 3, "different choices")
    for choice in answer["choices"]:
        tokens, content = choice["token_ids"], choice["logprobs"]["content"]
        whole = tinker.types.ModelInput.from_ints(answer["prompt_token_ids"] + tokens)
        again = client.compute_logprobs(whole).result()[-len(tokens) :]
        worst = max(abs(entry["logprob"] - value) for entry, value in zip(content, again))
        if len(content) != len(tokens) or worst > 1e-4:
            raise SystemExit(f"log probabilities differ by {worst}: {content}, the service's are {again}")
        ended = choice["finish_reason"] == "stop"
        equal(tokens[-1] == tokenizer.eos_token_id, ended, f"a stop token at the end of {choice}")
        shown = [entry for token, entry in zip(tokens, content) if token not in tokenizer.all_special_ids]  # content is without them
        equal(b"".join(bytes(entry["bytes"]) for entry in shown).decode(errors="replace"), choice["message"]["content"], "bytes of the tokens")
    named = engine.complete(seed=3, return_tokens_as_token_ids=True)["choices"][0]
    equal([entry["token"] for entry in named["logprobs"]["content"]], [f"token_id:{token}" for token in named["token_ids"]], "names of tokens")
    return answer


def check_stop(engine, answer):
    """A text that occurs in the answer of a seed ends it, when it is a stop."""
    before = answer["choices"][0]
    stop = next(e["token"] for e in before["logprobs"]["content"][2:] if e["token"].isprintable() and e["token"] not in ("", "\ufffd"))
    choice = engine.complete(seed=3, stop=[stop])["choices"][0]
    equal(choice["message"]["content"], before["message"]["content"].partition(stop)[0], f"content before the stop {stop!r}")
    equal(choice["finish_reason"], "stop", "finish_reason")
    equal(choice["token_ids"], before["token_ids"][: len(choice["token_ids"])], "tokens of a stopped answer")
    equal(choice["logprobs"]["content"][-1]["token"], stop, "the last token")


def check_stream(engine, answer):
    lines = engine.complete(n=3, seed=3, stream=True, stream_options={"include_usage": True}).decode().split("\n\n")
    equal(lines[-2:], ["data: [DONE]", ""], "end of a stream")
    parts = [json.loads(line.removeprefix("data: ")) for line in lines[:-2]]
    equal([part["prompt_token_ids"] for part in parts if "prompt_token_ids" in part], [answer["prompt_token_ids"]], "prompt of a stream")
    equal(parts[-1]["usage"], answer["usage"], "usage of a stream")
    for choice in answer["choices"]:
        mine = [part["choices"][0] for part in parts[:-1] if part["choices"][0]["index"] == choice["index"]]
        message = {"role": mine[0]["delta"]["role"], "content": "".join(part["delta"].get("content") or "" for part in mine)}
        equal(message, choice["message"], "streamed message")
        equal([token for part in mine for token in part.get("token_ids", [])], choice["token_ids"], "streamed tokens")
        equal([e for part in mine if part["logprobs"] for e in part["logprobs"]["content"]], choice["logprobs"]["content"], "streamed logprobs")
        equal([part["finish_reason"] for part in mine if part["finish_reason"]], [choice["finish_reason"]], "streamed finish_reason")


def check_refusals(engine):
    for fields in (
        {"presence_penalty": 0.5}, {"frequency_penalty": 1}, {"logit_bias": {"1": 5}}, {"response_format": {"type": "json_object"}},
        {"tool_choice": "required"}, {"temperature": -1}, {"temperature": "hot"}, {"top_p": 0}, {"n": 0}, {"max_tokens": 0}, {"stop": [1]},
        {"seed": 0.5}, {"messages": []}, {"messages": [{"content": "x"}]}, {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]},
        {"messages": [{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{"}}]}]}, {"stop_token_ids": [10**6]},
    ):  # fmt: skip
        engine.refused(400, **fields)
    engine.complete(presence_penalty=0, logit_bias={}, response_format={"type": "text"}, tool_choice="none", top_logprobs=0, stop=None)
    for fields in ({"max_tokens": 10**6}, {"messages": [{"role": "user", "content": "x" * 10**5}], "max_tokens": None}):
        if "maximum context length" not in (message := engine.refused(400, **fields)):
            raise SystemExit(f"too long a request: {message}")
    equal(engine.post("/v1/chat/completions", b"{")[0], 400, "status of bad JSON")
    equal(engine.post("/v1/nothing", {})[0], 404, "status of an unknown endpoint")
    for model in ("gpt-5", "tinker://model_none/none"):
        engine.refused(404, model=model)


def check_concurrent(engine):
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda seed: engine.complete(seed=seed), range(16)))
    ids = [answer["choices"][0]["token_ids"] for answer in answers]
    equal(ids[3], engine.complete(seed=3)["choices"][0]["token_ids"], "an answer alone and among others")
    equal(len({str(i) for i in ids}) > 4, True, "different answers to concurrent requests")


def check_end(engine):
    start = time.monotonic()
    engine.process.send_signal(signal.SIGTERM)
    rest, errors = engine.process.communicate(timeout=20)
    equal((engine.process.returncode, rest), (0, ""), f"exit code and output after SIGTERM: {errors}")
    if (took := time.monotonic() - start) > 3:
        raise SystemExit(f"the engine took {took:.1f} s to end")
    if "Traceback" in errors:
        raise SystemExit(f"a traceback: {errors}")


def main(service, model):
    os.environ.setdefault("TINKER_TELEMETRY", "0")
    os.environ.setdefault("TINKER_API_KEY", "tml-dummy")
    check_answers()
    check_errors()
    engine = Engine(service, model)
    try:
        client = tinker.ServiceClient(base_url=service).create_sampling_client(base_model=model)
        tokenizer = AutoTokenizer.from_pretrained(model)
        check_prompts(engine, tokenizer)
        answer = check_samples(engine, client, tokenizer)
        check_stop(engine, answer)
        check_stream(engine, answer)
        check_refusals(engine)
        check_concurrent(engine)
        equal([card["id"] for card in json.load(urllib.request.urlopen(engine.url + "/models"))["data"]], [model], "/v1/models")
        check_end(engine)
    finally:
        engine.process.kill()
    print("ok")


if __name__ == "__main__":
    main(*sys.argv[1:])
