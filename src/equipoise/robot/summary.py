"""A robot in summary: plain data with stable keys."""

from __future__ import annotations

import math
from typing import Any, TypedDict

import pinocchio as pin

from equipoise.arrays import Array
from equipoise.robot.formats.settings import ACTUATOR_KEYS, SIDES
from equipoise.robot.model import Robot
from equipoise.robot.parts import Limb, Side
from equipoise.robot.pinocchio_model import mass_and_moment

ACTUATOR_NUMBERS = (*ACTUATOR_KEYS, "lower", "upper")


class MassRow(TypedDict):
    """One row of a mass table: a link, a limb or the base; no CoM without mass."""

    name: str
    mass_kg: float
    com_m: list[float] | None


def summarise(robot: Robot) -> dict[str, Any]:
    """Return everything that ``equipoise info --json`` prints.

    Positions are in the world frame of the standing posture: soles on z = 0, their
    middle at x = y = 0, facing x.

    Raises:
        LegsNotFoundError: If the robot has no leg; of one that has one, a warning says
            that the other is missing.
    """
    found = {limb.side: limb for limb in robot.limbs.values() if limb.kind == "leg"}
    legs = {side: found[side] for side in SIDES if side in found} or robot.legs
    arms = robot.arms
    com = pin.centerOfMass(robot.model, robot.data, robot.standing)
    return {
        "name": robot.name,
        "source": None if robot.source is None else str(robot.source),
        "mass_kg": robot.mass,
        "com_m": _floats(com),
        "dof": robot.nv,
        "joints": len(robot.model.names) - 2,
        "torque_controlled": robot.torque_controlled,
        "legs": {side: _leg(robot, side, leg) for side, leg in legs.items()},
        "arms": {side: _limb(arms[side]) if side in arms else None for side in SIDES},
        "limbs": _limb_masses(robot),
        "links": _link_masses(robot),
        "actuators": [
            {"joint": actuator.joint}
            | {key: _finite(getattr(actuator, key)) for key in ACTUATOR_NUMBERS}
            | {"command": actuator.command, "from": dict(actuator.origins)}
            for actuator in robot.actuators
        ],
        "postures": {name: _floats(q) for name, q in robot.postures.items()},
        "assumptions": list(robot.assumptions),
        "warnings": list(robot.warnings),
    }


def _limb_masses(robot: Robot) -> list[MassRow]:
    """Return mass and centre of mass of the base and of every limb, standing."""
    model = robot.model
    pin.forwardKinematics(model, robot.data, robot.standing)
    bodies = {"base": [1]} | {
        limb.name: [robot.joint_id(joint) for joint in limb.subtree_joints]
        for limb in robot.limbs.values()
    }
    return [
        _row(name, *mass_and_moment(model, robot.data, indices))
        for name, indices in bodies.items()
    ]


def _link_masses(robot: Robot) -> list[MassRow]:
    """Return mass and centre of mass of every link that has a mass, standing."""
    pin.framesForwardKinematics(robot.model, robot.data, robot.standing)
    rows: list[MassRow] = []
    for link in robot.description.links:
        if link.inertial is None or link.inertial.mass == 0.0:
            continue
        pose = robot.data.oMf[robot.frame_id(link.name)].homogeneous
        centre = pose[:3, :3] @ link.inertial.com_in_link + pose[:3, 3]
        rows.append(_row(link.name, link.inertial.mass, link.inertial.mass * centre))
    return rows


def _row(name: str, mass: float, moment: Array) -> MassRow:
    centre = _floats(moment / mass) if mass > 0.0 else None
    return MassRow(name=name, mass_kg=mass, com_m=centre)


def _limb(limb: Limb) -> dict[str, Any]:
    return {
        "joints": list(limb.joints),
        "length_m": limb.length,
        "end_link": limb.end_link,
        "from": limb.origin,
    }


def _leg(robot: Robot, side: Side, leg: Limb) -> dict[str, Any]:
    sole = robot.soles[side]
    return {
        **_limb(leg),
        "sole": {
            "link": sole.link,
            "size_m": list(sole.size),
            "polygon_m": [_floats(corner) for corner in sole.polygon_in_sole],
            "pose_in_link": [_floats(row) for row in sole.transform_sole_to_link],
            "from": sole.origin,
        },
    }


def _floats(values: Array) -> list[float]:
    return [float(value) for value in values]


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
