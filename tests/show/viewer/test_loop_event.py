"""The event that wakes the senders of the viewer's messages."""

from __future__ import annotations

import asyncio
import threading
from urllib.parse import urlsplit

import pytest
import viser
from websockets.sync.client import connect

from equipoise.show.viewer.loop_event import LoopEvent
from equipoise.show.viewer.page import PageServer

PORT = 8655


def test_what_other_threads_change_is_sent_by_the_servers_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Viewers who wait are woken by one thread, so that no other sees them change."""
    setters = set()
    really = asyncio.Event.set

    def recorded(event: asyncio.Event) -> None:
        setters.add(threading.current_thread())
        really(event)

    server = PageServer("test", port=PORT)
    place = urlsplit(server.url)
    address = f"ws://{place.netloc}{place.path.rstrip('/')}"
    try:
        with connect(
            address, subprotocols=[f"viser-v{viser.__version__}"]
        ) as connection:
            connection.recv(timeout=30.0)
            monkeypatch.setattr(asyncio.Event, "set", recorded)
            words = server.gui.add_markdown("at first")
            words.content = "and then"
            with server.atomic():
                words.content = "at last"
            assert len(connection.recv(timeout=30.0)) > 0
    finally:
        server.stop()
    assert len(setters) == 1
    assert threading.current_thread() not in setters


def test_no_waking_is_lost() -> None:
    """Each time that a thread sets it, who waits goes on; a closed loop is borne."""
    loop = asyncio.new_event_loop()
    event, woken = LoopEvent(loop), threading.Semaphore(0)

    async def wait() -> None:
        for _ in range(1000):
            await event.wait()
            event.clear()
            woken.release()

    thread = threading.Thread(target=loop.run_until_complete, args=(wait(),))
    thread.start()
    for _ in range(1000):
        event.set()
        assert woken.acquire(timeout=30.0)
    thread.join()
    loop.close()
    event.set()
