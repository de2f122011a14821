"""Robots written as TOML: DH limbs, or plain links and joints, and settings.

DH limbs are described in :mod:`equipoise.robot.formats.dh`. In plain trees, for
robots that no DH table fits, frames follow URDF: a link's frame is that of the joint
above it at zero position::

    [[links]]
    name = "thigh"
    mass = 7.0                       # left out: massless
    com = [0, 0, -0.18]
    inertia = { box = [0.1, 0.1, 0.4] }    # or six numbers, or left out: estimated
    shapes = [{ capsule = [0.06, 0.3], xyz = [0, 0, -0.2] }]

    [[joints]]
    name = "knee"
    kind = "revolute"                # fixed if left out
    parent = "thigh"
    child = "shin"
    xyz = [0, 0, -0.4]
    axis = [0, 1, 0]
    limits = [0, 2.5]
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np

from equipoise.arrays import Array, frozen_array
from equipoise.errors import RobotFileError
from equipoise.robot.description import JOINT_KINDS, Description, Joint, JointKind
from equipoise.robot.formats.dh import limb_settings, read_dh, read_dh_limbs
from equipoise.robot.formats.settings import load_toml
from equipoise.robot.formats.toml_table import (
    LINK_KEYS,
    POSE_KEYS,
    SETTINGS_KEYS,
    Table,
    description_from_links,
    read_link,
    read_pose,
)

JOINT_KEYS = (
    *("name", "kind", "parent", "child", *POSE_KEYS, "axis", "limits", "pitch"),
    *("velocity_limit", "effort_limit", "damping", "friction", "armature"),
)
MODEL_KEYS = ("name", "base", "dh", "links", "joints")


def read_robot_toml(path: Path) -> tuple[Description, dict[str, Any]]:
    """Read a robot from a TOML file; its name is that of the file if none is given.

    Returns:
        Links and joints, and settings, as :func:`split_robot_table`.

    Raises:
        RobotFileError: If the file cannot be read or anything in it is wrong.
    """
    return split_robot_table({"name": path.stem} | load_toml(path), str(path))


def split_robot_table(
    table: Mapping[str, Any], source: str
) -> tuple[Description, dict[str, Any]]:
    """Read the robot of a parsed TOML file and return the rest of the file.

    Returns:
        The robot's links and joints, and its settings: title, source, assumptions
        and the sections that a sidecar file may have. Limbs of a DH robot are in
        the settings as if they had been written there.

    Raises:
        RobotFileError: If there is no robot in it, or anything in it is wrong.
    """
    settings = {key: value for key, value in table.items() if key not in MODEL_KEYS}
    if "dh" in table:
        description = read_dh(table, source)
        limbs = limb_settings(read_dh_limbs(table, source).values())
        if isinstance(given := settings.get("limbs", {}), dict):
            settings["limbs"] = limbs | given
        return description, settings
    if "links" in table:
        return read_tree_toml(table, source), settings
    raise RobotFileError(f"{source}: holds no robot: neither [dh.LIMB] nor [[links]]")


def read_tree_toml(table: Mapping[str, Any], source: str) -> Description:
    """Read a robot of ``[[links]]`` and ``[[joints]]``; settings are skipped.

    Raises:
        RobotFileError: If anything in it is missing, unknown or impossible.
    """
    file = Table(table, source)
    file.check_keys("name", "links", "joints", *SETTINGS_KEYS)
    joints = [_read_joint(entry) for entry in file.tables("joints", required=False)]
    joints.sort(key=lambda joint: joint.name)
    spans = {joint.parent: joint.transform_joint_to_parent[:3, 3] for joint in joints}
    estimated: list[str] = []
    links = []
    for entry in file.tables("links"):
        entry.check_keys("name", *LINK_KEYS)
        name = entry.text("name")
        links.append(read_link(entry, name, estimated, spans.get(name)))
    return description_from_links(file, links, joints, estimated)


def _read_joint(entry: Table) -> Joint:
    entry.check_keys(*JOINT_KEYS)
    kind = cast(JointKind, entry.choice("kind", JOINT_KINDS, "fixed"))
    lower, upper = entry.limits()
    name, parent, child = (entry.text(key) for key in ("name", "parent", "child"))
    return Joint(
        *(name, kind, parent, child, read_pose(entry), _read_axis(entry, kind)),
        *(lower, upper),
        entry.not_negative("velocity_limit", math.inf),
        entry.not_negative("effort_limit", math.inf),
        entry.not_negative("damping", 0.0),
        entry.not_negative("friction", 0.0),
        entry.not_negative("armature", 0.0),
        entry.number("pitch") if kind == "helical" else 0.0,
    )


def _read_axis(entry: Table, kind: JointKind) -> Array:
    if kind in ("fixed", "spherical", "floating"):
        return frozen_array([1.0, 0.0, 0.0])
    axis = np.array(entry.vector("axis", 3))
    length = float(np.linalg.norm(axis))
    if length < 1e-9:
        raise entry.error("'axis' is zero")
    return frozen_array(axis / length)
