"""A service for the newest SDK, in front of one that speaks the wire of 0.25: newer.py SERVICE.
Prints its URL. Run it with the newest SDK's Python, whose messages it uses.

One request differs: the SDK makes a model by load_weights alone, and names it SESSION:train:N.
All else is passed on as it is, with the service's name of such a model.
"""

import http.server
import json
import sys
import urllib.error
import urllib.request

from tinker.proto import tinker_public_pb2 as wire

JSON, PROTOBUF = "application/json", "application/x-protobuf"


class Refused(Exception):
    pass


class Wire(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    service = ""
    models = {}  # the service's, by the SDK's names

    def ask(self, path, body, headers):
        """The kind and the bytes of the service's answer."""
        try:
            with urllib.request.urlopen(urllib.request.Request(self.service + path, body, headers)) as answer:
                return answer.headers["Content-Type"], answer.read()
        except urllib.error.HTTPError as error:
            raise Refused(error.code, error.headers["Content-Type"] or JSON, error.read()) from None

    def post(self, path, fields):
        return json.loads(self.ask(f"/api/v1/{path}", json.dumps(fields).encode(), {"Content-Type": JSON})[1])

    def load_weights(self, fields):
        """Make the model first, as the service wants it."""
        info = self.post("weights_info", {"tinker_path": fields["path"]})
        made = self.post("create_model", {"session_id": fields["session_id"], "base_model": info["base_model"], "lora_config": {"rank": info["lora_rank"]}})
        model = self.models[f"{fields['session_id']}:train:{fields['model_seq_id']}"] = self.post("retrieve_future", {"request_id": made["request_id"]})["model_id"]
        return {"model_id": model, "path": fields["path"], "optimizer": fields["optimizer"]}

    def named(self, body):
        """The request with the service's name of its model."""
        if self.headers["Content-Type"] == PROTOBUF:
            message = wire.ForwardBackwardRequest.FromString(body)
            message.model_id = self.models.get(message.model_id, message.model_id)
            return message.SerializeToString()
        fields = json.loads(body)
        if self.path.endswith("/load_weights") and "session_id" in fields:
            fields = self.load_weights(fields)
        elif "model_id" in fields:
            fields["model_id"] = self.models.get(fields["model_id"], fields["model_id"])
        return json.dumps(fields).encode()

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {k: v for k, v in self.headers.items() if k.lower() in ("content-type", "accept", "x-api-key")}
        try:
            status, (kind, data) = 200, self.ask(self.path, self.named(body) if body else None, headers)
        except Refused as error:
            status, kind, data = error.args
        if status == 200 and kind == JSON and self.path.endswith("/get_info"):
            data = json.dumps({**json.loads(data), "model_id": json.loads(body)["model_id"]}).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = answer

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    Wire.service = sys.argv[1].rstrip("/")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Wire)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
