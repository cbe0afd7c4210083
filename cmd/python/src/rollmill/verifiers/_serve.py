"""Attempts over HTTP: each POST is a task, as agent http sends it, and is answered with
the attempt's result. All run in one event loop."""

from __future__ import annotations

import asyncio
import concurrent.futures
import http.server
import json
import select
import socket
import threading
from typing import Any

from .. import _stdio
from . import Environment


def serve(environment: Environment, io: _stdio.Stdio) -> None:
    """Serve until standard input ends; the address is the first line of output."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            task = json.loads(self.rfile.read(int(self.headers["content-length"])))
            future = asyncio.run_coroutine_threadsafe(_attempt(environment, task), loop)
            while not future.done():
                try:
                    future.result(timeout=1)
                except (concurrent.futures.TimeoutError, TimeoutError):
                    if _gone(self.connection):
                        future.cancel()
                except concurrent.futures.CancelledError:
                    return
            answer = future.result()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

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
        return _stdio.encode(made, allow_nan=False)
    except Exception as error:
        return _stdio.encode({"error": _stdio.describe(error), "traceback": _stdio.trace(error)})


def _gone(connection: socket.socket) -> bool:
    """Report whether rollmill has ended the attempt: it sends nothing more, and closes."""
    readable, _, _ = select.select([connection], [], [], 0)
    return bool(readable) and not connection.recv(1, socket.MSG_PEEK)
