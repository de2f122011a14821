"""A biped drawn to order: the same robot under other names, roots and postures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

THIGH, SHIN, ANKLE = 0.4, 0.4, 0.08
FOOT = '<box size="0.24 0.12 0.04"/>'
WHEEL = '<cylinder radius="0.08" length="0.04"/>'


@dataclass(frozen=True)
class Biped:
    """Options of a 6-joint-leg, 3-joint-arm biped of 0.88 m legs.

    Attributes:
        sides: What left and right are called.
        words: Other words for the parts, by their English word.
        root_xyz_rpy: Pose of the pelvis in the root link; other than the identity
            gives the file a massless root above the pelvis.
        ankle: ``<limit …/>`` and type of the last leg joint, e.g. of a wheel.
        foot: Geometry of the foot.
        knee_limits: Lower and upper limit of the knees [rad].
        arm_length: Upper arm and forearm [m].
        extra: Further elements.
        pairs_of_legs: 2 for a quadruped.
        fixed: Words of leg joints that do not move, for legs of fewer than six joints.
        telescopic: Whether knees slide down from zero, by 0.3 m, instead of bending.
    """

    sides: tuple[str, str] = ("left", "right")
    words: Mapping[str, str] = field(default_factory=dict)
    root_xyz_rpy: tuple[str, str] = ("0 0 0", "0 0 0")
    wheel: bool = False
    foot: str = FOOT
    knee_limits: tuple[float, float] = (0.0, 2.0)
    arm_length: float = 0.3
    extra: str = ""
    pairs_of_legs: int = 1
    fixed: tuple[str, ...] = ()
    telescopic: bool = False

    def urdf(self) -> str:
        """Return the document."""
        parts = [self.extra]
        root = "pelvis"
        if self.root_xyz_rpy != ("0 0 0", "0 0 0"):
            xyz, rpy = self.root_xyz_rpy
            parts.append('<link name="root"/>')
            parts.append(_joint("mount", "fixed", "root", root, xyz, rpy, "0 0 1"))
        parts.append(_link("pelvis", 8.0, "0 0 0.05", '<box size="0.2 0.3 0.2"/>'))
        for side, sign in zip(self.sides, (1, -1), strict=True):
            for pair in range(self.pairs_of_legs):
                number = f"{pair}" if self.pairs_of_legs > 1 else ""
                parts.append(self._leg(f"{side}{number}", 0.1 * sign, -0.4 * pair))
            parts.append(self._arm(side, 0.22 * sign))
        return f'<robot name="drawn">{"".join(parts)}</robot>'

    def _name(self, side: str, word: str) -> str:
        return f"{side}_{self.words.get(word, word)}"

    def _leg(self, side: str, y: float, x: float) -> str:
        chain = [
            ("hip_yaw", f"{x} {y} 0", "0 0 1", 1.0, -1.5, 1.5),
            ("hip_roll", "0 0 0", "1 0 0", 1.0, -1.0, 1.0),
            ("hip_pitch", "0 0 0", "0 1 0", 4.0, -2.0, 2.0),
            ("knee", f"0 0 {-THIGH}", "0 1 0", 3.0, *self.knee_limits),
            ("ankle_pitch", f"0 0 {-SHIN}", "0 1 0", 0.5, -1.5, 1.5),
            ("ankle_roll", "0 0 0", "1 0 0", 1.0, -1.0, 1.0),
        ]
        if self.wheel:
            chain[-1] = ("wheel", "0 0 0", "0 1 0", 1.0, -1e9, 1e9)
        if self.telescopic:
            chain[3] = ("knee", f"0 0 {-THIGH}", "0 0 -1", 3.0, 0.0, 0.3)
        shape = WHEEL if self.wheel else self.foot
        at = "0 0 0" if self.wheel else f"0.04 0 {-ANKLE + 0.02}"
        rpy = "1.5707963267948966 0 0" if self.wheel else "0 0 0"
        return self._chain(side, "pelvis", chain, shape, at, rpy)

    def _arm(self, side: str, y: float) -> str:
        chain = [
            ("shoulder_pitch", f"0 {y} 0.4", "0 1 0", 1.0, -3.0, 3.0),
            ("shoulder_roll", "0 0 0", "1 0 0", 1.0, -2.0, 2.0),
            ("elbow", f"0 0 {-self.arm_length}", "0 1 0", 1.0, -2.0, 2.0),
        ]
        box = f'<box size="0.05 0.05 {self.arm_length}"/>'
        return self._chain(side, "pelvis", chain, box, f"0 0 {-self.arm_length / 2}")

    def _chain(
        self,
        side: str,
        parent: str,
        chain: list[tuple[str, str, str, float, float, float]],
        shape: str,
        at: str,
        rpy: str = "0 0 0",
    ) -> str:
        text = ""
        for word, xyz, axis, mass, lower, upper in chain:
            name = self._name(side, word)
            last = word == chain[-1][0]
            kind = "prismatic" if self.telescopic and word == "knee" else "revolute"
            text += _joint(
                name,
                "fixed" if word in self.fixed else kind,
                parent,
                f"{name}_link",
                xyz,
                "0 0 0",
                axis,
                lower,
                upper,
            )
            text += _link(f"{name}_link", mass, at, shape if last else "", rpy)
            parent = f"{name}_link"
        return text


def _joint(
    name: str,
    kind: str,
    parent: str,
    child: str,
    xyz: str,
    rpy: str,
    axis: str,
    lower: float = 0.0,
    upper: float = 0.0,
) -> str:
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/>'
        f'<child link="{child}"/><origin xyz="{xyz}" rpy="{rpy}"/><axis xyz="{axis}"/>'
        f'<limit lower="{lower}" upper="{upper}" effort="50" velocity="9"/></joint>'
    )


def _link(name: str, mass: float, at: str, shape: str, rpy: str = "0 0 0") -> str:
    collision = (
        f'<collision><origin xyz="{at}" rpy="{rpy}"/><geometry>{shape}</geometry>'
        "</collision>"
        if shape
        else ""
    )
    centre = at if shape else "0 0 0"
    return (
        f'<link name="{name}"><inertial><origin xyz="{centre}"/>'
        f'<mass value="{mass}"/><inertia ixx="0.02" '
        'iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial>'
        f"{collision}</link>"
    )
