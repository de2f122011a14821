"""Legs drawn at random: axes in any order, offsets between them, limits and zeros."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from benchmarks.humanoid_urdf import Angles, Geometry
from equipoise.arrays import Array

Limits = Literal[
    "modest",
    "generous",
    "crouched zero",
    "zero outside",
    "absent",
    "continuous",
    "odd zero",
    "tight",
    "locked knee",
]
# Limits with which all joints go as far as a modest walk needs, with their odds.
GOOD_LIMITS: dict[Limits, float] = {
    "modest": 0.3,
    "generous": 0.3,
    "crouched zero": 0.25,
    "zero outside": 0.15,
}
ODD_LIMITS: tuple[Limits, ...] = (
    *("absent", "continuous", "odd zero", "tight", "locked knee"),
)
HIP, ANKLE = ("hip_yaw", "hip_roll", "hip_pitch"), ("ankle_pitch", "ankle_roll")
EXTRAS = ("toe_pitch", "thigh_yaw", "knee_pitch")
# What a modest walk needs of each joint, from parallel links: of the left leg, about
# x, y and z of the pelvis, of a knee that bends in the human way [rad].
NEEDED: dict[str, tuple[float, float]] = {
    "hip_yaw": (-0.4, 0.4),
    "hip_roll": (-0.4, 0.5),
    "hip_pitch": (-1.2, 0.6),
    "knee_pitch": (0.0, 1.8),
    "ankle_pitch": (-1.0, 0.6),
    "ankle_roll": (-0.4, 0.4),
    "toe_pitch": (-0.8, 0.3),
    "thigh_yaw": (-0.4, 0.4),
}
# Crouched, these turn by so much of the angle of the thigh.
CROUCHED = {"hip_pitch": -1.0, "knee_pitch": 2.0, "ankle_pitch": -1.0}
# Between two axes of the hip or of the ankle, each way, as a fraction of the leg.
OFFSET = 0.1


@dataclass(frozen=True)
class Segment:
    """A link of a left limb and the joint that moves it.

    Attributes:
        part: What the joint is, such as ``"hip_yaw"``; the axis is its last word.
        place: Of the joint in its parent's coordinates [m], shape (3,).
        weight: Its mass, relative to others of the limb.
        centre_in_link: Middle of its box [m], shape (3,).
        size: Length, width and height of its box [m], shape (3,).
        geometry: How the file gives the shape.
        limits: As those of a hinge.
        zero: As that of a hinge [rad].
    """

    part: str
    place: Array
    weight: float
    centre_in_link: Array
    size: Array
    geometry: Geometry = "none"
    limits: Angles = (-1.5, 1.5)
    zero: float = 0.0


class Legs(NamedTuple):
    """The left leg, from the hip down, and half of the distance of the feet [m]."""

    segments: tuple[Segment, ...]
    foot_to_middle: float


def draw_parts(
    rng: np.random.Generator, missing: str | None, extra: str | None
) -> tuple[str, ...]:
    """Return the joints of a leg from the hip to the foot, in a possible order."""
    hip, ankle = list(rng.permutation(HIP)), list(rng.permutation(ANKLE))
    thigh = [extra] if extra in ("thigh_yaw", "knee_pitch") else []
    toe = [extra] if extra == "toe_pitch" else []
    parts = [*hip, *thigh, "knee_pitch", *ankle, *toe]
    return tuple(str(part) for part in parts if part != missing)


def draw_legs(
    rng: np.random.Generator,
    leg: float,
    parts: Sequence[str],
    limits: Limits,
    feet: Geometry,
    bird: bool,
) -> Legs:
    """Draw the geometry and the limits of the left leg.

    Args:
        rng: Where numbers come from.
        leg: Length of thigh, shank and foot, one below the other [m].
        parts: Joints of the leg, from :func:`draw_parts`.
        limits: What kind of limits they have.
        feet: How the file gives the shape of the feet.
        bird: Whether the knee bends as in a bird's leg.
    """
    height = rng.uniform(0.05, 0.1)
    thigh = rng.uniform(0.4, 0.6) * (1.0 - height)
    length, width = rng.uniform(0.25, 0.35), rng.uniform(0.1, 0.16)
    half = width / 2 + rng.uniform(0.02, 0.1)
    while True:
        places = leg * np.array(_places(rng, parts, thigh, 1.0 - height - thigh))
        if half * leg - places[:, 1].sum() > 0.03 * leg:
            break  # the hips are beside each other
    ankle = places[[part in ANKLE for part in parts], 2][1:]
    drop = leg * height + max(0.0, *ankle, 0.0)  # the sole is below both axes
    toe = "toe_pitch" in parts
    heel = -rng.uniform(0.25, 0.4 if toe else 0.5) * length * leg
    boxes: list[tuple[Array, Array, float]] = [
        (
            step / 2,
            np.abs(step) + 0.05 * leg,
            0.3 + 5.0 * float(np.linalg.norm(step)) / leg,
        )
        for step in places[1:]
    ]
    if toe:
        boxes.pop()
        front = heel + 0.7 * length * leg
        places[-1] = front, 0.0, -drop + 0.03 * leg
    for share, at in ((0.7 if toe else 1.0, heel), *([(0.3, 0.0)] if toe else [])):
        size = leg * np.array([share * length, width, 0.03])
        low = -0.015 * leg if at == 0.0 else 0.015 * leg - drop
        boxes.append((np.array([at + size[0] / 2, 0.0, low]), size, share))
    crouch = rng.uniform(0.1, 0.5)
    segments = []
    for index, (part, place, box) in enumerate(zip(parts, places, boxes, strict=True)):
        on_ground = index >= len(parts) - (2 if toe else 1)
        segments.append(
            Segment(
                part,
                place,
                box[2] * rng.uniform(0.7, 1.3),
                box[0],
                box[1],
                feet if on_ground else rng.choice(["none", "box", "missing mesh"]),
                *_angles(rng, part, limits, crouch, bird),
            )
        )
    return Legs(tuple(segments), half * leg)


def _places(
    rng: np.random.Generator, parts: Sequence[str], thigh: float, shank: float
) -> list[Array]:
    """Return where each joint is in the link above it, in leg lengths."""
    down = np.array([0.0, 0.0, -1.0])
    places = []
    owed = 0.0  # length of links that no joint has ended yet
    for index, part in enumerate(parts):
        place = np.zeros(3)
        above = parts[index - 1] if index else ""
        if part in HIP and above in HIP:
            place = rng.uniform(-OFFSET, OFFSET, 3)
        elif part == "thigh_yaw":
            place, owed = 0.5 * thigh * down, -0.5 * thigh
        elif part == "knee_pitch" and above == "knee_pitch":
            place, owed = 0.1 * down, -0.1
        elif part == "knee_pitch":
            place, owed = (thigh + owed) * down, 0.0
        elif part in ANKLE and above in ANKLE:
            place = rng.uniform(-OFFSET, OFFSET, 3)
        elif part in ANKLE:
            upper = 0.0 if "knee_pitch" in parts else thigh
            place = (upper + shank + owed) * down
        places.append(place)
    return places


def _angles(
    rng: np.random.Generator, part: str, limits: Limits, crouch: float, bird: bool
) -> tuple[Angles, float]:
    """Return limits and zero of a joint of the left leg, from parallel links [rad]."""
    low, high = NEEDED[part]
    factor = {"generous": (1.3, 1.8), "tight": (0.1, 0.6)}.get(limits, (1.0, 1.2))
    low, high = low * rng.uniform(*factor), high * rng.uniform(*factor)
    zero = 0.0
    if limits == "generous":
        low -= rng.uniform(0.0, 0.2)
    if limits == "crouched zero":
        zero = crouch * CROUCHED.get(part, 0.0)
    if limits == "zero outside" and part == "knee_pitch":
        low = rng.uniform(0.05, 0.2)
    if limits == "odd zero":
        zero = rng.uniform(-0.3, 0.3)
    if limits == "locked knee" and part == "knee_pitch":
        low = high = 0.0
    if bird and part.endswith("pitch"):
        low, high, zero = -high, -low, -zero
    if limits == "absent" or limits == "continuous":
        return (None if limits == "absent" else "continuous"), zero
    return (low, high), zero
