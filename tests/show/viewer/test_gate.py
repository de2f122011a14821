"""Who may look: keys, hosts and origins of requests to the viewer's server."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
import viser
import websockets.asyncio.server
from websockets.datastructures import Headers
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from equipoise.errors import EquipoiseError
from equipoise.show.viewer.gate import Gate
from equipoise.show.viewer.page import PageServer, first_free_port

PORT = 8645
SUBPROTOCOL = f"viser-v{viser.__version__}"


@pytest.fixture(scope="module")
def server() -> Iterator[PageServer]:
    """A page."""
    server = PageServer("test", port=PORT)
    yield server
    server.stop()


def refusal(gate: Gate, host: str, path: str | None = None, **more: str) -> str | None:
    """Return what a gate says to a request, with the key unless a path is given."""
    headers = Headers({"Host": host, **more})
    return gate.refusal(f"/{gate.key}" if path is None else path, headers)


def status(server: PageServer, path: str, **headers: str) -> int:
    """Return the status of the answer to a request for a page."""
    place = urlsplit(server.url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    if answer.status != 200:
        assert len(content) < 200
    return answer.status


def socket_status(server: PageServer, path: str, origin: str | None = None) -> int:
    """Return the status of the answer to a WebSocket's request; 101 is a connection."""
    place = urlsplit(server.url)
    try:
        with connect(
            f"ws://{place.netloc}{path}", origin=origin, subprotocols=[SUBPROTOCOL]
        ) as connection:
            assert len(connection.recv(timeout=30.0)) > 0
    except InvalidStatus as error:
        return error.response.status_code
    return 101


def test_page_and_socket_take_the_key(server: PageServer) -> None:
    """With the key, and from our own page or from no page at all, both answer."""
    place = urlsplit(server.url)
    key = place.path.strip("/")
    assert len(key) == 32
    assert status(server, f"/{key}/") == status(server, f"/{key}") == 200
    assert status(server, f"/{key}/?fixedDpr=0.5") == 200
    assert socket_status(server, f"/{key}") == 101
    assert socket_status(server, f"/{key}", f"http://{place.netloc}") == 101


@pytest.mark.parametrize("path", ["", "/", "/0123", "/index.html", "//", "/?key=1"])
def test_without_the_key_nothing_answers(server: PageServer, path: str) -> None:
    """Neither the page nor the WebSocket, whoever asks."""
    own = f"http://{urlsplit(server.url).netloc}"
    assert status(server, path or "/") == 403
    assert socket_status(server, path) == socket_status(server, path, own) == 403


@pytest.mark.parametrize(
    "origin",
    ["https://example.org", "http://127.0.0.1:1", "http://localhost:8645", "null"],
)
def test_other_pages_are_refused_even_with_the_key(
    server: PageServer, origin: str
) -> None:
    """The origin must be the host that is asked, port and all."""
    path = urlsplit(server.url).path.rstrip("/")
    assert socket_status(server, path, origin) == 403
    assert status(server, f"{path}/", Origin=origin) == 403


def test_a_domain_that_points_here_is_refused(server: PageServer) -> None:
    """A name that somebody else made resolve to this machine is not ours."""
    path = urlsplit(server.url).path
    port = urlsplit(server.url).port
    for host in (f"example.org:{port}", "example.org", "192.0.2.7", "[", ""):
        assert status(server, path, Host=host) == 403
    for host in (f"localhost:{port}", "127.0.0.1:9000", "[::1]:8080", "LOCALHOST"):
        assert status(server, path, Host=host) == 200


def test_names_of_a_server_for_other_machines() -> None:
    """Numbers of this machine are names of it, domains are not; each key is its own."""
    gate = Gate("0.0.0.0")
    assert gate.key != Gate("0.0.0.0").key
    for host in ("192.0.2.7:8080", "[2001:db8::1]:8080", "localhost:8080"):
        assert refusal(gate, host) is None
        assert refusal(gate, host, Origin=f"http://{host}") is None
    assert refusal(gate, "example.org:8080") is not None
    assert refusal(gate, "192.0.2.7", Origin="http://192.0.2.8") is not None
    assert refusal(gate, "192.0.2.7", path="/") is not None
    assert gate.refusal(f"/{gate.key}", Headers()) is not None
    two = Headers([("Host", "localhost"), ("Host", "example.org")])
    assert gate.refusal(f"/{gate.key}", two) is not None


def test_a_viser_that_cannot_be_guarded_is_not_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If viser no longer starts its server the way that is guarded, none is left."""
    port = first_free_port("127.0.0.1", PORT + 5)
    kept = websockets.asyncio.server.serve
    really = viser.infra.WebsockServer.start

    def start(self: viser.infra.WebsockServer) -> None:
        guarded = websockets.asyncio.server.serve
        websockets.asyncio.server.serve = kept
        try:
            really(self)
        finally:
            websockets.asyncio.server.serve = guarded

    monkeypatch.setattr(viser.infra.WebsockServer, "start", start)
    with pytest.raises(EquipoiseError, match="cannot be guarded"):
        PageServer("test", port=port)
    monkeypatch.undo()
    assert websockets.asyncio.server.serve is kept
    with pytest.raises(ConnectionRefusedError):
        http.client.HTTPConnection("127.0.0.1", port).connect()
