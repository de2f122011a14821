"""Humanoids drawn at random, with what is known of them as truth.

Each seed gives another robot: its mass, its proportions, the order of the hip and ankle
joints and the offsets between their axes, signs and zeros of the joints, their limits,
joints that are missing or more than needed, its names and the shape of its feet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from benchmarks.humanoid_legs import (
    ANKLE,
    EXTRAS,
    GOOD_LIMITS,
    ODD_LIMITS,
    Limits,
    Segment,
    draw_legs,
    draw_parts,
)
from benchmarks.humanoid_names import SCHEMES, Names
from benchmarks.humanoid_urdf import Angles, Block, Geometry, Hinge, UrdfWriter
from equipoise.arrays import Array
from equipoise.robot.parts import Side

Group = Literal["six good joints", "five joints", "seven joints", "odd limits"]
GROUPS: tuple[Group, ...] = get_args(Group)
LIGHTEST, HEAVIEST = 2.0, 200.0  # kg
# A person of this mass has legs of this length [kg, m].
PERSON, PERSONS_LEG = 75.0, 0.9
# Actuators are strong and fast enough for everything.
TORQUE_PER_WEIGHT_AND_LEG, SPEED = 20.0, 60.0
GRAVITY = 9.81
WAIST, NECK = ("waist_yaw", "waist_roll", "waist_pitch"), ("neck_yaw", "neck_pitch")
ARM = (
    *("shoulder_pitch", "shoulder_roll", "shoulder_yaw", "elbow_pitch"),
    *("wrist_yaw", "wrist_pitch", "wrist_roll"),
)
FEET: dict[Geometry, float] = {
    "box": 0.5,
    "mesh": 0.2,
    "missing mesh": 0.15,
    "visual box": 0.15,
}
# Whether right joints turn about the axes of the left ones or about their mirror
# images, or each as it pleases.
AXES_OF_SIDES = ("same", "mirrored", "random")


@dataclass(frozen=True)
class RandomHumanoid:
    """A robot file and what is true of the robot.

    Attributes:
        seed: What it was drawn from.
        urdf: The robot file.
        meshes: Mesh files beside it, by relative name.
        mass: Mass of the robot [kg].
        leg_length: Thigh, shank and foot, one below the other [m].
        leg_joints: What each leg's joints are, from the hip to the foot.
        joint_names: Their names, by side.
        missing: The joint that six have and five have not.
        extra: The joint that seven have and six have not.
        limits: What kind of limits the legs' joints have.
        knee: Whether it bends in the human way or in that of a bird's leg.
        feet: How the file gives the shape of the feet.
        names: How joints are named.
    """

    seed: int
    urdf: str
    meshes: dict[str, bytes]
    mass: float
    leg_length: float
    leg_joints: tuple[str, ...]
    joint_names: dict[Side, tuple[str, ...]]
    missing: str | None
    extra: str | None
    limits: Limits
    knee: Literal["human", "bird"]
    feet: Geometry
    names: str

    @property
    def group(self) -> Group:
        """What is expected of it: six good joints a leg walk."""
        if self.missing:
            return "five joints"
        if self.extra:
            return "seven joints"
        return "six good joints" if self.limits in GOOD_LIMITS else "odd limits"

    @property
    def story(self) -> str:
        """The robot in a line."""
        change = f", without {self.missing}" if self.missing else ""
        change += f", with one more {self.extra}" if self.extra else ""
        return (
            f"{self.mass:.1f} kg, legs of {self.leg_length:.2f} m: "
            f"{' '.join(self.leg_joints)}{change}; {self.limits} limits, {self.knee} "
            f"knees, feet: {self.feet}, {self.names} names"
        )

    def write(self, file: Path) -> Path:
        """Write the robot file and its meshes; return the robot file."""
        file.parent.mkdir(parents=True, exist_ok=True)
        for name, content in self.meshes.items():
            mesh = file.parent / name
            mesh.parent.mkdir(parents=True, exist_ok=True)
            mesh.write_bytes(content)
        file.write_text(self.urdf, encoding="utf-8")
        return file


def random_humanoid(seed: int) -> RandomHumanoid:
    """Draw a robot."""
    rng = np.random.default_rng(seed)
    mass = float(np.exp(rng.uniform(np.log(LIGHTEST), np.log(HEAVIEST))))
    usual = PERSONS_LEG * (mass / PERSON) ** (1.0 / 3.0)
    leg = float(usual * rng.uniform(0.7, 1.3))
    number = rng.choice([5, 6, 7], p=[0.15, 0.7, 0.15])
    missing = extra = None
    if number == 5:
        others = ("hip_roll", "hip_pitch", "knee_pitch", *ANKLE)
        missing = "hip_yaw" if rng.random() < 0.5 else str(rng.choice(others))
    if number == 7:
        extra = str(rng.choice(EXTRAS))
    kinds = list(GOOD_LIMITS)
    limits = kinds[rng.choice(len(kinds), p=list(GOOD_LIMITS.values()))]
    if rng.random() < (0.3 if number == 6 else 0.15):
        limits = ODD_LIMITS[rng.integers(len(ODD_LIMITS))]
    bird = bool(rng.random() < 0.2)
    feet = list(FEET)[rng.choice(len(FEET), p=list(FEET.values()))]
    names = str(rng.choice(SCHEMES))
    parts = draw_parts(rng, missing, extra)
    torque = TORQUE_PER_WEIGHT_AND_LEG * mass * GRAVITY * leg
    file = UrdfWriter(f"random_{seed}", torque, SPEED)
    body = _Body(rng, mass, leg, Names(names), file)
    joint_names = body.write(parts, limits, feet, bird)
    return RandomHumanoid(
        seed,
        file.document(),
        file.meshes,
        mass,
        leg,
        parts,
        joint_names,
        missing,
        extra,
        limits,
        "bird" if bird else "human",
        feet,
        names,
    )


class _Body:
    """Writes trunk, limbs and head, in proportions drawn at random."""

    def __init__(
        self,
        rng: np.random.Generator,
        mass: float,
        leg: float,
        names: Names,
        file: UrdfWriter,
    ) -> None:
        self.rng, self.mass, self.leg = rng, mass, leg
        self.names, self.file = names, file
        self.axes_of_sides = str(rng.choice(AXES_OF_SIDES))

    def write(
        self, parts: Sequence[str], limits: Limits, feet: Geometry, bird: bool
    ) -> dict[Side, tuple[str, ...]]:
        """Write the whole robot; return the names of the legs' joints."""
        rng, leg = self.rng, self.leg
        legs = draw_legs(rng, leg, parts, limits, feet, bird)
        waist = WAIST[: rng.choice(4, p=[0.4, 0.3, 0.1, 0.2])]
        arm, neck = ARM[: rng.integers(0, 8)], NECK[: rng.integers(0, 3)]
        in_leg, in_pelvis = rng.uniform(0.15, 0.25), rng.uniform(0.08, 0.15)
        in_arm = rng.uniform(0.03, 0.06) if arm else 0.0
        in_head = 0.06 if neck else 0.0
        in_trunk = 1.0 - 2.0 * (in_arm + in_leg) - in_pelvis - in_head
        height = rng.uniform(0.4, 0.7)
        pelvis = self._block("pelvis", in_pelvis, (0.0, 0.0, 0.05), (0.15, 0.3, 0.12))
        trunk = self._block(
            "trunk", in_trunk, (0.0, 0.0, height / 2), (0.2, 0.35, height)
        )
        root_is_trunk = bool(waist) and bool(rng.random() < 0.3)
        if rng.random() < 0.2:
            self.file.elements.append('<link name="base_link"/>')
            root = "trunk" if root_is_trunk else "pelvis"
            self.file.add_fixed("root_joint", "base_link", root, np.zeros(3))
        ends = (trunk, pelvis) if root_is_trunk else (pelvis, trunk)
        self._spine(ends, waist, 0.0 if root_is_trunk else 0.12 * leg)
        hip = _hip_place(legs.segments, legs.foot_to_middle, 2.0 * in_leg)
        hip[0] += rng.uniform(-0.05, 0.05) * leg
        joint_names = self._pair("leg", legs.segments, "pelvis", hip, in_leg)
        if arm:
            shoulder = leg * np.array([0.0, 0.25, 0.9 * height])
            self._pair("arm", self._arm(arm), "trunk", shoulder, in_arm)
        if neck:
            cube = np.full(3, 0.1 * leg)
            head = [Segment(part, np.zeros(3), 1.0, cube / 2, cube) for part in neck]
            top = leg * np.array([0.0, 0.0, height + 0.05])
            signs = [self._sign() for _ in head]
            self._hang("head", "", head, "trunk", top, in_head, signs)
        return joint_names

    def _block(
        self,
        name: str,
        fraction: float,
        centre: tuple[float, float, float],
        size: tuple[float, float, float],
    ) -> Block:
        shapes: tuple[Geometry, ...] = ("box", "none", "mesh", "missing mesh")
        return Block(
            name,
            fraction * self.mass,
            self.leg * np.array(centre),
            self.leg * np.array(size),
            shapes[self.rng.integers(len(shapes))],
        )

    def _spine(
        self, ends: tuple[Block, Block], waist: Sequence[str], up: float
    ) -> None:
        """Write both blocks and the joints between them, ``up`` above the first."""
        for block in ends:
            self.file.add_link(block)
        above, place = ends[0].name, np.array([0.0, 0.0, up])
        if not waist:
            self.file.add_fixed("spine", above, ends[1].name, place)
        for index, part in enumerate(waist):
            name = self.names.joint(part, "torso", index)
            link = ends[1].name
            if index < len(waist) - 1:
                link, cube = self.names.link(name), np.full(3, 0.06 * self.leg)
                self.file.add_link(Block(link, 1e-3 * self.mass, np.zeros(3), cube))
            hinge = Hinge(name, _about(part), self._sign(), 0.0, (-0.8, 0.8))
            self.file.add_joint(hinge, above, link, place)
            above, place = link, np.zeros(3)

    def _arm(self, parts: Sequence[str]) -> list[Segment]:
        """Return the left arm, which hangs beside the trunk."""
        reach = self.rng.uniform(0.5, 0.8) * self.leg
        down = np.array([0.0, 0.0, -reach / max(len(parts), 2)])
        size = np.abs(down) + 0.04 * self.leg
        return [
            Segment(part, down if index else np.zeros(3), 1.0, down / 2, size)
            for index, part in enumerate(parts)
        ]

    def _pair(
        self,
        limb: str,
        segments: Sequence[Segment],
        parent: str,
        place: Array,
        fraction: float,
    ) -> dict[Side, tuple[str, ...]]:
        """Write a left limb and its mirror image; return the names of their joints."""
        signs = [self._sign() for _ in segments]
        left = self._hang(limb, "left", segments, parent, place, fraction, signs)
        if self.axes_of_sides == "random":
            signs = [self._sign() for _ in segments]
        elif self.axes_of_sides == "mirrored":
            signs = [
                sign if _about(segment.part) == "pitch" else -sign
                for sign, segment in zip(signs, segments, strict=True)
            ]
        right = self._hang(limb, "right", segments, parent, place, fraction, signs)
        return {"left": left, "right": right}

    def _hang(
        self,
        limb: str,
        side: str,
        segments: Sequence[Segment],
        parent: str,
        place: Array,
        fraction: float,
        signs: Sequence[int],
    ) -> tuple[str, ...]:
        """Write one limb, mirrored if a right one; return the names of its joints."""
        total = sum(segment.weight for segment in segments)
        mirror = np.array([1.0, -1.0 if side == "right" else 1.0, 1.0])
        named, joints = set[str](), list[str]()
        for index, (segment, sign) in enumerate(zip(segments, signs, strict=True)):
            about = _about(segment.part)
            part = f"{segment.part}_2" if segment.part in named else segment.part
            named.add(part)
            name = self.names.joint(part, limb, index, side)
            joints.append(name)
            link = self.names.link(name)
            turns = 1.0 if about == "pitch" else float(mirror[1])
            hinge = Hinge(
                name,
                about,
                sign,
                turns * segment.zero,
                _mirrored(segment.limits, turns),
            )
            at = (segment.place if index else place + segment.place) * mirror
            self.file.add_joint(hinge, parent, link, at)
            self.file.add_link(
                Block(
                    link,
                    fraction * self.mass * segment.weight / total,
                    segment.centre_in_link * mirror,
                    segment.size,
                    segment.geometry,
                )
            )
            parent = link
        return tuple(joints)

    def _sign(self) -> int:
        return int(self.rng.choice([-1, 1]))


def _hip_place(
    segments: Sequence[Segment], foot_to_middle: float, in_legs: float
) -> Array:
    """Return where the left hip is in the pelvis, so that the CoM is above the feet.

    Args:
        segments: The left leg.
        foot_to_middle: How far the foot is from the middle of the robot [m].
        in_legs: Fraction of the robot's mass that is in both legs.
    """
    joints = np.cumsum([segment.place for segment in segments], axis=0)
    centres = joints + [segment.centre_in_link for segment in segments]
    weights = np.array([segment.weight for segment in segments])
    com = weights @ centres / weights.sum()
    forward = (in_legs * com[0] - centres[-1, 0]) / (1.0 - in_legs)
    return np.array([forward, foot_to_middle - joints[-1, 1], 0.0])


def _mirrored(angles: Angles, turns: float) -> Angles:
    if angles is None or angles == "continuous":
        return angles
    low, high = sorted(turns * angle for angle in angles)
    return low, high


def _about(part: str) -> str:
    return part.rpartition("_")[2]
