"""Attempts over HTTP: each POST is a task, as agent http sends it, and is answered with
the attempt's result. All run in one event loop. GET /COUNT answers with the first
tasks, and GET / with all, an example a line."""

from __future__ import annotations

import asyncio
import concurrent.futures
import http.server
import itertools
import json
import select
import socket
import threading
from typing import Any

from .. import _stdio
from . import Environment, Refused


def serve(environment: Environment, about: dict[str, str], io: _stdio.Stdio) -> None:
    """Serve until standard input ends; the address is the first line of output."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            task = json.loads(self.rfile.read(int(self.headers["content-length"])))
            future = asyncio.run_coroutine_threadsafe(_attempt(environment, task), loop)
            while not concurrent.futures.wait([future], timeout=1).done:
                if _gone(self.connection):
                    future.cancel()
                    return
            self._answer(200, future.result())

        def do_GET(self) -> None:
            count = self.path.strip("/")
            try:
                tasks = environment.examples(int(count) if count else None)
                begun = list(itertools.islice(tasks, 1))
            except Exception as error:
                said = str(error) if isinstance(error, Refused) else _stdio.describe(error)
                self._answer(500, said.encode())
                return
            self.send_response(200)
            self.send_header("transfer-encoding", "chunked")  # so that a list is known to be whole
            self.end_headers()
            for task in itertools.chain(begun, tasks):
                line = _stdio.encode({**task, **about})
                self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
            self.wfile.write(b"0\r\n\r\n")

        def _answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads, request_queue_size = True, 1024

    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    io.answers.write(_stdio.encode({"url": f"http://127.0.0.1:{server.server_port}/"}))
    io.answers.flush()
    io.requests.read()  # until rollmill ends


async def _attempt(environment: Environment, task: dict[str, Any]) -> bytes:
    try:
        made = await environment.attempt(task["fields"]["task"], task["base_url"], task["model"])
        return _stdio.encode(made)
    except Exception as error:
        return _stdio.encode({"error": _stdio.describe(error), "traceback": _stdio.trace(error)})


def _gone(connection: socket.socket) -> bool:
    """Report whether rollmill has ended the attempt: it sends nothing more, and closes."""
    readable, _, _ = select.select([connection], [], [], 0)
    return bool(readable) and not connection.recv(1, socket.MSG_PEEK)
