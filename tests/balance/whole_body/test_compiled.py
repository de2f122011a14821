"""Compiled torques against those of the readable programme."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from whole_body_states import ROBOTS, balance_tasks, dynamics_of, foot_contacts

from equipoise.arrays import Array
from equipoise.balance.whole_body.compiled import CompiledProblem
from equipoise.balance.whole_body.dynamics import Dynamics
from equipoise.balance.whole_body.inverse_dynamics import (
    Contact,
    Limits,
    Solution,
    build_qp,
    solve_qp,
)
from equipoise.balance.whole_body.limits import JointRange
from equipoise.balance.whole_body.problem import RangeLimits
from equipoise.balance.whole_body.tasks import (
    AngularMomentumTask,
    FrameTask,
    PostureTask,
    Task,
)

# Which contacts there are, and in which order.
LEFT, RIGHT, POINT = range(3)
STANCES = ((LEFT,), (RIGHT,), (LEFT, RIGHT), (LEFT, RIGHT, POINT), (POINT, RIGHT))


class Apart(Task):
    """Two frames apart by a vector: a task of one's own."""

    name = "apart"

    def __init__(self, one: str, other: str) -> None:
        super().__init__((1.0, 2.0, 0.5), 30.0)
        self.frames = one, other

    def error(self, dynamics: Dynamics) -> Array:
        """Return 0.4 m along y less the vector from one to the other."""
        places = [dynamics.pose(dynamics.frame(name)) for name in self.frames]
        return np.array((0.0, 0.4, 0.0)) - places[0].translation + places[1].translation

    def jacobian(self, dynamics: Dynamics) -> Array:
        """Return the Jacobian of that vector."""
        one, other = (dynamics.jacobian(dynamics.frame(name)) for name in self.frames)
        return one[:3] - other[:3]


def wanted(dynamics: Dynamics, seed: int, stance: tuple[int, ...]) -> list[Task]:
    """Return tasks of every kind that ask for something."""
    chance = np.random.default_rng(seed)
    feet = [contact.frame for contact in foot_contacts(dynamics)]
    momentum = AngularMomentumTask((0.01, 0.02, 0.03), 4.0)
    momentum.rate, momentum.momentum = chance.normal(size=(2, 3))
    com, *others = balance_tasks(dynamics, seed)
    com.stiffness, com.damping = 20.0, 8.0
    tasks = [com, momentum, *others, Apart("left_hand", "head")]
    for foot in (LEFT, RIGHT):
        if foot not in stance:
            some = (0, 2, 4) if seed % 2 else range(6)
            swing = FrameTask(feet[foot], 2.0, 90.0, directions=some)
            swing.pose[:3, :3] = pin.exp3(0.3 * chance.normal(size=3))
            swing.velocity, swing.acceleration = chance.normal(size=(2, 6))
            swing.leftover = chance.normal(size=6)
            tasks.append(swing)
    return tasks


def standing(dynamics: Dynamics, stance: tuple[int, ...]) -> list[Contact]:
    """Return contacts: soles, one of which is still lifted, and a point of a hand."""
    feet = foot_contacts(dynamics)
    feet[RIGHT] = replace(feet[RIGHT], leftover=np.linspace(-1.0, 1.0, 6))
    hand = dynamics.robot.limbs["right_arm"].end_link
    contacts = [*feet, Contact(hand, np.array([[0.0, 0.0, -0.05]]), 0.4)]
    return [contacts[number] for number in stance]


def assert_same(
    found: Solution | None, reference: Solution, dynamics: Dynamics
) -> None:
    """Make sure that two solutions are the same but for rounding."""
    assert found is not None
    weight = 9.81 * dynamics.robot.mass
    for mine, other, scale in (
        (found.acceleration, reference.acceleration, 10.0),
        (found.torque, reference.torque, np.abs(reference.torque).max()),
        (np.vstack(found.forces), np.vstack(reference.forces), weight),
    ):
        np.testing.assert_allclose(mine, other, atol=1e-9 * scale)
    for own, others in zip(
        found.forces_in_contact, reference.forces_in_contact, strict=True
    ):
        np.testing.assert_allclose(own, others, atol=1e-9 * weight)
    np.testing.assert_array_equal(found.near, reference.near)


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("stance", STANCES)
def test_compiled_torques_are_those_of_the_programme(
    name: str, stance: tuple[int, ...]
) -> None:
    """Every task, contact and limit counts as in the readable programme.

    First with limits that hardly matter, then with some that do: torques,
    accelerations, and a foot that may carry little.
    """
    dynamics = dynamics_of(name, 0)
    compiled, joints = CompiledProblem(dynamics), slice(6, None)
    contacts = standing(dynamics, stance)
    limits, limited = Limits(np.full(dynamics.model.nv - 6, 2e3)), 0
    for seed in range(3):
        tasks = wanted(dynamics, seed, stance)
        dynamics.bias_force += np.random.default_rng(seed).normal(size=len(dynamics.v))
        problem = build_qp(dynamics, tasks, contacts, limits)
        free = solve_qp(problem)
        assert free.relaxed == ""
        assert_same(compiled.solve(tasks, contacts, limits), free, dynamics)
        tight = Limits(
            0.9 * np.abs(free.torque) + 0.3 * np.abs(free.torque).max(),
            -0.9 * np.abs(free.acceleration[joints]) - 5.0,
            0.9 * np.abs(free.acceleration[joints]) + 5.0,
        )
        contacts[-1].most_force = (0.3 if len(contacts) > 1 else 3.0) * problem.weight
        reference = solve_qp(build_qp(dynamics, tasks, contacts, tight))
        found = compiled.solve(tasks, contacts, tight)
        if reference.relaxed:
            assert found is None
            continue
        assert_same(found, reference, dynamics)
        again = build_qp(dynamics, tasks, contacts, tight)
        near = reference.near
        assert near is not None
        found = compiled.solve(tasks, contacts, tight, near)
        assert_same(found, solve_qp(again, near=near), dynamics)
        limited += int(near.any())
    assert limited


@pytest.mark.parametrize("name", ROBOTS)
def test_bounds_follow_from_where_joints_are(name: str) -> None:
    """Near stops, beyond them, and too fast, bounds are those of the joints' range."""
    dynamics = dynamics_of(name, 1, 0.3)
    compiled, chance = CompiledProblem(dynamics), np.random.default_rng(0)
    position, velocity = dynamics.joint_positions, dynamics.v[6:]
    count, contacts = len(position), foot_contacts(dynamics)[:1]
    tasks, torque, limited = balance_tasks(dynamics, 1), np.full(count, 2e3), 0
    for _ in range(4):
        below, above = chance.normal(0.1, 0.05, (2, count))
        speed = chance.uniform(0.4, 2.0, count)
        speed[0] = above[0] = np.inf
        motion = JointRange(
            position - below, position + above, speed, np.full(count, 10.0)
        )
        limits = RangeLimits(torque, motion, position, velocity, 0.02)
        bounds = motion.acceleration_bounds(position, velocity, 0.02)
        known = Limits(torque, *bounds)
        reference = solve_qp(build_qp(dynamics, tasks, contacts, known))
        found = compiled.solve(tasks, contacts, limits)
        if reference.relaxed:
            assert found is None
            continue
        assert_same(found, reference, dynamics)
        readable = solve_qp(build_qp(dynamics, tasks, contacts, limits))
        assert_same(readable, reference, dynamics)
        distance = np.minimum(*np.abs(reference.acceleration[6:] - bounds))
        limited += int((distance < 1e-6).sum())
    assert limited > 4


def test_what_is_not_compiled_is_left_to_the_programme() -> None:
    """In the air, or where no strict solution exists, there is none."""
    dynamics = dynamics_of("humanoid", 0)
    compiled, tasks = CompiledProblem(dynamics), balance_tasks(dynamics, 0)
    wide = Limits(np.full(dynamics.model.nv - 6, 2e3))
    assert compiled.solve(tasks, [], wide) is None
    contacts = foot_contacts(dynamics)
    joints = dynamics.model.nv - 6
    still = Limits(wide.torque, np.full(joints, 3.0), np.full(joints, 3.0))
    assert solve_qp(build_qp(dynamics, tasks, contacts, still)).relaxed != ""
    assert compiled.solve(tasks, contacts, still) is None


def test_frames_may_be_added() -> None:
    """A frame that is added makes Pinocchio's memory anew, which is noticed."""
    dynamics = dynamics_of("humanoid", 0)
    compiled, tasks = CompiledProblem(dynamics), balance_tasks(dynamics, 0)
    contacts = foot_contacts(dynamics)
    wide = Limits(np.full(dynamics.model.nv - 6, 2e3))
    compiled.solve(tasks, contacts, wide)
    dynamics.add_frame("tip", dynamics.robot.limbs["right_arm"].end_link, (0, 0, -0.1))
    dynamics.update(dynamics_of("humanoid", 4).q, dynamics.v)
    tip = FrameTask("tip", 1.0, 10.0, directions=(0, 1, 2))
    reference = solve_qp(build_qp(dynamics, [*tasks, tip], contacts, wide))
    assert_same(compiled.solve([*tasks, tip], contacts, wide), reference, dynamics)


class Rows(Apart):
    """A task that has more rows at one time than at another."""

    def __init__(self, one: str, other: str) -> None:
        super().__init__(one, other)
        self.weight = self.root_weight = np.asarray(1.0)
        self.count = 3

    def error(self, dynamics: Dynamics) -> Array:
        """Return the first rows."""
        return super().error(dynamics)[: self.count]

    def jacobian(self, dynamics: Dynamics) -> Array:
        """Return the first rows."""
        return super().jacobian(dynamics)[: self.count]


class Slack(PostureTask):
    """A posture that asks for less than others do."""

    def joint_acceleration(self, dynamics: Dynamics) -> Array:
        """Return half of what a posture asks for."""
        return 0.5 * super().joint_acceleration(dynamics)


def test_tasks_of_ones_own_may_be_any() -> None:
    """Rows that come and go, other postures, other frames: all count as they should."""
    dynamics = dynamics_of("humanoid", 0)
    com, upright, posture = balance_tasks(dynamics, 0)
    slack = Slack(0.5, 30.0)
    slack.position = np.zeros(dynamics.model.nv - 6)
    own = Rows("left_hand", "head")
    tasks = [com, upright, posture, slack, own]
    compiled, contacts = CompiledProblem(dynamics), foot_contacts(dynamics)
    wide = Limits(np.full(dynamics.model.nv - 6, 2e3))
    hand = FrameTask("left_hand", 1.0, 30.0)
    tasks.append(hand)
    for own.count, hand.frame in ((3, "left_hand"), (2, "left_hand"), (2, "head")):
        reference = solve_qp(build_qp(dynamics, tasks, contacts, wide))
        assert_same(compiled.solve(tasks, contacts, wide), reference, dynamics)


def test_copies_have_memory_of_their_own() -> None:
    """A copy goes its own way, and so does the original."""
    dynamics = dynamics_of("humanoid", 0)
    compiled, tasks = CompiledProblem(dynamics), balance_tasks(dynamics, 0)
    contacts = foot_contacts(dynamics)
    wide = Limits(np.full(dynamics.model.nv - 6, 2e3))
    before = compiled.solve(tasks, contacts, wide)
    other = copy.deepcopy(compiled)
    moved = dynamics_of("humanoid", 4)
    other.dynamics.update(moved.q, moved.v)
    np.testing.assert_allclose(other.dynamics.com, moved.com)
    reference = solve_qp(build_qp(other.dynamics, tasks, contacts, wide))
    assert_same(other.solve(tasks, contacts, wide), reference, moved)
    assert before is not None
    assert_same(compiled.solve(tasks, contacts, wide), before, dynamics)
