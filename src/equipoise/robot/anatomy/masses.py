"""Mass and mass moment of some of a robot's bodies."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pinocchio as pin

from equipoise.arrays import Array


def mass_and_moment(
    model: pin.Model, data: pin.Data, bodies: Iterable[int]
) -> tuple[float, Array]:
    """Return the mass of bodies, and mass times centre of mass in the world.

    Args:
        model: Pinocchio model.
        data: Workspace in which forward kinematics is up to date.
        bodies: Bodies by Pinocchio's joint index.

    Returns:
        Mass [kg] and moment [kg m], shape (3,).
    """
    mass, moment = 0.0, np.zeros(3)
    for body in bodies:
        inertia = model.inertias[body]
        mass += float(inertia.mass)
        moment += inertia.mass * data.oMi[body].act(inertia.lever)
    return mass, moment
