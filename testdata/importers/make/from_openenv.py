"""OpenEnv's capture proxy in front of an engine, with a small agent behind it, and its
collection of episodes. The facts of captured calls are what the engine sampled.

    .venv-openenv/bin/python from_openenv.py OUT

The proxy listens on all addresses of the machine while it runs, without an option for another.
"""

import importlib.metadata
import json
import pathlib
import socket
import sys

import httpx
from openenv.core.env_server.mcp_types import Tool
from openenv.core.harness import collect, rollout
from openenv.core.harness.capture.contract import to_trace_entries
from openenv.core.harness.capture.export import export_session
from openenv.core.harness.capture.runner import CaptureServer
from openenv.core.llm_client import OpenAIClient
from openenv.harbor.models import HarborRolloutResult, conversations_from_document, turns_from_document

import facts
import model

PARAMETERS = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
ADD = {"type": "function", "function": {"name": "add", "description": "Add two numbers.", "parameters": PARAMETERS}}


def said(m):
    return model.text_of(m.get("content")) or "".join(c["function"]["name"] + c["function"]["arguments"] for c in m.get("tool_calls") or [])


class Engine(model.Handler):
    """Each prompt begins with the prompts and answers that it continues, in tokens too; log has what was sampled."""

    log = []

    def send(self, code, kind, data):
        if b'"prompt_token_ids"' in data:
            body = json.loads(data)
            body["prompt_token_ids"] = [i for m in self.messages for _, i in model.tokens(said(m) if m["role"] == "assistant" else m["role"] + " " + said(m))]
            choice = body["choices"][0]
            self.log.append((body["prompt_token_ids"], choice["token_ids"], [t["logprob"] for t in choice["logprobs"]["content"]]))
            data = json.dumps(body).encode()
        super().send(code, kind, data)

    def answering(self, request):
        self.messages = request["messages"]


def agent(base, key, engine):
    """A session of an agent: a tool, an answer that it asks for again, another question, and a title.

    It returns the facts of its messages, with those of the answer that was not continued aside.
    """
    out = []

    def ask(messages, tools=None, parent=None):
        body = {"model": model.NAME, "messages": messages, "temperature": 1.0} | ({"tools": tools} if tools else {})
        answer = httpx.post(base + "/v1/chat/completions", json=body, headers={"Authorization": "Bearer " + key}, timeout=60)
        answer.raise_for_status()
        prompt, ids, logprobs = engine.log[-1]
        return answer.json()["choices"][0]["message"], dict(prompt=prompt, ids=ids, logprobs=logprobs)

    def add(m, at=None, before=None, trained=None):
        more = {} if at is None else dict(sampled=True, tokens=at["ids"], logprobs=at["logprobs"], ids=at["ids"], trained=trained,
                                          delta=at["prompt"][len(before["prompt"]) + len(before["ids"]) if before else 0:])
        out.append(facts.chat(m, tool_call_id=m.get("tool_call_id"), parent=len(out) - 1 if before or at is None and out else None, **more))

    messages = [{"role": "user", "content": "What is 17 plus 25?"}]
    add(messages[0])
    called, first = ask(messages, [ADD])
    out.append(facts.chat(called, sampled=True, tokens=first["ids"], logprobs=first["logprobs"], ids=first["ids"], delta=first["prompt"], trained=True, parent=0))
    messages += [called, {"role": "tool", "tool_call_id": called["tool_calls"][0]["id"], "content": "42"}]
    add(messages[-1])
    ask(messages, [ADD])  # not continued
    again, second = ask(messages, [ADD])
    add(again, second, first, True)
    messages += [again, {"role": "user", "content": "Add 5 and 6."}]
    add(messages[-1])
    last, third = ask(messages, [ADD])
    add(last, third, second, True)
    title = {"role": "user", "content": "A title, without tools"}
    out.append(facts.chat(title))
    named, fourth = ask([title])
    out.append(facts.chat(named, sampled=True, tokens=fourth["ids"], logprobs=fourth["logprobs"], ids=fourth["ids"], delta=fourth["prompt"], trained=False, parent=len(out) - 1))
    return out


class Adding(rollout.ResourceSession):
    def __init__(self, task):
        self.task = task

    def initial_messages(self):
        return [{"role": "user", "content": self.task}]

    def list_tools(self):
        return [Tool(name="add", description="Add two numbers.", input_schema=PARAMETERS)]

    def call_tool(self, name, arguments):
        return rollout.ToolResult(data=arguments["a"] + arguments["b"])

    def verify(self, transcript, final_state=None):
        return rollout.VerifyResult(env_reward=1.0 if "42" in str(transcript[-1]["content"]) else 0.0, metrics={"messages": len(transcript)})

    def close(self):
        pass


class Sessions(rollout.ResourceSessionFactory):
    def create(self, task, seed=None, episode_id=None):
        return Adding(task)


def episodes(url, out, turns):
    serializer = collect.RolloutSerializer(out)
    host, port = url.removesuffix("/v1").rsplit(":", 1)
    step = collect.build_model_step(OpenAIClient(host, int(port), model.NAME, api_key="none"))
    tasks = ["What is 17 plus 25?", "Add 5 and 6."]
    runner = collect.CollectRunner(session_factory=Sessions(), harness_adapter=rollout.MCPHarnessAdapter(), serializer=serializer, tasks=tasks,
                                   limits=rollout.HarnessRunLimits(max_turns=turns))
    runner.run(model_step=step, num_episodes=len(tasks))
    serializer.write_metadata({"model": model.NAME})
    rows = [json.loads(line) for line in serializer.results_path.read_text().splitlines()]
    return [facts.trajectory([facts.chat(m, tool_call_id=m.get("tool_call_id"), sampled=m["role"] == "assistant") for m in r["messages"]],
                             reward=r["reward"], metrics=r["metrics"]) for r in rows]


def main(out):
    out.mkdir(parents=True, exist_ok=True)
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    expected = {}

    def write(name, value, *rows):
        (out / name).write_text(json.dumps(value, indent=1) + "\n")
        expected[name] = list(rows)

    with model.serve(Engine) as url:
        server = CaptureServer(llm_url=url.removesuffix("/v1"), model=model.NAME, port=port, capture_level="tokens", admin_key="admin")
        server.start()
        try:
            base = f"http://127.0.0.1:{port}"
            for purpose in ("train", "eval"):
                session = server.registry.create(session_id="openenv-" + purpose, purpose=purpose, task="sums")
                messages = agent(base, session.session_id, Engine)
                document = export_session(session, include_messages=True, capture_level="tokens")
                if purpose == "eval":
                    write("capture-eval.json", document, facts.trajectory([m | ({"trained": False} if "trained" in m else {}) for m in messages], id=session.session_id))
                    continue
                write("capture.json", document, facts.trajectory(messages, id=session.session_id))
                whole = httpx.get(f"{base}/sessions/{session.session_id}/rollout", headers={"Authorization": "Bearer admin"},
                                  params={"include_messages": True, "include_discarded": True}).json()
                write("capture-discarded.json", whole, facts.trajectory(messages, id=session.session_id))
                entries = httpx.get(f"{base}/sessions/{session.session_id}/trace_entries", headers={"Authorization": "Bearer admin"}).json()
                write("trace-entries.json", entries, facts.trajectory(messages[:-2], id=session.session_id))
                result = HarborRolloutResult(task_id="sums-1", harness="mine", session_id=session.session_id, reward=0.5, rewards={"reward": 0.5, "style": 1.0},
                                             reward_key="reward", turns=turns_from_document(document), conversations=conversations_from_document(document),
                                             n_turns=len(document["turns"]), n_roots=document["stats"]["n_roots"])
                untold = [{k: v for k, v in m.items() if k not in ("tokens", "logprob_sum", "ids", "delta")} for m in messages[-2:]]  # of calls that do not train
                write("harbor-result.json", result.model_dump(mode="json"),
                      facts.trajectory(messages[:-2] + untold, id=session.session_id, reward=0.5, rewards={"reward": 0.5, "style": 1.0}))
                failed = result.model_copy(update=dict(ok=False, error="the agent took too long", exception_type="AgentTimeoutError", reward=None, rewards={}))
                write("harbor-failed.json", failed.model_dump(mode="json"), facts.trajectory(messages[:-2] + untold, id=session.session_id))
        finally:
            server.stop()
        expected["results.jsonl"] = episodes(url, out, 4)
    facts.write(out, expected, "openenv " + importlib.metadata.version("openenv"))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
