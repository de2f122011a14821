"""How softly a robot stands on one foot: its leg's servos and the ground in series."""

from __future__ import annotations

import numpy as np

from equipoise.arrays import Array
from equipoise.kinematics.com import com, com_jacobian
from equipoise.kinematics.frames import frame_jacobian
from equipoise.robot.joint_coordinates import degree_of
from equipoise.robot.parts import Side
from equipoise.simulation.actuation import BASE_DOF, MODES
from equipoise.simulation.summary import Check
from equipoise.simulation.world import World

# Open loop, the stiffness against tilting is at least this many times m g h.
STIFFNESS = 1.5


def stiffness_checks(world: World, q: Array) -> list[Check]:
    """Return that a robot with servos can stand open loop on each of its feet."""
    servos = world.actuation.mode == MODES.index("servo")
    if not servos.any():
        return []
    softness = max(tilt_compliance(world, q, side) for side in world.robot.soles)
    name = "m g h over the stiffness of a leg on the ground"
    return [Check(name, softness, 1.0 / STIFFNESS, "%")]


def tilt_compliance(world: World, q: Array, side: Side) -> float:
    """Return m g h over the stiffness against tilting, standing on one foot.

    With 1 or more gravity wins: the robot cannot stand open loop. A horizontal force on
    the CoM moves it by C = A K⁻¹ Aᵀ + h² / K_ground, A being the Jacobian of the CoM
    over the leg's joints with the foot at rest and K their stiffness; tilted by
    gravity m g / h times the displacement, it comes to rest if m g C / h < 1.

    Args:
        world: The robot, its servos and its ground.
        q: Configuration, shape (nq,).
        side: The foot that it stands on.
    """
    robot = world.robot
    sole, leg = robot.soles[side], robot.legs[side]
    height = float(com(robot, q)[2] - world.terrain.height(*com(robot, q)[:2]))
    foot = frame_jacobian(robot, q, sole.link)
    centre = com_jacobian(robot, q)
    columns = [BASE_DOF + degree_of(robot, name) for name in leg.joints]
    base = np.linalg.solve(foot[:, :BASE_DOF], foot[:, columns])
    follows = (centre[:, columns] - centre[:, :BASE_DOF] @ base)[:2]
    rows = np.array(columns) - BASE_DOF
    servo = world.actuation.mode[rows] == MODES.index("servo")
    stiffness = world.actuation.stiffness[rows]
    softness = np.where(servo, 1.0 / np.maximum(stiffness, 1e-12), 0.0)
    compliance = follows * softness @ follows.T
    own = [contact for contact in world.contacts if contact.side == side]
    if own:
        places = np.array([contact.position_in_link for contact in own])
        in_sole = np.linalg.inv(sole.transform_sole_to_link)
        places = (places @ in_sole[:3, :3].T + in_sole[:3, 3])[:, :2]
        spread = ((places - places.mean(axis=0)) ** 2).sum(axis=0)
        tilt = np.maximum(world.material.stiffness * spread, 1e-12)
        compliance = compliance + np.diag(height**2 / tilt)
    worst = float(np.linalg.eigvalsh(compliance)[-1])
    return robot.mass * world.gravity * worst / height
