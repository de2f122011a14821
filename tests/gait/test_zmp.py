"""The ZMP of a CoM motion, the support polygon and the margin."""

from __future__ import annotations

import numpy as np
import pytest
from gait.pendulum import GRAVITY, inside, planned

import equipoise as eq
from equipoise.gait.plan import plan_walk
from equipoise.gait.preview import preview_motion
from equipoise.kinematics.support import polygon_margin
from equipoise.robot.anatomy.geometry import area


@pytest.mark.parametrize("rise", [0.0, 0.08])
@pytest.mark.parametrize("double_support", [0.0, 0.3])
def test_the_zmp_of_the_planned_com_is_the_planned_zmp(
    rise: float, double_support: float
) -> None:
    """Eq. (22) of [Choi2007] on the CoM gives the ZMP back, up stairs as well."""
    motion = planned(rise=rise, double_support=double_support)
    table = motion.at(inside(motion))
    height = (table.com - table.zmp)[:, 2:]
    load = GRAVITY + table.acceleration[:, 2:]
    zmp = table.com - height / load * table.acceleration
    np.testing.assert_allclose(zmp[:, :2], table.zmp[:, :2], atol=1e-12)


@pytest.mark.parametrize("rise", [0.0, 0.08])
def test_no_moment_about_the_zmp(rise: float) -> None:
    """(c − p) × (c̈ + g) is zero: the contact force goes through the ZMP."""
    for motion in (planned(rise=rise), preview_motion(planned(rise=rise))):
        table = motion.at(np.linspace(0.0, 6.0, 999))
        load = table.acceleration + np.array([0.0, 0.0, GRAVITY])
        moment = np.cross(table.com - table.zmp, load)
        np.testing.assert_allclose(moment, 0.0, atol=1e-11)


def test_polygon_and_margin_are_those_of_the_posture() -> None:
    """At rest they are what ``eq.support_polygon`` and ``polygon_margin`` say."""
    robot = eq.load("mahru-1")
    gait = plan_walk(robot)
    polygon = gait.support_polygons([0.0])[0]
    standing = eq.support_polygon(robot, robot.standing)
    assert area(polygon) == pytest.approx(area(standing))
    np.testing.assert_allclose(polygon_margin(standing, polygon), 0.0, atol=1e-9)
    times = np.linspace(0.0, gait.duration, 101)
    zmp = gait.at(times).zmp[:, :2]
    polygons = gait.support_polygons(times)
    expected = [polygon_margin(p, z) for p, z in zip(polygons, zmp, strict=True)]
    np.testing.assert_allclose(gait.zmp_margin(times), expected, atol=1e-12)
