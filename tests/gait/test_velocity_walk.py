"""Walks by a commanded velocity: continuous, within limits, as commanded, endless."""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

import equipoise as eq
from equipoise.arrays import Array
from equipoise.control.signals import Target
from equipoise.errors import EquipoiseError
from equipoise.gait.parameters import SUPPORTS
from equipoise.gait.step_limits import StepLimits
from equipoise.gait.velocity_command import Velocity, VelocityTable
from equipoise.gait.velocity_walk import VelocityWalk
from equipoise.gait.zmp import support_polygons, true_zmp, zmp_margins
from equipoise.kinematics.stance import sole_pose
from equipoise.robot.joint_coordinates import degree_names

ROBOTS = ["humanoid", "mahru-1"]
DT = 1e-3
# Waits, then forward, turning, sideways, backward, mixed, stops, and starts again.
COURSE = (
    (0.5, (0.0, 0.0, 0.0)),
    (4.0, (0.2, 0.0, 0.0)),
    (4.0, (0.15, 0.0, 0.2)),
    (4.0, (0.0, -0.04, 0.0)),
    (4.0, (-0.15, 0.0, -0.1)),
    (3.0, (-0.1, 0.03, 0.1)),
    (5.0, (0.0, 0.0, 0.0)),
    (5.0, (0.6, 0.0, 0.0)),
)
SECONDS = 32.0


def course() -> VelocityTable:
    """Return the course as a table with jumps."""
    times, velocities, now = [], [], 0.0
    for lasts, velocity in COURSE:
        times += [now, now + lasts]
        velocities += [Velocity(*velocity)] * 2
        now += lasts
    return VelocityTable(tuple(times), tuple(velocities))


class Walked(NamedTuple):
    """A walk, sampled at 1 kHz."""

    walk: VelocityWalk
    targets: list[Target]
    q: Array

    def rows(self, name: str) -> Array:
        """Return a field of all targets."""
        return np.array([getattr(target, name) for target in self.targets])

    def of_sole(self, name: str, side: str) -> Array:
        """Return a field of one sole of all targets."""
        return np.array([getattr(target, name)[side] for target in self.targets])


@cache
def sampled(name: str) -> Walked:
    """Return the course walked by a robot; planned once."""
    walk = VelocityWalk(eq.load(name), course(), SECONDS)
    times = DT * np.arange(round(SECONDS / DT) + 1)
    targets, q = [], []
    for time in times:
        targets.append(walk.sample(float(time)))
        q.append(walk.configuration(float(time)))
    return Walked(walk, targets, np.array(q))


@pytest.fixture(params=ROBOTS)
def walked(request: pytest.FixtureRequest) -> Walked:
    """The course walked by each robot in turn."""
    return sampled(request.param)


def jumps(values: Array, rates: Array) -> float:
    """Return by how much values change beyond their rates times the time, at most."""
    mean = 0.5 * (rates[1:] + rates[:-1])
    return float(np.abs(np.diff(values, axis=0) - DT * mean).max())


def test_everything_is_continuous_over_all_junctions(walked: Walked) -> None:
    """CoM, its velocity, soles and joints change by rate × time and no more."""
    com, velocity = walked.rows("com"), walked.rows("com_velocity")
    assert jumps(com, velocity) < 1e-8
    assert jumps(velocity, walked.rows("com_acceleration")) < 1e-8
    assert jumps(walked.rows("position"), walked.rows("velocity")) < 1e-6
    for side in ("left", "right"):
        places = walked.of_sole("soles", side)[:, :3, 3]
        twists = walked.of_sole("sole_twists", side)
        assert jumps(places, twists[:, :3]) < 1e-7
        assert jumps(twists, walked.of_sole("sole_accelerations", side)) < 1e-4
    # the planned ZMP goes from foot to foot in a double support, and never jumps
    assert np.abs(np.diff(walked.rows("zmp"), axis=0)).max() < 2e-3
    weight = walked.walk.robot.mass * 9.81
    assert np.abs(np.diff(walked.rows("torque"), axis=0)).max() < 0.005 * weight


def test_targets_agree_with_the_configurations(walked: Walked) -> None:
    """Configurations have CoM and soles where the targets say, to a nanometre."""
    robot = walked.walk.robot
    assert np.abs(eq.com(robot, walked.q) - walked.rows("com")).max() < 1e-9
    for side in ("left", "right"):
        poses = walked.of_sole("soles", side)
        assert np.abs(sole_pose(robot, walked.q, side) - poses).max() < 1e-9
    omega = walked.walk.parameters.omega
    dcm = walked.rows("com") + walked.rows("com_velocity") / omega
    assert np.abs(walked.rows("dcm") - dcm).max() < 1e-12


def test_the_true_zmp_is_near_its_plan_and_inside_the_soles(walked: Walked) -> None:
    """All inertia included, the ZMP keeps most of its margin at all times."""
    robot = walked.walk.robot
    zmp = true_zmp(robot, walked.q, DT, np.zeros(len(walked.q)))
    off = np.linalg.norm(zmp - walked.rows("zmp")[:, :2], axis=1)
    polygons = {side: robot.soles[side].polygon_in_sole for side in robot.soles}
    support = np.array([SUPPORTS.index(t.support or "both") for t in walked.targets])
    hulls = support_polygons(
        {side: walked.of_sole("soles", side) for side in polygons},
        support.astype(np.int8),
        polygons,
        {side: np.zeros(len(zmp), dtype=bool) for side in polygons},
    )
    size = min(float(np.ptp(polygon, axis=0).min()) for polygon in polygons.values())
    assert off.max() < 0.06 * size
    assert np.sqrt(np.mean(off**2)) < 1e-3
    assert zmp_margins(zmp, hulls).min() > 0.4 * size


def test_joint_limits_are_kept(walked: Walked) -> None:
    """No joint leaves its range or is faster than its actuator."""
    robot = walked.walk.robot
    robot.check_q(walked.q)
    position, velocity = walked.rows("position"), np.abs(walked.rows("velocity"))
    actuators = {actuator.joint: actuator for actuator in robot.actuators}
    for column, name in enumerate(degree_names(robot)):
        own = actuators.get(name)
        if own is None or name not in robot.leg_joints:
            continue
        assert own.lower - 1e-9 <= position[:, column].min()
        assert position[:, column].max() <= own.upper + 1e-9
        if own.velocity_limit:
            assert velocity[:, column].max() <= own.velocity_limit


def test_it_goes_where_it_is_commanded(walked: Walked) -> None:
    """In each part of the course the CoM moves at the commanded velocity."""
    com, limits, now = walked.rows("com"), walked.walk.limits, COURSE[0][0]
    yaw = np.unwrap(np.arctan2(*walked.rows("torso")[:, (1, 0), 0].T))
    stride = 2.0 * walked.walk.parameters.step_time
    for lasts, velocity in COURSE[1:6]:
        now += lasts
        # the last stride of the part, half a step after the command
        last = round((now + stride / 4.0) / DT)
        first = last - round(stride / DT)
        wanted = limits.within(Velocity(*velocity))
        turned = yaw[last] - yaw[first]
        assert turned == pytest.approx(stride * wanted.yaw_rate, abs=0.35)
        away = com[last] - com[first]
        c, s = np.cos(yaw[first] + turned / 2), np.sin(yaw[first] + turned / 2)
        forward, left = c * away[0] + s * away[1], c * away[1] - s * away[0]
        assert forward == pytest.approx(stride * wanted.x, abs=0.06)
        assert left == pytest.approx(stride * wanted.y, abs=0.1)


def test_it_stands_still_when_commanded_and_at_the_end(walked: Walked) -> None:
    """At zero velocity the feet come together and nothing moves; so at the end."""
    for time in (0.3, 24.0, SECONDS):
        row = round(time / DT)
        target = walked.targets[row]
        assert np.abs(target.velocity).max() < 1e-6
        assert target.support == "both"
        assert target.soles is not None
        assert target.torso is not None
        assert target.com is not None
        apart = target.torso.T @ (
            target.soles["left"][:3, 3] - target.soles["right"][:3, 3]
        )
        width = walked.walk.parameters.width
        assert apart == pytest.approx([0.0, width, 0.0], abs=1e-9)
        assert np.abs(walked.rows("com_velocity")[row]).max() < 1e-9


def test_velocities_beyond_the_legs_are_scaled_and_told(walked: Walked) -> None:
    """One notice says what was commanded and what the legs can."""
    (notice,) = walked.walk.notices
    assert "0.6 and 0 m/s" in notice
    assert "beyond what the legs" in notice
    assert f"{walked.walk.limits.velocity.x:.2f} m/s forward" in notice


def test_the_same_again_after_a_reset() -> None:
    """A reset begins anew and gives the same; slightly earlier times are possible."""
    walk = VelocityWalk(eq.load("humanoid"), (0.2, 0.02, 0.1))
    first = walk.sample(2.5).position
    assert np.array_equal(walk.sample(2.4).position, walk.sample(2.4).position)
    for time in (4.0, 6.0, 8.0):
        walk.sample(time)
    with pytest.raises(EquipoiseError, match=r"2\.5 s .* is forgotten"):
        walk.sample(2.5)
    walk.reset()
    assert walk.steps == 0
    assert np.array_equal(walk.sample(2.5).position, first)


def test_between_points_targets_are_linear() -> None:
    """A time between two points is halfway between them, rotations orthonormal."""
    walk = VelocityWalk(eq.load("humanoid"), (0.1, 0.0, 0.3))
    before, after = walk.sample(3.0), walk.sample(3.001)
    middle = walk.sample(3.0005)
    assert np.allclose(middle.position, 0.5 * (before.position + after.position))
    assert middle.torso is not None
    assert np.allclose(middle.torso @ middle.torso.T, np.eye(3), atol=1e-12)
    assert not middle.position.flags.writeable
    # a target that is kept does not keep the whole table alive
    assert before.position.base is None or before.position.base.size < 1000


def test_the_pieces_that_are_kept_do_not_grow() -> None:
    """After a minute there is as little in memory as after some steps."""
    walk = VelocityWalk(eq.load("humanoid"), (0.2, 0.0, 0.1), dt=0.01)
    sizes = []
    for time in np.arange(0.0, 60.0, 0.5):
        walk.sample(float(time))
        sizes.append(walk.points_kept)
    assert max(sizes[20:]) <= max(sizes[:20])


def test_limits_are_an_ellipsoid() -> None:
    """Mixed velocities are scaled in their direction; impossible parts left out."""
    limits = StepLimits(0.2, 0.1, 0.1, 0.0, 0.5)
    assert limits.velocity == (0.4, 0.1, 0.0)
    assert limits.used(Velocity(-0.2, 0.0, 0.0)) == pytest.approx(1.0)
    half = limits.within(Velocity(0.8, 0.0, 1.0))
    assert half == pytest.approx((0.4, 0.0, 0.0))
    mixed = limits.within(Velocity(0.4, 0.1, 0.0))
    assert mixed == pytest.approx((0.4 / math.sqrt(2), 0.1 / math.sqrt(2), 0.0))
    assert limits.within(Velocity(0.1, 0.0, 0.0)) == (0.1, 0.0, 0.0)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"seconds": 0.0}, "a walk of 0 s"),
        ({"seconds": math.nan}, "a walk of nan s"),
        ({"dt": 1.0}, "points every 1 s"),
        ({"length": 0.1}, "no option 'length'"),
        ({"steptime": 0.1}, "did you mean 'step_time'"),
        ({"com_height": 5.0}, "above the reach"),
    ],
)
def test_bad_numbers_are_refused(options: dict[str, float], words: str) -> None:
    """What is not possible is said in one line."""
    with pytest.raises(EquipoiseError, match=words):
        VelocityWalk(eq.load("humanoid"), (0.1, 0.0, 0.0), **options)
