"""The foot that stays while a robot is posed."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise.kinematics.stance import sole_pose
from equipoise.robot.joint_coordinates import configurations, joint_positions
from equipoise.show.space.footprints import sole_corners
from equipoise.show.viewer.poser import joint_ranges, on_ground


def random_q(robot, seed):
    """Return a configuration with joints anywhere in their ranges."""
    low, high = np.array(joint_ranges(robot)).T
    angles = np.random.default_rng(seed).uniform(low, high)
    return configurations(robot, robot.standing[None, :7], angles[None])[0]


@pytest.mark.parametrize("seed", range(3))
def test_chosen_sole_stays_where_it_is(robot, seed):
    """Whatever the joints do, the sole is where it is when standing, to 1e-9."""
    q = random_q(robot, seed)
    for side in robot.soles:
        placed = on_ground(robot, q, side)
        assert np.allclose(placed[7:], q[7:])
        wanted = sole_pose(robot, robot.standing, side)
        assert np.abs(sole_pose(robot, placed, side) - wanted).max() < 1e-9


def test_level_base_rests_on_its_lowest_sole(robot):
    """The base stays upright, and the lowest corner of a sole is at zero."""
    placed = on_ground(robot, random_q(robot, 4), "level")
    assert np.allclose(placed[3:7], robot.standing[3:7])
    corners = [sole_corners(robot, placed, side) for side in robot.soles]
    if corners:
        assert min(c[:, 2].min() for c in corners) == pytest.approx(0.0)


def test_ranges_hold_the_standing_posture(robot):
    """Each degree of freedom has a range, and a place to start within."""
    ranges = np.array(joint_ranges(robot))
    standing = joint_positions(robot, robot.standing)
    assert ranges.shape == (robot.nv - 6, 2)
    assert (ranges[:, 0] <= standing).all()
    assert (standing <= ranges[:, 1]).all()
    assert (ranges[:, 0] < ranges[:, 1]).all()
