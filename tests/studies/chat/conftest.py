"""A server that speaks OpenAI's chat protocol on the loopback address, and fails as it is told to."""

from __future__ import annotations

import gc
import json
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from whatwhere.studies.chat.one_hop import asked_sequence, solve


@dataclass
class Reply:
    """What the server does with one request."""

    text: str | None = None
    """The reply; the right answer by default."""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: str | None = None
    """Sent as it is, instead of a chat completion."""
    drop: bool = False
    """Close the connection without a word."""
    delay: float = 0.0
    finish: str = "stop"
    reasoning_tokens: int = 0


Behaviour = Callable[[str, int], Reply]
"""From the sequence that is asked and how often it was asked before to what the server does."""


class FaultServer(ThreadingHTTPServer):
    """Counts what it is asked; ``behaviour`` decides what it does."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.behaviour: Behaviour = lambda _, __: Reply()
        self.asked: list[tuple[float, str]] = []
        self.replied: list[tuple[float, str]] = []
        """Sequences whose whole reply was sent, and when."""
        self.requests: list[dict[str, Any]] = []
        self.authorizations: set[str] = set()
        self.own_keys: set[str | None] = set()
        """What came as ``X-Api-Key``."""
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that was killed closes its connections; that is what some tests are about."""


class _Handler(BaseHTTPRequestHandler):
    server: FaultServer  # pyright: ignore[reportIncompatibleVariableOverride]
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        sequence = asked_sequence(request["messages"][-1]["content"])
        with self.server.lock:
            before = sum(asked == sequence for _, asked in self.server.asked)
            self.server.asked.append((time.monotonic(), sequence))
            self.server.requests.append(request)
            self.server.authorizations.add(self.headers["Authorization"])
            self.server.own_keys.add(self.headers["X-Api-Key"])
        reply = self.server.behaviour(sequence, before)
        time.sleep(reply.delay)
        if reply.drop:
            self.close_connection = True
            return
        body = (reply.body if reply.body is not None else json.dumps(_completion(request, sequence, reply))).encode()
        self.send_response(reply.status)
        for name, value in {"Content-Type": "application/json", **reply.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()
        if reply.status == 200 and reply.body is None:
            with self.server.lock:
                self.server.replied.append((time.monotonic(), sequence))

    def log_message(self, format: str, *args: object) -> None:
        del format, args


def _completion(request: dict[str, Any], sequence: str, reply: Reply) -> dict[str, Any]:
    text = solve(sequence) if reply.text is None else reply.text
    return {
        "id": "reply",
        "object": "chat.completion",
        "created": 0,
        "model": request["model"],
        "choices": [
            {"index": 0, "finish_reason": reply.finish, "message": {"role": "assistant", "content": text}},
        ],
        "usage": {
            "prompt_tokens": 300,
            "completion_tokens": 2 + reply.reasoning_tokens,
            "total_tokens": 302 + reply.reasoning_tokens,
            "completion_tokens_details": {"reasoning_tokens": reply.reasoning_tokens},
        },
    }


@pytest.fixture
def server() -> Iterator[FaultServer]:
    made = FaultServer()
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    yield made
    made.shutdown()
    made.server_close()
    thread.join()


@pytest.fixture
def tidy() -> Iterator[None]:
    """What inspect-ai's event loop leaves open (connections, streams) must not surface in somebody else's test."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture(autouse=True)
def private_inspect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is left in the home directory, and no setting of the user's is read."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "inspect-data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "inspect-cache"))
    monkeypatch.chdir(tmp_path)
