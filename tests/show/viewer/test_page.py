"""Where the page is served."""

from __future__ import annotations

import socket
import urllib.request
from pathlib import Path

import pytest

from equipoise.errors import EquipoiseError
from equipoise.show.viewer.gate import is_loopback
from equipoise.show.viewer.page import PageServer, address, first_free_port

PORT = 8640


def listening_addresses(port):
    """Return the addresses of this machine that listen on a port, from the kernel."""
    found = []
    for file in ("/proc/net/tcp", "/proc/net/tcp6"):
        if not Path(file).is_file():
            continue
        for line in Path(file).read_text().splitlines()[1:]:
            place, state = line.split()[1], line.split()[3]
            host, number = place.split(":")
            if state == "0A" and int(number, 16) == port:
                found.append(host)
    return found


def test_page_is_served_to_this_machine_only_and_in_silence(capsys):
    """One socket, on 127.0.0.1; nothing is printed, and no public address is given."""
    server = PageServer("test", port=PORT)
    try:
        port = server.get_port()
        with urllib.request.urlopen(server.url, timeout=10) as page:
            assert page.status == 200
        if Path("/proc/net/tcp").is_file():
            assert listening_addresses(port) == ["0100007F"]
        assert server.request_share_url() is None
    finally:
        server.stop()
    assert capsys.readouterr().out == ""


def test_busy_port_gives_way_to_the_next():
    """A port that somebody listens on is passed over."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        busy = other.getsockname()[1]
        assert first_free_port("127.0.0.1", busy) > busy


@pytest.mark.parametrize(
    ("host", "port", "said"),
    [
        ("127.0.0.1", 0, "ports are from 1"),
        ("127.0.0.1", 70000, "ports are from 1"),
        ("192.0.2.1", 8080, "nothing can be served on 192.0.2.1"),
        ("no such host", 8080, "nothing can be served on no such host"),
    ],
)
def test_impossible_places_are_refused(host, port, said):
    """The message names the place."""
    with pytest.raises(EquipoiseError, match=said):
        first_free_port(host, port)


def test_addresses():
    """Which hosts are this machine only, and what one types for them."""
    assert is_loopback("127.0.0.1")
    assert not is_loopback("0.0.0.0")
    assert address("0.0.0.0", 80) == "http://127.0.0.1:80"
    assert address("::1", 80) == "http://[::1]:80"
