"""All moving bodies shared out among legs, arms, torso, head and others."""

from __future__ import annotations

from collections.abc import Mapping

from equipoise.arrays import Array
from equipoise.robot.anatomy.names import HEAD_WORDS
from equipoise.robot.anatomy.pairs import main_path
from equipoise.robot.anatomy.skeleton import Path, Skeleton
from equipoise.robot.formats.settings import LimbSettings
from equipoise.robot.parts import Limb, LimbKind, Side

DETECTED = "detected"


def share_out(
    skeleton: Skeleton,
    legs: Mapping[Side, Path],
    arms: Mapping[Side, Path],
    middle: Mapping[str, Path],
    soles_in_foot: Mapping[Side, Array],
    given: Mapping[str, LimbSettings],
) -> dict[str, Limb]:
    """Return all limbs by name; every moving body but the base is in exactly one.

    What lies between the base and legs or arms is the torso. Of the rest, the head
    is what is named so or rises above the shoulders.

    Args:
        skeleton: The robot's tree.
        legs: Path of each leg.
        arms: Path of each arm.
        middle: Paths of ``"torso"`` and ``"head"`` where they are given.
        soles_in_foot: Origin of each sole frame in the foot body's coordinates [m].
        given: What settings say of limbs, by limb name.
    """
    sharing = _Sharing(skeleton, given)
    pairs: tuple[tuple[LimbKind, Mapping[Side, Path]], ...] = (
        ("leg", legs),
        ("arm", arms),
    )
    for kind, paths in pairs:
        for side, path in paths.items():
            end = soles_in_foot.get(side) if kind == "leg" else None
            own = skeleton.below(path[0])
            sharing.add(f"{side}_{kind}", kind, side, path, own, end)
    if "head" in middle:
        own = skeleton.below(middle["head"][0])
        sharing.add("head", "head", None, middle["head"], own)
    torso = middle.get("torso", _between(skeleton, [*legs.values(), *arms.values()]))
    if torso:
        sharing.add("torso", "torso", None, torso, set(torso))
    shoulders = [skeleton.height(path[0]) for path in arms.values()]
    for first in sharing.roots():
        path = main_path(skeleton, first)
        own = skeleton.below(first)
        high = bool(shoulders) and skeleton.height(path[-1]) > max(shoulders)
        named = skeleton.speak_of(HEAD_WORDS, path)
        if "head" not in sharing.limbs and (named or high):
            sharing.add("head", "head", None, path, own)
        elif "torso" not in sharing.limbs and not arms and _rises(skeleton, path):
            sharing.add("torso", "torso", None, path, own)
        else:
            sharing.add(skeleton.names[first], "other", None, path, own)
    return sharing.limbs


def _between(skeleton: Skeleton, paths: list[Path]) -> Path:
    """Return the bodies between the base and where limbs begin."""
    above = {body for path in paths for body in skeleton.path(path[0])[:-1]}
    return tuple(sorted(above))


def _rises(skeleton: Skeleton, path: Path) -> bool:
    return skeleton.height(path[-1]) > 0.0


class _Sharing:
    """Limbs so far, and the bodies that are still free."""

    def __init__(self, skeleton: Skeleton, given: Mapping[str, LimbSettings]) -> None:
        self.skeleton = skeleton
        self.given = given
        self.limbs: dict[str, Limb] = {}
        self.free = set(range(2, skeleton.count))

    def add(
        self,
        name: str,
        kind: LimbKind,
        side: Side | None,
        path: Path,
        bodies: set[int],
        end_in_body: Array | None = None,
    ) -> None:
        own = sorted(bodies & self.free)
        names = self.skeleton.names
        given = self.given.get(name)
        end_link = None if given is None else given.end_link
        self.limbs[name] = Limb(
            name,
            kind,
            side,
            tuple(names[body] for body in path),
            end_link or self.skeleton.end_link(path[-1]),
            tuple(names[body] for body in own),
            self.skeleton.reach(path, end_in_body),
            DETECTED if given is None else given.source,
        )
        self.free.difference_update(own)

    def roots(self) -> list[int]:
        """Return the first body of each branch that is still free, heaviest first."""
        roots = [b for b in self.free if self.skeleton.parents[b] not in self.free]
        return sorted(roots, key=lambda b: (-self.skeleton.branch_mass(b), b))
