"""Feet of whole-body control: what a foot in the air may do to the rest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
from whole_body_states import balance_tasks, loaded, wide_limits

from equipoise.balance.estimator import Estimate
from equipoise.balance.whole_body.dynamics import Dynamics
from equipoise.balance.whole_body.feet import Feet, FootState
from equipoise.balance.whole_body.inverse_dynamics import build_qp, solve_qp
from equipoise.gait.standing import standing_reference
from equipoise.kernels.estimation import TOLD, TOLD_ROTATIONS, TOLD_SOLE
from equipoise.robot.joint_coordinates import degree_of

# A tilt that the ankle would have to follow beyond its stop [rad].
TILT = 0.2


def trunk_acceleration(*, hasty: bool) -> float:
    """Return how fast a trunk turns as a left foot is to tilt whose ankle cannot."""
    robot = loaded("humanoid")
    dynamics = Dynamics(robot, np.zeros(robot.nv - 6))
    dynamics.update(robot.standing, np.zeros(robot.nv))
    feet = Feet(dynamics, 2e-3)
    feet.feet[0].state, feet.hasty = FootState.SWING, hasty
    target = standing_reference(robot, robot.standing).target
    told, rotations = np.zeros((TOLD, 3)), np.tile(np.eye(3), (TOLD_ROTATIONS, 1, 1))
    told[TOLD_SOLE] = target.soles["left"][:3, 3]
    told[TOLD_SOLE + 1] = target.soles["right"][:3, 3]
    known = Estimate(
        0.0,
        robot.standing,
        np.zeros(robot.nv),
        com=target.com,
        com_velocity=np.zeros(3),
        com_offset=np.zeros(2),
        told=told,
        told_rotations=rotations,
    )
    sole = np.array(target.soles["left"])
    sole[:3, :3] = pin.rpy.rpyToMatrix(TILT, 0.0, 0.0) @ sole[:3, :3]
    soles = {**target.soles, "left": sole}
    feet.update(known, replace(target, soles=soles, support="right"))
    most = np.full(robot.nv - 6, 1e4)
    for name in robot.legs["left"].joints[-2:]:
        most[degree_of(robot, name)] = 0.0
    limits = replace(
        wide_limits(dynamics), least_acceleration=-most, most_acceleration=most
    )
    tasks = (*balance_tasks(dynamics, 0), *feet.tasks)
    solution = solve_qp(build_qp(dynamics, tasks, feet.contacts, limits))
    assert solution.relaxed == ""
    trunk = dynamics.jacobian(dynamics.frame(robot.limbs["torso"].end_link))
    return float(np.linalg.norm(trunk[3:] @ solution.acceleration))


def test_a_hurried_foot_at_its_ankles_stop_leaves_the_trunk_alone() -> None:
    """What the ankle cannot do is not made up for by turning the trunk."""
    assert trunk_acceleration(hasty=True) < 0.2 * trunk_acceleration(hasty=False)
