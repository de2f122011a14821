"""A pendulum over a turning walk, to test on."""

from __future__ import annotations

import numpy as np

from equipoise.arrays import Array
from equipoise.gait.footsteps import Footstep
from equipoise.gait.lipm import LipmMotion, at_rest_at_both_ends
from equipoise.gait.parameters import walk_phases
from equipoise.gait.walks import walk
from equipoise.gait.zmp import zmp_knots

GRAVITY = 9.81
FEET = {"left": Footstep("left", 0.0, 0.1), "right": Footstep("right", 0.0, -0.1)}
MIDDLE = {"left": np.array([0.03, 0.0]), "right": np.array([0.03, 0.0])}


def planned(
    steps: int = 6, double_support: float = 0.25, rise: float = 0.0, height: float = 0.7
) -> LipmMotion:
    """Return the pendulum of a turning walk."""
    footsteps = walk(FEET, steps, length=0.15, turn=0.1, rise=rise)
    phases = walk_phases(footsteps, 0.8, double_support, 1.0, 1.1, 0.3)
    times, zmp, shapes = zmp_knots(footsteps, phases, MIDDLE)
    omega = np.sqrt(GRAVITY / height)
    return at_rest_at_both_ends(times, zmp, shapes, omega, height)


def inside(motion: LipmMotion, count: int = 2000) -> Array:
    """Return times all over a motion."""
    return np.linspace(0.0, motion.times[-1], count)
