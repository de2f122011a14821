"""What lies between a quantity and its measurement: bias, noise, steps, delay."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from equipoise.errors import EquipoiseError, ShapeError
from equipoise.robot.description import Array, frozen_array

# Times nearer than this are the same: steps of the loop add up with rounding [s].
SAME_TIME = 1e-9


@dataclass(frozen=True, eq=False)
class Noise:
    """How a measurement differs from the truth; nothing given, it does not.

    The first three are in the unit of what is measured, one figure for all components
    or one each.

    Attributes:
        deviation: Standard deviation of white noise, drawn anew for each measurement.
        bias: Constant, added.
        step: Measurements are rounded to multiples of this; 0 for none.
        delay: How old a measurement is [s]; until then the first is held.
    """

    deviation: ArrayLike = 0.0
    bias: ArrayLike = 0.0
    step: ArrayLike = 0.0
    delay: float = 0.0

    def __post_init__(self) -> None:
        """Keep the arrays read-only and refuse impossible figures."""
        for name in ("deviation", "bias", "step"):
            values = np.asarray(getattr(self, name), dtype=np.float64)
            if not np.isfinite(values).all() or (name != "bias" and (values < 0).any()):
                must = "finite" if name == "bias" else "finite, and 0 or more"
                raise EquipoiseError(f"noise: {name} is {values}; it must be {must}")
            object.__setattr__(self, name, frozen_array(values))
        if not (math.isfinite(self.delay) and self.delay >= 0.0):
            raise EquipoiseError(
                f"noise: delay is {self.delay:g} s; it must be finite, and 0 or more"
            )

    def check_size(self, name: str, size: int) -> None:
        """Refuse figures for another number of components.

        Raises:
            ShapeError: Naming what is measured and the figure.
        """
        for figure in ("deviation", "bias", "step"):
            shape = np.shape(getattr(self, figure))
            if shape not in ((), (size,)):
                raise ShapeError(
                    f"noise of {name}: {figure} has shape {shape}; one figure or "
                    f"({size},) is needed"
                )

    def added(self, shape: tuple[int, ...], generator: np.random.Generator) -> Array:
        """Return bias and one draw of noise; draws nothing if there is none."""
        total = np.broadcast_to(np.asarray(self.bias), shape).copy()
        if np.any(self.deviation):
            total += np.asarray(self.deviation) * generator.standard_normal(shape)
        return total

    def rounded(self, values: Array) -> Array:
        """Return values rounded to the step; as they are where it is 0."""
        step = np.asarray(self.step)
        if not step.any():
            return values
        whole = np.where(step > 0.0, step, 1.0)
        return np.where(step > 0.0, whole * np.round(values / whole), values)


class Channel:
    """A quantity as it is measured: first noise and rounding, then delay."""

    def __init__(self, noise: Noise, seed: Sequence[int]) -> None:
        self.noise = noise
        self._generator = np.random.default_rng(seed)
        self._samples: deque[tuple[float, Array]] = deque()

    def read(self, time: float, truth: Array) -> Array:
        """Return the measurement at a time [s], which never goes back."""
        return self.delayed(time, self.disturbed(truth))

    def disturbed(self, truth: Array) -> Array:
        """Return a quantity with noise, rounded."""
        added = self.noise.added(np.shape(truth), self._generator)
        return self.noise.rounded(truth + added)

    def delayed(self, time: float, sample: Array) -> Array:
        """Keep a sample, and return the latest one that is as old as the delay."""
        samples = self._samples
        samples.append((time, np.array(sample)))
        due = time - self.noise.delay + SAME_TIME
        while len(samples) > 1 and samples[1][0] <= due:
            samples.popleft()
        return samples[0][1].copy()


class AttitudeChannel(Channel):
    """An orientation as it is measured.

    Bias and noise turn it by a small rotation vector in its own axes [rad]; what is
    rounded is its rotation vector in the world [rad].
    """

    def disturbed(self, truth: Array) -> Array:
        """Return a quaternion (x, y, z, w) with noise, rounded."""
        turn = self.noise.added((3,), self._generator)
        if not (turn.any() or np.any(self.noise.step)):
            return truth
        rotation = pin.Quaternion(truth).toRotationMatrix() @ pin.exp3(turn)
        return quaternion(pin.exp3(self.noise.rounded(pin.log3(rotation))))


def quaternion(rotation: Array) -> Array:
    """Return the quaternion (x, y, z, w) of a rotation matrix, with w ≥ 0."""
    coefficients = np.array(pin.Quaternion(rotation).coeffs())
    return coefficients if coefficients[3] >= 0.0 else -coefficients
