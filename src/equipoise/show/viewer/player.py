"""Play, pause, scrub: the controls of a replay and the thread that shows it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from equipoise.log.run import Event
from equipoise.show.viewer.clock import FASTEST, SLOWEST, Clock

if TYPE_CHECKING:
    import viser

FRAMES_A_SECOND = 60.0
# The slider and its number need not follow as often.
SLIDER_SECONDS = 0.06
# While somebody drags the slider, the clock waits for this long [s].
HOLD_SECONDS = 0.25
STEP_SECONDS = 0.01
MOST_MARKS = 40
# Typed as a special kind of text by viser.
PLAY: Any = "player-play"
PAUSE: Any = "player-pause"
TO_START, BACK, AHEAD, TO_END = "|<", "< row", "row >", ">|"


class Player:
    """Controls of a replay, the same for all who look at it."""

    def __init__(
        self,
        server: viser.ViserServer,
        rows: Sequence[float],
        events: Sequence[Event],
        show: Callable[[float], None],
    ) -> None:
        """Add the controls; nothing runs before :meth:`start`.

        Args:
            server: The page's.
            rows: Times there is something to see at, increasing [s].
            events: Marked on the slider.
            show: Draws a time [s]; called from one thread at a time.
        """
        self._rows = np.asarray(rows)
        self._show = show
        self.clock = Clock(float(self._rows[0]), float(self._rows[-1]))
        self.frames_shown = 0
        self._lock = threading.RLock()
        self._wake = threading.Event()
        self._stopped = False
        self._held_until = 0.0
        self._slider_at = 0.0
        self._shown: float | None = None
        self._thread = threading.Thread(
            target=self._run, name="equipoise-player", daemon=True
        )
        self._add_controls(server, events)

    def start(self) -> None:
        """Begin to follow the clock."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._stopped = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(timeout=2.0)

    @property
    def time(self) -> float:
        """Time of the replay [s]."""
        with self._lock:
            return self.clock.at(time.monotonic())

    def toggle(self) -> None:
        """Play or pause."""
        with self._lock:
            now = time.monotonic()
            (self.clock.pause if self.clock.playing else self.clock.play)(now)
        self._wake.set()

    def seek(self, wanted: float) -> None:
        """Go to a time [s]."""
        with self._lock:
            self.clock.seek(time.monotonic(), wanted)
        self._wake.set()

    def step(self, rows: int) -> None:
        """Pause, and go by rows of the log."""
        with self._lock:
            self.clock.pause(time.monotonic())
            at = int(np.argmin(np.abs(self._rows - self.time)))
            to = min(max(at + rows, 0), len(self._rows) - 1)
            self.seek(float(self._rows[to]))

    def _add_controls(self, server: viser.ViserServer, events: Sequence[Event]) -> None:
        gui, clock = server.gui, self.clock
        start, end = np.floor(1e3 * clock.start) / 1e3, np.ceil(1e3 * clock.end) / 1e3
        self._button = gui.add_button("Play", icon=PLAY)
        marks = tuple(
            round(event.time, 3)
            for event in events[:MOST_MARKS]
            if start <= event.time <= end
        )
        self._slider = gui.add_slider(
            "Time [s]",
            min=float(start),
            max=float(end),
            step=STEP_SECONDS,
            initial_value=float(start),
            marks=marks or None,
        )
        speed = gui.add_slider(
            "Speed", min=SLOWEST, max=FASTEST, step=0.1, initial_value=1.0
        )
        steps = gui.add_button_group("Go to", (TO_START, BACK, AHEAD, TO_END))
        loop = gui.add_checkbox("Loop", clock.loop)
        self._button.on_click(lambda _: self.toggle())
        self._slider.on_update(self._scrubbed)
        speed.on_update(lambda _: self._set_speed(speed.value))
        steps.on_click(lambda _: self._go(str(steps.value)))
        loop.on_update(lambda _: self._set_loop(loop.value))
        for key, label, act in (
            ("space", "Play or pause", self.toggle),
            ("arrowright", "Next row", lambda: self.step(1)),
            ("arrowleft", "Previous row", lambda: self.step(-1)),
            ("home", "To the start", lambda: self._go(TO_START)),
            ("end", "To the end", lambda: self._go(TO_END)),
        ):
            self._add_key(gui, key, label, act)

    @staticmethod
    def _add_key(
        gui: viser.GuiApi, key: Any, label: str, act: Callable[[], None]
    ) -> None:
        gui.add_command(label, hotkey=key).on_trigger(lambda _: act())

    def _scrubbed(self, event: viser.GuiEvent[Any]) -> None:
        if event.client_id is None:  # our own doing: the slider follows the clock
            return
        with self._lock:
            self._held_until = time.monotonic() + HOLD_SECONDS
        self.seek(float(self._slider.value))

    def _set_speed(self, speed: float) -> None:
        with self._lock:
            self.clock.set_speed(time.monotonic(), speed)

    def _set_loop(self, loop: bool) -> None:
        with self._lock:
            self.clock.loop = loop

    def _go(self, where: str) -> None:
        match where:
            case "|<":
                self.seek(self.clock.start)
            case "< row":
                self.step(-1)
            case "row >":
                self.step(1)
            case _:
                self.seek(self.clock.end)

    def _run(self) -> None:
        """Show the time there is, as often as it changes; never fall behind."""
        while not self._stopped:
            begin = time.monotonic()
            playing = self._turn(begin)
            if playing:
                time.sleep(max(0.0, 1.0 / FRAMES_A_SECOND - (time.monotonic() - begin)))
            else:
                self._wake.wait(timeout=0.5)
            self._wake.clear()

    def _turn(self, now: float) -> bool:
        with self._lock:
            held = now < self._held_until
            if held and self.clock.playing:  # the clock stands while it is dragged
                self.clock.seek(now, float(self._slider.value))
            replay = self.clock.at(now)
            playing = self.clock.playing
        self._label(playing)
        if replay != self._shown:
            self._show(replay)
            self.frames_shown += 1
            self._shown = replay
        late = now - self._slider_at > SLIDER_SECONDS or not playing
        if late and not held:
            self._slider.value = round(replay, 3)  # type: ignore[misc]
            self._slider_at = now
        return playing

    def _label(self, playing: bool) -> None:
        self._button.label = "Pause" if playing else "Play"
        self._button.icon = PAUSE if playing else PLAY
