"""An event that threads may set while many viewers wait for it.

viser wakes the senders of its messages with an :class:`asyncio.Event`, which it also
sets from the thread that changes the scene. These events are not made for that: with
many viewers the list of those who wait changes meanwhile, and the player's thread ends
with a RuntimeError.
"""

from __future__ import annotations

import asyncio
import contextlib


class LoopEvent(asyncio.Event):
    """An event that is set by its loop's thread alone, whoever asks for it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._setter = loop
        self._is_asked = False

    def set(self) -> None:
        """Set it, or ask the loop to; what was sent before is seen by who waits."""
        if _running_loop() is self._setter:
            self._is_asked = False
            super().set()
        elif not self._is_asked:
            self._is_asked = True
            with contextlib.suppress(RuntimeError):  # the loop is closed
                self._setter.call_soon_threadsafe(self.set)


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
