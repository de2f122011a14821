"""The time of a replay: it keeps pace with a clock, whatever drawing takes."""

from __future__ import annotations

from dataclasses import dataclass

SLOWEST, FASTEST = 0.1, 4.0


@dataclass
class Clock:
    """Time of a replay as a function of the time of the wall.

    Not for several threads at once: the player locks.

    Attributes:
        start: First time of the replay [s].
        end: Last [s].
        speed: Seconds of the replay in a second.
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
        """Begin at the start."""
        self._time = self.start

    def at(self, now: float) -> float:
        """Return the time of the replay [s]; without a loop it stops at the end.

        Args:
            now: Time of the wall [s], never less than before.
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
        """Run on; from the start if it is at the end."""
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
