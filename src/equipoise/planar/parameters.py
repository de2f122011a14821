"""Masses and lengths of a three-link biped, and the walkers of the literature."""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass, fields
from importlib.resources import files
from typing import Any

from equipoise.errors import EquipoiseError, NameNotFoundError


class PlanarModelError(EquipoiseError):
    """A planar biped is physically impossible, or cannot do what it should."""


# Beyond these ratios of lengths or of masses the inertia matrix is singular in
# practice.
LARGEST_RATIO = 1e6


@dataclass(frozen=True)
class ThreeLinkParameters:
    """A three-link biped of point masses, as in Fig. 1 of [ThreeLink].

    Two equal legs without knees or feet carry half-way a mass each; the hip is a point
    mass, and so is the torso, at some distance above the hip.

    Attributes:
        leg_length: r, from foot to hip [m].
        torso_length: l, from the hip to the torso's mass [m].
        leg_mass: m, of each leg, at r/2 [kg].
        hip_mass: M_H [kg].
        torso_mass: M_T [kg].
        gravity: g [m/s²].

    Raises:
        PlanarModelError: If one of them is not positive and finite, or if lengths or
            masses are so unequal that the model degenerates.
    """

    leg_length: float
    torso_length: float
    leg_mass: float
    hip_mass: float
    torso_mass: float
    gravity: float = 9.80665

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            words = field.name.replace("_", " ")
            if not math.isfinite(value):
                raise PlanarModelError(f"the {words} must be finite, not {value}")
            if value <= 0.0:
                raise PlanarModelError(f"the {words} must be positive, not {value:g}")
        lengths = (self.leg_length, self.torso_length)
        masses = (self.leg_mass, self.hip_mass, self.torso_mass)
        for words, values in (("lengths", lengths), ("masses", masses)):
            if max(values) > LARGEST_RATIO * min(values):
                raise PlanarModelError(
                    f"the {words} degenerate: the largest, {max(values):g}, is more "
                    f"than {LARGEST_RATIO:g} times the smallest, {min(values):g}"
                )

    @classmethod
    def named(cls, name: str) -> ThreeLinkParameters:
        """Return the parameters of a walker of the literature.

        Args:
            name: ``"seed"``, of [ThreeLink], whose values are assumed, or
                ``"classic"``, of [Grizzle2001].

        Raises:
            NameNotFoundError: If there is no walker of that name.
        """
        known = walkers()
        if name not in known:
            raise NameNotFoundError("walker", name, known, "the list of walkers")
        return cls(**known[name]["parameters"])

    @property
    def total_mass(self) -> float:
        """The mass of the whole biped [kg]."""
        return 2.0 * self.leg_mass + self.hip_mass + self.torso_mass

    def values(self) -> tuple[float, float, float, float, float, float]:
        """Return r, l, m, M_H, M_T and g, in the order of the symbols."""
        return (
            self.leg_length,
            self.torso_length,
            self.leg_mass,
            self.hip_mass,
            self.torso_mass,
            self.gravity,
        )


def walkers() -> dict[str, dict[str, Any]]:
    """Return the walkers of the literature by name, as ``walkers.toml`` has them."""
    text = files("equipoise.planar").joinpath("walkers.toml").read_text("utf-8")
    return tomllib.loads(text)
