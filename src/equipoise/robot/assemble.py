"""From a description and settings to a robot: limbs, soles, actuators, postures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from equipoise.arrays import Array, frozen_array
from equipoise.errors import NameNotFoundError, RobotFileError
from equipoise.robot.anatomy.checks import find_warnings
from equipoise.robot.anatomy.geometry import convex_hull
from equipoise.robot.anatomy.leg_problems import leg_problems
from equipoise.robot.anatomy.limbs import Pairs, assign_limbs, find_pairs, is_upright
from equipoise.robot.anatomy.posture import (
    Orientation,
    com_outside,
    find_orientation,
    level_soles,
    stand,
    unevenness,
    with_joint_positions,
)
from equipoise.robot.anatomy.skeleton import Path as BodyPath
from equipoise.robot.anatomy.skeleton import Skeleton, neutral_within_limits
from equipoise.robot.anatomy.soles import GUESSED, find_sole, placement_in_body
from equipoise.robot.description import LARGEST, Description, Joint
from equipoise.robot.formats.settings import (
    ACTUATOR_KEYS,
    LIMBS,
    SIDES,
    JointSettings,
    Settings,
)
from equipoise.robot.model import MISSING_LEG, NO_LEGS, Robot
from equipoise.robot.parts import NOT_GIVEN, Actuator, Side, Sole
from equipoise.robot.pinocchio_model import build_model, moving_joint_id

# Posture names in MJCF keyframes and settings that mean standing.
STANDING_NAMES = ("standing", "stand", "home")
LEVEL_TILT = 1e-3  # rad
LEVEL_HEIGHT = 1e-3  # m
# Nearer to a stop than this fraction of its range a joint is at it.
AT_STOP = 0.05
# Where an actuator parameter came from.
ROBOT_FILE = "robot file"


def assemble(
    description: Description, settings: Settings, source: Path | None
) -> Robot:
    """Turn a description into a robot: model, limbs, soles, actuators, postures.

    Settings override detection; ``source`` is the file of the description, if any.
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
        self.neutral = neutral_within_limits(self.model)
        self.named = {
            name: JointSettings(positions, self.label)
            for name, positions in description.postures.items()
        } | dict(settings.postures)
        self.configurations = {
            name: with_joint_positions(
                self.model, self.neutral, posture.by_joint, posture.source
            )
            for name, posture in self.named.items()
        }
        self.standing_names = [name for name in STANDING_NAMES if name in self.named]
        self.assumptions = [*settings.assumptions, *description.assumptions]
        self.warnings = list(description.notices)

    def robot(self) -> Robot:
        pairs, skeleton = self.find_pairs()
        orientation = find_orientation(
            skeleton, pairs.legs, self.settings.forward, self.settings.source
        )
        skeletons = [skeleton]
        for name in self.standing_names[:1]:
            q = self.configurations[name]
            skeletons.append(Skeleton(self.model, self.description, q, skeleton.up))
        soles, legs = self.find_soles(skeletons, pairs.legs, orientation.forward)
        limbs = assign_limbs(
            skeleton,
            legs,
            pairs.arms,
            self.given_paths(skeleton, ("torso", "head")),
            {
                side: np.array(placement_in_body(self.model, sole)[1].translation)
                for side, sole in soles.items()
            },
            self.settings.limbs,
        )
        self.add_sole_frames(soles)
        postures = self.postures(legs, soles, orientation)
        self.warnings += find_warnings(
            self.description,
            self.model,
            limbs,
            soles,
            (postures["standing"], self.neutral),
            orientation,
        )
        robot = Robot(
            self.description.name,
            self.model,
            self.description,
            limbs,
            soles,
            find_actuators(self.description, self.settings),
            postures,
            self.source,
            tuple(self.assumptions),
            tuple(self.warnings),
        )
        further = [text for text in leg_problems(robot) if text not in robot.warnings]
        return replace(robot, warnings=(*robot.warnings, *further))

    def find_pairs(self) -> tuple[Pairs, Skeleton]:
        """Find legs and arms: at the neutral posture, else standing; z up, else not."""
        postures = [self.neutral]
        postures += [self.configurations[name] for name in self.standing_names]
        given_up = self.settings.up
        ups = [np.array([0.0, 0.0, 1.0]) if given_up is None else given_up]
        if given_up is None:
            ups += [sign * np.eye(3)[axis] for axis in (1, 0) for sign in (1, -1)]
            ups.append(-ups[0])
        first: tuple[Pairs, Skeleton] | None = None
        for up, q in product(ups, postures):
            skeleton = Skeleton(self.model, self.description, q, up)
            pairs = find_pairs(
                skeleton,
                _by_side(self.given_paths(skeleton, ("left_leg", "right_leg"))),
                _by_side(self.given_paths(skeleton, ("left_arm", "right_arm"))),
            )
            if first is None:
                self.refuse_overlaps(skeleton)
                first = pairs, skeleton
            if len(pairs.legs) == 2 and (up is ups[0] or is_upright(skeleton, pairs)):
                self.note_assumptions(pairs, up)
                return pairs, skeleton
        assert first is not None
        start = MISSING_LEG if first[0].legs else NO_LEGS
        self.warnings.append(start + first[0].why_no_legs)
        return first

    def note_assumptions(self, pairs: Pairs, up: Array) -> None:
        if self.settings.up is None and up[2] < 0.5:
            axis = "xyz"[int(np.argmax(np.abs(up)))]
            sign = "-" if up.min() < 0 else "+"
            self.assumptions.append(
                f"up is {sign}{axis} of the root link: the feet are that way round"
            )
        if not pairs.sides_are_named and self.settings.forward is None:
            self.assumptions.append(
                "names do not distinguish left from right: the root link's axes do, "
                "x (or y, where x is lateral) pointing forward"
            )

    def given_paths(
        self, skeleton: Skeleton, names: tuple[str, ...]
    ) -> dict[str, BodyPath]:
        """Return the paths of limbs that the settings name."""
        paths = {}
        for name in names:
            if name not in self.settings.limbs:
                continue
            given = self.settings.limbs[name]
            path = tuple(
                moving_joint_id(self.model, joint, given.source)
                for joint in given.joints
            )
            for upper, lower in pairwise(path):
                if upper == lower or upper not in skeleton.path(lower):
                    raise RobotFileError(
                        f"{given.source}: limb '{name}': joint "
                        f"'{skeleton.names[lower]}' is not below "
                        f"'{skeleton.names[upper]}'"
                    )
            links = skeleton.links(path[-1])
            if given.end_link is not None and given.end_link not in links:
                raise RobotFileError(
                    f"{given.source}: limb '{name}' cannot end at '{given.end_link}'; "
                    f"with its last joint move {', '.join(links)}"
                )
            paths[name] = path
        return paths

    def refuse_overlaps(self, skeleton: Skeleton) -> None:
        """Refuse limbs in the settings that share a body."""
        taken: dict[int, str] = {}
        for name, path in self.given_paths(skeleton, LIMBS).items():
            bodies = set(path) if name == "torso" else skeleton.below(path[0])
            if name != "torso" and (shared := bodies & taken.keys()):
                other = taken[min(shared)]
                raise RobotFileError(
                    f"{self.settings.limbs[name].source}: limbs '{name}' and '{other}' "
                    f"share joint '{skeleton.names[min(shared)]}'"
                )
            taken |= dict.fromkeys(bodies, name)

    def find_soles(
        self, skeletons: list[Skeleton], legs: Mapping[Side, BodyPath], forward: Array
    ) -> tuple[dict[Side, Sole], dict[Side, BodyPath]]:
        """Return the soles, and the legs cut off at the foot.

        A foot that hangs at the neutral posture may be flat at the standing one: the
        larger sole is the right one.
        """
        soles: dict[Side, Sole] = {}
        feet: dict[Side, BodyPath] = {}
        guessed: list[str] = []
        for side, path in legs.items():
            given = self.settings.soles.get(side)
            if given is not None:
                soles[side] = self.given_sole(given, path)
                foot, _ = placement_in_body(self.model, soles[side])
            else:
                found = [find_sole(s, side, path, forward) for s in skeletons]
                soles[side], foot = max(
                    found, key=lambda item: (round(item[0].area, 9), item[0].size)
                )
                if soles[side].origin.startswith(GUESSED):
                    self.assumptions.append(f"{side} sole: {soles[side].origin}")
                    guessed.append(f"{side} foot '{soles[side].link}'")
            feet[side] = path[: path.index(foot) + 1]
        if guessed:
            self.warnings.append(
                "soles are guessed, for lack of foot geometry: "
                f"{' and '.join(guessed)}; state them under [soles.left] and "
                "[soles.right] in a TOML file beside the robot"
            )
        return soles, feet

    def given_sole(self, given: Sole, path: BodyPath) -> Sole:
        if given.link not in self.description.link_by_name:
            names = [link.name for link in self.description.links]
            raise NameNotFoundError("link", given.link, names, given.origin)
        frame = self.model.frames[self.model.getBodyId(given.link)]
        if frame.parentJoint not in path:
            raise RobotFileError(
                f"{given.origin}: sole link '{given.link}' is not part of the "
                f"{given.side} leg"
            )
        polygon = frozen_array(convex_hull(given.polygon_in_sole))
        return replace(given, polygon_in_sole=polygon)

    def add_sole_frames(self, soles: Mapping[Side, Sole]) -> None:
        """Make the soles frames of the model, named as in REP-120."""
        for side, sole in soles.items():
            name = f"{side[0]}_sole"
            if self.model.existFrame(name):
                continue
            link = self.model.getBodyId(sole.link)
            body, placement = placement_in_body(self.model, sole)
            self.model.addFrame(
                pin.Frame(name, body, link, placement, pin.FrameType.OP_FRAME)
            )

    def postures(
        self,
        legs: Mapping[Side, BodyPath],
        soles: Mapping[Side, Sole],
        orientation: Orientation,
    ) -> dict[str, Array]:
        """Return all named postures, each with the soles on the ground."""
        rotation = orientation.rotation_base_to_world
        postures = {
            name: stand(self.model, q, soles, rotation)
            for name, q in self.configurations.items()
        }
        q, kept = self.neutral, set[str]()
        for given in self.standing_names[:1]:
            q, kept = self.configurations[given], set(self.named[given].by_joint)
        if soles:
            free = [
                body
                for path in legs.values()
                for body in path
                if self.model.names[body] not in kept
            ]
            q = self.with_room_to_slide(q, free)
            q = level_soles(self.model, q, soles, free, orientation.up)
            if com_outside(self.model, stand(self.model, q, soles, rotation), soles):
                q = level_soles(
                    self.model, q, soles, free, orientation.up, centre_com=True
                )
        postures["standing"] = stand(self.model, q, soles, rotation)
        if soles:
            self.warn_if_unstable(postures["standing"], soles)
        return postures

    def with_room_to_slide(self, q: Array, joints: Iterable[int]) -> Array:
        """Return a posture with joints that slide off their stops.

        A leg whose joint slides is at its shortest or longest there, and could lift no
        foot, or reach no farther.
        """
        sliding = {
            joint.name
            for joint in self.description.joints
            if joint.kind == "prismatic" and joint.mimic is None
        }
        q, moved = q.copy(), []
        for joint in joints:
            name, at = self.model.names[joint], self.model.joints[joint].idx_q
            lower = self.model.lowerPositionLimit[at]
            upper = self.model.upperPositionLimit[at]
            span = float(upper - lower)
            if name not in sliding or not 0.0 < span < LARGEST:
                continue
            if min(q[at] - lower, upper - q[at]) < AT_STOP * span:
                q[at] = 0.5 * (lower + upper)
                moved.append(f"{name} at {q[at]:.3g} m")
        if moved:
            self.assumptions.append(
                f"standing: {', '.join(moved)}, the middle of its range: the posture "
                "of the file is at a stop"
            )
        return q

    def warn_if_unstable(self, standing: Array, soles: Mapping[Side, Sole]) -> None:
        off = unevenness(self.model, standing, soles)
        if off.tilt > LEVEL_TILT or off.height > LEVEL_HEIGHT:
            self.warnings.append(
                "the soles are not level, standing: tilted by up to "
                f"{np.degrees(off.tilt):.1f} degrees, {1000 * off.height:.1f} mm apart "
                "in height"
            )
        if outside := com_outside(self.model, standing, soles):
            self.warnings.append(
                f"standing, the centre of mass is {1000 * outside:.0f} mm outside the "
                "soles: the robot would fall over"
            )


def _by_side(paths: Mapping[str, BodyPath]) -> dict[Side, BodyPath]:
    return {side: path for side in SIDES for n, path in paths.items() if side in n}


def find_actuators(
    description: Description, settings: Settings
) -> tuple[Actuator, ...]:
    """Return an actuator for each joint of one degree of freedom.

    Raises:
        NameNotFoundError: If the settings name a joint that does not exist.
    """
    known = description.joint_by_name
    for layer in settings.actuators:
        for name in layer.by_joint:
            if name != "default" and name not in known:
                raise NameNotFoundError("joint", name, sorted(known), layer.source)
    return tuple(
        _actuator(joint, settings.actuators)
        for joint in description.joints_depth_first()
        if joint.kind not in ("fixed", "spherical", "floating")
    )


def _actuator(joint: Joint, layers: tuple[JointSettings, ...]) -> Actuator:
    file_keys = ("armature", "damping", "friction", "effort_limit", "velocity_limit")
    parameters: dict[str, Any] = {
        key: getattr(joint, file_key)
        for key, file_key in zip(ACTUATOR_KEYS, file_keys, strict=True)
    }
    parameters["command"] = joint.command
    silent = (0.0, math.inf, None)
    origins = {
        key: NOT_GIVEN if value in silent else ROBOT_FILE
        for key, value in parameters.items()
    }
    for layer in layers:
        for name in ("default", joint.name):
            for key, value in layer.by_joint.get(name, {}).items():
                parameters[key], origins[key] = value, layer.source
    parameters["command"] = parameters["command"] or "position"
    return Actuator(
        joint.name, **parameters, lower=joint.lower, upper=joint.upper, origins=origins
    )
