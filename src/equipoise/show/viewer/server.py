"""The page's server: on this machine only unless told otherwise, and quiet."""

from __future__ import annotations

import contextlib
import errno
import io
import ipaddress
import socket
from collections.abc import Iterator

import viser

from equipoise.errors import EquipoiseError
from equipoise.show.space.scene_colours import COM

LOOPBACK = "127.0.0.1"
FIRST_PORT, LAST_PORT = 8080, 65535
# Busy ports that are passed over before we give up.
MOST_BUSY = 100


class PageServer(viser.ViserServer):
    """A server that never leaves the machine by itself and prints nothing."""

    def __init__(self, host: str, port: int, title: str) -> None:
        """Start serving.

        Args:
            host: Address to serve on.
            port: A free port of it.
            title: Of the page.
        """
        with _quietly():
            super().__init__(host=host, port=port, label=title, verbose=False)
        self.gui.configure_theme(
            control_width="large",
            show_logo=False,
            show_share_button=False,
            brand_color=COM,
        )

    def request_share_url(self, verbose: bool = True) -> str | None:
        """Refuse: any page open in the browser could ask for a public address."""
        return None

    def stop(self) -> None:
        """Stop serving; open pages say that the connection is lost."""
        with _quietly():
            super().stop()


def serve(title: str, host: str = LOOPBACK, port: int = FIRST_PORT) -> PageServer:
    """Return a server on the wanted port, or on the next that is free.

    Args:
        title: Of the page.
        host: Address to serve on.
        port: From 1 to 65535.

    Raises:
        EquipoiseError: If nothing can be served there.
    """
    return PageServer(host, first_free_port(host, port), title)


def first_free_port(host: str, port: int) -> int:
    """Return the first free port of a host, from the wanted one on.

    Raises:
        EquipoiseError: If the host is none of this machine, or no port is free.
    """
    if not 1 <= port <= LAST_PORT:
        raise EquipoiseError(f"port {port}: ports are from 1 to {LAST_PORT}")
    for wanted in range(port, min(port + MOST_BUSY, LAST_PORT + 1)):
        if _is_free(host, wanted):
            return wanted
    raise EquipoiseError(
        f"no port of {host} from {port} on is free, {MOST_BUSY} were tried"
    )


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach what is served on a host."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return False
    return all(ipaddress.ip_address(item[4][0]).is_loopback for item in found)


def address(host: str, port: int) -> str:
    """Return what to type into a browser."""
    if host in ("0.0.0.0", "::", ""):  # every address, this machine's among them
        host = LOOPBACK
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _is_free(host: str, port: int) -> bool:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        for family, kind, protocol, _, place in found:
            with socket.socket(family, kind, protocol) as trial:
                # as the server does it: a port just left is free at once
                trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                trial.bind(place)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            return False
        raise EquipoiseError(
            f"nothing can be served on {host}, port {port}: {error.strerror or error}"
        ) from error
    return True


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Keep what viser prints on start and stop from the terminal."""
    with contextlib.redirect_stdout(io.StringIO()):
        yield
