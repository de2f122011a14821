"""How robots' makers name joints and links: several ways, for random humanoids."""

from __future__ import annotations

from itertools import count

SCHEMES = (
    "english",
    "prefix",
    "suffix",
    "camel case",
    "german",
    "french",
    "hrp",
    "numbered",
)
GERMAN = {
    **{"left": "links", "right": "rechts", "hip": "huefte", "knee": "knie"},
    **{"ankle": "knoechel", "toe": "zeh", "thigh": "oberschenkel", "waist": "rumpf"},
    **{"shoulder": "schulter", "elbow": "ellbogen", "wrist": "handgelenk"},
    **{"neck": "hals", "roll": "roll", "pitch": "nick", "yaw": "gier"},
}
FRENCH = {
    **{"left": "gauche", "right": "droite", "hip": "hanche", "knee": "genou"},
    **{"ankle": "cheville", "toe": "orteil", "thigh": "cuisse", "waist": "taille"},
    **{"shoulder": "epaule", "elbow": "coude", "wrist": "poignet", "neck": "cou"},
    **{"roll": "roulis", "pitch": "tangage", "yaw": "lacet"},
}
HRP = {"leg": "LEG", "arm": "ARM", "torso": "CHEST", "head": "HEAD"}


class Names:
    """Gives joints their names, one after the other.

    Args:
        scheme: One of SCHEMES; ``"french"`` and ``"numbered"`` do not tell left from
            right by an l and an r, so that the root link's axes have to.
    """

    def __init__(self, scheme: str) -> None:
        self.scheme = scheme
        self._numbers = count(1)

    def joint(self, part: str, limb: str, index: int, side: str = "") -> str:
        """Return the name of a joint.

        Args:
            part: What it is, such as ``"hip_yaw"``.
            limb: What it belongs to: leg, arm, torso or head.
            index: Its place in the limb.
            side: ``"left"``, ``"right"`` or nothing.
        """
        letter = side[:1]
        match self.scheme:
            case "numbered":
                return f"joint_{next(self._numbers)}"
            case "hrp":
                return f"{letter.upper()}{HRP[limb]}_JOINT{index}"
            case "camel case":
                return letter.upper() + part.title().replace("_", "")
            case "prefix":
                return "_".join(filter(None, (letter, part)))
            case "suffix":
                return "_".join(filter(None, (part, letter)))
            case "german" | "french":
                spoken = GERMAN if self.scheme == "german" else FRENCH
                words = filter(None, (side, *part.split("_")))
                return "_".join(spoken.get(word, word) for word in words)
        return "_".join(filter(None, (side, part, "joint")))

    def link(self, joint: str) -> str:
        """Return the name of the link that a joint moves."""
        if self.scheme == "hrp":
            return joint.replace("JOINT", "LINK")
        return f"{joint.removesuffix('_joint')}_link"
