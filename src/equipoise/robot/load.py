"""From a catalogue name or a file to a :class:`~equipoise.robot.model.Robot`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.errors import NameNotFoundError, RobotFileError, UnknownRobotError
from equipoise.robot.anatomy.checks import find_warnings
from equipoise.robot.anatomy.limbs import (
    Found,
    assemble_limbs,
    find_pairs,
    only_if_named_and_upright,
)
from equipoise.robot.anatomy.posture import (
    base_rotation,
    level_soles,
    stand,
    with_joint_positions,
)
from equipoise.robot.anatomy.skeleton import Skeleton, neutral_within_limits
from equipoise.robot.anatomy.soles import find_sole, make_sole
from equipoise.robot.build import build_model
from equipoise.robot.catalogue import catalogue_names, read_catalogue
from equipoise.robot.description import Array, Description, frozen_array
from equipoise.robot.formats.mjcf import read_mjcf
from equipoise.robot.formats.settings import (
    SIDES,
    Settings,
    load_toml,
    parse_settings,
    read_sidecar,
)
from equipoise.robot.formats.urdf import read_urdf
from equipoise.robot.formats.xml_file import parse_xml, read_bytes
from equipoise.robot.model import Actuator, Robot, Side, Sole

# Posture names in MJCF keyframes and settings that mean standing.
STANDING_NAMES = ("standing", "stand", "home")
LEVEL_TOLERANCE = 1e-3
FILE_ENDINGS = (".urdf", ".xml", ".mjcf", ".toml")


def load(source: str | os.PathLike[str], settings: str | Path | None = None) -> Robot:
    """Load a biped.

    Limbs, soles and the standing posture are detected; a TOML beside the file (see
    :mod:`equipoise.robot.formats.settings`) overrides what is detected.

    Args:
        source: A name from the catalogue, or a path to a URDF, MJCF or DH file.
        settings: A settings file to use instead of the one beside the robot.

    Raises:
        EquipoiseError: With one clear line on what is wrong with the input.
    """
    text = os.fspath(source)
    if not text.strip() or "\0" in text:
        raise UnknownRobotError(f"{text!r} is neither a catalogue robot nor a file")
    if _is_path(text):
        path = Path(text)
        description, own = _read_file(path)
        chosen = _chosen_settings(settings, own)
        return assemble(description, chosen, path)
    description, table = read_catalogue(text)
    own = parse_settings(table, f"catalogue ({text})")
    return assemble(description, _chosen_settings(settings, own), None)


def _is_path(text: str) -> bool:
    if text in catalogue_names():
        return False
    separators = {os.sep, os.altsep or os.sep}
    looks_like_path = any(separator in text for separator in separators)
    return looks_like_path or text.lower().endswith(FILE_ENDINGS) or Path(text).exists()


def _chosen_settings(path: str | Path | None, own: Settings) -> Settings:
    if path is None:
        return own
    return parse_settings(load_toml(Path(path)), str(path))


def _read_file(path: Path) -> tuple[Description, Settings]:
    if path.suffix.lower() == ".toml":
        from equipoise.robot.catalogue import read_description

        description, table = read_description(path)
        return description, parse_settings(table, str(path))
    root = parse_xml(read_bytes(path), path)
    if root.tag == "robot":
        return read_urdf(root, path), read_sidecar(path)
    if root.tag == "mujoco":
        return read_mjcf(root, path), read_sidecar(path)
    raise RobotFileError(
        f"{path}: starts with <{root.tag}>; a URDF starts with <robot>, "
        "an MJCF file with <mujoco>"
    )


def assemble(
    description: Description, settings: Settings, source: Path | None
) -> Robot:
    """Turn a description into a robot: model, limbs, soles, actuators, postures.

    Args:
        description: Links and joints.
        settings: What overrides detection.
        source: The file that the description came from, or None.
    """
    return _Assembly(description, settings, source).robot()


class _Assembly:
    """The steps from a description to a robot, in order."""

    def __init__(
        self, description: Description, settings: Settings, source: Path | None
    ) -> None:
        self.description = description
        self.settings = settings
        self.source = source
        self.label = str(source or description.name)
        self.model = build_model(description)
        self.assumptions = [*settings.assumptions, *description.assumptions]
        self.notes = list(description.notices)

    def robot(self) -> Robot:
        neutral = self.start_posture()
        found, skeleton = self.find(neutral)
        forward = self.forward(found, skeleton)
        soles, feet = self.soles(found, skeleton, forward)
        legs = {
            side: path[: path.index(feet[side]) + 1]
            for side, path in found.legs.items()
        }
        sole_points = {side: self.point_in_body(sole) for side, sole in soles.items()}
        limbs = assemble_limbs(
            skeleton, legs, found.arms, self.limb_origins(), sole_points
        )
        postures = self.postures(skeleton, soles, legs, forward)
        warnings = [
            *self.notes,
            *find_warnings(
                self.description, self.model, limbs, soles, postures["standing"]
            ),
        ]
        return Robot(
            self.description.name,
            self.model,
            self.description,
            limbs,
            soles,
            self.actuators(),
            postures,
            self.source,
            tuple(self.assumptions),
            tuple(warnings),
        )

    def start_posture(self) -> Array:
        """Return the joints to detect in: the standing posture if one is given."""
        neutral = neutral_within_limits(self.model)
        given = self.given_standing()
        return neutral if given is None else given

    def given_standing(self) -> Array | None:
        neutral = neutral_within_limits(self.model)
        for postures, origin in (
            (self.settings.postures, self.settings.source),
            (self.description.postures, self.label),
        ):
            for name in STANDING_NAMES:
                if name in postures:
                    return with_joint_positions(
                        self.model, neutral, postures[name], origin
                    )
        return None

    def find(self, q: Array) -> tuple[Found, Skeleton]:
        """Find legs and arms, trying other directions of up where z gives none."""
        if self.settings.up is not None:
            ups = [self.settings.up]
        else:
            ups = [sign * np.eye(3)[axis] for axis in (2, 1, 0) for sign in (1, -1)]
        tried: list[tuple[Found, Skeleton]] = []
        for up in ups:
            skeleton = Skeleton(self.model, q, up)
            found = self.overridden(find_pairs(skeleton), skeleton)
            if up[2] < 0.5 and self.settings.up is None:
                found = only_if_named_and_upright(skeleton, found)
            tried.append((found, skeleton))
            if found.legs:
                break
        found, skeleton = tried[-1] if tried[-1][0].legs else tried[0]
        if not found.legs:
            self.notes.append(f"no legs found: {found.note}")
        elif self.settings.up is None and skeleton.up[2] < 0.5:
            axis = "xyz"[int(np.argmax(np.abs(skeleton.up)))]
            sign = "-" if skeleton.up.min() < 0 else "+"
            self.assumptions.append(
                f"up is {sign}{axis} of the root link: the feet are that way round"
            )
        return found, skeleton

    def overridden(self, found: Found, skeleton: Skeleton) -> Found:
        """Replace detected limbs by those that the settings name."""
        paths: dict[str, dict[Side, tuple[int, ...]]] = {
            "leg": dict(found.legs),
            "arm": dict(found.arms),
        }
        for name, joints in self.settings.limbs.items():
            side, _, kind = name.partition("_")
            bodies = tuple(self.body(joint) for joint in joints)
            for upper, lower in pairwise(bodies):
                if upper not in skeleton.path(lower):
                    raise RobotFileError(
                        f"{self.settings.source}: limb '{name}': joint "
                        f"'{skeleton.names[lower]}' is not below "
                        f"'{skeleton.names[upper]}'"
                    )
            paths[kind][SIDES[0] if side == "left" else SIDES[1]] = bodies
        return Found(paths["leg"], paths["arm"], found.note)

    def body(self, joint: str) -> int:
        if joint in ("universe", "root_joint") or not self.model.existJointName(joint):
            names = list(self.model.names)[2:]
            raise NameNotFoundError("joint", joint, names, self.settings.source)
        return int(self.model.getJointId(joint))

    def limb_origins(self) -> dict[str, str]:
        return {name: self.settings.source for name in self.settings.limbs}

    def forward(self, found: Found, skeleton: Skeleton) -> Array:
        """Return the walking direction in base axes: across the line of the feet."""
        up = skeleton.up
        if self.settings.forward is not None:
            forward = self.settings.forward - up * float(self.settings.forward @ up)
        elif len(found.legs) == 2:
            left, right = (skeleton.positions[found.legs[side][0]] for side in SIDES)
            forward = np.cross(left - right, up)
            if np.linalg.norm(forward) < 1e-6:  # both hips in one plane
                forward = self.level_axis(up)
            else:
                forward = self.snapped(forward)
        else:
            forward = self.level_axis(up)
        length = float(np.linalg.norm(forward))
        if length < 1e-6:
            raise RobotFileError(
                f"{self.settings.source}: orientation.forward must not point along up"
            )
        return np.asarray(forward / length)

    def snapped(self, forward: Array) -> Array:
        """Return the base axis nearest to a direction when it is all but along it."""
        forward = forward / np.linalg.norm(forward)
        axis = np.round(forward)
        near = float(forward @ axis) > np.cos(np.radians(10.0))
        return np.asarray(axis if near else forward)

    def level_axis(self, up: Array) -> Array:
        axis = next(axis for axis in (0, 1, 2) if abs(up[axis]) < 0.5)
        return np.asarray(np.eye(3)[axis])

    def soles(
        self, found: Found, skeleton: Skeleton, forward: Array
    ) -> tuple[dict[Side, Sole], dict[Side, int]]:
        soles: dict[Side, Sole] = {}
        feet: dict[Side, int] = {}
        for side, path in found.legs.items():
            given = self.settings.soles.get(side)
            if given is None:
                soles[side], feet[side] = find_sole(
                    skeleton, self.description, side, path, forward
                )
                if soles[side].origin.startswith("estimate"):
                    self.assumptions.append(f"{side} sole: {soles[side].origin}")
                continue
            if given.link not in self.description.link_by_name:
                names = [link.name for link in self.description.links]
                raise NameNotFoundError("link", given.link, names, self.settings.source)
            frame = self.model.frames[self.model.getBodyId(given.link)]
            if frame.parentJoint not in path:
                raise RobotFileError(
                    f"{self.settings.source}: sole link '{given.link}' is not part of "
                    f"the {side} leg"
                )
            feet[side] = int(frame.parentJoint)
            soles[side] = make_sole(
                side,
                given.link,
                frozen_array(given.transform_sole_to_link),
                given.polygon_in_sole,
                self.settings.source,
            )
        return soles, feet

    def point_in_body(self, sole: Sole) -> Array:
        frame = self.model.frames[self.model.getBodyId(sole.link)]
        return np.array(
            frame.placement.act(np.array(sole.transform_sole_to_link[:3, 3]))
        )

    def postures(
        self,
        skeleton: Skeleton,
        soles: Mapping[Side, Sole],
        legs: Mapping[Side, tuple[int, ...]],
        forward: Array,
    ) -> dict[str, Array]:
        """Return all named postures, each with the soles on the ground."""
        rotation = base_rotation(forward, skeleton.up)
        neutral = neutral_within_limits(self.model)
        postures: dict[str, Array] = {}
        named: dict[str, Mapping[str, Any]] = {
            **self.description.postures,
            **self.settings.postures,
        }
        for name, positions in named.items():
            q = with_joint_positions(self.model, neutral, positions, self.label)
            postures[name] = stand(self.model, q, soles, rotation)
        standing = self.given_standing()
        if standing is None:
            standing = neutral
            if soles:
                standing, error = level_soles(
                    self.model, neutral, soles, legs, skeleton.up
                )
                if error > LEVEL_TOLERANCE:
                    self.notes.append(
                        "the soles cannot be made level at the neutral posture "
                        f"(off by {error:.3g}); give [postures.standing]"
                    )
        postures["standing"] = stand(self.model, standing, soles, rotation)
        return postures

    def actuators(self) -> tuple[Actuator, ...]:
        known = {joint.name for joint in self.description.joints}
        for joint_name in self.settings.actuators:
            if joint_name != "default" and joint_name not in known:
                raise NameNotFoundError(
                    "joint", joint_name, sorted(known), self.settings.source
                )
        default = self.settings.actuators.get("default", {})
        actuators = []
        for joint in self.description.joints_depth_first():
            if joint.kind in ("fixed", "spherical", "floating"):
                continue
            own = {**default, **self.settings.actuators.get(joint.name, {})}
            actuators.append(
                Actuator(
                    joint.name,
                    own.get("rotor_inertia", joint.armature),
                    own.get("viscous_friction", joint.damping),
                    own.get("coulomb_friction", joint.friction),
                    own.get("effort_limit", joint.effort_limit),
                    own.get("velocity_limit", joint.velocity_limit),
                    joint.lower,
                    joint.upper,
                    self.settings.source if own else "robot file",
                )
            )
        return tuple(actuators)
