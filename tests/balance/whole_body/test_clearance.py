from __future__ import annotations

import copy
import math

import numpy as np
import pinocchio as pin
import pytest

import equipoise as eq
from equipoise.balance.whole_body.clearance import ArmClearance, ClearanceGains
from equipoise.balance.whole_body.dynamics import Dynamics
from equipoise.balance.whole_body.limits import JointRange
from equipoise.balance.whole_body.swing import degrees_of
from equipoise.robot.collision import collision_geometry

LENGTH, PERIOD = 0.8, 2e-3


@pytest.fixture(scope="module")
def humanoid() -> eq.Robot:
    """Return a robot with arms and shapes."""
    return eq.load("humanoid")


def turned(robot: eq.Robot, **angles: float) -> np.ndarray:
    """Return the standing posture with some joints turned."""
    q = robot.standing.copy()
    for name, angle in angles.items():
        q[robot.model.joints[robot.joint_id(name)].idx_q] += angle
    return q


def distance(robot: eq.Robot, q: np.ndarray, *links: str) -> float:
    """Return the distance of two links of one shape each."""
    geometry, _ = collision_geometry(robot)
    first, second = (geometry.getGeometryId(f"{link}:0") for link in links)
    geometry.addCollisionPair(pin.CollisionPair(first, second))
    data = pin.GeometryData(geometry)
    pin.computeDistances(robot.model, robot.data, geometry, data, q)
    return float(data.distanceResults[0].min_distance)


def looked(
    task: ArmClearance, dynamics: Dynamics, *, leg_swings: bool = False
) -> ArmClearance:
    """Return a task that has looked at all pairs, at some of them a tick."""
    for _ in range(100):
        task.update(dynamics, leg_swings=leg_swings)
    return task


def test_hanging_arms_are_left_alone(humanoid: eq.Robot) -> None:
    """In the standing posture, at rest, nothing is asked for."""
    dynamics = Dynamics(humanoid)
    task = ArmClearance(humanoid, LENGTH, PERIOD)
    assert task.possible
    assert not looked(task, dynamics).root_weight.any()


def test_an_arm_gives_way_to_a_thigh(humanoid: eq.Robot) -> None:
    """Rows are the rate of the distance, of arms' joints alone, and take it away."""
    q = turned(humanoid, left_hip_roll=0.2)
    links = "left_thigh", "left_hand"
    assert 0.0 < distance(humanoid, q, *links) < 0.03
    dynamics = Dynamics(humanoid)
    rng = np.random.default_rng(0)
    v = 0.05 * rng.standard_normal(humanoid.nv)
    task = looked(ArmClearance(humanoid, LENGTH, PERIOD), dynamics.update(q, v))
    rows, goal = task.rows(dynamics)
    arm = [humanoid.model.idx_vs[humanoid.joint_id(j)] for j in left_arm(humanoid)]
    assert not np.delete(rows, arm, axis=1).any()
    step = 1e-6
    slope = []
    for degree in arm:
        turn = np.zeros(humanoid.nv)
        turn[degree] = step
        later = pin.integrate(humanoid.model, q, turn)
        change = distance(humanoid, later, *links) - distance(humanoid, q, *links)
        slope.append(change / step)
    nearest = np.abs(rows[:, arm] - slope).max(axis=1).argmin()
    assert rows[nearest, arm] == pytest.approx(slope, abs=1e-4)
    assert task.root_weight[nearest] > 0.0
    assert goal[nearest] > 0.0


def test_an_arm_stops_before_a_thigh(humanoid: eq.Robot) -> None:
    """Joints of an arm that go as far as they may still do not reach the thigh."""
    q, links = turned(humanoid, left_hip_roll=0.15), ("left_thigh", "left_hand")
    dynamics = Dynamics(humanoid).update(q, np.zeros(humanoid.nv))
    task = looked(ArmClearance(humanoid, LENGTH, PERIOD), dynamics)
    place, far = dynamics.joint_positions, np.full(humanoid.nv - 6, 3.0)
    within = task.stops(JointRange(-far, far, far, far), place)
    arm = [humanoid.model.idx_vs[humanoid.joint_id(j)] for j in left_arm(humanoid)]
    stopped = (within.upper < far) | (within.lower > -far)
    assert stopped.any()
    assert not np.delete(stopped, np.array(arm) - 6).any()
    before, step = distance(humanoid, q, *links), np.zeros(humanoid.nv)
    step[6:][within.upper < far] = (within.upper - place)[within.upper < far]
    step[6:][within.lower > -far] = (within.lower - place)[within.lower > -far]
    after = [
        distance(humanoid, pin.integrate(humanoid.model, q, part * step), *links)
        for part in (1.0, 1.5)
    ]
    assert before > 0.01
    assert -0.1 * before < after[0] < 0.2 * before
    assert after[1] < 0.0


def left_arm(robot: eq.Robot) -> tuple[str, ...]:
    """Return the joints of the left arm."""
    return next(a for a in robot.arms.values() if a.side == "left").subtree_joints


def test_what_comes_nearer_is_foreseen(humanoid: eq.Robot) -> None:
    """A leg that moves out counts before it is near; one that moves in does not."""
    dynamics, v = Dynamics(humanoid), np.zeros(humanoid.nv)
    task = ArmClearance(humanoid, LENGTH, PERIOD)
    hip = humanoid.model.idx_vs[humanoid.joint_id("left_hip_roll")]
    v[hip] = 3.0
    looked(task, dynamics.update(humanoid.standing, v))
    assert task.root_weight.any()
    looked(task, dynamics.update(humanoid.standing, -v))
    assert not task.root_weight.any()


@pytest.mark.parametrize("angles", [(0.6, 0.4), (0.4, 0.6)])
def test_few_rows_are_those_of_the_deepest(
    humanoid: eq.Robot, angles: tuple[float, float]
) -> None:
    """Of two thighs that overlap with hands, one row is of the deeper one."""
    left, right = angles
    q = turned(humanoid, left_hip_roll=left, right_hip_roll=-right)
    depths = [
        -distance(humanoid, q, f"{side}_thigh", f"{side}_hand")
        for side in ("left", "right")
    ]
    assert min(depths) > 0.0
    dynamics = Dynamics(humanoid).update(q, np.zeros(humanoid.nv))
    gains = ClearanceGains(pairs=1)
    task = looked(ArmClearance(humanoid, LENGTH, PERIOD, gains), dynamics)
    rows, _ = task.rows(dynamics)
    arm = [humanoid.model.idx_vs[humanoid.joint_id(j)] for j in left_arm(humanoid)]
    assert rows.any()
    assert rows[:, arm].any() == (depths[0] > depths[1])


@pytest.mark.parametrize("name", ["three-link", "itu-biped"])
def test_robots_without_arms(name: str) -> None:
    """Where no arm could touch anything there is nothing to do."""
    assert not ArmClearance(eq.load(name), LENGTH, PERIOD).possible


def test_stops_of_an_arm_count_on_a_leg_that_comes(humanoid: eq.Robot) -> None:
    """A thigh that swings out leaves the arm less room than one that rests."""
    arms = degrees_of(humanoid, "arm")
    q = turned(humanoid, left_hip_roll=0.15)
    far, rooms = np.full(humanoid.nv - 6, 3.0), []
    hip = humanoid.model.idx_vs[humanoid.joint_id("left_hip_roll")]
    for speed in (0.0, 0.1, 10.0):
        v = np.zeros(humanoid.nv)
        v[hip] = speed
        dynamics = Dynamics(humanoid).update(q, v)
        task = looked(ArmClearance(humanoid, LENGTH, PERIOD), dynamics, leg_swings=True)
        place = dynamics.joint_positions
        within = task.stops(JointRange(-far, far, far, far), place)
        room = np.minimum(within.upper - place, place - within.lower)
        rooms.append(room[arms].min())
    assert rooms[0] > rooms[1] > rooms[2]
    assert rooms[2] == pytest.approx(0.0, abs=1e-12)


def test_arms_keep_clear_for_a_while_after_a_push(humanoid: eq.Robot) -> None:
    """They begin with a push, go on for the time that is set, and then stop."""
    gains = ClearanceGains(linger=1.0)
    task = ArmClearance(humanoid, LENGTH, PERIOD, gains)
    assert not task.needed(recovers=False)
    assert task.needed(recovers=True)
    assert not task.lingers
    ticks = 0
    while task.needed(recovers=False):
        ticks += 1
        assert task.lingers
    assert ticks * PERIOD == pytest.approx(math.sqrt(LENGTH / 9.81), abs=2 * PERIOD)
    assert not task.lingers
    assert task.needed(recovers=True)
    task.reset()
    assert not task.needed(recovers=False)


def test_copies_look_for_themselves(humanoid: eq.Robot) -> None:
    """A copy finds what the original does."""
    q = turned(humanoid, left_hip_roll=0.2)
    dynamics = Dynamics(humanoid).update(q, np.zeros(humanoid.nv))
    task = ArmClearance(humanoid, LENGTH, PERIOD)
    made = copy.deepcopy(task)
    task, made = looked(task, dynamics), looked(made, dynamics)
    assert task.root_weight.any()
    np.testing.assert_array_equal(made.root_weight, task.root_weight)
