r"""Walking gaits of the three-link biped, found by optimisation.

A gait is a pair of Bézier curves over the stance leg's angle whose hybrid zero dynamics
have a stable periodic orbit. The constraints are made invariant under impact: at
touchdown both feet are on the ground, θ₂ = −θ₁, so that the curves end and begin at
known angles, and the slopes with which they begin follow from those with which they end
by the impact map. What is left is free, and is chosen so that the periodic orbit walks
at the given speed with the least ∫ ‖u‖² dt for a metre, within ``GaitLimits``.

All of it is evaluated on the orbit of the zero dynamics; no differential equation is
solved.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize

from equipoise.arrays import Array
from equipoise.planar.gait import PlanarGait
from equipoise.planar.impact import impact, impact_matrix
from equipoise.planar.parameters import PlanarModelError, ThreeLinkParameters
from equipoise.planar.three_link import ThreeLink
from equipoise.planar.touchdown import FootTouchdown
from equipoise.planar.virtual_constraints import PD, VirtualConstraints, bezier
from equipoise.planar.zero_dynamics import ZeroDynamics

# Time scale ε of the outputs of a gait that was found, in periods √(r/g) of the leg.
OUTPUT_PERIODS = 0.15
# The smallest change of speed that is tried on the way to one, in units of √(g r).
SMALLEST_STRIDE = 0.015
# Of lacking margins while a gait is searched, beside the logarithm of its cost.
PRICES = (30.0, 1000.0)
# What margins may lack between the nodes at which they are kept.
SLACK = 5e-3


@dataclass(frozen=True)
class GaitLimits:
    """What a gait must keep to.

    Attributes:
        friction: Coefficient of friction of the ground, in the swing phase and at
            impact.
        least_force: Smallest vertical force of the ground, as a fraction of the weight.
        torque: Largest torque of each actuator [Nm].
        eigenvalue: Largest eigenvalue δ_zero² of the restricted Poincaré map.
        reserve: Fraction of ζ* by which the biped gets over the top. A reserve of
            0.2 δ_zero² survives rates that are a tenth too small.
        torso_angle: Largest lean of the torso [rad].
        leg_angle: Largest angle of the swing leg [rad].
        scuffing: How deep the swing foot may pass below the ground, in leg lengths.
        landing: Least rate at which the swing foot comes down, in r sin θ₁ θ̇₁.
    """

    friction: float = 0.6
    least_force: float = 0.2
    torque: float = math.inf
    eigenvalue: float = 0.75
    reserve: float = 0.15
    torso_angle: float = math.pi / 3
    leg_angle: float = math.pi / 3
    scuffing: float = 0.002
    landing: float = 0.1

    def __post_init__(self) -> None:
        for name in ("friction", "torque", "torso_angle", "leg_angle"):
            value = getattr(self, name)
            if not value > 0.0:
                words = name.replace("_", " ")
                raise PlanarModelError(
                    f"the limit of {words} is positive, not {value:g}"
                )
        if not 0.0 < self.eigenvalue < 1.0:
            raise PlanarModelError(
                "the limit of the eigenvalue lies between 0 and 1, not at "
                f"{self.eigenvalue:g}"
            )


def find_gait(
    parameters: ThreeLinkParameters,
    speed: float,
    limits: GaitLimits | None = None,
    *,
    degree: int = 6,
) -> PlanarGait:
    """Find the gait of a speed with the least torques.

    Args:
        parameters: The biped.
        speed: Mean walking speed [m/s].
        limits: What the gait must keep to.
        degree: Of the Bézier curves, at least 4.

    Raises:
        PlanarModelError: If there is none; it says which speed was reached.
    """
    return find_gaits(parameters, [speed], limits, degree=degree)[0]


def find_gaits(
    parameters: ThreeLinkParameters,
    speeds: Iterable[float],
    limits: GaitLimits | None = None,
    *,
    degree: int = 6,
) -> list[PlanarGait]:
    """Find the gaits of several speeds, each from its neighbour's.

    Args:
        parameters: The biped.
        speeds: Mean walking speeds [m/s].
        limits: What the gaits must keep to.
        degree: Of the Bézier curves, at least 4.

    Raises:
        PlanarModelError: If one of them has no gait; it says which speed was reached.
    """
    wanted = [float(speed) for speed in speeds]
    for speed in wanted:
        if not (math.isfinite(speed) and speed > 0.0):
            raise PlanarModelError(f"a walking speed is positive, not {speed} m/s")
    if degree < 4:
        raise PlanarModelError(f"the degree of the curves is at least 4, not {degree}")
    search = _Search(ThreeLink(parameters), limits or GaitLimits(), degree)
    found: dict[float, PlanarGait] = {}
    # Both ways from a speed that is natural for the leg, each from its neighbour's.
    natural = 0.25 * search.unit_speed
    upwards = sorted(speed for speed in wanted if speed >= natural)
    downwards = sorted((speed for speed in wanted if speed < natural), reverse=True)
    for way in (upwards, downwards):
        if way:
            free, reached = search.first(way[0])
        for speed in way:
            free, reached = search.march(free, reached, speed), speed
            found[speed] = search.gait(free)
    return [found[speed] for speed in wanted]


class _Evaluation(NamedTuple):
    """A candidate: what is minimised, what must be zero, and what not negative."""

    cost: float
    speed: float
    margins: Array


@dataclass(frozen=True, eq=False)
class _Search:
    """The optimisation over free parameters: θ₁⁻, θ₃⁻, and inner control points."""

    model: ThreeLink
    limits: GaitLimits
    degree: int

    @property
    def unit_speed(self) -> float:
        """√(g r), which speeds are compared with [m/s]."""
        p = self.model.parameters
        return math.sqrt(p.gravity * p.leg_length)

    def constraints(self, free: Array) -> VirtualConstraints:
        """Return the constraints, invariant under impact, of free parameters."""
        n, (end, lean) = self.degree, free[:2]
        swing, torso = np.empty(n + 1), np.empty(n + 1)
        swing[[0, -1]], torso[[0, -1]] = (end, -end), lean
        swing[2:-1], torso[2:-1] = free[2:].reshape(2, -1)
        # A curve's slope at an end is that of the control polygon, whose points are so
        # far apart in θ₁.
        apart = 2.0 * end / n
        slopes = [(curve[-1] - curve[-2]) / apart for curve in (swing, torso)]
        rates = impact_matrix(self.model, [end, -end, lean]) @ [1.0, *slopes]
        swing[1] = swing[0] + apart * rates[1] / rates[0]
        torso[1] = torso[0] + apart * rates[2] / rates[0]
        return VirtualConstraints(bezier(swing, -end, end), bezier(torso, -end, end))

    def evaluate(self, free: Array, nodes: int = 48) -> _Evaluation:
        """Return cost, speed and margins of a candidate, whether or not it walks."""
        limits, p = self.limits, self.model.parameters
        weight = p.total_mass * p.gravity
        zero = ZeroDynamics(self.model, self.constraints(free), float(free[0]), nodes)
        unit = (p.total_mass * p.leg_length * self.unit_speed) ** 2 / 2.0
        # A candidate need not walk: then ζ* is not positive, and the reserve says so.
        zeta = -zero.step_potential / (1.0 - zero.slope)
        least = 1e-6 * unit
        motion = zero.motion(zeta, least)
        reserve = (zero.slope * zeta - zero.highest_potential) / max(zeta, least)
        rate = math.sqrt(2.0 * max(zeta, least)) / zero.inertia(np.array(zero.end))
        landing = impact(self.model, zero.constraints.state(zero.end, rate))
        theta, force = motion.state[:, :3], motion.force / weight
        # The foot is lowest in a short moment, which the nodes may miss.
        places = zero.constraints.configuration(np.linspace(zero.start, zero.end, 81))
        clearance = self.model.swing_foot(places)[:, 1] / p.leg_length
        inertia = zero.inertia(motion.phase) / (p.total_mass * p.leg_length**2)
        impulse = landing.impulse / (p.total_mass * self.unit_speed)
        # Where the inertia is negative the margins say so; time still passes.
        weights, length = np.abs(motion.time_weights), zero.step_length
        squares = np.sum(motion.torques**2, axis=-1) @ weights
        margins: list[ArrayLike] = [
            [limits.eigenvalue - zero.slope, reserve - limits.reserve],
            limits.friction * force[:, 1] - np.abs(force[:, 0]),
            force[:, 1] - limits.least_force,
            [limits.friction * impulse[1] - abs(impulse[0])],
            [landing.lift_off[1] / self.unit_speed],
            limits.torso_angle - np.abs(theta[:, 2]),
            limits.leg_angle - np.abs(theta[:, 1]),
            clearance + limits.scuffing,
            [1.0 + zero.constraints.swing.at(zero.end).slope - limits.landing],
            inertia - 0.05,
        ]
        if math.isfinite(limits.torque):
            excess = limits.torque - np.abs(motion.torques).max(axis=-1)
            margins.append(excess / (weight * p.leg_length))
        # Far outside of the limits, too, they are of the order of one.
        lacking = np.concatenate([np.asarray(a, np.float64) for a in margins])
        return _Evaluation(
            cost=float(squares) / length / weight**2 * self.unit_speed / p.leg_length,
            speed=length / float(weights.sum()),
            margins=lacking / (1.0 + np.abs(lacking)),
        )

    def first(self, speed: float) -> tuple[Array, float]:
        """Return a gait of a speed, or else of any speed, and that speed.

        Raises:
            PlanarModelError: If no gait is found at all.
        """
        solved = self.best(self.near(speed), speed)
        if solved is not None:
            return solved, speed
        tried = self.guesses[:4]
        for free, aim in tried:
            solved = self.solve(free, aim)
            if solved is not None:
                return solved, aim
        if not tried:
            raise PlanarModelError(
                f"no gait at {speed:g} m/s: this biped does not walk with any step and "
                "lean that the search begins with"
            )
        others = ", ".join(f"{aim:.2f}" for _, aim in tried)
        raise PlanarModelError(
            f"no gait at {speed:g} m/s within the limits, nor at {others} m/s"
        )

    def near(self, speed: float) -> list[Array]:
        """Return the two guesses whose speeds are nearest to one."""
        nearest = sorted(self.guesses, key=lambda guess: abs(guess[1] - speed))
        return [free for free, _ in nearest[:2]]

    @cached_property
    def guesses(self) -> list[tuple[Array, float]]:
        """Straight curves that walk, with their speeds [m/s]."""
        inner = np.arange(2, self.degree) / self.degree
        widest = self.limits.torso_angle
        found = []
        p = self.model.parameters
        torso_moment = p.torso_mass * p.torso_length / (p.total_mass * p.leg_length)
        for end in (0.25, 0.3, 0.35, 0.2):
            for ahead in (0.03, 0.04, 0.06, 0.07, 0.015):
                # The torso's lean moves the CoM so many leg lengths ahead of the hip.
                lean = min(math.asin(min(ahead / torso_moment, 1.0)), 0.9 * widest)
                swing, torso = end * (1.0 - 2.0 * inner), np.full(len(inner), lean)
                free = np.concatenate([[end, lean], swing, torso])
                zero = self.zero_dynamics(free)
                if zero.exists:
                    found.append((free, zero.speed))
        return found

    def march(self, free: Array, reached: float, speed: float) -> Array:
        """Go from a gait of one speed to that of another, in steps as large as succeed.

        Raises:
            PlanarModelError: If the speed is out of reach, with the nearest reached.
        """
        if reached == speed:
            return free
        solved = self.solve(free, speed)
        if solved is None:
            solved = self.best(self.near(speed), speed)
        stride = (speed - reached) / 2.0
        while solved is None:
            if abs(stride) < SMALLEST_STRIDE * self.unit_speed:
                raise PlanarModelError(
                    f"no gait at {speed:g} m/s within the limits: "
                    f"{reached:.2f} m/s was reached"
                )
            between = self.solve(free, reached + stride)
            if between is None:
                stride /= 2.0
            else:
                free, reached = between, reached + stride
                stride = (speed - reached) / 2.0
                solved = self.solve(free, speed)
        return solved

    def best(self, starts: list[Array], speed: float) -> Array | None:
        """Return the cheapest of the gaits found from several starts, if any."""
        found = [self.solve(free, speed) for free in starts]
        gaits = [free for free in found if free is not None]
        return min(gaits, key=lambda free: self.evaluate(free).cost, default=None)

    def solve(self, free: Array, speed: float) -> Array | None:
        """Return the best free parameters of a speed, or nothing if there are none."""
        known: dict[bytes, _Evaluation] = {}

        def at(point: Array) -> _Evaluation:
            key = point[:-1].tobytes()
            if key not in known:
                known[key] = self.evaluate(point[:-1])
            return known[key]

        # The last variable is what all margins may lack, at a price: so the linear
        # constraints of each iteration can be met. In the end no gait pays it.
        inner = 2 * (self.degree - 2)
        widest = self.limits.torso_angle
        bounds = [(0.05, 0.6), (-widest, widest), *[(-2.0, 2.0)] * inner, (0.0, None)]
        lack = max(0.0, -float(self.evaluate(free).margins.min()))
        point = np.append(free, lack)
        for price in PRICES:
            try:
                with np.errstate(all="ignore"):
                    result = minimize(
                        lambda x, price: math.log(at(x).cost) + price * x[-1],
                        point,
                        args=(price,),
                        method="SLSQP",
                        bounds=bounds,
                        constraints=[
                            {"type": "eq", "fun": lambda x: at(x).speed / speed - 1.0},
                            {"type": "ineq", "fun": lambda x: at(x).margins + x[-1]},
                        ],
                        options={"maxiter": 40, "ftol": 1e-7},
                    )
            except (np.linalg.LinAlgError, ArithmeticError, ValueError):
                return None  # it went where the equations are singular
            if not (result.success and np.isfinite(result.x).all()):
                return None
            point = np.asarray(result.x, dtype=np.float64)
            if not SLACK / 100.0 < point[-1] < 10.0 * SLACK:  # enough, or hopeless
                break
        point = point[:-1]
        # Between the nodes the margins may be a little smaller.
        fine = self.evaluate(point, 151)
        met = fine.margins.min() > -SLACK and abs(fine.speed / speed - 1.0) < SLACK
        return point if met and self.zero_dynamics(point).exists else None

    def zero_dynamics(self, free: Array) -> ZeroDynamics:
        """Return the zero dynamics of free parameters."""
        return ZeroDynamics(self.model, self.constraints(free), float(free[0]))

    def gait(self, free: Array) -> PlanarGait:
        """Return the gait of free parameters."""
        zero = self.zero_dynamics(free)
        p = self.model.parameters
        touchdown = FootTouchdown(0.5 * zero.step_length / p.leg_length)
        law = PD(time_scale=OUTPUT_PERIODS * math.sqrt(p.leg_length / p.gravity))
        return PlanarGait(self.model, zero.constraints, zero.end, touchdown, law)
