"""Prior knowledge: the model's parameters, and their standard deviations.

Where data determine nothing, estimates keep these values and standard deviations.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.identification.statics import (
    PER_FOOT,
    PER_LINK,
    StandingFrames,
    com_gradient,
    links_with_mass,
)
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.robot.model import Robot

# Fractions of the longest limb, the mass, the weight, and the weight times the limb.
COM_FRACTION, MASS_FRACTION = 0.02, 0.08
LATERAL_FRACTION, UPRIGHT_FRACTION, TORQUE_FRACTION = 0.05, 0.002, 0.005


@dataclass(frozen=True)
class Prior:
    """Standard deviations of the model's parameters from the true ones.

    Attributes:
        com: Each coordinate of a link's centre of mass [m].
        mass_share: A link's mass, as a fraction of it.
        sideways_force: A sensor's lateral force offset, in x and y of its sole [N].
        upright_force: The same in z [N]. Standing still cannot separate it from the
            robot's mass, so that it bounds how well the mass can be determined.
        torque: A sensor's torque offset [Nm].
    """

    com: float
    mass_share: float
    sideways_force: float
    upright_force: float
    torque: float

    def __post_init__(self) -> None:
        """Refuse what is not a standard deviation."""
        for name, value in vars(self).items():
            if not (np.isfinite(value) and value >= 0.0):
                raise EquipoiseError(f"the prior's {name} is {value:g}; it must be ≥ 0")
        if self.com == 0.0 or self.mass_share == 0.0:
            raise EquipoiseError(
                "a prior whose standard deviations of centres of mass or masses are "
                "zero leaves nothing to identify"
            )


@dataclass(frozen=True, eq=False)
class PriorBelief:
    """The parameters as x = mean + root u, with u of unit variance.

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
    """Return usual errors of models, from a robot's size and mass."""
    weight = robot.mass * STANDARD_GRAVITY
    return Prior(
        com=COM_FRACTION * robot.longest_limb,
        mass_share=MASS_FRACTION,
        sideways_force=LATERAL_FRACTION * weight,
        upright_force=UPRIGHT_FRACTION * weight,
        torque=TORQUE_FRACTION * weight * robot.longest_limb,
    )


def prior_belief(robot: Robot, prior: Prior) -> PriorBelief:
    """Return the parameters of a robot's links and sensors before measurements."""
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
        block = root[here, here]
        block[:, 0] = prior.mass_share * mean[here]
        block[1:, 1:] = prior.com * inertial.mass * np.eye(3)
    offset = [prior.sideways_force] * 2 + [prior.upright_force] + [prior.torque] * 3
    np.fill_diagonal(root[count:, count:], np.tile(offset, 2))
    return PriorBelief(names, mean, root)


def com_functionals(frames: StandingFrames, belief: PriorBelief) -> Array:
    """Return the derivative of the CoM of n poses by u [m], shape (n, 3, nx)."""
    return np.asarray(com_gradient(frames.link_arms, belief.mean) @ belief.root)
