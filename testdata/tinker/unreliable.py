"""A proxy before the service that loses answers: a request is passed on, and its answer
thrown away. unreliable.py SERVICE EVERY SEED: one of EVERY requests to train or to save,
on average. Prints its URL."""

import http.server
import random
import sys
import urllib.error
import urllib.request

LOSABLE = ("forward_backward", "optim_step", "save_weights", "save_weights_for_sampler", "load_weights")


class Proxy(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    service, every, chance = "", 0, random.Random()

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        kept = {k: v for k, v in self.headers.items() if k.lower() not in ("host", "connection", "accept-encoding")}
        try:
            with urllib.request.urlopen(urllib.request.Request(self.service + self.path, body or None, kept, method=self.command)) as r:
                status, kind, data = r.status, r.headers["Content-Type"], r.read()
        except urllib.error.HTTPError as e:
            status, kind, data = e.code, e.headers["Content-Type"], e.read()
        if self.path.rsplit("/", 1)[1] in LOSABLE and self.chance.random() * self.every < 1:
            print("lost", self.path, file=sys.stderr, flush=True)
            self.close_connection = True
            return
        self.send_response(status)
        self.send_header("Content-Type", kind or "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_DELETE = answer

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    Proxy.service, Proxy.every, Proxy.chance = sys.argv[1], int(sys.argv[2]), random.Random(int(sys.argv[3]))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
