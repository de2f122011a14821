"""Integration of the swing phase, for one biped or for many, up to an event exactly.

The method is the embedded Runge–Kutta pair 5(4) of [Dormand1980]. An event is hit by
the trick of [Henon1982]: once a step has carried the event function e past zero, the
same method integrates back with e in the place of time as the independent variable,
dx/de = ẋ / ė, over exactly the distance to zero. No root has to be found, and the
result is as accurate as any other step.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from equipoise.arrays import Array

# The vector field: (m,) to (m,) for one state, (m, n) to (m, n) for n of them.
Field = Callable[[Array], Array]

STAGES = np.array(
    [
        [0, 0, 0, 0, 0, 0],
        [1 / 5, 0, 0, 0, 0, 0],
        [3 / 40, 9 / 40, 0, 0, 0, 0],
        [44 / 45, -56 / 15, 32 / 9, 0, 0, 0],
        [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729, 0, 0],
        [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656, 0],
        [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
    ]
)
# Fifth order less fourth order.
ERROR = np.array(
    [71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40]
)


def runge_kutta_step(
    field: Field, x: Array, slope: Array, h: float | Array
) -> tuple[Array, Array, Array]:
    """Take one step.

    Args:
        field: The vector field.
        x: States, shape (m,) or (m, n).
        slope: The field there.
        h: Length of the step; with n states one for each, if they differ.

    Returns:
        States after the step, the field there, and the estimated error of the step.
    """
    slopes = np.empty((7, *x.shape))
    flat = slopes.reshape(7, -1)
    slopes[0] = slope
    after = x
    for i in range(1, 7):
        after = x + h * (STAGES[i, :i] @ flat[:i]).reshape(x.shape)
        slopes[i] = field(after)
    return after, slopes[6], h * (ERROR @ flat).reshape(x.shape)


def step_to_event(
    field: Field,
    event: Callable[[Array], Array],
    event_rate: Callable[[Array], Array],
    x: Array,
) -> Array:
    """Return the states nearby where the event function is zero.

    Args:
        field: The vector field.
        event: e of states.
        event_rate: ė of states; it must not be zero nearby.
        x: States near the event, shape (m,) or (m, n).
    """

    def by_event(state: Array) -> Array:
        return field(state) / event_rate(state)

    for _ in range(2):  # the second leaves only rounding of the first
        x = runge_kutta_step(by_event, x, by_event(x), -event(x))[0]
    return x


class AdaptiveSteps:
    """Steps of one state whose length keeps the error of each within a tolerance.

    Attributes:
        x: The state now, shape (m,).
    """

    def __init__(
        self, field: Field, x: Array, controlled: int, tolerance: float, longest: float
    ) -> None:
        """Start at a state.

        Args:
            field: The vector field.
            x: The first state.
            controlled: How many components, from the first on, the error is taken of.
            tolerance: Error of a step, absolute and of the component's size.
            longest: The longest step.
        """
        self.x = x
        self._field, self._controlled = field, controlled
        self._tolerance, self._longest = tolerance, longest
        self._slope = field(x)
        self._h = longest / 10.0

    def advance(self) -> None:
        """Take the next step that is accurate enough."""
        while True:
            after, slope, error = runge_kutta_step(
                self._field, self.x, self._slope, self._h
            )
            n = self._controlled
            size = 1.0 + np.maximum(np.abs(self.x[:n]), np.abs(after[:n]))
            ratio = float(np.max(np.abs(error[:n]) / size)) / self._tolerance
            taken = self._h
            factor = 0.9 * max(ratio, 1e-10) ** -0.2
            if not math.isfinite(factor):  # the step led nowhere
                factor = 0.2
            self._h = min(taken * min(max(factor, 0.2), 5.0), self._longest)
            if ratio <= 1.0 or taken < 1e-9 * self._longest:
                self.x, self._slope = after, slope
                return
