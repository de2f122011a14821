"""A robot's limbs, soles, actuators and postures as the TOML that is read back."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable

import numpy as np
import pinocchio as pin

from equipoise.arrays import Array
from equipoise.robot.description import rpy_from_rotation
from equipoise.robot.model import Robot
from equipoise.robot.parts import Actuator, Limb, Sole


def to_settings_toml(robot: Robot) -> str:
    """Return settings with which an exported file is the same robot again.

    See :mod:`equipoise.robot.formats.settings` for the format.
    """
    rotation = pin.Quaternion(robot.standing[3:7]).toRotationMatrix()
    lines = [f"assumptions = {_texts(robot.assumptions)}"]
    lines += ["", "[orientation]"]
    lines += [f"forward = {_numbers(rotation[0])}", f"up = {_numbers(rotation[2])}"]
    for limb in robot.limbs.values():
        if limb.kind in ("leg", "arm"):
            lines += _limb(limb)
    for sole in robot.soles.values():
        lines += _sole(sole)
    for actuator in robot.actuators:
        lines += _actuator(actuator)
    for name, q in robot.postures.items():
        lines += ["", f"[postures.{_key(name)}]"]
        for joint, joint_name in zip(
            robot.model.joints, robot.model.names, strict=True
        ):
            if joint_name in ("universe", "root_joint"):
                continue
            values = q[joint.idx_q : joint.idx_q + joint.nq]
            if joint.nq == 2:  # the angle reads back for every kind of hinge
                values = np.arctan2(values[1:], values[:1])
            lines.append(f"{_key(joint_name)} = {_numbers(values)}")
    return "\n".join(lines) + "\n"


def _limb(limb: Limb) -> list[str]:
    return ["", f"[limbs.{limb.name}]", f"joints = {_texts(limb.joints)}"]


def _sole(sole: Sole) -> list[str]:
    pose = sole.transform_sole_to_link
    corners = ", ".join(_numbers(corner) for corner in sole.polygon_in_sole)
    return [
        "",
        f"[soles.{sole.side}]",
        f"link = {json.dumps(sole.link)}",
        f"xyz = {_numbers(pose[:3, 3])}",
        f"rpy = {_numbers(rpy_from_rotation(pose[:3, :3]))}",
        f"polygon = [{corners}]",
    ]


def _actuator(actuator: Actuator) -> list[str]:
    figures = {
        "rotor_inertia": actuator.rotor_inertia,
        "viscous_friction": actuator.viscous_friction,
        "coulomb_friction": actuator.coulomb_friction,
        "effort_limit": actuator.effort_limit,
        "velocity_limit": actuator.velocity_limit,
    }
    lines = [
        f"{key} = {float(value)!r}"
        for key, value in figures.items()
        if math.isfinite(value)
    ]
    return ["", f"[actuators.{_key(actuator.joint)}]", *lines]


def _key(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)


def _texts(values: Iterable[str]) -> str:
    return json.dumps(list(values), ensure_ascii=False)


def _numbers(values: Array) -> str:
    return "[" + ", ".join(repr(float(value)) for value in values) + "]"
