"""A service that speaks the wire of the newest SDK, in front of one that speaks the wire
of 0.16.1: protobuf.py SERVICE. Prints its URL. Run it with the newest SDK's Python, whose
messages it uses.

It answers /client/config, reads forward_backward as protobuf and nothing else, gives its
results as protobuf where they are asked for, names models SESSION:train:N, and makes a
model by load_weights alone. The training is the service's.
"""

import http.server
import json
import sys
import urllib.error
import urllib.request

import numpy
from tinker.proto import tinker_public_pb2 as wire

PROTOBUF = "application/x-protobuf"
TYPES = {wire.DTYPE_FLOAT32: numpy.float32, wire.DTYPE_INT64: numpy.int64}


class Refused(Exception):
    def __init__(self, status, body):
        super().__init__(body)
        self.status, self.body = status, body


class Wire(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    service = ""
    models = {}  # the service's, by the SDK's names

    def ask(self, path, fields=None):
        body = json.dumps(fields).encode() if fields is not None else None
        request = urllib.request.Request(f"{self.service}/api/v1/{path}", body, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise Refused(error.code, error.read()) from None

    def result(self, request):
        return self.ask("retrieve_future", {"request_id": request})

    def made(self, fields, base, lora):
        """Make a model of the service, and give it the name that the SDK derives."""
        answer = self.ask("create_model", {"session_id": fields["session_id"], "base_model": base, "lora_config": lora})
        name = f"{fields['session_id']}:train:{fields['model_seq_id']}"
        self.models[name] = self.result(answer["request_id"])["model_id"]
        return answer["request_id"], name

    def create_model(self, fields):
        request, _ = self.made(fields, fields["base_model"], fields["lora_config"])
        return {"future_id": request, "request_id": request, "status": "pending"}

    def load_weights(self, fields):
        if "session_id" in fields:
            info = self.ask("weights_info", {"tinker_path": fields["path"]})
            _, fields["model_id"] = self.made(fields, info["base_model"], {"rank": info["lora_rank"]})
        return self.ask("load_weights", {"model_id": self.models[fields["model_id"]], "path": fields["path"]})

    def forward_backward(self, message):
        data = []
        for datum in message.data:
            chunks = [{"tokens": numpy.frombuffer(c.encoded_text.tokens, numpy.int32).tolist()} for c in datum.model_input]
            inputs = {name: {"data": numpy.frombuffer(t.dense, TYPES[t.dtype]).tolist()} for name, t in datum.loss_fn_inputs.items()}
            data.append({"model_input": {"chunks": chunks}, "loss_fn_inputs": inputs})
        return self.ask("forward_backward", {"model_id": self.models[message.model_id], "forward_backward_input": {"loss_fn": message.loss_fn, "data": data}})

    def retrieve_future(self, fields):
        found = self.result(fields["request_id"])
        if "model_id" in found:
            found["model_id"] = next((name for name, own in self.models.items() if own == found["model_id"]), found["model_id"])
        return found

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = self.path.partition("/api/v1/")[2]
        try:
            self.write(200, *self.answered(path, body))
        except Refused as error:
            self.write(error.status, "application/json", error.body)

    def answered(self, path, body):
        if path == "forward_backward":
            if self.headers["Content-Type"] != PROTOBUF:
                raise Refused(415, b'{"detail": "forward_backward is protobuf"}')
            return self.json(self.forward_backward(wire.ForwardBackwardRequest.FromString(body)))
        fields = json.loads(body) if body else None
        if path in ("client/config", "client/dynamic_config"):
            return self.json({"use_pyqwest_transport": False})
        if path in ("create_model", "load_weights", "retrieve_future"):
            found = getattr(self, path)(fields)
            if path == "retrieve_future" and "loss_fn_outputs" in found and PROTOBUF in self.headers.get("Accept", ""):
                return PROTOBUF, encoded(found).SerializeToString()
            return self.json(found)
        if fields and "model_id" in fields:
            fields["model_id"] = self.models.get(fields["model_id"], fields["model_id"])
        found = self.ask(path, fields)
        return self.json({**found, "model_id": body and json.loads(body)["model_id"]} if path == "get_info" else found)

    def json(self, value):
        return "application/json", json.dumps(value).encode()

    def write(self, status, kind, body):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = answer

    def log_message(self, *_):
        pass


def encoded(found):
    """The result of forward_backward: one array for all datums, and where each begins."""
    outputs = found["loss_fn_outputs"]
    record = wire.ArrayRecord(type_tag="ArrayRecord", num_datums=len(outputs))
    for name in outputs[0]:
        arrays = [numpy.asarray(o[name]["data"], numpy.float32) for o in outputs]
        offsets = numpy.cumsum([0, *(a.nbytes for a in arrays)], dtype=numpy.int64)
        record.fields[name].CopyFrom(wire.BatchedTensor(data=numpy.concatenate(arrays).tobytes(), offsets=offsets.tobytes(), dtype=wire.DTYPE_FLOAT32))
    return wire.ForwardBackwardOutput(loss_fn_output_type="ArrayRecord", loss_fn_outputs=[record], metrics=found.get("metrics") or {})


if __name__ == "__main__":
    Wire.service = sys.argv[1].rstrip("/")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Wire)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
