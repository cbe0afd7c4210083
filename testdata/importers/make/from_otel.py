"""Spans by OpenTelemetry's SDK, of an agent whose OpenAI client is instrumented: by
OpenTelemetry itself (the GenAI conventions, once as attributes and once as the
older events) and by OpenInference. Two agents run at once, so that the spans of
their traces are mixed; one of them runs an agent of its own.

    .venv-importers/bin/python from_otel.py OUT
"""

import asyncio
import importlib.metadata
import json
import os
import pathlib
import subprocess
import sys

import facts
import model

TOOLS = [{"type": "function", "function": {"name": "add", "description": "Add two numbers.", "parameters": {
    "type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"]}}}]
QUESTIONS = ["What is 17 plus 25?", "Add 100 and 1."]


def genai():
    from opentelemetry.instrumentation.openai_v2 import OpenAIInstrumentor
    from opentelemetry.util.genai.handler import TelemetryHandler

    def start(provider, logs):
        OpenAIInstrumentor().instrument(tracer_provider=provider, logger_provider=logs)
        handler = TelemetryHandler(tracer_provider=provider, logger_provider=logs)

        def agent(name):
            span = handler.invoke_local_agent(agent_name=name, request_model=model.NAME)
            span.provider = "openai"
            return span

        def tool(call, run):
            with handler.tool(call.function.name, tool_type="function") as span:
                span.tool_call_id, span.arguments, span.tool_result = call.id, call.function.arguments, run()
                return span.tool_result

        return agent, tool

    return start


def openinference(provider, _):
    from openinference.instrumentation import TracerProvider, using_session
    from openinference.instrumentation.openai import OpenAIInstrumentor

    OpenAIInstrumentor().instrument(tracer_provider=provider)
    tracer = provider.get_tracer("agent")

    def agent(name):
        return tracer.start_as_current_span(name, openinference_span_kind="agent")

    def tool(call, run):
        with tracer.start_as_current_span(call.function.name, openinference_span_kind="tool") as span:
            span.set_tool(name=call.function.name, description="Add two numbers.", parameters=json.loads(call.function.arguments))
            span.set_attribute("tool_call.id", call.id)
            span.set_input(call.function.arguments)
            result = run()
            span.set_output(result)
            return result

    return agent, tool


async def answer(client, agent, tool, question, name, inner=None):
    """An agent's loop; the inner agent answers first, in a span below."""
    messages = [{"role": "system", "content": "You add numbers."}, {"role": "user", "content": question}]
    with agent(name):
        if inner:
            await answer(client, agent, tool, inner, "helper")
        while True:
            reply = (await client.chat.completions.create(model=model.NAME, messages=messages, tools=TOOLS, temperature=0.5, seed=1)).choices[0].message
            messages.append(reply.model_dump(exclude_none=True))
            if not reply.tool_calls:
                return
            for call in reply.tool_calls:
                given = json.loads(call.function.arguments)
                result = tool(call, lambda: str(given["a"] + given["b"]))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


def record(kind, out, url):
    """Run the agents in this process under one convention."""
    from opentelemetry.exporter.otlp.json.file._log_exporter import FileLogExporter
    from opentelemetry.exporter.otlp.json.file.trace_exporter import FileSpanExporter
    from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    resource = Resource.create({"service.name": "adder"})
    if kind == "openinference":
        from openinference.instrumentation import TracerProvider
    provider, logs, memory = TracerProvider(resource=resource), LoggerProvider(resource=resource), InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(FileSpanExporter(stream=open(out / f"{kind}.otlp.jsonl", "w"))))
    provider.add_span_processor(SimpleSpanProcessor(memory))
    if kind == "genai":
        console = open(out / "genai.console.json", "w")
        provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter(out=console)))
    if kind == "genai-events":
        logs.add_log_record_processor(SimpleLogRecordProcessor(FileLogExporter(stream=open(out / f"{kind}.logs.otlp.jsonl", "w"))))
    agent, tool = (openinference if kind == "openinference" else genai())(provider, logs)

    import openai

    async def both():
        client = openai.AsyncOpenAI(base_url=url, api_key="none")
        await asyncio.gather(answer(client, agent, tool, QUESTIONS[0], "adder", inner="Add 5 and 6."), answer(client, agent, tool, QUESTIONS[1], "adder"))

    asyncio.run(both())
    provider.shutdown(), logs.shutdown()
    if kind == "genai":
        from google.protobuf.json_format import MessageToJson

        (out / "genai.protobuf.json").write_text(MessageToJson(encode_spans(memory.get_finished_spans()), indent=1))
    return [json.loads(s.to_json()) for s in memory.get_finished_spans()]


def with_events(spans, logs):
    """Add the content that the log records of a file hold to the attributes of their spans."""
    def plain(v):
        kind, v = next(iter(v.items()), ("", None))
        if kind == "arrayValue":
            return [plain(x) for x in v.get("values", [])]
        if kind == "kvlistValue":
            return {x["key"]: plain(x["value"]) for x in v.get("values", [])}
        return int(v) if kind == "intValue" else v

    by_id = {s["context"]["span_id"]: s for s in spans}
    for line in logs.read_text().splitlines():
        for record in [r for of in json.loads(line)["resourceLogs"] for scope in of["scopeLogs"] for r in scope["logRecords"]]:
            content = {a["key"]: json.dumps(plain(a["value"])) for a in record["attributes"] if a["key"].endswith(("messages", "instructions"))}
            by_id["0x" + record["spanId"]]["attributes"].update(content)


def rows(spans):
    """A trajectory for each agent span: the messages of its last call of the model."""
    by_id = {s["context"]["span_id"]: s for s in spans}
    out = []
    for s in sorted(spans, key=lambda s: s["start_time"]):
        a = s["attributes"]
        if a.get("gen_ai.operation.name") != "invoke_agent" and a.get("openinference.span.kind") != "AGENT":
            continue
        calls = [c for c in spans if c["parent_id"] == s["context"]["span_id"] and (c["attributes"].get("gen_ai.operation.name") == "chat" or "llm.model_name" in c["attributes"])]
        calls.sort(key=lambda c: c["start_time"])
        last = calls[-1]["attributes"]
        messages = flat(last) if "llm.model_name" in last else parts(last)
        out.append(facts.trajectory(messages, trace=s["context"]["trace_id"], span=s["context"]["span_id"], agent=s["name"], calls=len(calls),
                                    nested=s["parent_id"] in by_id, finish=last.get("gen_ai.response.finish_reasons")))
    return out


def parts(a):
    """Messages of the GenAI attributes: JSON with parts."""
    messages = []
    for key in ("gen_ai.system_instructions", "gen_ai.input.messages", "gen_ai.output.messages"):
        if key not in a:
            continue
        given = json.loads(a[key])
        for m in [{"role": "system", "parts": given}] if key.endswith("instructions") else given:
            text = "".join(p["content"] for p in m["parts"] if p["type"] == "text")
            text += "".join(str(p.get("response", p.get("result"))) for p in m["parts"] if p["type"] == "tool_call_response")
            calls = [(p.get("id"), p["name"], p["arguments"]) for p in m["parts"] if p["type"] == "tool_call"]
            answers = [p["id"] for p in m["parts"] if p["type"] == "tool_call_response"]
            messages.append(facts.message(m["role"], text, calls, tool_call_id=answers[0] if answers else None))
    return messages


def flat(a):
    """Messages of OpenInference: an attribute for each field."""
    messages = []
    for side in ("input", "output"):
        n = 0
        while (p := f"llm.{side}_messages.{n}.message.") + "role" in a:
            calls, k = [], 0
            while (c := f"{p}tool_calls.{k}.tool_call.") + "function.name" in a:
                calls.append((a.get(c + "id"), a[c + "function.name"], a.get(c + "function.arguments")))
                k += 1
            messages.append(facts.message(a[p + "role"], a.get(p + "content"), calls, tool_call_id=a.get(p + "tool_call_id")))
            n += 1
    return messages


def langfuse(spans):
    """Rows of Langfuse's export of observations, made of OpenInference spans."""
    for s in spans:
        a = s["attributes"]
        kind = {"LLM": "GENERATION"}.get(a["openinference.span.kind"], a["openinference.span.kind"])
        row = {"id": s["context"]["span_id"][2:], "trace_id": s["context"]["trace_id"][2:], "parent_observation_id": s["parent_id"] and s["parent_id"][2:],
               "type": kind, "name": s["name"], "start_time": s["start_time"], "end_time": s["end_time"], "level": "DEFAULT", "environment": "default",
               "input": a.get("input.value"), "output": a.get("output.value"), "metadata": {}}
        if kind == "GENERATION":
            given, made = json.loads(a["input.value"]), json.loads(a["output.value"])
            row |= {"input": json.dumps({"messages": given["messages"], "tools": given["tools"]}), "output": json.dumps(made["choices"][0]["message"]),
                    "provided_model_name": model.NAME, "model_parameters": {"temperature": 0.5, "seed": 1},
                    "usage_details": {"input": made["usage"]["prompt_tokens"], "output": made["usage"]["completion_tokens"], "total": made["usage"]["total_tokens"]}}
        yield row


def phoenix(spans):
    """Spans as Phoenix's client and REST interface return them."""
    for s in spans:
        yield {"id": s["context"]["span_id"], "name": s["name"], "context": {k: s["context"][k].removeprefix("0x") for k in ("trace_id", "span_id")},
               "span_kind": s["attributes"]["openinference.span.kind"], "parent_id": s["parent_id"] and s["parent_id"].removeprefix("0x"),
               "start_time": s["start_time"], "end_time": s["end_time"], "status_code": "OK", "status_message": "", "attributes": s["attributes"], "events": []}


def main(out):
    out.mkdir(parents=True, exist_ok=True)
    made = {"genai": {"OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental", "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY"},
            "genai-events": {"OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental", "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "EVENT_ONLY",
                             "OTEL_INSTRUMENTATION_GENAI_EMIT_EVENT": "true"}, "openinference": {}}
    version = importlib.metadata.version
    by = f"opentelemetry-sdk {version('opentelemetry-sdk')}, " 
    names = {"genai": "opentelemetry-instrumentation-openai-v2", "genai-events": "opentelemetry-instrumentation-openai-v2", "openinference": "openinference-instrumentation-openai"}
    for kind, env in made.items():
        with model.serve() as url:
            run = subprocess.run([sys.executable, __file__, "--record", kind, str(out), url], env=os.environ | env, capture_output=True, text=True)
        if run.returncode:
            sys.exit(run.stderr)
        spans = json.loads(run.stdout)
        if kind == "genai-events":
            with_events(spans, out / f"{kind}.logs.otlp.jsonl")
        read = rows(spans)
        files = [f"{kind}.otlp.jsonl"] + (["genai.console.json", "genai.protobuf.json"] if kind == "genai" else [])
        facts.write(out, {f: read for f in files}, by + f"{names[kind]} {version(names[kind])}")
        if kind == "openinference":
            for name, convert in (("langfuse-observations-by-schema.jsonl", langfuse), ("phoenix-spans-by-schema.jsonl", phoenix)):
                (out / name).write_text("".join(json.dumps(row) + "\n" for row in convert(spans)))
                facts.write(out, {name: read}, "written to the schema")


if __name__ == "__main__":
    if sys.argv[1] == "--record":
        print(json.dumps(record(sys.argv[2], pathlib.Path(sys.argv[3]), sys.argv[4])))
    else:
        main(pathlib.Path(sys.argv[1]))
