"""On which part of its sole a leg can bear the weight."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from whole_body_states import ROBOTS, dynamics_of

import equipoise as eq
from equipoise.balance.whole_body.bearing import bearable_part, torques_to_carry
from equipoise.balance.whole_body.controller import WholeBodyController
from equipoise.balance.whole_body.dynamics import sole_frame
from equipoise.balance.whole_body.support import support_of
from equipoise.kinematics.leg_freedom import SIDES
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.simulation.feedback import known_joints
from equipoise.simulation.trials import trial_world


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("side", SIDES)
def test_torques_to_carry_are_those_of_a_force_on_the_foot(
    name: str, side: str
) -> None:
    """They are what a vertical force on the foot changes in inverse dynamics."""
    dynamics = dynamics_of(name, 7)
    robot, frame = dynamics.robot, dynamics.frame(sole_frame(side))
    place = dynamics.pose(frame).translation
    point = place[:2] + np.array([0.07, -0.02])
    found = torques_to_carry(dynamics, frame, point, 300.0)

    joint = robot.model.joints[robot.model.getJointId(robot.legs[side].joints[-1])].id
    at = pin.SE3(np.eye(3), np.array([*point, place[2]]))
    pushed = at.act(pin.Force(np.array([0.0, 0.0, 300.0]), np.zeros(3)))
    data, still = robot.model.createData(), np.zeros(robot.nv)
    pin.forwardKinematics(robot.model, data, dynamics.q)
    forces = [pin.Force.Zero() for _ in range(robot.model.njoints)]
    without = pin.rnea(robot.model, data, dynamics.q, still, still, forces).copy()
    forces[joint] = data.oMi[joint].actInv(pushed)
    changed = pin.rnea(robot.model, data, dynamics.q, still, still, forces) - without
    assert found == pytest.approx(changed[6:], abs=1e-9)


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("side", SIDES)
def test_the_part_of_a_sole_is_where_no_torque_is_beyond_its_limit(
    name: str, side: str
) -> None:
    """Points of the sole are in it if, and only if, all torques are within limits."""
    dynamics = dynamics_of(name, 7)
    robot, frame = dynamics.robot, dynamics.frame(sole_frame(side))
    place, weight = dynamics.pose(frame), robot.mass * STANDARD_GRAVITY
    polygon = robot.soles[side].polygon_in_sole
    sole = support_of(polygon @ place.rotation[:2, :2].T + place.translation[:2])
    generator = np.random.default_rng(0)
    points = generator.dirichlet(np.ones(len(sole.corners)), size=200) @ sole.corners
    torques = np.abs(
        [torques_to_carry(dynamics, frame, point, weight) for point in points]
    )
    for part in (0.8, 0.9):
        most = np.quantile(torques, part, axis=0)
        allowed = (torques <= most + 1e-9).all(axis=1)
        assert 20 < allowed.sum() < 180
        found = bearable_part(dynamics, frame, sole, weight, most + 1e-9)
        holds = [found is not None and found.holds(point) for point in points]
        assert holds == allowed.tolist()
    assert bearable_part(dynamics, frame, sole, weight, 2.0 * torques.max(axis=0) + 1.0)
    assert bearable_part(dynamics, frame, sole, weight, 0.0 * most) is None


def test_ankles_that_cannot_bear_the_edge_bear_what_is_behind_it() -> None:
    """Ankles of half the torque of the front edge bear the weight up to half way."""
    robot = eq.load("humanoid")
    joints = known_joints(trial_world(robot, None, "torque"), robot)
    ankles = [
        robot.model.joints[robot.model.getJointId(f"{side}_ankle_pitch")].idx_v - 6
        for side in SIDES
    ]
    polygon = robot.soles["left"].polygon_in_sole
    edge = max(polygon[:, 0])
    weak = joints.torque.copy()
    weak[ankles] = 0.5 * robot.mass * STANDARD_GRAVITY * edge
    for torque, reached in ((joints.torque, 1.0), (weak, 0.98 * 0.5)):
        controller = WholeBodyController(robot, 2e-3, replace(joints, torque=torque))
        dynamics = controller.dynamics
        dynamics.update(robot.standing, np.zeros(robot.nv))
        pose = dynamics.pose(dynamics.frame(sole_frame("left")))
        ankle = dynamics.pose(robot.model.getFrameId("left_ankle_pitch"))
        sole = support_of(polygon + pose.translation[:2])
        part = controller.capture.bearable(0, sole)
        assert part is not None
        most = max(part.corners[:, 0]) - ankle.translation[0]
        whole = max(sole.corners[:, 0]) - ankle.translation[0]
        assert most == pytest.approx(min(reached * edge, whole), abs=1e-6)
