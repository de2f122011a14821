"""The time of a replay."""

from __future__ import annotations

import pytest

from equipoise.show.viewer.clock import FASTEST, SLOWEST, Clock


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
