"""A website on this machine that says what a test wants it to say, well or badly."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Reply:
    """How a request is answered.

    Attributes:
        body: The file.
        status: 200 serves it, also in part; anything else is an error page.
        headers: ``ETag`` and so on.
        ranges: Whether a range is heeded.
        conditions: Whether ``If-Range`` is heeded.
        cut: Break the connection off after so many bytes.
        is_endless: The length of the answer is not said, and its body comes again and again.
    """

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: {"ETag": '"1"'})
    ranges: bool = True
    conditions: bool = True
    cut: int | None = None
    is_endless: bool = False


@dataclass
class Website:
    """Answers in order; the last answer stays.

    Attributes:
        url: Its address.
        replies: What is still to be answered.
        requests: Path and headers of every request so far.
    """

    url: str
    replies: list[Reply]
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    def header(self, request: int, name: str) -> str | None:
        return self.requests[request][1].get(name)

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        self.requests.append((handler.path, dict(handler.headers)))
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        status, body, headers = reply.status, reply.body, dict(reply.headers)
        asked = re.fullmatch(r"bytes=(\d+)-", handler.headers.get("Range", ""))
        condition = handler.headers.get("If-Range")
        if status == 200 and asked and reply.ranges:
            start = int(asked[1])
            if reply.conditions and condition not in (None, *headers.values()):
                pass
            elif start >= len(body):
                status, body = 416, b""
            else:
                status = 206
                headers["Content-Range"] = f"bytes {start}-{len(body) - 1}/{len(body)}"
                body = body[start:]
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        if not reply.is_endless:
            handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        with suppress(OSError):  # the client has gone
            while reply.is_endless:
                handler.wfile.write(body)
        handler.wfile.write(body[: reply.cut])


@contextmanager
def website(*replies: Reply) -> Iterator[Website]:
    """Serve until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.answer(self)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        site = Website(f"http://127.0.0.1:{server.server_port}", list(replies))
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield site
        finally:
            server.shutdown()
            thread.join()
