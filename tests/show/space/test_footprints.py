from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from runs import swaying

from equipoise.gait.motion import Motion, solve
from equipoise.gait.plan import plan_walk
from equipoise.kinematics.terrain import Flat
from equipoise.log.run import Run
from equipoise.robot.load import load
from equipoise.show.charts.quantities import ground_map
from equipoise.show.space.footprints import footprints
from equipoise.simulation.walk import walk

STEPS = 4


@cache
def walked() -> tuple[Motion, Run]:
    """A walk of a few steps, and what was planned."""
    robot = load("humanoid")
    motion = solve(robot, plan_walk(robot, STEPS))
    return motion, walk(robot, motion, Flat(), feedback=False)


def test_a_print_for_each_step():
    """Both feet at the start and one more for each step, where the plan has them."""
    motion, run = walked()
    found = footprints(run)
    assert len(found) == 2 + STEPS
    assert [print_.start_s for print_ in found] == sorted(p.start_s for p in found)
    for print_ in found:
        middle = 0.5 * (print_.start_s + print_.end_s)
        pose = motion.gait.at(np.array([middle])).soles[print_.side][0]
        corners = run.robot.soles[print_.side].polygon_in_sole
        planned = corners @ pose[:3, :2].T + pose[:3, 3]
        assert np.abs(print_.polygon_in_world - planned).max() < 0.01


def test_a_foot_stands_until_it_swings():
    """No print of a foot goes on while that foot is planned in the air."""
    motion, run = walked()
    swings = [phase for phase in motion.gait.phases if phase.support != "both"]
    for swing in swings:
        middle = 0.5 * (swing.start + swing.end)
        standing = {p.side for p in footprints(run) if p.start_s <= middle <= p.end_s}
        assert standing == {swing.support}


def test_the_map_holds_all():
    """Prints, paths as run and as planned; parts of it between two times."""
    _, run = walked()
    ground = ground_map(run)
    low, high = ground.bounds()
    assert (low <= run.com[:, :2].min(axis=0)).all()
    assert (high >= run.com[:, :2].max(axis=0)).all()
    assert {path.label for path in ground.paths} >= {"CoM", "ZMP", "CoM, planned"}
    end = float(run.time[-1])
    late = ground.within(end - 0.1, end)
    assert len(late.footprints) == 2
    assert len(late.paths[0].points) == len(late.time) < len(run.time)


def test_without_wrenches_feet_at_rest_stood():
    """Nothing is known of forces: soles that do not move have stood."""
    quiet = swaying()
    still = np.tile(quiet.q[0], (len(quiet.time), 1))
    found = footprints(swaying(q=still, foot_wrench={}))
    assert {print_.side for print_ in found} == {"left", "right"}
    assert all((p.start_s, p.end_s) == (0.0, 1.0) for p in found)


def test_a_run_of_one_row_has_prints():
    """The shortest run has the prints of its feet."""
    assert len(footprints(swaying(seconds=0.0))) == 2


def test_prints_are_read_only():
    """Corners cannot be changed."""
    (first, *_) = footprints(walked()[1])
    with pytest.raises(ValueError, match="read-only"):
        first.polygon_in_world[0] = 0.0
