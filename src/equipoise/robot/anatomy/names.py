"""What names hint at. Hints only: a robot may be named in any language."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

HAND_WORDS = frozenset({"hand", "finger", "gripper", "thumb"})
ARM_WORDS = HAND_WORDS | {
    "arm",
    "arms",
    "clavicle",
    "elbow",
    "forearm",
    "larm",
    "lowerarm",
    "palm",
    "rarm",
    "shoulder",
    "upperarm",
    "wrist",
}
LEG_WORDS = frozenset(
    {
        "ankle",
        "calf",
        "feet",
        "foot",
        "hip",
        "knee",
        "leg",
        "legs",
        "lleg",
        "lowerleg",
        "rleg",
        "shin",
        "sole",
        "thigh",
        "toe",
        "upperleg",
    }
)
HEAD_WORDS = frozenset({"cervical", "gaze", "head", "neck", "skull"})


def words(name: str) -> frozenset[str]:
    """Return the words of a name: ``"LHipPitch_2"`` has l, hip and pitch."""
    found = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)
    return frozenset(word.lower() for word in found)


class NameHints:
    """Which names speak of legs, arms, hands and heads.

    Words that all names share, such as the robot's own name, say nothing.
    """

    def __init__(self, names: Sequence[str]) -> None:
        """Read all names of a robot.

        Args:
            names: Joint names.
        """
        self._words = {name: words(name) for name in names}
        every = list(self._words.values())
        shared = frozenset.intersection(*every) if len(every) > 1 else frozenset()
        self._words = {name: own - shared for name, own in self._words.items()}

    def speak_of(self, meaning: frozenset[str], names: Iterable[str]) -> bool:
        """Whether any of the names has a word of that meaning."""
        return any(self._words[name] & meaning for name in names)


def sideless(name: str) -> str:
    """Return a name without what tells left from right."""
    name = re.sub(r"left|right", "@", name, flags=re.IGNORECASE)
    return re.sub(r"(?<![A-Za-z])[lrLR](?![a-z])", "@", name)


def side_vote(first: str, second: str) -> int:
    """Return 1 if the first name is the left one of two, -1 if right, 0 if neither.

    The first letter in which they differ decides: l against r.
    """
    for a, b in zip(first.lower(), second.lower(), strict=False):
        if a != b:
            return {("l", "r"): 1, ("r", "l"): -1}.get((a, b), 0)
    return 0
