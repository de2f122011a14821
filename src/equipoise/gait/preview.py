"""Preview control of the cart on a table: the CoM from a ZMP that is known ahead.

S. Kajita et al., "Biped walking pattern generation by using preview control of
zero-moment point", ICRA 2003. The jerk of the CoM is what is chosen, at equal times;
between them it is constant. It minimises Σ (p − p_ref)² + R u², with the reference
seen over a horizon.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_discrete_are

from equipoise.arrays import Array, frozen_array
from equipoise.gait.lipm import ComTable, LipmMotion

# Time between two choices of the jerk, times ω; 5 ms for a CoM 0.68 m up.
PERIOD = 0.02
# Horizon, times ω: what is later counts less than exp(-12) = 6e-6 of what is now.
HORIZON = 12.0
# Weight of the jerk in (m/s³)², times ω⁶ (so that it has no unit).
JERK_WEIGHT = 1e-6


class PreviewGains(NamedTuple):
    """Feedback and feedforward: u = −K x + Σ f_i p_ref(i steps ahead).

    Attributes:
        state: K, on position, velocity and acceleration, shape (3,).
        reference: f, on the reference 1, 2, … steps ahead [1/s³], shape (horizon,).
    """

    state: Array
    reference: Array


@dataclass(frozen=True, eq=False)
class PreviewMotion:
    """A cart whose jerk is constant between equal times; the CoM is C².

    Attributes:
        omega: Natural frequency ω [1/s].
        height: Height of the CoM above the ZMP at rest, g / ω² [m].
        period: Between two choices of the jerk [s].
        states: Position, velocity and acceleration at the choices, less ``height``,
            shape (m, 3, 3): time, derivative, axis.
        jerk: From each choice on [m/s³], shape (m, 3).
    """

    omega: float
    height: float
    period: float
    states: Array
    jerk: Array

    def at(self, times: Array) -> ComTable:
        """Return the motion at times within it [s], shape (n,)."""
        k = np.clip((times / self.period).astype(np.intp), 0, len(self.jerk) - 1)
        t = (times - k * self.period)[:, None]
        (c, v, a), u = np.moveaxis(self.states[k], 1, 0), self.jerk[k]
        position = c + t * (v + t * (a / 2.0 + t * u / 6.0))
        acceleration = a + t * u
        return ComTable(
            com=position + np.array([0.0, 0.0, self.height]),
            velocity=v + t * (a + t * u / 2.0),
            acceleration=acceleration,
            zmp=position - acceleration / self.omega**2,
        )


def preview_gains(
    omega: float, period: float, jerk_weight: float, horizon: int
) -> PreviewGains:
    """Return the gains of the discrete linear-quadratic preview controller.

    Args:
        omega: Natural frequency of the pendulum ω [1/s].
        period: Between two choices of the jerk [s].
        jerk_weight: R, of the jerk beside the ZMP's error [s⁶].
        horizon: How many periods ahead the reference is seen.
    """
    a, b, c = _cart(omega, period)
    p = solve_discrete_are(a, b, c.T @ c, np.array([[jerk_weight]]))
    scale = jerk_weight + float((b.T @ p @ b)[0, 0])
    feedback = (b.T @ p @ a) / scale
    closed = (a - b @ feedback).T
    reference = np.empty(horizon)
    carried = c.T
    for k in range(horizon):
        reference[k] = float((b.T @ carried)[0, 0]) / scale
        carried = closed @ carried
    return PreviewGains(feedback[0], reference)


def preview_motion(planned: LipmMotion) -> PreviewMotion:
    """Return the cart that follows the ZMP of a pendulum, from rest at its start.

    Args:
        planned: Whose ZMP is the reference; nothing else of it is used.
    """
    omega = planned.omega
    period = PERIOD / omega
    horizon = round(HORIZON / PERIOD)
    gains = preview_gains(omega, period, JERK_WEIGHT / omega**6, horizon)
    duration = float(planned.times[-1])
    count = int(np.ceil(duration / period)) + 1
    ahead = period * np.arange(count + horizon)
    reference = planned.at(np.minimum(ahead, duration)).zmp
    a, b, _ = _cart(omega, period)
    push = np.column_stack(
        [np.convolve(axis, gains.reference[::-1], "valid") for axis in reference.T]
    )[1:]
    states = np.empty((count, 3, 3))
    jerk = np.empty((count, 3))
    state = np.vstack([reference[0], np.zeros((2, 3))])
    for k in range(count):
        states[k], jerk[k] = state, push[k] - gains.state @ state
        state = a @ state + b * jerk[k]
    return PreviewMotion(
        omega, planned.height, period, frozen_array(states), frozen_array(jerk)
    )


def _cart(omega: float, period: float) -> tuple[Array, Array, Array]:
    """Return state matrix, input and ZMP output of the cart, sampled."""
    t = period
    a = np.array([[1.0, t, t**2 / 2.0], [0.0, 1.0, t], [0.0, 0.0, 1.0]])
    b = np.array([[t**3 / 6.0], [t**2 / 2.0], [t]])
    c = np.array([[1.0, 0.0, -1.0 / omega**2]])
    return a, b, c
