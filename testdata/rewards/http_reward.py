"""A reward service: receives and returns lines of JSON over HTTP. Standard library only."""
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Reward(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        answers = b""
        for line in self.rfile.read(int(self.headers["Content-Length"])).splitlines():
            row = json.loads(line)
            reward = 1.0 if len(row["answer"]) < 100 else 0.0
            answers += json.dumps({"id": row["id"], "reward": reward}).encode() + b"\n"
        self.send_response(200)
        self.send_header("Content-Type", "application/x-ndjson")
        self.send_header("Content-Length", str(len(answers)))
        self.end_headers()
        self.wfile.write(answers)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Reward)
print(f"http://127.0.0.1:{server.server_port}/score", flush=True)
server.serve_forever()
