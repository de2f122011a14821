"""The small TOML beside a robot file: what that file lacks or has wrong.

``my_robot.toml`` beside ``my_robot.urdf`` is read with it. Every section is optional::

    assumptions = ["sole size measured by hand"]
    [orientation]               # directions in the root link's axes
    forward = [1, 0, 0]
    up = [0, 0, 1]
    [limbs.left_leg]            # and right_leg, left_arm, right_arm, torso, head
    joints = ["hip", "knee"]    # from the base outwards
    end_link = "left_foot"
    [soles.left]                # and right
    link = "left_foot"
    xyz = [0, 0, -0.05]         # sole frame in the link: z up, x forward
    rpy = [0, 0, 0]
    polygon = [[-0.05, -0.03], [0.1, -0.03], [0.1, 0.03], [-0.05, 0.03]]
    [actuators.default]         # and [actuators.JOINT]
    rotor_inertia = 0.01
    [postures.standing]         # and any other name
    left_knee = 0.5
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from equipoise.arrays import Array, frozen_array
from equipoise.errors import RobotFileError
from equipoise.robot.description import JOINT_COMMANDS
from equipoise.robot.formats.toml_table import SETTINGS_KEYS, Table, read_pose
from equipoise.robot.formats.xml_file import read_bytes
from equipoise.robot.parts import Side, Sole

SIDES: tuple[Side, ...] = ("left", "right")
LIMBS = ("left_leg", "right_leg", "left_arm", "right_arm", "torso", "head")
ACTUATOR_KEYS = (
    *("rotor_inertia", "viscous_friction", "coulomb_friction"),
    *("effort_limit", "velocity_limit"),
)
MOTOR_KEYS = ("torque_constant", "gear_ratio")


@dataclass(frozen=True)
class LimbSettings:
    """A limb as the TOML gives it.

    Attributes:
        joints: Main chain from the base outwards.
        end_link: Link that it ends at; None for that of the last joint.
        source: The file that gives it.
    """

    joints: tuple[str, ...]
    end_link: str | None
    source: str


class JointSettings(NamedTuple):
    """What a file gives by joint name: positions, or parameters of actuators."""

    by_joint: Mapping[str, Any]
    source: str


@dataclass(frozen=True, eq=False)
class Settings:
    """Everything a settings file may give; empty where it gives nothing.

    Attributes:
        source: The file, for messages.
        forward: Walking direction in base axes, or None.
        up: Direction against gravity in base axes, or None.
        limbs: Limbs by name.
        soles: Soles by side, the polygon as it is given.
        actuators: Actuator parameters by joint (``"default"``: all joints), file by
            file; later ones override.
        postures: Joint positions by posture name.
        assumptions: Sentences to show with the robot.
    """

    source: str = ""
    forward: Array | None = None
    up: Array | None = None
    limbs: Mapping[str, LimbSettings] = field(default_factory=dict)
    soles: Mapping[Side, Sole] = field(default_factory=dict)
    actuators: tuple[JointSettings, ...] = ()
    postures: Mapping[str, JointSettings] = field(default_factory=dict)
    assumptions: tuple[str, ...] = ()

    def overridden_by(self, other: Settings) -> Settings:
        """Return these settings, overridden by those of another file."""
        return Settings(
            other.source or self.source,
            self.forward if other.forward is None else other.forward,
            self.up if other.up is None else other.up,
            {**self.limbs, **other.limbs},
            {**self.soles, **other.soles},
            self.actuators + other.actuators,
            {**self.postures, **other.postures},
            self.assumptions + other.assumptions,
        )


def read_sidecar(robot_file: Path) -> Settings:
    """Read the TOML beside a robot file; empty settings where there is none."""
    path = robot_file.with_suffix(".toml")
    try:
        beside = path != robot_file and path.is_file()
    except OSError:  # a folder that may not be searched is said of the robot file
        beside = False
    if not beside:
        return Settings()
    return parse_settings(load_toml(path), str(path))


def load_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file.

    Raises:
        RobotFileError: If it cannot be read or is not TOML.
    """
    try:
        return tomllib.loads(read_bytes(path).decode("utf-8"))
    # of TOML, of UTF-8, or of a number with thousands of digits
    except (ValueError, RecursionError) as error:
        raise RobotFileError(f"{path}: not valid TOML: {error}") from error


def parse_settings(values: Mapping[str, Any], source: str) -> Settings:
    """Check and convert the tables of a settings file, named ``source`` in messages.

    Raises:
        RobotFileError: For an unknown key or an impossible value.
    """
    table = Table(values, source)
    table.check_keys(*SETTINGS_KEYS)
    orientation = _section(table, "orientation")
    orientation.check_keys("forward", "up")
    limbs, soles = _section(table, "limbs"), _section(table, "soles")
    limbs.check_keys(*LIMBS)
    soles.check_keys(*SIDES)
    postures = _section(table, "postures")
    assumptions = values.get("assumptions", [])
    if not isinstance(assumptions, list):
        raise table.error("'assumptions' must be a list of sentences")
    return Settings(
        source,
        _direction(orientation, "forward"),
        _direction(orientation, "up"),
        {name: _limb(limbs.table(name), source) for name in limbs.values},
        {s: _sole(soles.table(s), s, source) for s in SIDES if s in soles},
        _actuators(_section(table, "actuators"), source),
        {
            name: JointSettings(postures.table(name).values, source)
            for name in postures.values
        },
        tuple(str(sentence) for sentence in assumptions),
    )


def _section(table: Table, key: str) -> Table:
    return table.table(key) if key in table else Table({}, table.where)


def _direction(table: Table, key: str) -> Array | None:
    if key not in table:
        return None
    vector = np.array(table.vector(key, 3))
    length = float(np.linalg.norm(vector))
    if length < 1e-9:
        raise table.error(f"'{key}' must not be zero")
    return frozen_array(vector / length)


def _limb(table: Table, source: str) -> LimbSettings:
    table.check_keys("joints", "end_link")
    joints = table.values.get("joints")
    if not isinstance(joints, list) or not joints:
        raise table.error('needs joints = ["…", …], from the base outwards')
    end_link = table.text("end_link") if "end_link" in table else None
    return LimbSettings(tuple(str(joint) for joint in joints), end_link, source)


def _sole(table: Table, side: Side, source: str) -> Sole:
    table.check_keys("link", "xyz", "rpy", "polygon", "size", "centre")
    pose = read_pose(table)
    return Sole(side, table.text("link"), pose, _polygon(table), source)


def _polygon(table: Table) -> Array:
    if ("polygon" in table) == ("size" in table):
        raise table.error("needs either polygon or size")
    if "polygon" in table:
        corners = table.values["polygon"]
        if not isinstance(corners, list) or not corners:
            raise table.error("'polygon' needs a list of corners [x, y]")
        return table.rows("polygon", 2)
    half = np.array(table.vector("size", 2)) / 2
    if (half <= 0).any():
        raise table.error("'size' must be positive")
    signs = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
    return np.asarray(table.vector("centre", 2, (0.0, 0.0)) + signs * half)


def _actuators(table: Table, source: str) -> tuple[JointSettings, ...]:
    if not table.values:
        return ()
    parameters = {}
    for joint in table.values:
        own = table.table(joint)
        own.check_keys(*ACTUATOR_KEYS, *MOTOR_KEYS, "command")
        given: dict[str, float | str] = {
            key: own.number(key) if key == "gear_ratio" else own.not_negative(key)
            for key in own.values
            if key != "command"
        }
        if given.get("gear_ratio") == 0.0:
            raise own.error("'gear_ratio' must not be zero")
        if "command" in own:
            given["command"] = own.choice("command", JOINT_COMMANDS)
        parameters[joint] = given
    return (JointSettings(parameters, source),)
