"""What lies between a quantity and its measurement: bias, noise, steps, delay."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike, NDArray

from equipoise.arrays import Array, frozen_array
from equipoise.errors import EquipoiseError, ShapeError

# Times nearer than this are the same: steps of the loop add up with rounding [s].
SAME_TIME = 1e-9
# Measurements whose noise is drawn at once.
DRAWN_AHEAD = 64
Indices = NDArray[np.int64] | slice


@dataclass(frozen=True, eq=False)
class Noise:
    """How a measurement differs from the truth; nothing given, it does not.

    The first three are in the unit of what is measured, one number for all components
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
        """Keep the arrays read-only and refuse impossible parameters."""
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
        """Refuse parameters for another number of components.

        Raises:
            ShapeError: Naming what is measured and the parameter.
        """
        for parameter in ("deviation", "bias", "step"):
            shape = np.shape(getattr(self, parameter))
            if shape not in ((), (size,)):
                raise ShapeError(
                    f"noise of {name}: {parameter} has shape {shape}; one number or "
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


class Channels:
    """Quantities in one vector as they are measured: noise and rounding, then delay.

    Random numbers are drawn for all components at once, whether they have noise or not:
    noise in one changes no other.

    Args:
        noises: Noise of each quantity by name, and how many components it has.
        orientation: Noise of an orientation, whose quaternion (x, y, z, w) follows the
            other quantities. Bias and noise turn it by a small rotation vector in its
            own axes [rad]; what is rounded is its rotation vector in the world [rad].
        seed: Seed of the random numbers.

    Attributes:
        slices: Where each quantity is in the vector, by name.
        size: Size of the vector.
    """

    def __init__(
        self, noises: Mapping[str, tuple[Noise, int]], orientation: Noise, seed: int
    ) -> None:
        for name, (noise, size) in noises.items():
            noise.check_size(name, size)
        orientation.check_size("orientation", 3)
        ends = np.cumsum([0, *(size for _, size in noises.values())]).tolist()
        self.slices = dict(zip(noises, map(slice, ends, ends[1:]), strict=False))
        self.slices["orientation"] = slice(ends[-1], ends[-1] + 4)
        self.size = ends[-1] + 4
        self._generator = np.random.default_rng(seed)
        self._orientation = orientation
        every = [*noises.values(), (orientation, 3)]
        bias, deviation, step = (
            np.concatenate([np.broadcast_to(getattr(n, part), k) for n, k in every])
            for part in ("bias", "deviation", "step")
        )
        self._bias, self._deviation = bias, deviation
        self._is_random = bool(deviation.any())
        self._twist = np.zeros(6)
        self._drawn, self._at = np.zeros((0, len(bias))), 0
        self._rounds = bool(step[:-3].any())
        self._rounded = _compact(np.flatnonzero(step[:-3]))
        self._step = step[self._rounded]
        self._rounds_turn = bool(step[-3:].any())
        self._turns = bool(any(part[-3:].any() for part in (bias, deviation, step)))
        delays = np.concatenate(
            [np.full(k, n.delay) for n, k in (*every[:-1], (orientation, 4))]
        )
        self._lines = [
            _Line(float(delay), _compact(np.flatnonzero(delays == delay)), deque())
            for delay in np.unique(delays)
        ]

    def _draw(self) -> None:
        """Draw bias and noise of the next measurements, a row each."""
        self._at = 0
        self._drawn = self._generator.standard_normal((DRAWN_AHEAD, len(self._bias)))
        self._drawn *= self._deviation
        self._drawn += self._bias

    def disturbed(self, truth: Array, orientation: pin.SE3) -> Array:
        """Return all quantities with noise, rounded, shape (size,).

        Args:
            truth: All but the orientation, shape (size - 4,).
            orientation: A pose whose rotation it is.
        """
        count, added = len(truth), self._bias
        if self._is_random:
            if self._at == len(self._drawn):
                self._draw()
            added = self._drawn[self._at]
            self._at += 1
        sample = np.empty(self.size)
        np.add(truth, added[:count], out=sample[:count])
        if self._rounds:
            values = sample[self._rounded] / self._step
            sample[self._rounded] = np.rint(values, out=values) * self._step
        if self._turns:
            self._twist[3:] = added[count:]
            orientation = orientation.act(pin.exp6(self._twist))
            if self._rounds_turn:
                rounded = self._orientation.rounded(pin.log3(orientation.rotation))
                orientation = pin.SE3(pin.exp3(rounded), np.zeros(3))
        x, y, z, w = pin.SE3ToXYZQUATtuple(orientation)[3:]
        sample[count:] = (x, y, z, w) if w >= 0.0 else (-x, -y, -z, -w)
        return sample

    def delayed(self, time: float, sample: Array) -> Array:
        """Keep a sample, and return of each quantity the latest as old as its delay."""
        found = sample.copy()
        for delay, at, samples in self._lines:
            samples.append((time, sample))
            due = time - delay + SAME_TIME
            while len(samples) > 1 and samples[1][0] <= due:
                samples.popleft()
            found[at] = samples[0][1][at]
        return found


class _Line(NamedTuple):
    """The samples that wait for one delay [s], and whose components they are."""

    delay: float
    at: Indices
    samples: deque[tuple[float, Array]]


def _compact(indices: NDArray[np.int64]) -> Indices:
    """Return a slice where indices follow each other: views are faster than copies."""
    if len(indices) and indices[-1] - indices[0] == len(indices) - 1:
        return slice(int(indices[0]), int(indices[-1]) + 1)
    return indices
