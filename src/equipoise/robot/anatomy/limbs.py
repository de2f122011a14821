"""Limbs: legs and arms found in the tree whatever their names are, then the rest.

The feet are the lowest pair of bodies that mirror each other; the legs run from
them up to where they meet. Among the other mirrored pairs, the arms are the one
with the longest chains. What lies between the base and these is the torso; of the
rest, the head is what is named so or rises above the shoulders.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from equipoise.arrays import Array
from equipoise.robot.anatomy.skeleton import (
    ARM_WORDS,
    HAND_WORDS,
    HEAD_WORDS,
    LEG_WORDS,
    Path,
    Skeleton,
    side_vote,
    sideless,
    words,
)
from equipoise.robot.formats.settings import LimbSettings
from equipoise.robot.parts import Limb, LimbKind, Side

# Positions mirror each other within this fraction of the robot's extent.
MIRROR_TOLERANCE = 0.02
# A second pair of ends this near to the ground, as a fraction of the height of the
# hips, makes the robot a quadruped.
SAME_HEIGHT = 0.15
# The foot is below the hip by at least this fraction of the chain's length.
LEG_DROP = 0.4
FEWEST_LEG_JOINTS = 2
RIGHT_WORDS = frozenset({"r", "right", "rleg"})
# A branch goes on with the child that carries this fraction of the mass below.
MAIN_FRACTION = 0.8
DETECTED = "detected"
NO_LEGS = "no mirrored pair of chains reaches down to the ground"


class Branches(NamedTuple):
    """Two mirrored branches, each the bodies from its first joint to its end."""

    first: Path
    second: Path


@dataclass(frozen=True)
class Pairs:
    """Legs and arms as paths; a side is missing where nothing was found.

    Attributes:
        legs: Path of each leg, from the first joint to the foot.
        arms: Path of each arm, from the first joint to the hand.
        sides_are_named: Whether names distinguish left from right.
        why_no_legs: Why there are none, where there are none.
    """

    legs: Mapping[Side, Path] = field(default_factory=dict)
    arms: Mapping[Side, Path] = field(default_factory=dict)
    sides_are_named: bool = True
    why_no_legs: str = ""


def find_pairs(
    skeleton: Skeleton, given_legs: Mapping[Side, Path], given_arms: Mapping[Side, Path]
) -> Pairs:
    """Find legs and arms; paths that are given are kept."""
    pairs = _mirrored_branches(skeleton)
    named = True
    if len(given_legs) == 2:
        legs = dict(given_legs)
    else:
        branches, why = _choose_legs(skeleton, pairs)
        if branches is None:
            if not given_legs and (single := _single_leg(skeleton)):
                side, path = single
                ends = f"'{skeleton.names[path[0]]}' to '{skeleton.names[path[-1]]}'"
                why = f"one leg only, of joints {ends}; its mirror image is missing"
                return Pairs({side: path}, given_arms, why_no_legs=why)
            return Pairs(given_legs, given_arms, why_no_legs=why)
        legs, named = _by_side(skeleton, branches, None)
        legs |= given_legs
    if len(given_arms) == 2:
        return Pairs(legs, given_arms, named)
    branches = _choose_arms(skeleton, pairs, list(legs.values()))
    if branches is None:
        return Pairs(legs, given_arms, named)
    leg_words, arm_words = (
        skeleton.has_word(words, branches.first) for words in (LEG_WORDS, ARM_WORDS)
    )
    if not given_legs and leg_words and not arm_words:
        return Pairs(why_no_legs="more than two legs")
    arms, _ = _by_side(skeleton, branches, legs)
    hands = {side: main_path(skeleton, path[0]) for side, path in arms.items()}
    return Pairs(legs, hands | dict(given_arms), named)


def is_upright(skeleton: Skeleton, pairs: Pairs) -> bool:
    """Whether an unusual direction of up is plausible.

    Names must have words for legs, and the centre of mass must be well above the feet:
    arms that reach out laterally look like legs in a rotated frame.
    """
    return bool(pairs.legs) and all(
        skeleton.has_word(LEG_WORDS, path)
        and float(skeleton.com @ skeleton.up) - skeleton.lowest(path[-1])
        > LEG_DROP * skeleton.chain_length(path)
        for path in pairs.legs.values()
    )


def main_path(skeleton: Skeleton, first: int) -> Path:
    """Follow a branch outwards until it splits into parts of like mass, or fingers."""
    path = [first]
    while children := skeleton.children[path[-1]]:
        masses = [skeleton.branch_masses[child] for child in children]
        heaviest = int(np.argmax(masses))
        splits = len(children) > 1 and masses[heaviest] <= MAIN_FRACTION * sum(masses)
        if splits or skeleton.has_word(HAND_WORDS, [children[heaviest]]):
            break
        path.append(children[heaviest])
    return tuple(path)


def _mirrored_branches(skeleton: Skeleton) -> list[Branches]:
    leaves = skeleton.leaves()
    tolerance = MIRROR_TOLERANCE * skeleton.extent
    names = {leaf: sideless(skeleton.names[leaf]) for leaf in leaves}
    found: list[Branches] = []
    for i, first in enumerate(leaves):
        for second in leaves[i + 1 :]:
            path_1, path_2 = skeleton.path(first), skeleton.path(second)
            if len(path_1) != len(path_2) or not (
                names[first] == names[second]
                or _mirrored(skeleton, first, second, tolerance)
            ):
                continue
            shared = sum(a == b for a, b in zip(path_1, path_2, strict=True))
            found.append(Branches(path_1[shared:], path_2[shared:]))
    return found


def _mirrored(skeleton: Skeleton, first: int, second: int, tolerance: float) -> bool:
    """Whether two ends are mirror images in some upright plane through the base."""
    a, b = skeleton.positions[[first, second]]
    height_a, height_b = float(a @ skeleton.up), float(b @ skeleton.up)
    level_a, level_b = a - height_a * skeleton.up, b - height_b * skeleton.up
    radius_a, radius_b = float(np.linalg.norm(level_a)), float(np.linalg.norm(level_b))
    return (
        abs(height_a - height_b) < tolerance
        and abs(radius_a - radius_b) < tolerance
        and float(np.linalg.norm(level_a - level_b)) > 2 * tolerance
    )


def _choose_legs(
    skeleton: Skeleton, pairs: list[Branches]
) -> tuple[Branches | None, str]:
    def low(pair: Branches) -> float:
        return max(skeleton.lowest(pair.first[-1]), skeleton.lowest(pair.second[-1]))

    ground = _ground(skeleton)
    candidates = sorted(
        (
            p
            for p in pairs
            if _is_leg(skeleton, p.first) and _is_leg(skeleton, p.second)
        ),
        key=low,
    )
    if not candidates:
        return None, NO_LEGS
    legs = candidates[0]
    hips = skeleton.height(legs.first[0])
    if low(legs) - ground > SAME_HEIGHT * (hips - ground):
        return None, NO_LEGS
    feet = {legs.first[0], legs.second[0]}
    for pair in candidates[1:]:
        as_low = low(pair) - low(legs) < SAME_HEIGHT * (hips - low(legs))
        if as_low and not {pair.first[0], pair.second[0]} & feet:
            return None, "more than two legs reach the ground"
    return legs, ""


def _is_leg(skeleton: Skeleton, path: Path) -> bool:
    drop = skeleton.height(path[0]) - skeleton.lowest(path[-1])
    return (
        len(path) >= FEWEST_LEG_JOINTS
        and not skeleton.has_word(ARM_WORDS, path)
        and not skeleton.is_wheel(path[-1])
        and drop > LEG_DROP * skeleton.chain_length(path)
    )


def _ground(skeleton: Skeleton) -> float:
    """Return the height of the lowest point of all moving bodies [m]."""
    bodies = range(2, skeleton.count)
    return min((skeleton.lowest(body) for body in bodies), default=0.0)


def _single_leg(skeleton: Skeleton) -> tuple[Side, Path] | None:
    """Return the leg of a robot of one leg, which is named as legs are.

    It may end in several toes: what they share is longer than half of the leg.
    """
    paths = [
        path
        for path in map(skeleton.path, skeleton.leaves())
        if _is_leg(skeleton, path) and skeleton.has_word(LEG_WORDS, path)
    ]
    if not paths:
        return None
    path = min(paths, key=lambda path: skeleton.lowest(path[-1]))
    ground, hip = _ground(skeleton), skeleton.height(path[0])
    shared = [body for body in path if all(body in other for other in paths)]
    lowest_shared = min(map(skeleton.height, shared), default=hip)
    too_high = skeleton.lowest(path[-1]) - ground > SAME_HEIGHT * (hip - ground)
    if too_high or hip - lowest_shared <= 0.5 * (hip - ground):
        return None
    named_right = any(words(skeleton.names[body]) & RIGHT_WORDS for body in path)
    return "right" if named_right else "left", path


def _choose_arms(
    skeleton: Skeleton, pairs: list[Branches], legs: list[Path]
) -> Branches | None:
    taken = {1}
    for path in legs:
        taken |= skeleton.below(path[0]) | set(skeleton.path(path[0]))
    candidates = {
        (pair.first[0], pair.second[0]): pair
        for pair in pairs
        if not taken & {*pair.first, *pair.second}
        and len(main_path(skeleton, pair.first[0])) > 1
    }
    return max(
        candidates.values(),
        key=lambda pair: skeleton.chain_length(main_path(skeleton, pair.first[0])),
        default=None,
    )


def _by_side(
    skeleton: Skeleton, pair: Branches, legs: Mapping[Side, Path] | None
) -> tuple[dict[Side, Path], bool]:
    """Return which branch is left, and whether by name.

    Where names do not distinguish sides, arms go with the legs, and for legs the level
    axis of the base that is not lateral is taken to point forward.
    """
    votes = sum(
        side_vote(skeleton.names[a], skeleton.names[b])
        for a, b in zip(pair.first, pair.second, strict=False)
    )
    named = votes != 0
    if not named:
        # a file's zero may have the feet crossed, but not the hips
        joints = ([pair.first[end], pair.second[end]] for end in (0, -1))
        first_joints, ends = (skeleton.positions[both] for both in joints)
        second_to_first = first_joints[0] - first_joints[1]
        if np.linalg.norm(second_to_first) < MIRROR_TOLERANCE * skeleton.extent:
            second_to_first = ends[0] - ends[1]
        if legs is not None and len(legs) == 2:
            feet = [skeleton.positions[legs[side][-1]] for side in ("left", "right")]
            left = feet[0] - feet[1]
        else:
            level = skeleton.level_axes()
            lateral = max(level, key=lambda axis: abs(second_to_first[axis]))
            forward = level[1] if lateral == level[0] else level[0]
            left = np.cross(skeleton.up, np.eye(3)[forward])
        votes = 1 if float(second_to_first @ left) > 0.0 else -1
    first, second = (
        (pair.first, pair.second) if votes > 0 else (pair.second, pair.first)
    )
    return {"left": first, "right": second}, named


def assign_limbs(
    skeleton: Skeleton,
    legs: Mapping[Side, Path],
    arms: Mapping[Side, Path],
    middle: Mapping[str, Path],
    soles_in_foot: Mapping[Side, Array],
    given: Mapping[str, LimbSettings],
) -> dict[str, Limb]:
    """Return all limbs by name; every moving body but the base is in exactly one.

    Args:
        skeleton: The tree.
        legs: Paths of the legs.
        arms: Paths of the arms.
        middle: Paths of ``"torso"`` and ``"head"`` where they are given.
        soles_in_foot: Origin of each sole frame in the foot body's coordinates [m].
        given: Settings of limbs, by limb name.
    """
    limbs: dict[str, Limb] = {}
    free = set(range(2, skeleton.count))

    def add(
        name: str,
        kind: LimbKind,
        side: Side | None,
        path: Path,
        bodies: set[int],
        end_in_body: Array | None = None,
    ) -> None:
        own = sorted(bodies & free)
        settings = given.get(name)
        end_link = None if settings is None else settings.end_link
        limbs[name] = Limb(
            name,
            kind,
            side,
            tuple(skeleton.names[body] for body in path),
            end_link or skeleton.end_link(path[-1]),
            tuple(skeleton.names[body] for body in own),
            skeleton.reach(path, end_in_body),
            DETECTED if settings is None else settings.source,
        )
        free.difference_update(own)

    for side, path in legs.items():
        own = skeleton.below(path[0])
        add(f"{side}_leg", "leg", side, path, own, soles_in_foot.get(side))
    for side, path in arms.items():
        add(f"{side}_arm", "arm", side, path, skeleton.below(path[0]))
    if "head" in middle:
        head = middle["head"]
        add("head", "head", None, head, skeleton.below(head[0]))
    torso = middle.get("torso", _between(skeleton, [*legs.values(), *arms.values()]))
    if torso:
        add("torso", "torso", None, torso, set(torso))
    shoulders = [skeleton.height(path[0]) for path in arms.values()]
    # the first body of each branch that is still free, heaviest first
    roots = [body for body in free if skeleton.parents[body] not in free]
    for first in sorted(roots, key=lambda b: (-skeleton.branch_masses[b], b)):
        path = main_path(skeleton, first)
        own = skeleton.below(first)
        high = bool(shoulders) and skeleton.height(path[-1]) > max(shoulders)
        named = skeleton.has_word(HEAD_WORDS, path)
        rises = skeleton.height(path[-1]) > 0.0
        if "head" not in limbs and (named or high):
            add("head", "head", None, path, own)
        elif "torso" not in limbs and not arms and rises:
            add("torso", "torso", None, path, own)
        else:
            add(skeleton.names[first], "other", None, path, own)
    return limbs


def _between(skeleton: Skeleton, paths: list[Path]) -> Path:
    """Return the bodies between the base and where limbs begin."""
    above = {body for path in paths for body in skeleton.path(path[0])[:-1]}
    return tuple(sorted(above))
