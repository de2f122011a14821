"""Whether gains of the balancing controller are stable, and what error they allow.

The controller of [Choi2007] commands a velocity of the CoM,

    u = ċ_d − k_p (p_d − p) + k_c (c_d − c)                              (Eq. 24)

and joints follow it up to a disturbance ε, ċ = u + ε, of size a at most and with a rate
of size b at most. With the linear inverted pendulum, p = c − c̈ / ω², the errors
e_c = c_d − c and e_p = p_d − p obey

    ė_c = k_p e_p − k_c e_c − ε                                          (Eq. 28)
    k_p ė_p = (ω² − k_c²) e_c − (ω² − k_p k_c) e_p + ε̇ − k_c ε           (Eq. 29)

whose matrix has trace −ω²/k_p and determinant ω² (k_c/k_p − 1): it is stable exactly
for k_c > k_p > 0. Where CoM and ZMP are measured through a delay τ and a lag of time
constant T, the characteristic equation is

    s (1 + T s) + e^(−τ s) (k_c − k_p + k_p s² / ω²) = 0:

the ZMP feeds an acceleration back, so that any delay is unstable unless T > k_p / ω²,
and then up to the delay that :attr:`Certificate.delay_margin` gives.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.linalg import expm
from scipy.optimize import linprog, minimize

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError

# Time constants of the slowest error mode that are looked back, samples of a response
# in that time, and least samples in a delay.
LOOK_BACK = 12.0
SAMPLES = 20_000
IN_DELAY = 12
# Intervals of the disturbances that are compared; they are longer long ago.
INTERVALS = 300
LONGER = 2.5
# Gains that are proposed beside unstable ones keep this distance from the boundary.
INSIDE = 0.9
# Gains that are tried: k_c from a fraction of ω to a multiple of it, k_p of k_c.
DESIGN_COM = 0.3, 5.0, 14
DESIGN_ZMP = 0.03, 0.9, 10


@dataclass(frozen=True)
class Bound:
    """Largest errors under a bounded disturbance, from rest.

    Attributes:
        com: Of the CoM [m].
        zmp: Of the ZMP [m].
    """

    com: float
    zmp: float


@dataclass(frozen=True)
class Condition:
    """A condition on gains.

    Attributes:
        name: Where it comes from.
        text: The condition.
        holds: Whether the gains meet it.
    """

    name: str
    text: str
    holds: bool


@dataclass(frozen=True)
class Gains:
    """Gains of the balancing controller, and what they meet.

    Attributes:
        zmp_gain: k_p [1/s].
        com_gain: k_c [1/s].
        omega: Natural frequency of the pendulum, √(g/z) [1/s].
        delay: Delay of measurements τ [s].
        lag: Time constant of their low-pass filter T [s].
    """

    zmp_gain: float
    com_gain: float
    omega: float
    delay: float = 0.0
    lag: float = 0.0

    def __post_init__(self) -> None:
        """Refuse numbers that mean nothing."""
        for name in ("zmp_gain", "com_gain", "omega", "delay", "lag"):
            value = getattr(self, name)
            if not math.isfinite(value) or (
                value <= 0.0 if name == "omega" else name in TIMES and value < 0.0
            ):
                raise EquipoiseError(f"{name} is {value:g}; that is not possible")

    @property
    def zmp_lag(self) -> float:
        """k_p / ω², the lag that a delay needs at least [s]."""
        return self.zmp_gain / self.omega**2

    @property
    def delay_margin(self) -> float:
        """Delay at which the errors begin to grow [s]; 0 if any does, never below."""
        k_p, k_c, lag = self.zmp_gain, self.com_gain, self.lag
        if not k_c > k_p > 0.0 or lag <= self.zmp_lag:
            return 0.0
        # |s (1 + T s)| = |k_c − k_p + k_p s²/ω²| at s = jw: one crossing of the axis
        rest, part = k_c - k_p, self.zmp_lag
        square = np.roots([lag**2 - part**2, 1.0 + 2.0 * rest * part, -(rest**2)])
        w = math.sqrt(float(square.real.max()))
        side = math.copysign(1.0, rest - part * w**2)
        turn = math.atan2(side * w, side * lag * w**2) % (2.0 * math.pi)
        return turn / w

    @property
    def stable(self) -> bool:
        """Whether the errors die out without disturbance."""
        if not self.com_gain > self.zmp_gain > 0.0:
            return False
        return self.delay == 0.0 or self.delay < self.delay_margin

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """Conditions on the gains: the paper's, and the exact ones."""
        k_p, k_c, w = self.zmp_gain, self.com_gain, self.omega
        found = [
            Condition("exact", "k_c > k_p > 0", k_c > k_p > 0.0),
            Condition(
                "Eq. 25 and Remark 2, as printed",
                f"k_c > ω = {w:.3g}/s and 0 < k_p < ω",
                k_c > w and 0.0 < k_p < w,
            ),
            Condition(
                "Eq. 25, as its proof needs it",
                "k_c > ω and 0 < k_p < ω²/k_c",
                k_c > w and 0.0 < k_p * k_c < w**2,
            ),
        ]
        if self.delay > 0.0:
            found.append(
                Condition(
                    "exact, with delay and lag",
                    f"lag > k_p/ω² = {1e3 * self.zmp_lag:.3g} ms and delay < "
                    f"{1e3 * self.delay_margin:.3g} ms",
                    self.stable,
                )
            )
        return tuple(found)


TIMES = ("delay", "lag")


@dataclass(frozen=True)
class Certificate:
    """What gains guarantee.

    Attributes:
        gains: The gains.
        disturbance: Largest velocity error of the CoM, a [m/s].
        disturbance_rate: Largest rate of it, b [m/s²].
        bound: Largest errors that any such disturbance causes; None if unstable.
        reached: Errors that one of them does cause: how tight the bound is.
        paper_bound: What follows from Eq. 30–31, with the best constants α, β, γ; None
            where their conditions do not hold.
    """

    gains: Gains
    disturbance: float
    disturbance_rate: float
    bound: Bound | None
    reached: Bound | None
    paper_bound: Bound | None


def certify(
    gains: Gains, disturbance: float = 0.01, disturbance_rate: float = 0.1
) -> Certificate:
    """Return what gains guarantee under a disturbance.

    Args:
        gains: The gains.
        disturbance: Largest velocity error of the CoM, a [m/s].
        disturbance_rate: Largest rate of it, b [m/s²].

    Raises:
        EquipoiseError: If a bound of the disturbance is negative or not finite.
    """
    for name, value in (("disturbance", disturbance), ("its rate", disturbance_rate)):
        if not (math.isfinite(value) and value >= 0.0):
            raise EquipoiseError(f"{name} is {value:g}; it must be 0 or more")
    if not gains.stable:
        return Certificate(gains, disturbance, disturbance_rate, None, None, None)
    com, zmp = _step_responses(gains)
    most_com, some_com = _largest(com, disturbance, disturbance_rate)
    most_zmp, some_zmp = _largest(zmp, disturbance, disturbance_rate)
    return Certificate(
        gains,
        disturbance,
        disturbance_rate,
        Bound(most_com, most_zmp),
        Bound(some_com, some_zmp),
        _paper_bound(gains, disturbance, disturbance_rate),
    )


def design(
    omega: float,
    disturbance: float = 0.01,
    disturbance_rate: float = 0.1,
    *,
    zmp_error: float | None = None,
    delay: float = 0.0,
    lag: float = 0.0,
) -> Certificate:
    """Return gains for a wanted error, and what they guarantee.

    Of gains that keep the ZMP error the ones with the smallest CoM gain are taken: they
    amplify noise least.

    Args:
        omega: Natural frequency of the pendulum, √(g/z) [1/s].
        disturbance: Largest velocity error of the CoM, a [m/s].
        disturbance_rate: Largest rate of it, b [m/s²].
        zmp_error: Largest ZMP error that is wanted [m]; the smallest that can be kept
            unless given.
        delay: Delay of measurements [s].
        lag: Time constant of their low-pass filter [s].

    Raises:
        EquipoiseError: If no gains keep the error: the smallest that can be kept.
    """
    tried, errors = [], []
    for k_c in omega * np.geomspace(*DESIGN_COM):
        for k_p in k_c * np.geomspace(*DESIGN_ZMP):
            gains = Gains(float(k_p), float(k_c), omega, delay, lag)
            if gains.stable:
                _, response = _step_responses(gains)
                tried.append(gains)
                errors.append(_largest(response, disturbance, disturbance_rate)[0])
    if not tried:
        raise EquipoiseError(
            f"no gains are stable with a delay of {delay:g} s and a lag of {lag:g} s: "
            "the lag must be above k_p/ω²"
        )
    if zmp_error is None:
        best = tried[int(np.argmin(errors))]
        return certify(best, disturbance, disturbance_rate)
    if min(errors) > zmp_error:
        raise EquipoiseError(
            f"no gains keep the ZMP within {1e3 * zmp_error:g} mm under this "
            f"disturbance; {1e3 * min(errors):.2f} mm is the least"
        )
    kept = [g for g, e in zip(tried, errors, strict=True) if e <= zmp_error]
    least = min(kept, key=lambda gains: (gains.com_gain, gains.zmp_gain))
    return certify(least, disturbance, disturbance_rate)


def nearest_stable(gains: Gains) -> Gains:
    """Return stable gains near to others; the same if they are stable."""
    if gains.stable:
        return gains
    k_c = gains.com_gain if gains.com_gain > 0.0 else gains.omega
    k_p = min(max(gains.zmp_gain, (1.0 - INSIDE) * k_c), INSIDE * k_c)
    lag = gains.lag
    if gains.delay > 0.0:
        lag = max(lag, k_p / gains.omega**2 / INSIDE)
    found = Gains(k_p, k_c, gains.omega, gains.delay, lag)
    while not found.stable:  # smaller gains bear any delay
        k_p, k_c = INSIDE * k_p, INSIDE * k_c
        found = Gains(k_p, k_c, gains.omega, gains.delay, lag)
    return found


@dataclass(frozen=True, eq=False)
class _Response:
    """An error's response to a disturbance that steps from 0 to 1.

    Attributes:
        step: Time between samples [s].
        values: Shape (n + 1,); the last is what remains.
        impulses: Sum of the absolute impulses in it: what rates cause at once.
        first: The first of them.
    """

    step: float
    values: Array
    impulses: float = 0.0
    first: float = 0.0


def _step_responses(gains: Gains) -> tuple[_Response, _Response]:
    """Return the responses of CoM and ZMP error."""
    k_p, k_c, w = gains.zmp_gain, gains.com_gain, gains.omega
    poles = np.roots([gains.lag + gains.zmp_lag, 1.0, k_c - k_p])
    horizon = LOOK_BACK / float(np.abs(poles.real).min())
    count = SAMPLES
    if gains.lag == 0.0:
        matrix = np.array(
            [[-k_c, k_p], [(w**2 - k_c**2) / k_p, -(w**2 - k_p * k_c) / k_p]]
        )
        push, start = np.array([-1.0, -k_c / k_p]), np.array([0.0, 1.0 / k_p])
        step = horizon / count
        values = _linear_response(matrix, push, start, step, count)
        return _Response(step, values[:, 0]), _Response(step, values[:, 1])
    if gains.delay == 0.0:
        # states e_c and y, the filtered k_p e_p − k_c e_c
        both = gains.lag + gains.zmp_lag
        matrix = np.array([[0.0, 1.0], [(k_p - k_c) / both, -1.0 / both]])
        push, start = np.array([-1.0, 0.0]), np.array([0.0, gains.zmp_lag / both])
        step = horizon / count
        values = _linear_response(matrix, push, start, step, count)
        zmp = values[:, 0] - (values @ matrix[1]) / w**2
        at_once = gains.lag / both / w**2
        return _Response(step, values[:, 0]), _Response(step, zmp, at_once, at_once)
    return _delayed_responses(gains, 2.0 * horizon)


def _linear_response(
    matrix: Array, push: Array, start: Array, step: float, count: int
) -> Array:
    """Return x with ẋ = A x + push at equal times, shape (count + 1, n)."""
    n = len(start)
    whole = np.zeros((n + 1, n + 1))
    whole[:n, :n], whole[:n, n] = matrix, push
    # a block of states, then all of them a block later, and so on
    block = math.isqrt(count) + 1
    forward, over = expm(step * whole).T, expm(step * block * whole).T
    rows = np.empty((block, block, n + 1))
    rows[0, 0] = np.append(start, 1.0)
    for k in range(1, block):
        rows[0, k] = rows[0, k - 1] @ forward
    for k in range(1, block):
        rows[k] = rows[k - 1] @ over
    return rows.reshape(-1, n + 1)[: count + 1, :n]


def _delayed_responses(gains: Gains, horizon: float) -> tuple[_Response, _Response]:
    """Return the responses with a delay, step by step.

    The filtered feedback y jumps at each multiple of the delay, by −k_p/(ω² T) of the
    jump before; its derivative is fed back without these jumps.
    """
    k_p, k_c, w, lag = gains.zmp_gain, gains.com_gain, gains.omega, gains.lag
    part = gains.zmp_lag
    behind = max(IN_DELAY, math.ceil(gains.delay * SAMPLES / horizon))
    step = gains.delay / behind
    count = math.ceil(horizon / step)
    keep = math.exp(-step / lag)
    com, filtered, fed = (np.zeros(count + 1) for _ in range(3))
    rate = np.zeros(count + 1)
    jump = part / lag
    for k in range(count):
        old, new = (fed[max(0, k - behind)], fed[max(0, k + 1 - behind)])
        if k < behind:
            old = 0.0
        if k + 1 < behind:
            new = 0.0
        filtered[k + 1] = keep * filtered[k] + (1.0 - keep) * 0.5 * (old + new)
        com[k + 1] = com[k] + step * (0.5 * (filtered[k] + filtered[k + 1]) - 1.0)
        if (k + 1) % behind == 0:
            filtered[k + 1] += jump
            jump *= -part / lag
        rate[k + 1] = (new - filtered[k + 1]) / lag
        fed[k + 1] = (k_p - k_c) * com[k + 1] - part * rate[k + 1]
    at_once = (1.0 + part / lag / (1.0 - part / lag)) / w**2
    zmp = com - rate / w**2
    return _Response(step, com), _Response(step, zmp, at_once, 1.0 / w**2)


def _largest(response: _Response, most: float, rate: float) -> tuple[float, float]:
    """Return the largest error of all disturbances, and what one of them reaches.

    The error is ∫ r(t − s) ε̇(s) ds with the step response r. Over disturbances that are
    linear in intervals this is a linear programme; what others can do more is at most
    their rate times how much r varies within intervals.
    """
    count = len(response.values) - 1
    spread = count * np.linspace(0.0, 1.0, INTERVALS + 1) ** LONGER
    nodes = np.unique(np.round(spread).astype(np.int64))
    lengths = response.step * np.diff(nodes)
    middles = 0.5 * (response.values[1:] + response.values[:-1])
    weights = response.step * np.add.reduceat(middles, nodes[:-1]) / lengths
    varies = np.abs(middles - np.repeat(weights, np.diff(nodes))).sum()
    # objective over the nodes of ε, now first, what remains of the oldest included
    objective = np.zeros(len(nodes))
    objective[:-1] += weights
    objective[1:] -= weights
    objective[-1] += response.values[-1]
    differences = sparse.diags_array(
        [-np.ones(len(lengths)), np.ones(len(lengths))],
        offsets=[0, 1],
        shape=(len(lengths), len(nodes)),
    )
    solved = linprog(
        -objective,
        A_ub=sparse.vstack([differences, -differences]).tocsc(),
        b_ub=np.tile(rate * lengths, 2),
        bounds=(-most, most),
        method="highs",
    )
    linear = -float(solved.fun) if most > 0.0 else 0.0
    more = rate * (response.step * float(varies) + response.impulses)
    return linear + more, linear + rate * response.first


def _paper_bound(gains: Gains, most: float, rate: float) -> Bound | None:
    """Return what the Lyapunov function of Eq. 30 and Eq. 31 guarantee.

    V̇ ≤ −λ V + D keeps V below D/λ; of the constants α, β, γ the best are taken.
    """
    k_p, k_c, w = gains.zmp_gain, gains.com_gain, gains.omega
    slack, stiff = w**2 - k_p * k_c, k_c**2 - w**2
    if gains.delay > 0.0 or gains.lag > 0.0 or slack <= 0.0 or stiff <= 0.0:
        return None

    def level(choice: Array) -> float:
        first, *rest = 1.0 / (1.0 + np.exp(-np.asarray(choice)))
        alpha2 = k_c * first
        beta2 = slack * rest[0] * rest[1]
        gamma2 = slack * rest[0] * (1.0 - rest[1]) / k_c
        decay = 2.0 * min(k_c - alpha2, slack * (1.0 - rest[0]) / k_p)
        driven = (stiff / alpha2 + k_p * k_c / gamma2) * most**2 / 4.0
        driven += k_p / (4.0 * beta2) * rate**2
        return float(np.log(max(driven, 1e-300) / decay))

    starts = ((0.0, 0.0, 0.0), (1.0, 0.0, -2.0), (-1.0, 1.0, 2.0))
    tried = [minimize(level, start, method="Nelder-Mead") for start in starts]
    energy = math.exp(min(float(t.fun) for t in tried))
    return Bound(math.sqrt(2.0 * energy / stiff), math.sqrt(2.0 * energy) / k_p)
