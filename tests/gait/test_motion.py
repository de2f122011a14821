"""Joints that follow a gait: exact, within limits, with the ZMP where it was meant."""

from __future__ import annotations

from functools import cache

import numpy as np
import pinocchio as pin
import pytest

import equipoise as eq
from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.gait.fit import fit_walk
from equipoise.gait.gait import Gait
from equipoise.gait.motion import Motion, check_speeds, solve, targets_of
from equipoise.gait.plan import plan_walk
from equipoise.kinematics.stance import sole_pose
from equipoise.kinematics.support import polygon_margin
from equipoise.kinematics.terrain import Slope
from equipoise.robot.catalogue import catalogue_names
from equipoise.robot.joint_coordinates import degree_names, joint_positions

WALKERS = ["humanoid", "itu-biped", "mahru-1", "g1", "talos", "icub", "romeo"]
EXACT = 1e-9
STEPS = 2


@cache
def walked(source: str, *, filtered: bool = True) -> Motion:
    """Return a short walk of a robot; solved once."""
    robot, gait = fitted(source)
    return solve(robot, gait, dynamics_filter=filtered)


@cache
def fitted(source: str) -> tuple[eq.Robot, Gait]:
    """Return a robot and a short walk for it, planned once."""
    robot = eq.load(source)
    return robot, fit_walk(robot, STEPS)


def source_of(name: str, request: pytest.FixtureRequest) -> str:
    """Return what loads a robot: its name in the catalogue, or its file."""
    known = name in catalogue_names()
    return name if known else str(request.getfixturevalue(f"{name}_urdf"))


@pytest.fixture(params=WALKERS)
def motion(request: pytest.FixtureRequest) -> Motion:
    """A walk of each robot with two legs of six joints in turn."""
    return walked(source_of(request.param, request))


def zmp_off(motion: Motion) -> Array:
    """Return the distance of true and planned ZMP [m], shape (n,)."""
    return np.asarray(np.linalg.norm(motion.zmp - motion.zmp_planned, axis=1))


def test_com_and_soles_are_exact_at_every_point(motion: Motion) -> None:
    """CoM and soles are where the gait wants them to a nanometre, by Pinocchio."""
    robot, wanted = motion.robot, motion.gait.at(motion.time)
    assert motion.solution.converged.all()
    assert np.abs(eq.com(robot, motion.q) - wanted.com).max() <= EXACT
    assert np.array_equal(motion.com, wanted.com)
    for k in range(0, len(motion.time), 97):
        centre = pin.centerOfMass(robot.model, robot.data, motion.q[k])
        assert np.abs(centre - wanted.com[k]).max() <= EXACT
    for side, poses in wanted.soles.items():
        assert np.abs(sole_pose(robot, motion.q, side) - poses).max() <= EXACT


def test_joint_and_speed_limits_are_kept(motion: Motion) -> None:
    """No joint leaves its range or is faster than its actuator."""
    robot, model = motion.robot, motion.robot.model
    robot.check_q(motion.q)
    assert np.allclose(np.linalg.norm(motion.q[:, 3:7], axis=1), 1.0)
    legs = [name for leg in robot.legs.values() for name in leg.joints]
    columns = [model.joints[robot.joint_id(name)].idx_q for name in legs]
    assert (motion.q[:, columns] >= model.lowerPositionLimit[columns] - 1e-12).all()
    assert (motion.q[:, columns] <= model.upperPositionLimit[columns] + 1e-12).all()
    limits = {a.joint: a.velocity_limit for a in robot.actuators if a.velocity_limit}
    for column, name in enumerate(degree_names(robot)):
        assert np.abs(motion.v[:, 6 + column]).max() <= limits.get(name, np.inf)


def test_only_legs_and_base_move(motion: Motion) -> None:
    """All joints but the legs' stay as in standing, and the torso upright."""
    robot = motion.robot
    legs = {name for leg in robot.legs.values() for name in leg.joints}
    for joint, name in zip(robot.model.joints, robot.model.names, strict=True):
        if joint.id > 1 and name not in legs:
            own = motion.q[:, joint.idx_q : joint.idx_q + joint.nq]
            assert (own == own[0]).all()
    assert np.abs(motion.q[:, 3:7] - robot.standing[3:7]).max() < 1e-9


def test_velocities_are_differences(motion: Motion) -> None:
    """Velocities equal Pinocchio's difference of neighbours over their time."""
    model, q = motion.robot.model, motion.q
    for k in range(1, len(q) - 1, 61):
        ahead = pin.difference(model, q[k - 1], q[k + 1]) / (2.0 * motion.dt)
        assert np.abs(ahead - motion.v[k]).max() < 1e-4


def test_joints_do_not_jump(motion: Motion) -> None:
    """From point to point joints move as little as their velocity says."""
    joints = joint_positions(motion.robot, motion.q)
    moved = np.abs(np.diff(joints, axis=0))
    assert moved.max() <= 1.01 * motion.dt * np.abs(motion.v[:, 6:]).max()


def test_it_is_at_rest_at_both_ends(motion: Motion) -> None:
    """It starts and ends standing still, the ZMP below the CoM."""
    for end in (0, -1):
        assert np.abs(motion.v[end]).max() < 1e-6
        assert np.abs(motion.zmp[end] - motion.com[end, :2]).max() < 2e-3
        support = motion.gait.support_polygons([motion.time[end]])[0]
        assert polygon_margin(support, motion.com[end, :2]) > 0.0
    assert motion.duration == pytest.approx(motion.gait.duration, abs=motion.dt)


def test_samples_lie_between_points(motion: Motion) -> None:
    """Sampling returns the points, is linear in between and at rest outside."""
    joints = joint_positions(motion.robot, motion.q)
    k = len(motion.time) // 2
    at = motion.sample(float(motion.time[k]))
    assert np.allclose(at.position, joints[k], atol=1e-12)
    assert np.allclose(at.velocity, motion.v[k, 6:], atol=1e-9)
    assert np.allclose(at.com, motion.com[k], atol=1e-12)
    assert np.allclose(at.torque, motion.joint_torque[k], atol=1e-9)
    between = motion.sample(float(motion.time[k]) + 0.25 * motion.dt)
    mixed = 0.75 * joints[k] + 0.25 * joints[k + 1]
    assert np.allclose(between.position, mixed, atol=1e-12)
    com = 0.75 * motion.com[k] + 0.25 * motion.com[k + 1]
    assert np.allclose(between.com, com, atol=1e-12)
    for time, row in ((-1.0, 0), (0.0, 0), (motion.duration, -1), (1e6, -1)):
        outside = motion.sample(time)
        assert np.array_equal(outside.position, joints[row])
        assert np.allclose(outside.com, motion.com[row])
        assert not outside.velocity.any()


@pytest.mark.parametrize("name", WALKERS)
def test_the_filter_brings_the_zmp_to_its_plan(
    name: str, request: pytest.FixtureRequest
) -> None:
    """With the filter the true ZMP is several times nearer to the planned one."""
    source = source_of(name, request)
    plain, motion = walked(source, filtered=False), walked(source)
    assert plain.passes == 0
    assert 1 <= motion.passes <= 5
    assert np.array_equal(plain.zmp_planned, motion.zmp_planned)
    before, after = zmp_off(plain), zmp_off(motion)
    assert after.max() < before.max() / 4.0
    assert np.sqrt(np.mean(after**2)) < np.sqrt(np.mean(before**2)) / 5.0


def test_the_filter_helps_heavy_legs_most() -> None:
    """Nine tenths of the ITU Biped are legs: from decimetres to a centimetre."""
    robot = eq.load("itu-biped")
    gait = fit_walk(robot, 4)
    plain, filtered = (solve(robot, gait, dynamics_filter=on) for on in (False, True))
    assert zmp_off(plain).max() > 0.1
    assert zmp_off(filtered).max() < 0.015
    root_mean_square = [np.sqrt(np.mean(zmp_off(m) ** 2)) for m in (plain, filtered)]
    assert root_mean_square[1] < root_mean_square[0] / 15.0
    inside = filtered.gait.support_polygons(filtered.time[::20])
    margins = [
        polygon_margin(polygon, zmp)
        for polygon, zmp in zip(inside, filtered.zmp[::20], strict=True)
    ]
    assert min(margins) > 0.0


def test_without_the_filter_the_gait_is_unchanged() -> None:
    """Off: the very gait that came in, and its centre of mass."""
    robot = eq.load("mahru-1")
    gait = plan_walk(robot, STEPS)
    motion = solve(robot, gait, dynamics_filter=False)
    assert motion.gait is gait
    assert motion.passes == 0
    assert np.array_equal(motion.com, gait.at(motion.time).com)


def test_the_filter_moves_nothing_but_the_com() -> None:
    """Soles, height of the CoM and times stay; the gait that came in does, too."""
    robot = eq.load("mahru-1")
    gait = plan_walk(robot, STEPS)
    before = gait.at([1.0, 2.0, 3.0])
    motion = solve(robot, gait)
    after = motion.gait.at([1.0, 2.0, 3.0])
    again = gait.at([1.0, 2.0, 3.0])
    assert np.array_equal(before.com, again.com)
    assert not np.allclose(before.com[:, :2], after.com[:, :2], atol=1e-4)
    assert np.array_equal(before.com[:, 2], after.com[:, 2])
    assert np.array_equal(before.soles["left"], after.soles["left"])
    assert motion.gait.phases == gait.phases


@pytest.mark.parametrize("dt", [5e-4, 2e-3])
def test_points_at_other_distances_are_the_same_motion(dt: float) -> None:
    """The distance of points does not change where joints are."""
    robot = eq.load("mahru-1")
    gait = plan_walk(robot, 1)
    coarse = solve(robot, gait, dt=4e-3, dynamics_filter=False)
    fine = solve(robot, gait, dt=dt, dynamics_filter=False)
    assert fine.dt == pytest.approx(dt)
    every = round(4e-3 / dt)
    n = min(len(coarse.q), len(fine.q[::every]))
    assert np.abs(coarse.q[:n] - fine.q[::every][:n]).max() < 1e-8


@pytest.mark.parametrize(
    "asked",
    [
        {"length": -0.1},
        {"length": 0.0, "sideways": 0.05},
        {"length": 0.05, "turn": 0.2},
        {"first": "left"},
        {"method": "preview"},
        {"ground": Slope(0.05)},
    ],
    ids=["backward", "sideways", "turning", "left first", "preview", "slope"],
)
def test_other_walks_are_exact_too(asked: dict[str, object]) -> None:
    """Every kind of walk has CoM and soles in place, the torso along its heading."""
    robot = eq.load("mahru-1")
    motion = solve(robot, fit_walk(robot, STEPS, **asked))
    targets = targets_of(motion.gait, motion.time)
    assert np.abs(eq.com(robot, motion.q) - targets.com).max() <= EXACT
    assert np.abs(sole_pose(robot, motion.q, "left") - targets.left).max() <= EXACT
    assert np.abs(sole_pose(robot, motion.q, "right") - targets.right).max() <= EXACT
    heading = motion.gait.at(motion.time).heading
    yaw = 2.0 * np.arctan2(motion.q[:, 5], motion.q[:, 6])
    assert np.allclose(yaw, heading, atol=1e-9)


def test_arms_may_be_held_elsewhere() -> None:
    """A posture of the arms is kept, and the CoM is exact with it."""
    robot = eq.load("humanoid")
    posture = np.array(robot.standing)
    name = robot.arms["left"].joints[0]
    column = robot.model.joints[robot.joint_id(name)].idx_q
    posture[column] -= 0.5
    motion = solve(robot, plan_walk(robot, 1), posture=posture)
    assert (motion.q[:, column] == posture[column]).all()
    assert np.abs(eq.com(robot, motion.q) - motion.com).max() <= EXACT


def test_arrays_are_read_only() -> None:
    """What a motion hands out cannot be changed."""
    motion = walked("itu-biped")
    for array in (motion.time, motion.q, motion.v, motion.com, motion.zmp):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


def test_a_gait_of_another_robot_is_refused() -> None:
    """The error names both robots."""
    gait = plan_walk(eq.load("mahru-1"), 1)
    with pytest.raises(EquipoiseError, match="mahru-1, not for humanoid"):
        solve(eq.load("humanoid"), gait)


def test_a_joint_that_would_be_too_fast_is_named() -> None:
    """Joint, time, speed and limit are in the error."""
    robot = eq.load("itu-biped")
    with pytest.raises(EquipoiseError, match=r"joint '\w+' would turn at .* rad/s at"):
        solve(robot, plan_walk(robot, 2, step_time=0.25))


def test_speeds_are_checked_at_every_point() -> None:
    """One point beyond the limit is enough, either way."""
    robot = eq.load("itu-biped")
    v = np.zeros((10, robot.nv))
    time = 0.1 * np.arange(10)
    check_speeds(robot, v, time)
    v[7, 6] = -50.0
    with pytest.raises(EquipoiseError, match=r"50\.00 rad/s at 0\.700 s"):
        check_speeds(robot, v, time)


def test_legs_that_cannot_place_a_sole_are_refused() -> None:
    """Legs of fewer than five joints are named with their number."""
    robot = eq.load("muscolo-biped")
    with pytest.raises(EquipoiseError, match="2 moving joints; at least five"):
        solve(robot, plan_walk(robot, 2))
