"""Other web pages in the same Chromium cannot read the viewer."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.parse import urlsplit

import pytest
import viser
from runs import swaying

from equipoise.show.viewer.window import Window, view

# Tries to connect as the viewer's own page does, and says what became of it.
CONNECT = """([address, protocol]) => new Promise(done => {
    const socket = new WebSocket(address, [protocol]);
    socket.onmessage = message => { socket.close(); done('read'); };
    socket.onerror = () => done('refused');
})"""
FETCH = """address => fetch(address).then(
    answer => answer.text().then(text => text.length), () => 'refused')"""
PROTOCOL = f"viser-v{viser.__version__}"


class EmptyPage(BaseHTTPRequestHandler):
    """Answers every request with an empty page."""

    def do_GET(self) -> None:
        """Answer."""
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<title>another page</title>")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def other_port() -> Iterator[int]:
    """The port of a web server of somebody else."""
    with HTTPServer(("127.0.0.1", 0), EmptyPage) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


@pytest.fixture
def replay() -> Iterator[Window]:
    """A page with one run."""
    with view(swaying(seconds=0.2), port=8630, block=False) as window:
        yield window


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_other_pages_are_refused_and_our_own_is_not(
    browser: Any, browser_page: Any, replay: Window, other_port: int, host: str
) -> None:
    """A page of another origin reads nothing, even if it knew the key."""
    place = urlsplit(replay.url)
    addresses = [f"ws://{place.netloc}", f"ws://{place.netloc}{place.path.rstrip('/')}"]
    own = browser_page(replay.url, width=400, height=300)
    own.wait_for_function(
        "() => window.__viserSceneTree && "
        "'/world/run-1/robot' in window.__viserSceneTree.getState()"
    )
    assert own.evaluate(CONNECT, [addresses[1], PROTOCOL]) == "read"
    context = browser.new_context()
    try:
        other = context.new_page()
        other.goto(f"http://{host}:{other_port}")
        for address in addresses:
            assert other.evaluate(CONNECT, [address, PROTOCOL]) == "refused"
        assert other.evaluate(FETCH, replay.url) == "refused"
    finally:
        context.close()


def test_our_own_page_works_again_after_a_reload(
    browser_page: Any, replay: Window
) -> None:
    """What viser makes of the address has the key, too."""
    page = browser_page(replay.url, width=400, height=300)
    for _ in range(2):
        page.wait_for_function(
            "() => window.__viserSceneTree && "
            "'/world/run-1/robot' in window.__viserSceneTree.getState()"
        )
        assert urlsplit(replay.url).path in page.url
        page.reload()
