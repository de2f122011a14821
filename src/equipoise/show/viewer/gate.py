"""Who may look: whoever has the page's address with its key, and no other web page.

Every web page that is open in a browser can send requests to this machine, and the
server of a WebSocket answers them all unless it asks where they come from. Here a
request must name this machine as its host (else a domain that was made to point here
would pass), come from our own page if it comes from a page at all, and have the key in
its path, which is new each time and only in the address that is printed.

viser has no setting for this. It starts its server with ``websockets.serve``, whose
``process_request`` decides about each request; that function is wrapped. If a version
of viser starts its server in another way, nothing is served.
"""

from __future__ import annotations

import contextlib
import dataclasses
import http
import ipaddress
import secrets
import socket
import threading
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import websockets.asyncio.server as websocket_server
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

KEY_BYTES = 16
_starting = threading.Lock()


class Gate:
    """Decides about the requests to one server.

    Attributes:
        key: The first part of the path of every address.
        is_guarding: Whether a server was started that asks it.
    """

    def __init__(self, host: str) -> None:
        self.key = secrets.token_hex(KEY_BYTES)
        self.is_guarding = False
        self._host = host.lower()
        self._only_this_machine = is_loopback(host)

    def refusal(self, path: str, headers: Headers) -> str | None:
        """Return why a request is refused; None if it is not.

        Args:
            path: Path that is asked for, with its query.
            headers: Headers of the request.
        """
        hosts, origins = headers.get_all("Host"), headers.get_all("Origin")
        if len(hosts) != 1 or not self._is_ours(hosts[0]):
            return "This page is not served under that name."
        own = [f"{scheme}://{hosts[0].lower()}" for scheme in ("http", "https")]
        if any(origin.lower() not in own for origin in origins):
            return "Other web pages may not look."
        given = path.partition("?")[0].split("/")[1:2]
        if not given or not secrets.compare_digest(
            given[0].encode("utf-8", "replace"), self.key.encode()
        ):
            return "The key is missing: open the address that 'equipoise view' printed."
        return None

    def _is_ours(self, host: str) -> bool:
        """Return whether a host, perhaps with a port, is this machine.

        The port may be another: that of an SSH tunnel.
        """
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        if name in ("localhost", self._host):
            return True
        try:
            number = ipaddress.ip_address(name)
        except ValueError:
            own = socket.gethostname().lower()
            return not self._only_this_machine and name in (own, f"{own}.local")
        return number.is_loopback or not self._only_this_machine

    @contextlib.contextmanager
    def guarding(self) -> Iterator[None]:
        """Guard the server that viser starts while this lasts."""
        usual = websocket_server.serve

        def serve(*args: Any, **options: Any) -> Any:
            self.is_guarding = True
            inner = options.pop("process_request", None)
            return usual(*args, process_request=self._wrap(inner), **options)

        with _starting:
            websocket_server.serve = serve  # type: ignore[assignment, misc]
            try:
                yield
            finally:
                websocket_server.serve = usual  # type: ignore[misc]

    def _wrap(self, inner: Any) -> Any:
        """Return a function that refuses, or asks the inner one about the rest."""

        def process_request(
            connection: websocket_server.ServerConnection, request: Request
        ) -> Any:
            reason = self.refusal(request.path, request.headers)
            if reason is not None:
                return connection.respond(http.HTTPStatus.FORBIDDEN, f"{reason}\n")
            if inner is None:
                return None
            path = request.path.removeprefix(f"/{self.key}")
            path = path if path.startswith("/") else f"/{path}"
            answer = inner(connection, dataclasses.replace(request, path=path))
            if isinstance(answer, Response):  # the key is in the page's own address
                answer.headers["Referrer-Policy"] = "no-referrer"
            return answer

        return process_request


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach what is served on a host."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return False
    return all(ipaddress.ip_address(item[4][0]).is_loopback for item in found)
