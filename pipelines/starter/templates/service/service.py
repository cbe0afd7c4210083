"""The agent as a service, in any language: each POST is an attempt. Start it before
rollmill: python3 service.py. Its model's address comes with each attempt, and every
call there is recorded on the way; any SDK will do."""

import json
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def solve(task):
    body = {"model": task["model"], "messages": [{"role": "user", "content": task["question"]}]}
    request = urllib.request.Request(
        task["base_url"] + "/chat/completions",
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json", "Authorization": "Bearer " + task["api_key"]},
    )
    with urllib.request.urlopen(request) as reply:
        return json.load(reply)["choices"][0]["message"]["content"]


class Attempt(BaseHTTPRequestHandler):
    def do_POST(self):
        task = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        try:
            result = {"answer": solve(task)}
        except Exception as error:  # this attempt fails, the others go on
            result = {"error": f"{type(error).__name__}: {error}"}
        body = json.dumps(result).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", 9100), Attempt).serve_forever()
