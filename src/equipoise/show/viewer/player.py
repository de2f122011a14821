"""The player: the time of a replay, its controls, and the thread that shows it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from equipoise.log.run import Event

if TYPE_CHECKING:
    import viser

SLOWEST, FASTEST = 0.1, 4.0
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


@dataclass
class Clock:
    """Time of a replay as a function of wall-clock time, however slow drawing is.

    Not for several threads at once: the player locks.

    Attributes:
        start: First time of the replay [s].
        end: Last time of the replay [s].
        speed: Seconds of the replay per second.
        loop: Whether it begins again at its end.
        playing: Whether it runs.
    """

    start: float
    end: float
    speed: float = 1.0
    loop: bool = True
    playing: bool = False
    _time: float = 0.0
    _since: float = 0.0

    def __post_init__(self) -> None:
        self._time = self.start

    def at(self, now: float) -> float:
        """Return the time of the replay [s]; without a loop it stops at the end.

        Args:
            now: Wall-clock time [s], never less than before.
        """
        if not self.playing:
            return self._time
        time = self._time + self.speed * (now - self._since)
        if time <= self.end:
            return time
        length = self.end - self.start
        if self.loop and length > 0.0:
            return self.start + (time - self.start) % length
        self._time, self.playing = self.end, False
        return self.end

    def play(self, now: float) -> None:
        """Play on; from the start if it is at the end."""
        if not self.playing and self._time >= self.end:
            self._time = self.start
        self._time, self._since = self.at(now), now
        self.playing = True

    def pause(self, now: float) -> None:
        """Stay where it is."""
        self._time, self.playing = self.at(now), False

    def seek(self, now: float, time: float) -> None:
        """Go to a time of the replay [s], within its bounds."""
        self._time = min(max(time, self.start), self.end)
        self._since = now

    def set_speed(self, now: float, speed: float) -> None:
        """Go on from where it is at another speed."""
        self._time, self._since = self.at(now), now
        self.speed = min(max(speed, SLOWEST), FASTEST)


class WallClock(NamedTuple):
    """The clock that a player keeps pace with.

    Attributes:
        now: Returns the time [s], never less than before.
        sleep: Waits for a while [s].
    """

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


WALL_CLOCK = WallClock()


class Player:
    """Controls of a replay, the same for all who look at it."""

    def __init__(
        self,
        server: viser.ViserServer,
        rows: Sequence[float],
        events: Sequence[Event],
        show: Callable[[float], None],
        wall: WallClock = WALL_CLOCK,
    ) -> None:
        """Add the controls; nothing runs before :meth:`start`.

        Args:
            server: Server of the page.
            rows: Times of the rows of the log, increasing [s].
            events: Events to mark on the slider.
            show: Draws a time [s]; called from one thread at a time.
            wall: Clock to keep pace with.
        """
        self._rows = np.asarray(rows)
        self._show, self._wall = show, wall
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
            return self.clock.at(self._wall.now())

    def toggle(self) -> None:
        """Play or pause."""
        with self._lock:
            now = self._wall.now()
            (self.clock.pause if self.clock.playing else self.clock.play)(now)
        self._wake.set()

    def seek(self, wanted: float) -> None:
        """Go to a time [s]."""
        with self._lock:
            self.clock.seek(self._wall.now(), wanted)
        self._wake.set()

    def step(self, rows: int) -> None:
        """Pause, and go by rows of the log."""
        with self._lock:
            self.clock.pause(self._wall.now())
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
        go = {
            TO_START: lambda: self.seek(clock.start),
            BACK: lambda: self.step(-1),
            AHEAD: lambda: self.step(1),
            TO_END: lambda: self.seek(clock.end),
        }
        self._button.on_click(lambda _: self.toggle())
        self._slider.on_update(self._scrubbed)
        speed.on_update(lambda _: self._set_speed(speed.value))
        steps.on_click(lambda _: go[str(steps.value)]())
        loop.on_update(lambda _: self._set_loop(loop.value))
        for key, label, act in (
            ("space", "Play or pause", self.toggle),
            ("arrowright", "Next row", go[AHEAD]),
            ("arrowleft", "Previous row", go[BACK]),
            ("home", "To the start", go[TO_START]),
            ("end", "To the end", go[TO_END]),
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
            self._held_until = self._wall.now() + HOLD_SECONDS
        self.seek(float(self._slider.value))

    def _set_speed(self, speed: float) -> None:
        with self._lock:
            self.clock.set_speed(self._wall.now(), speed)

    def _set_loop(self, loop: bool) -> None:
        with self._lock:
            self.clock.loop = loop

    def _run(self) -> None:
        """Show the time there is, as often as it changes; never fall behind."""
        while not self._stopped:
            begin = self._wall.now()
            if self._turn(begin):
                taken = self._wall.now() - begin
                self._wall.sleep(max(0.0, 1.0 / FRAMES_A_SECOND - taken))
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
        self._button.label = "Pause" if playing else "Play"
        self._button.icon = PAUSE if playing else PLAY
        if replay != self._shown:
            self._show(replay)
            self.frames_shown += 1
            self._shown = replay
        late = now - self._slider_at > SLIDER_SECONDS or not playing
        if late and not held:
            self._slider.value = round(replay, 3)  # type: ignore[misc]
            self._slider_at = now
        return playing
