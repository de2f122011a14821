"""The time of a replay, and the player that shows it."""

from __future__ import annotations

import threading

import pytest
from runs import swaying

from equipoise.show.viewer.page import PageServer
from equipoise.show.viewer.player import FASTEST, SLOWEST, Clock, WallClock
from equipoise.show.viewer.run_replay import Replay

PORT = 8670


def test_time_keeps_pace_however_seldom_it_is_asked():
    """Between two questions as much of the replay passes as of the wall's time."""
    clock = Clock(0.0, 10.0, speed=2.0)
    clock.play(100.0)
    assert clock.at(100.5) == pytest.approx(1.0)
    assert clock.at(104.0) == pytest.approx(8.0)


def test_loop_begins_again_and_without_one_it_stops():
    """At the end time goes on from the start, or stands and is paused."""
    clock = Clock(1.0, 3.0)
    clock.play(0.0)
    assert clock.at(2.5) == pytest.approx(1.5)
    clock.loop = False
    assert clock.at(9.0) == 3.0
    assert not clock.playing
    clock.play(20.0)
    assert clock.at(20.5) == pytest.approx(1.5)


def test_pause_seek_and_speed_leave_no_jump():
    """Time is continuous but where one goes elsewhere, and stays within its bounds."""
    clock = Clock(0.0, 10.0)
    clock.play(0.0)
    clock.set_speed(2.0, 4.0)
    assert clock.at(2.0) == pytest.approx(2.0)
    clock.pause(3.0)
    assert clock.at(50.0) == pytest.approx(6.0)
    clock.seek(60.0, 99.0)
    assert clock.at(60.0) == 10.0
    clock.set_speed(60.0, 100.0)
    assert clock.speed == FASTEST
    clock.set_speed(60.0, 0.0)
    assert clock.speed == SLOWEST


def test_a_run_of_one_row_can_be_played():
    """Nothing divides by its length."""
    clock = Clock(0.0, 0.0)
    clock.play(0.0)
    assert clock.at(5.0) == 0.0


class FakeWall:
    """A clock that moves only while the player sleeps, and calls back at a time."""

    def __init__(self, alarm, ring):
        self.time, self.alarm, self.ring = 0.0, alarm, ring
        self.clock = WallClock(lambda: self.time, self.sleep)

    def sleep(self, seconds):
        """Let time pass, not beyond the alarm."""
        before, self.time = self.time, self.time + seconds
        if before < self.alarm <= self.time:
            self.time = self.alarm
            self.ring()


def test_player_keeps_time_and_steps_by_rows():
    """Half a second of the wall is half a second of the replay, shown smoothly."""
    run, paused = swaying(seconds=2.0), threading.Event()

    def pause():
        replay.player.toggle()
        paused.set()

    wall = FakeWall(0.5, pause)
    server = PageServer("test", port=PORT)
    replay = Replay(server, {"run": run}, wall.clock)
    try:
        before = replay.player.frames_shown
        replay.player.toggle()
        assert paused.wait(timeout=60.0)
        assert replay.player.time == pytest.approx(0.5)
        assert replay.player.frames_shown > before + 5
        replay.player.seek(1.0)
        replay.player.step(1)
        assert replay.player.time == pytest.approx(1.01)
        replay.player.step(-100_000)
        assert replay.player.time == run.time[0]
    finally:
        replay.stop()
        server.stop()
