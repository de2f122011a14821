"""Beliefs before the measurements: offsets of sensors, and how far CoMs may be."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from equipoise.identification.prior import Prior, PriorBelief, prior_belief
from equipoise.robot.model import Robot

# That sensors were zeroed is believed if measurements speak for it by more than this.
DOUBT = 3.0
# How far CoMs may be from the model, as multiples of what is usual; and the standard
# deviation of the logarithm of this factor.
STRENGTHS, STRENGTH_SPREAD = (0.3, 1.0, 3.0, 10.0, 30.0), 1.2


class Offsets(NamedTuple):
    """What sensors' offsets may be, as multiples of the prior's standard deviations.

    Attributes:
        words: In words, for a notice.
        lateral: Of lateral forces.
        vertical: Of vertical forces.
        torque: Of torques.
    """

    words: str
    lateral: float
    vertical: float
    torque: float


# Lateral forces of a standing robot tell which: they must sum to nothing.
USUAL = Offsets("sensors have offsets of the usual size", 1.0, 1.0, 1.0)
ZEROED = Offsets("sensors were zeroed", 0.1, 0.1, 0.1)
NO_OFFSETS = Offsets("sensors have no offsets", 0.01, 0.01, 0.01)
NOT_ZEROED = Offsets("sensors were not zeroed", 3.0, 75.0, 2.0)
# Offsets that do not move the centre of pressure.
LATERAL_ONLY = Offsets("lateral forces alone have offsets", 1.0, 0.1, 0.1)


class Hypothesis(NamedTuple):
    """A belief before the measurements.

    Attributes:
        offsets: What sensors' offsets may be.
        strength: How far CoMs may be from the model, as a multiple of the prior's.
        belief: Mean and covariance of the parameters.
    """

    offsets: Offsets
    strength: float
    belief: PriorBelief

    @property
    def penalty(self) -> float:
        """How improbable it is before measurements, as a negative logarithm."""
        strength = 0.5 * float(np.log(self.strength) / STRENGTH_SPREAD) ** 2
        small = self.offsets in (ZEROED, NO_OFFSETS)
        return strength + (DOUBT if small else 0.0)


def hypothesis(
    robot: Robot,
    prior: Prior,
    sensors: int,
    offsets: Offsets = USUAL,
    strength: float = 1.0,
) -> Hypothesis:
    """Return a belief, by factors on a prior's standard deviations."""
    prior = replace(
        prior,
        com_std=strength * prior.com_std,
        lateral_force_std=offsets.lateral * prior.lateral_force_std,
        vertical_force_std=offsets.vertical * prior.vertical_force_std,
        torque_std=offsets.torque * prior.torque_std,
    )
    zeros = prior.joint_zero_std > 0.0
    belief = prior_belief(robot, prior, sensors, joint_zeros=zeros)
    return Hypothesis(offsets, strength, belief)
