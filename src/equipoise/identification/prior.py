"""Prior knowledge: the model's parameters, and their standard deviations.

Where data determine nothing, estimates keep these values and standard deviations.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.identification.statics import (
    PER_LINK,
    PER_SENSOR,
    StandingFrames,
    com_gradient,
    links_with_mass,
)
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.robot.model import Robot

# Fractions of the longest limb, the mass, the weight, and the weight times the limb.
COM_FRACTION, MASS_FRACTION = 0.02, 0.08
LATERAL_FRACTION, VERTICAL_FRACTION, TORQUE_FRACTION = 0.05, 0.002, 0.005


@dataclass(frozen=True)
class Prior:
    """Standard deviations of the model's parameters from the true ones.

    Attributes:
        com_std: Each coordinate of a link's centre of mass [m].
        mass_std_fraction: A link's mass, as a fraction of it.
        lateral_force_std: A sensor's lateral force offset, in x and y of its sole [N].
        vertical_force_std: The same in z [N]. Standing still cannot separate it from
            the robot's mass, so that it bounds how well the mass can be determined.
        torque_std: A sensor's torque offset [Nm].
    """

    com_std: float
    mass_std_fraction: float
    lateral_force_std: float
    vertical_force_std: float
    torque_std: float

    def __post_init__(self) -> None:
        """Refuse what is not a standard deviation."""
        for name, value in vars(self).items():
            if not (np.isfinite(value) and value >= 0.0):
                raise EquipoiseError(f"prior.{name} is {value:g}; it must be ≥ 0")
        if self.com_std == 0.0 or self.mass_std_fraction == 0.0:
            raise EquipoiseError(
                "a prior whose standard deviations of centres of mass or masses are "
                "zero leaves nothing to identify"
            )


@dataclass(frozen=True, eq=False)
class PriorBelief:
    """The parameters as x = mean + root u, with u of unit variance.

    Attributes:
        links: Names of the links, nl of them.
        mean: Shape (nx,), nx = 4 nl + 6 ns: mass and first moment of each link, then
            the offsets of each sensor.
        root: Shape (nx, nx), block-diagonal.
    """

    links: tuple[str, ...]
    mean: Array
    root: Array


def default_prior(robot: Robot) -> Prior:
    """Return usual errors of models, from a robot's size and mass."""
    weight = robot.mass * STANDARD_GRAVITY
    return Prior(
        com_std=COM_FRACTION * robot.longest_limb,
        mass_std_fraction=MASS_FRACTION,
        lateral_force_std=LATERAL_FRACTION * weight,
        vertical_force_std=VERTICAL_FRACTION * weight,
        torque_std=TORQUE_FRACTION * weight * robot.longest_limb,
    )


def prior_belief(robot: Robot, prior: Prior, sensors: int = 2) -> PriorBelief:
    """Return the parameters of a robot's links and sensors before measurements."""
    links = links_with_mass(robot)
    count = PER_LINK * len(links)
    mean = np.zeros(count + sensors * PER_SENSOR)
    root = np.zeros((len(mean), len(mean)))
    for at, inertial in enumerate(links.values()):
        here = slice(PER_LINK * at, PER_LINK * at + PER_LINK)
        mean[here] = inertial.mass * np.array([1.0, *inertial.com_in_link])
        # a heavier link is so around its centre of mass; and that may be elsewhere
        block = root[here, here]
        block[:, 0] = prior.mass_std_fraction * mean[here]
        block[1:, 1:] = prior.com_std * inertial.mass * np.eye(3)
    lateral, vertical = prior.lateral_force_std, prior.vertical_force_std
    offset = [lateral, lateral, vertical, *[prior.torque_std] * 3]
    np.fill_diagonal(root[count:, count:], np.tile(offset, sensors))
    return PriorBelief(tuple(links), mean, root)


def com_functionals(frames: StandingFrames, belief: PriorBelief) -> Array:
    """Return the derivative of the CoM of n poses by u [m], shape (n, 3, nx)."""
    return np.asarray(com_gradient(frames.link_arms, belief.mean) @ belief.root)
