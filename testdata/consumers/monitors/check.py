"""Reads what rollmill.track and --otel wrote with the software that teams read it with.

    check.py FOLDER

runs, in a new FOLDER, the demo for two epochs, and again, when all is up to date. It
gives the figures to TensorBoard and MLflow after one epoch, then of both, then once
more, and compares what it reads with the report's training_metrics.jsonl:

    TensorBoard    EventAccumulator of the package tensorboard
    MLflow         a tracking server, `mlflow server` with SQLite, and MLflow's client
    OpenTelemetry  a receiver of OTLP over HTTP with opentelemetry-proto; it passes the
                   traces of held-out examples on to that MLflow server, whose client
                   reads them
"""

import http.server
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request

os.environ.setdefault("MLFLOW_ENABLE_TELEMETRY", "false")
os.environ.setdefault("DO_NOT_TRACK", "true")

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest, ExportTraceServiceResponse
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import mlflow

ROOT = pathlib.Path(__file__).parents[3]
ROLLMILL, TICTACTOE = ROOT / "bin/rollmill", ROOT / "bin/tictactoe"
EPOCHS, HELD_OUT = 2, 6

folder = pathlib.Path(sys.argv[1]).absolute()
shutil.rmtree(folder, ignore_errors=True)
folder.mkdir(parents=True)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Receiver(http.server.BaseHTTPRequestHandler):
    """Receives spans. It is busy at first."""

    protocol_version = "HTTP/1.1"
    spans, bodies, requests, lock = {}, [], 0, threading.Lock()

    def do_POST(self):
        assert self.path == "/v1/traces" and self.headers["Content-Type"] == "application/x-protobuf", self.path
        assert self.headers["x-mlflow-experiment-id"] == "0"
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with self.lock:
            Receiver.requests += 1
            busy = Receiver.requests == 1
        if not busy:
            request = ExportTraceServiceRequest.FromString(body)
            assert request.SerializeToString() == body, "a field that opentelemetry-proto does not know"
            self.keep(request)
            self.bodies.append(body)
        answer = ExportTraceServiceResponse().SerializeToString()
        self.send_response(503 if busy else 200)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def keep(self, request):
        for r in request.resource_spans:
            assert {a.key: a.value.string_value for a in r.resource.attributes}["service.name"] == "check"
            for s in (s for scope in r.scope_spans for s in scope.spans):
                assert len(s.trace_id) == 16 and len(s.span_id) == 8 and s.start_time_unix_nano <= s.end_time_unix_nano
                with self.lock:
                    self.spans[s.trace_id.hex(), s.span_id.hex()] = s

    def log_message(self, *args):
        pass


def ids(body):
    """The ids of the traces of a request."""
    return {s.trace_id.hex() for r in ExportTraceServiceRequest.FromString(body).resource_spans for scope in r.scope_spans for s in scope.spans}


def attributes(span):
    return {a.key: getattr(a.value, a.value.WhichOneof("value")) for a in span.attributes}


def run(*args, env):
    out = subprocess.run([ROLLMILL, *map(str, args)], cwd=folder, env=env, capture_output=True, text=True)
    assert out.returncode == 0, out.stderr
    assert "not sent" not in out.stderr, out.stderr
    return out


def track(*args, env, figures=None):
    """Log with rollmill.track the figures of the run, or these."""
    run = [] if figures else ["run"]
    env = dict(env, PYTHONPATH=str(ROOT / "cmd/python/src"), ROLLMILL=str(ROLLMILL))
    out = subprocess.run([sys.executable, "-m", "rollmill.track", *args, *run], cwd=folder, env=env, capture_output=True, text=True, input=figures)
    assert out.returncode == 0, out.stderr


def train(env, port):
    command = f"{ROLLMILL} train --config {ROOT}/pipelines/demo/rollmill.yaml"
    env = dict(env, DEMO_URL=f"http://127.0.0.1:{port}")
    return run("sandbox", "--dir", "sandbox", "--listen", f"127.0.0.1:{port}", *(x for k in EXPORTED for x in ("--exec-env", k)), "--exec", command, env=env)


EXPORTED = ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_HEADERS", "OTEL_SERVICE_NAME", "ROLLMILL_ROLLOUT_OTEL"]


def close(a, b):
    assert a is not None and abs(a - b) <= 1e-6 * max(1, abs(b)), (a, b)


def check_tensorboard(name, epochs):
    assert len(list((folder / name).glob("*.tfevents.*"))) == 3  # two for the first epoch, and none when nothing was new
    tags = EventAccumulator(str(folder / name), size_guidance={"scalars": 0})
    tags.Reload()
    for tag, key in (("score/reward", "avg_reward"), ("curate/kept_reward", "filtered_avg_reward"), ("curate/kept", "filtered_trajectories")):
        got = tags.Scalars(tag)
        assert [e.step for e in got] == list(range(EPOCHS)), (tag, got)
        for e in got:
            close(e.value, epochs[e.step][key])
    assert [e.step for e in tags.Scalars("validation/score/rewards/won")] == list(range(EPOCHS + 1))


def check_mlflow(client, experiment, epochs):
    runs = client.search_runs([client.get_experiment_by_name(experiment).experiment_id])
    assert [(r.info.run_name, r.info.status) for r in runs] == [("demo", "FINISHED")], runs
    for name, key in (("score/reward", "avg_reward"), ("curate/kept", "filtered_trajectories")):
        got = client.get_metric_history(runs[0].info.run_id, name)
        assert [m.step for m in got] == list(range(EPOCHS)), got
        for m in got:
            close(m.value, epochs[m.step][key])
    assert len(client.get_metric_history(runs[0].info.run_id, "submit/loss")) == EPOCHS


def check_traces(client, uri, env):
    by_trace = {}
    for (trace, _), s in Receiver.spans.items():
        by_trace.setdefault(trace, []).append(s)
    exported = {}
    for e in range(EPOCHS):
        run("export", "--in", f"run/epoch-{e}/rollout", "--to", "otel", "--out", f"traces-{e}.jsonl", env=env)
        for line in (folder / f"traces-{e}.jsonl").read_text().splitlines():
            for s in json.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"]:
                exported[s["traceId"], s["spanId"]] = s
    assert exported and set(exported) <= set(Receiver.spans), "an exported trace has other ids than the one that was sent"
    for key, s in exported.items():
        sent = Receiver.spans[key]
        assert (s["name"], s["kind"], int(s["startTimeUnixNano"])) == (sent.name, sent.kind, sent.start_time_unix_nano)
        assert len(s["attributes"]) == len(sent.attributes) and s.get("parentSpanId", "") == sent.parent_span_id.hex()
    for spans in by_trace.values():
        root = [s for s in spans if not s.parent_span_id]
        assert len(root) == 1 and attributes(root[0])["gen_ai.operation.name"] == "invoke_agent"
        for s in spans:
            if s is not root[0]:
                a = attributes(s)
                assert s.parent_span_id == root[0].span_id and a["gen_ai.operation.name"] == "chat" and s.name == "chat " + a["gen_ai.request.model"]
                assert a["gen_ai.usage.output_tokens"] > 0 and json.loads(a["gen_ai.input.messages"]) and json.loads(a["gen_ai.output.messages"])[0]["finish_reason"]
    held_out = {t for t, spans in by_trace.items() if any(attributes(s).get("rollmill.example_id", "").startswith("game-2-") for s in spans)}
    assert len(held_out) == HELD_OUT * (EPOCHS + 1)
    for body in Receiver.bodies:
        if ids(body) <= held_out:
            urllib.request.urlopen(urllib.request.Request(uri + "/v1/traces", body, {"Content-Type": "application/x-protobuf", "x-mlflow-experiment-id": "0"})).read()
    traces = client.search_traces(["0"], max_results=500)
    assert {t.info.trace_id.removeprefix("tr-") for t in traces} == held_out
    for t in traces:
        names = sorted(s.name for s in t.data.spans)
        assert names == sorted(s.name for s in by_trace[t.info.trace_id.removeprefix("tr-")]), names
    # The traces of a file are trajectories again.
    run("import", "--from", "otel", "--in", "traces-0.jsonl", "--map", "example_id=rollmill.example_id", "--out", "again", env=env)
    for name, source in (("a", "run/epoch-0/rollout"), ("b", "again")):
        run("export", "--in", source, "--to", "chat", "--out", f"{name}.jsonl", env=env)
    said = [sorted(json.dumps([(m["role"], m["content"]) for m in json.loads(line)["messages"]]) for line in (folder / f"{n}.jsonl").read_text().splitlines()) for n in "ab"]
    assert said[0] == said[1] and said[0]
    return len(by_trace), len(Receiver.spans)


def main():
    begun = time.time()
    uri = f"http://127.0.0.1:{free_port()}"
    server = subprocess.Popen(
        [pathlib.Path(sys.executable).parent / "mlflow", "server", "--backend-store-uri", f"sqlite:///{folder}/mlflow.db", "--host", "127.0.0.1", "--port", uri.rsplit(":")[-1], "--workers", "1"],
        env=dict(os.environ, MLFLOW_SERVER_ENABLE_JOB_EXECUTION="false"), stdout=open(folder / "mlflow.log", "w"), stderr=subprocess.STDOUT, start_new_session=True)
    receiver = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=receiver.serve_forever, daemon=True).start()
    try:
        for name, args in (("train", ["--count", "8", "--seed", "1"]), ("held-out", ["--count", str(HELD_OUT), "--seed", "2", "--offset", "1000000"])):
            (folder / f"{name}.jsonl").write_bytes(subprocess.check_output([TICTACTOE, "examples", *args]))
        (folder / "bin").symlink_to(ROOT / "bin")
        env = dict(os.environ, DEMO=".", DEMO_RUN=str(folder / "run"), DEMO_EPOCHS=str(EPOCHS), VALIDATE_EVERY="1", OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{receiver.server_port}",
                   OTEL_EXPORTER_OTLP_HEADERS="x-mlflow-experiment-id=0", OTEL_SERVICE_NAME="check", ROLLMILL_ROLLOUT_OTEL="content")
        while True:
            try:
                urllib.request.urlopen(uri + "/health").read()
                break
            except OSError:
                assert server.poll() is None, (folder / "mlflow.log").read_text()
                assert time.time() < begun + 180, "mlflow server does not start"
                time.sleep(0.2)
        up = time.time()
        port = free_port()
        train(env, port)
        sent = len(Receiver.spans)
        train(env, port)  # up to date
        assert len(Receiver.spans) == sent
        report = json.loads(run("report", "run", "--json", env=env).stdout)
        first = json.dumps({**report, "epochs": report["epochs"][:1]})
        track("--mlflow", uri, "--tensorboard", "tb", env=env, figures=first)
        report["epochs"][0]["train"]["mean"] += 1
        track("--tensorboard", "tb", env=env, figures=json.dumps({**report, "epochs": report["epochs"][:1]}))  # of an epoch that was scored again later
        live = EventAccumulator(str(folder / "tb"))
        live.Reload()
        for _ in range(2):
            track("--mlflow", uri, "--tensorboard", "tb", env=env)
            live.Reload()  # as a TensorBoard that is open all the time
            assert [e.step for e in live.Scalars("score/reward")] == list(range(EPOCHS))
        track("--mlflow", uri, env=dict(env, MLFLOW_EXPERIMENT_NAME="later"))
        epochs = [json.loads(line) for line in (folder / "run/training_metrics.jsonl").read_text().splitlines()]
        mlflow.set_tracking_uri(uri)
        client = mlflow.MlflowClient(uri)
        check_tensorboard("tb", epochs)
        for experiment in ("Default", "later"):
            check_mlflow(client, experiment, epochs)
        traces, spans = check_traces(client, uri, env)
        print(f"TensorBoard, MLflow and OpenTelemetry read {EPOCHS} epochs and {traces} traces of {spans} spans ({up - begun:.0f} s to start MLflow, {time.time() - up:.0f} s)")
    finally:
        receiver.shutdown()
        os.killpg(server.pid, signal.SIGTERM)
        server.wait()


main()
