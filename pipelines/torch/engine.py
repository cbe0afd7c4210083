"""A small inference engine: OpenAI's chat completions for the policy of model.py,
with token ids and log probabilities where vLLM has them. As a teacher it also says, as
vLLM's completions do, how probable it finds the ids of a prompt (prompt_logprobs).

    python engine.py FOLDER [PORT]

FOLDER holds the trainer's checkpoints. A request names the version that answers,
NAME@STEP; the engine loads step-STEP.pt when it is first asked for. So new
weights need no reload, and a rollout that lasts beyond an update keeps its policy.
The first line of stdout is the base URL.
"""

import collections
import json
import pathlib
import queue
import random
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import torch

import checkpoints
import model

MOST = 256  # requests in one batch
# Fields that would change the answer, with the values that do not.
NEUTRAL = {"stream": (False,), "n": (1,), "top_p": (1,), "top_k": (0, -1), "tools": ([],), "stop": ([], ""),
           "frequency_penalty": (0,), "presence_penalty": (0,), "logit_bias": ({},), "top_logprobs": (0,)}


class Refused(Exception):
    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


class Call:
    """One request, from the handler's thread to the sampler's and back."""

    def __init__(self, fields):
        for name, allowed in NEUTRAL.items():
            if fields.get(name) is not None and fields[name] not in allowed:
                raise Refused(400, f"{name} is not supported")
        try:
            self.name, self.prompt = fields["model"], model.prompt(fields["messages"])
            self.step = int(self.name.rpartition("@")[2])
        except (KeyError, TypeError, ValueError, AttributeError) as e:
            raise Refused(400, f"a request has messages with a role and text, and a model named NAME@STEP: {e!r}")
        room = model.CONTEXT - len(self.prompt)
        if room < 1:
            raise Refused(400, f"the prompt has {len(self.prompt)} tokens, the context {model.CONTEXT}")
        most = fields.get("max_completion_tokens") or fields.get("max_tokens") or room
        self.most, self.temperature = min(most, room), fields.get("temperature", 1.0)
        # One number for each token, from the request's seed alone: the answer does
        # not depend on which other requests are in the batch.
        self.random = random.Random(fields.get("seed"))
        self.wants_logprobs, self.wants_ids = bool(fields.get("logprobs")), bool(fields.get("return_token_ids"))
        self.as_ids = bool(fields.get("return_tokens_as_token_ids"))
        self.ids, self.logprobs, self.error, self.done = [], [], None, threading.Event()

    def finished(self):
        return self.ids[-1:] == [model.END] or len(self.ids) >= self.most

    def answer(self):
        ended = self.ids[-1] == model.END
        text = "".join(model.TOKENS[i] for i in (self.ids[:-1] if ended else self.ids))
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "logprobs": None,
                  "finish_reason": "stop" if ended else "length", "stop_reason": None}
        body = {"id": f"chatcmpl-{id(self):x}", "object": "chat.completion", "created": int(time.time()), "model": self.name, "choices": [choice],
                "usage": {"prompt_tokens": len(self.prompt), "completion_tokens": len(self.ids), "total_tokens": len(self.prompt) + len(self.ids)}}
        if self.wants_logprobs:
            choice["logprobs"] = {"content": [
                {"token": f"token_id:{i}" if self.as_ids else model.TOKENS[i], "logprob": p, "bytes": list(model.TOKENS[i].encode()), "top_logprobs": []}
                for i, p in zip(self.ids, self.logprobs)]}
        if self.wants_ids:
            body["prompt_token_ids"], choice["token_ids"] = self.prompt, self.ids
        return body


class Judged:
    """A request for the log probabilities of a prompt of ids, of which nothing is sampled."""

    def __init__(self, fields):
        try:
            self.name, self.ids = fields["model"], [int(i) for i in fields["prompt"]]
            self.step = int(self.name.rpartition("@")[2])
        except (KeyError, TypeError, ValueError, AttributeError) as e:
            raise Refused(400, f"a request has a prompt of ids, and a model named NAME@STEP: {e!r}")
        if fields.get("prompt_logprobs") != 0:
            raise Refused(400, "only prompt_logprobs: 0 is supported, and no completions")
        if not 0 < len(self.ids) <= model.CONTEXT or not all(0 <= i < len(model.TOKENS) for i in self.ids):
            raise Refused(400, f"the prompt has {len(self.ids)} ids from 0 to {max(self.ids, default=0)}; the context is {model.CONTEXT}, the vocabulary {len(model.TOKENS)}")
        self.logprobs, self.error, self.done = [], None, threading.Event()

    def answer(self):
        places = [None] + [{str(i): {"logprob": p, "rank": 1, "decoded_token": model.TOKENS[i]}} for i, p in zip(self.ids[1:], self.logprobs)]
        return {"id": f"cmpl-{id(self):x}", "object": "text_completion", "created": int(time.time()), "model": self.name,
                "choices": [{"index": 0, "text": "", "finish_reason": "length", "prompt_logprobs": places}],
                "usage": {"prompt_tokens": len(self.ids), "completion_tokens": 0, "total_tokens": len(self.ids)}}


class Sampler(threading.Thread):
    """Answers the waiting requests together: one thread owns the weights."""

    def __init__(self, folder):
        super().__init__(daemon=True)
        self.folder, self.calls, self.policies = folder, queue.Queue(), {}

    def policy(self, step):
        if step not in self.policies:
            if not checkpoints.path(self.folder, step).exists():
                raise Refused(404, f"there is no checkpoint of step {step}")
            policy = model.Policy().to(model.device()).eval()
            policy.load_state_dict(checkpoints.load(self.folder, step)["policy"])
            while len(self.policies) >= 4:
                del self.policies[next(iter(self.policies))]
            self.policies[step] = policy
        return self.policies[step]

    def run(self):
        while True:
            waiting = [self.calls.get()]
            while len(waiting) < MOST and not self.calls.empty():
                waiting.append(self.calls.get())
            by_step = collections.defaultdict(list)
            for call in waiting:
                by_step[call.step].append(call)
            for step, calls in by_step.items():
                try:
                    self.judge(self.policy(step), [c for c in calls if isinstance(c, Judged)])
                    self.sample(self.policy(step), [c for c in calls if isinstance(c, Call)])
                except Exception as e:  # it belongs to these requests; the next ones are answered
                    for call in calls:
                        call.error = e
                for call in calls:
                    call.done.set()

    @torch.inference_mode()
    def judge(self, policy, calls):
        if not calls:
            return
        ids = model.pad([c.ids for c in calls], device=model.device())
        logprobs = torch.log_softmax(policy(ids).double().cpu(), -1)
        for row, call in enumerate(calls):
            after = torch.tensor(call.ids[1:], dtype=torch.long)
            call.logprobs = logprobs[row, :len(after)].gather(1, after[:, None])[:, 0].tolist()

    @torch.inference_mode()
    def sample(self, policy, calls):
        while calls:
            ids = model.pad([c.prompt + c.ids for c in calls], device=model.device())
            last = torch.tensor([len(c.prompt) + len(c.ids) - 1 for c in calls])
            logits = policy(ids)[torch.arange(len(calls)), last].double().cpu()
            # As vLLM reports them: of the model, before the temperature.
            logprobs = torch.log_softmax(logits, -1)
            temperature = torch.tensor([[max(c.temperature, 1e-6)] for c in calls])
            chances = torch.softmax(logits / temperature, -1).cumsum(-1)
            drawn = torch.tensor([[c.random.random()] for c in calls], dtype=torch.double) * chances[:, -1:]
            picked = torch.searchsorted(chances, drawn, right=True).clamp(max=len(model.TOKENS) - 1)[:, 0].tolist()
            for row, (call, token) in enumerate(zip(calls, picked)):
                call.ids.append(token)
                call.logprobs.append(logprobs[row, token].item())
            calls = [c for c in calls if not c.finished()]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize, disable_nagle_algorithm = -1, True  # an answer is one packet, sent at once

    def do_GET(self):
        if self.path != "/v1/models":
            return self.send(404, {"error": {"message": f"no {self.path} here"}})
        newest = checkpoints.newest(self.server.sampler.folder)
        self.send(200, {"object": "list", "data": [{"id": f"policy@{newest}", "object": "model"}]})

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            kind = {"/v1/chat/completions": Call, "/v1/completions": Judged}.get(self.path)
            if kind is None:
                raise Refused(404, f"no {self.path} here")
            try:
                call = kind(json.loads(body))
            except ValueError as e:
                raise Refused(400, f"the request is not JSON: {e}")
            self.server.sampler.calls.put(call)
            call.done.wait()
            if call.error:
                raise call.error
            self.send(200, call.answer())
        except Exception as e:
            status = e.status if isinstance(e, Refused) else 500
            self.send(status, {"error": {"message": str(e) or repr(e), "code": status}})

    def send(self, status, value):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
        self.wfile.flush()

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads, request_queue_size = True, 256


def main(folder, port="0"):
    server = Server(("127.0.0.1", int(port)), Handler)
    server.sampler = Sampler(pathlib.Path(folder))
    server.sampler.start()
    print(f"http://127.0.0.1:{server.server_port}/v1", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    torch.set_num_threads(1)  # more only wait for each other with a model this small
    main(*sys.argv[1:])
