"""What is believed before anything is measured: the model's figures, and how far off.

What the data cannot see stays there, with that uncertainty.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.identification.standing_frames import links_with_mass
from equipoise.identification.statics import PER_FOOT, PER_LINK
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.robot.model import Robot

# Shares of the longest limb, the mass, the weight, and the weight times the limb.
COM_SHARE, MASS_SHARE = 0.02, 0.08
SIDEWAYS_SHARE, UPRIGHT_SHARE, TORQUE_SHARE = 0.05, 0.002, 0.005


@dataclass(frozen=True)
class Prior:
    """Standard deviations of the model's figures from the true ones.

    Attributes:
        com: Of each coordinate of a link's centre of mass [m].
        mass_share: Of a link's mass, as a share of it.
        sideways_force: Of a sensor's offset in x and y of its sole [N].
        upright_force: The same in z [N]. Standing still does not tell it from the
            robot's mass, so that it bounds how well the mass can be known.
        torque: Of a sensor's offset in torque [Nm].
    """

    com: float
    mass_share: float
    sideways_force: float
    upright_force: float
    torque: float

    def __post_init__(self) -> None:
        """Refuse what is no standard deviation."""
        for name, value in vars(self).items():
            if not (np.isfinite(value) and value >= 0.0):
                raise EquipoiseError(f"the prior's {name} is {value:g}; it must be ≥ 0")
        if self.com == 0.0 or self.mass_share == 0.0:
            raise EquipoiseError(
                "a prior without doubt in centres of mass and masses leaves nothing to "
                "identify"
            )


@dataclass(frozen=True, eq=False)
class PriorBelief:
    """The unknowns as x = mean + root u, with u of unit variance.

    Attributes:
        links: Names of the links, nl of them.
        mean: Shape (nx,), nx = 4 nl + 12: mass and first moment of each link, then
            the offsets of the left and the right sensor.
        root: Shape (nx, nx), block-diagonal.
    """

    links: tuple[str, ...]
    mean: Array
    root: Array


def default_prior(robot: Robot) -> Prior:
    """Return how far off models usually are, from a robot's size and mass."""
    weight = robot.mass * STANDARD_GRAVITY
    return Prior(
        com=COM_SHARE * robot.longest_limb,
        mass_share=MASS_SHARE,
        sideways_force=SIDEWAYS_SHARE * weight,
        upright_force=UPRIGHT_SHARE * weight,
        torque=TORQUE_SHARE * weight * robot.longest_limb,
    )


def prior_belief(robot: Robot, prior: Prior) -> PriorBelief:
    """Return what is believed of a robot's links and sensors."""
    names = links_with_mass(robot)
    count = PER_LINK * len(names)
    mean = np.zeros(count + 2 * PER_FOOT)
    root = np.zeros((len(mean), len(mean)))
    for at, name in enumerate(names):
        inertial = robot.description.link_by_name[name].inertial
        if inertial is None:
            continue
        here = slice(PER_LINK * at, PER_LINK * at + PER_LINK)
        mean[here] = inertial.mass * np.array([1.0, *inertial.com_in_link])
        # a heavier link is so around its centre of mass; and that may be elsewhere
        block = np.zeros((PER_LINK, PER_LINK))
        block[:, 0] = prior.mass_share * mean[here]
        block[1:, 1:] = prior.com * inertial.mass * np.eye(3)
        root[here, here] = block
    offset = [prior.sideways_force, prior.sideways_force, prior.upright_force]
    offset += [prior.torque] * 3
    np.fill_diagonal(root[count:, count:], np.tile(offset, 2))
    return PriorBelief(names, mean, root)
