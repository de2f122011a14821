"""Legs, arms, torso and head, found in the tree whatever their names are.

The feet are the lowest pair of bodies that mirror each other; the legs run from
them up to where they meet. Among the other mirrored pairs, the arms are the one
with the longest chains. What lies between base and arms is the torso, what rises
from it and has no mirror image is the head.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from equipoise.robot.anatomy.skeleton import Skeleton
from equipoise.robot.description import Array
from equipoise.robot.model import Limb, LimbKind, Side

DETECTED = "detected from the tree"
# Positions mirror each other within this share of the robot's extent.
MIRROR_TOLERANCE = 0.02
# A second pair of ends this near to the ground, as a share of the height of the
# hips, makes the robot a quadruped.
SAME_HEIGHT = 0.15
# The foot is below the hip by at least this share of the chain's length.
LEG_DROP = 0.4
FEWEST_LEG_JOINTS = 2
# Names are hints only, and only against: a robot may be named in any language.
ARM_NAME = re.compile(
    r"arm|hand|finger|gripper|thumb|wrist|elbow|shoulder|palm", re.IGNORECASE
)
HAND_NAME = re.compile(r"hand|finger|gripper|thumb", re.IGNORECASE)
LEG_NAME = re.compile(
    r"leg|hip|thigh|knee|shin|calf|ankle|foot|toe|sole", re.IGNORECASE
)
HEAD_NAME = re.compile(r"head|neck|gaze|skull", re.IGNORECASE)


@dataclass(frozen=True)
class Branches:
    """Two mirrored branches: bodies (Pinocchio joint indices) from meet to end.

    Attributes:
        meet: The body that both branches hang on.
        first: Path of the one branch, from its first joint to its end.
        second: Path of the other.
    """

    meet: int
    first: tuple[int, ...]
    second: tuple[int, ...]


@dataclass(frozen=True)
class Found:
    """Paths of what was found; a side is missing where nothing was.

    Attributes:
        legs: Path of each leg, from the first joint to the foot.
        arms: Path of each arm, from the first joint to the hand.
        note: Why there are no legs, where there are none.
    """

    legs: dict[Side, tuple[int, ...]]
    arms: dict[Side, tuple[int, ...]]
    note: str = ""


def find_pairs(skeleton: Skeleton) -> Found:
    """Find legs and arms as paths in the tree."""
    pairs = _mirrored_branches(skeleton)
    legs, note = _choose_legs(skeleton, pairs)
    if legs is None:
        return Found({}, {}, note)
    leg_bodies = skeleton.below(legs.first[0]) | skeleton.below(legs.second[0])
    arms = _choose_arms(skeleton, pairs, leg_bodies, legs.meet)
    if arms is not None and _are_named_legs(skeleton, arms):
        return Found({}, {}, "more than two legs")
    left_first = _left_comes_first(skeleton, legs)
    found_arms: dict[Side, tuple[int, ...]] = {}
    if arms is not None:
        hands = (
            _main_path(skeleton, arms.first[0]),
            _main_path(skeleton, arms.second[0]),
        )
        found_arms = _by_side(skeleton, arms, hands, legs, left_first)
    paths = (legs.first, legs.second)
    return Found(
        {
            "left": paths[0 if left_first else 1],
            "right": paths[1 if left_first else 0],
        },
        found_arms,
    )


def only_if_named_and_upright(skeleton: Skeleton, found: Found) -> Found:
    """Believe an unusual direction of up only with further evidence.

    Names must speak of legs, and the centre of mass must be well above the feet:
    arms that reach out sideways look like legs in a rotated frame.
    """
    for path in found.legs.values():
        named = any(LEG_NAME.search(skeleton.names[body]) for body in path)
        above = float(skeleton.com @ skeleton.up) - skeleton.lowest(path[-1])
        if not named or above < LEG_DROP * skeleton.reach(path):
            return Found(
                {}, {}, "no mirrored pair of chains reaches down to the ground"
            )
    return found


def assemble_limbs(
    skeleton: Skeleton,
    legs: dict[Side, tuple[int, ...]],
    arms: dict[Side, tuple[int, ...]],
    origins: dict[str, str],
    soles_in_foot: dict[Side, Array],
) -> dict[str, Limb]:
    """Share out all moving bodies among legs, arms, torso, head and others.

    Args:
        skeleton: The robot's tree.
        legs: Path of each leg.
        arms: Path of each arm.
        origins: Where limbs that were not detected came from, by limb name.
        soles_in_foot: Origin of each sole frame in the foot body's coordinates [m].
    """
    limbs: dict[str, Limb] = {}
    free = set(range(2, skeleton.count))

    def add(
        name: str, kind: LimbKind, side: Side | None, path: Iterable[int], own: set[int]
    ) -> None:
        path = tuple(path)
        limbs[name] = Limb(
            name,
            kind,
            side,
            tuple(skeleton.names[body] for body in path),
            skeleton.end_link(path[-1]),
            tuple(skeleton.names[body] for body in sorted(own)),
            skeleton.reach(
                path, soles_in_foot.get(side) if kind == "leg" and side else None
            ),
            origins.get(name, DETECTED),
        )
        free.difference_update(own)

    pairs: tuple[tuple[LimbKind, dict[Side, tuple[int, ...]]], ...] = (
        ("leg", legs),
        ("arm", arms),
    )
    for kind, paths in pairs:
        for side, path in paths.items():
            add(f"{side}_{kind}", kind, side, path, skeleton.below(path[0]) & free)
    trunk = [
        body
        for paths in (legs, arms)
        for path in paths.values()
        for body in skeleton.path(path[0])[:-1]
    ]
    torso = sorted(set(trunk) & free)
    if torso:
        add("torso", "torso", None, torso, set(torso))
    shoulders = [skeleton.height(path[0]) for path in arms.values()]
    for first in _roots(skeleton, free):
        own = skeleton.below(first) & free
        path = _main_path(skeleton, first)
        named = any(HEAD_NAME.search(skeleton.names[body]) for body in path)
        high = bool(shoulders) and skeleton.height(path[-1]) > max(shoulders)
        if "head" not in limbs and (named or high):
            add("head", "head", None, path, own)
        elif "torso" not in limbs and skeleton.height(path[-1]) > 0.0 and not arms:
            add("torso", "torso", None, path, own)
        else:
            add(skeleton.names[first], "other", None, path, own)
    return limbs


def _roots(skeleton: Skeleton, free: set[int]) -> list[int]:
    """Return the first body of each branch that is still free, heaviest first."""
    roots = [body for body in free if skeleton.parents[body] not in free]
    return sorted(roots, key=lambda body: (-skeleton.branch_mass(body), body))


def _mirrored_branches(skeleton: Skeleton) -> list[Branches]:
    leaves = skeleton.leaves()
    tolerance = MIRROR_TOLERANCE * skeleton.extent
    found: list[Branches] = []
    for i, first in enumerate(leaves):
        for second in leaves[i + 1 :]:
            if not _mirrored(skeleton, first, second, tolerance):
                continue
            path_1, path_2 = skeleton.path(first), skeleton.path(second)
            shared = sum(a == b for a, b in zip(path_1, path_2, strict=False))
            meet = path_1[shared - 1] if shared else 1
            found.append(Branches(meet, path_1[shared:], path_2[shared:]))
    return found


def _mirrored(skeleton: Skeleton, first: int, second: int, tolerance: float) -> bool:
    path_1, path_2 = skeleton.path(first), skeleton.path(second)
    if len(path_1) != len(path_2):
        return False
    names = [_sideless(skeleton.names[body]) for body in (first, second)]
    if names[0] == names[1]:
        return True
    ends = skeleton.positions[[first, second]]
    for lateral in _level_axes(skeleton):
        mirror = np.ones(3)
        mirror[lateral] = -1.0
        apart = abs(ends[0, lateral] - ends[1, lateral]) > 2 * tolerance
        if apart and np.linalg.norm(ends[0] - mirror * ends[1]) < tolerance:
            return True
    return False


def _level_axes(skeleton: Skeleton) -> list[int]:
    """Return the axes of the base that are level, the likely lateral one first."""
    return [axis for axis in (1, 0, 2) if abs(skeleton.up[axis]) < 0.5]


def _sideless(name: str) -> str:
    """Return a name without what tells left from right."""
    name = re.sub(r"left|right", "@", name, flags=re.IGNORECASE)
    return re.sub(r"(?<![A-Za-z])[lrLR](?![a-z])", "@", name)


def _choose_legs(
    skeleton: Skeleton, pairs: list[Branches]
) -> tuple[Branches | None, str]:
    def low(pair: Branches) -> float:
        return max(skeleton.lowest(pair.first[-1]), skeleton.lowest(pair.second[-1]))

    def is_leg(path: tuple[int, ...]) -> bool:
        if any(ARM_NAME.search(skeleton.names[body]) for body in path):
            return False
        drop = skeleton.height(path[0]) - skeleton.lowest(path[-1])
        return len(path) >= FEWEST_LEG_JOINTS and drop > LEG_DROP * skeleton.reach(path)

    ground = min(
        (skeleton.lowest(body) for body in range(1, skeleton.count)), default=0.0
    )
    candidates = sorted(
        (pair for pair in pairs if is_leg(pair.first) and is_leg(pair.second)), key=low
    )
    if not candidates:
        return None, "no mirrored pair of chains reaches down to the ground"
    legs = candidates[0]
    hips = skeleton.height(legs.first[0])
    if low(legs) - ground > SAME_HEIGHT * (hips - ground):
        return None, "no mirrored pair of chains reaches down to the ground"
    feet = {legs.first[0], legs.second[0]}
    for pair in candidates[1:]:
        others = {pair.first[0], pair.second[0]}
        if not others & feet and low(pair) - low(legs) < SAME_HEIGHT * (
            hips - low(legs)
        ):
            return None, "more than two legs reach the ground"
    return legs, ""


def _choose_arms(
    skeleton: Skeleton, pairs: list[Branches], taken: set[int], pelvis: int
) -> Branches | None:
    trunk = set(skeleton.path(pelvis)) | {1}
    candidates = [
        pair
        for pair in pairs
        if not ({*pair.first, *pair.second} & (taken | trunk))
        and len(_main_path(skeleton, pair.first[0])) > 1
    ]
    return max(
        candidates,
        key=lambda pair: skeleton.reach(_main_path(skeleton, pair.first[0])),
        default=None,
    )


def _are_named_legs(skeleton: Skeleton, pair: Branches) -> bool:
    names = [skeleton.names[body] for body in pair.first]
    return any(map(LEG_NAME.search, names)) and not any(map(ARM_NAME.search, names))


def _main_path(skeleton: Skeleton, first: int) -> tuple[int, ...]:
    """Follow a branch outwards until it splits into parts of like mass."""
    path = [first]
    while children := skeleton.children(path[-1]):
        masses = [skeleton.branch_mass(child) for child in children]
        heaviest = int(np.argmax(masses))
        splits = len(children) > 1 and masses[heaviest] <= 0.8 * sum(masses)
        if splits or HAND_NAME.search(skeleton.names[children[heaviest]]):
            break
        path.append(children[heaviest])
    return tuple(path)


def _left_comes_first(skeleton: Skeleton, pair: Branches) -> bool:
    votes = _side_votes(skeleton, pair.first, pair.second)
    if votes != 0:
        return votes > 0
    ends = skeleton.positions[[pair.first[-1], pair.second[-1]]]
    first_to_second = ends[1] - ends[0]
    level = _level_axes(skeleton)
    lateral = max(level, key=lambda axis: abs(first_to_second[axis]))
    # names are silent: the level axis that is not lateral is taken to point forward
    forward = np.eye(3)[level[1] if lateral == level[0] else level[0]]
    left = np.cross(skeleton.up, forward)
    return float(first_to_second @ left) < 0.0


def _side_votes(
    skeleton: Skeleton, first: tuple[int, ...], second: tuple[int, ...]
) -> int:
    """Count names that make the first branch left, less those that make it right."""
    votes = 0
    for a, b in zip(first, second, strict=False):
        differing = next(
            (
                (x.lower(), y.lower())
                for x, y in zip(skeleton.names[a], skeleton.names[b], strict=False)
                if x != y
            ),
            None,
        )
        votes += {("l", "r"): 1, ("r", "l"): -1}.get(differing or ("", ""), 0)
    return votes


def _by_side(
    skeleton: Skeleton,
    arms: Branches,
    hands: tuple[tuple[int, ...], tuple[int, ...]],
    legs: Branches,
    left_leg_first: bool,
) -> dict[Side, tuple[int, ...]]:
    votes = _side_votes(skeleton, arms.first, arms.second)
    if votes == 0:
        feet: Array = skeleton.positions[[legs.first[-1], legs.second[-1]]]
        to_left = feet[0] - feet[1] if left_leg_first else feet[1] - feet[0]
        ends = skeleton.positions[[arms.first[-1], arms.second[-1]]]
        votes = 1 if float((ends[0] - ends[1]) @ to_left) > 0.0 else -1
    first, second = hands if votes > 0 else hands[::-1]
    return {"left": first, "right": second}
