"""Where and when a swing foot comes down, from the measured DCM.

The divergent component ξ = c + ċ / ω of a pendulum runs away from the ZMP p,

    ξ(t + T) = p + (ξ - p) e^(ωT).

A plan wants it at u + b when a foot comes down at u, so that it should be at
p + (u + b - p) e^(-ωT) now. Of the error e the ZMP takes back what it can, at most as
far as the edge of the sole, a distance d: at touch-down

    d + (e - d) e^(ωT)

is left, or nothing. The foothold is moved by just that, within reach, and the step made
shorter or longer where that helps, as in [Khadiv2016]; what reach does not allow is
left to the next step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from equipoise.arrays import Array
from equipoise.balance.whole_body.swing_path import least_times

# Step times that are compared.
TIMES = 24
# Parts of the way ahead or back to where the DCM wants the foot that are compared:
# after a push to the side, a foot that goes only to the side is down earlier.
PARTS_AHEAD = (1.0, 0.5, 0.0)
# The shortest time in which a foothold is still changed, over √(L / g).
LAST_TIME = 0.25
# Cost of a foot that would have to be faster than it can, over that of an error.
LATE_COST = 4.0


@dataclass(frozen=True)
class StepGains:
    """Numbers of recovery steps; none depends on the robot.

    Lengths are over the leg's length L, times over √(L / g), speeds over √(g L).

    Attributes:
        forward: How far ahead of the stance foot a foot may come down.
        backward: How far behind it.
        outward: How far to the side of it.
        gap: Least gap between the soles, side by side.
        stretch: How far a leg may be stretched, as a part of its longest.
        lower: How much lower the CoM may be for a long step.
        lower_rate: Rate at which it is lowered for one.
        speed: Largest speed of a swing foot.
        fastest_foot: The same in m/s, for legs that are long.
        hip_speed: Part of the hips' speed limits that a swing foot may use.
        hip_torque: Part of the hips' torque limits that stops one at its foothold.
        acceleration: Largest acceleration of a swing foot, over g; less where hips
            give less.
        shortest: Shortest swing, unless it is cut short while its foot rises.
        rising: In this first part of a swing it may be.
        longest: Longest swing, over the planned one.
        sole: Part of the sole that the ZMP is expected to use.
        next_sole: Part of what the next sole can take back of an error that may be left
            at touch-down; beyond it a step is changed.
        sure: For how long that must be so.
        astray: How far from its plan a foot may begin its swing.
        frozen: A foothold is not changed any more in this last part of a swing.
        lowering: Speed at which a foot that is late is lowered.
        hurry: Error of the DCM from which double support is cut short.
        double_rate: How many times as fast it passes then.
        settled: Error of the DCM below which a robot that was pushed stops stepping.
        edge: Part of the soles in which the DCM of a robot that stands may be.
        push_goes_on: Velocity of the CoM with which the first foot is chosen, over the
            measured one: a push that makes a robot step is not yet over.
        swing_time: Swing of a robot that steps in place.
        double_support: Its double support, as a fraction of a step.
        clearance: Its clearance.
        time_cost: Cost of a swing time other than planned, over that of an error of
            the DCM.
        place_cost: The same of a foothold other than planned.
        crossing: How much an error that would need crossed legs counts, over others:
            the next foot begins farther away from it.
    """

    forward: float = 0.6
    backward: float = 0.45
    outward: float = 0.78
    gap: float = 0.02
    stretch: float = 0.985
    lower: float = 0.08
    lower_rate: float = 9.0
    speed: float = 1.35
    fastest_foot: float = 3.6
    hip_speed: float = 0.85
    hip_torque: float = 0.6
    acceleration: float = 8.0
    shortest: float = 0.4
    rising: float = 0.5
    longest: float = 1.3
    sole: float = 0.9
    next_sole: float = 0.5
    sure: float = 0.03
    astray: float = 0.02
    frozen: float = 0.3
    lowering: float = 0.2
    hurry: float = 0.05
    double_rate: float = 30.0
    settled: float = 0.03
    edge: float = 0.9
    push_goes_on: float = 1.6
    swing_time: float = 1.4
    double_support: float = 0.1
    clearance: float = 0.06
    time_cost: float = 2e-3
    place_cost: float = 1e-2
    crossing: float = 3.0


class Step(NamedTuple):
    """A step as it goes on; points are in axes of the stance sole, from its origin [m].

    Attributes:
        side: 1 if the left foot swings, -1 if the right.
        omega: ω of the pendulum [1/s].
        com: Centre of mass, shape (2,).
        com_velocity: [m/s], shape (2,).
        zmp: Planned ZMP, shape (2,).
        foot: The swing foot, shape (2,).
        foot_velocity: Its velocity [m/s], shape (2,).
        planned: Its planned foothold u, shape (2,).
        dcm_from_foothold: b, where the DCM should be from there, shape (2,).
        time_left: Planned time until touch-down [s].
        swung: How long it has been swinging [s].
        sole_middle: Middle of the stance sole, shape (2,).
        sole_half: Half its size, shape (2,).
        hip_from_com: Of the swing leg, less the ankle's place in its sole, shape (2,).
        hip_height: Planned height of its hip above its ankle at touch-down [m].
        leg: Longest distance from its hip to its ankle [m].
    """

    side: float
    omega: float
    com: Array
    com_velocity: Array
    zmp: Array
    foot: Array
    foot_velocity: Array
    planned: Array
    dcm_from_foothold: Array
    time_left: float
    swung: float
    sole_middle: Array
    sole_half: Array
    hip_from_com: Array
    hip_height: float
    leg: float


class Foothold(NamedTuple):
    """Where and when a foot is to come down.

    Attributes:
        place: In axes of the stance sole [m], shape (2,).
        time: Time until then [s].
        lower: How much lower the CoM must be for it [m].
        cost: What is left of the error of the DCM, squared, and what changes cost.
        crosses: Whether what is left would need crossed legs.
    """

    place: Array
    time: float
    lower: float
    cost: float
    crosses: bool


def choose_foothold(
    step: Step, gains: StepGains, length: float, rate: float, foot_speed: float
) -> Foothold:
    """Return the best foothold of those at several times, and short of them.

    Args:
        step: The step.
        gains: What is allowed, and what it costs.
        length: Leg length L [m].
        rate: √(g / L) [1/s].
        foot_speed: Largest speed of a swing foot [m/s].
    """
    left = step.time_left
    least = max(gains.shortest / rate - step.swung, min(LAST_TIME / rate, left))
    longest = max(gains.longest * left, least + 0.1 / rate)
    times = np.repeat(np.linspace(least, longest, TIMES), len(PARTS_AHEAD))
    grow = np.exp(step.omega * times)[:, None]
    zmp, planned = step.zmp, step.planned
    going = step.com_velocity / step.omega
    wanted_now = zmp + (planned + step.dcm_from_foothold - zmp) / grow
    error = step.com + going - wanted_now
    size, towards = np.abs(error), np.sign(error)
    half = gains.sole * step.sole_half
    edge = np.where(error > 0.0, step.sole_middle + half - zmp, zmp - step.sole_middle)
    edge = np.maximum(np.where(error > 0.0, edge, edge + half), 0.0)
    at_end = towards * np.maximum(edge + (size - edge) * grow, 0.0)
    wanted = planned + at_end
    low, high = _box(step, gains, length)
    used = zmp + towards * np.minimum(edge, size)
    aim = np.clip(wanted, low, high)
    coasts = step.foot[0] + step.foot_velocity[0] * times / 3.0
    aim[:, 0] = coasts + np.tile(PARTS_AHEAD, TIMES) * (aim[:, 0] - coasts)
    place, lower = _within_reach(step, gains, length, grow, used, aim, low, high)
    missed = wanted - place
    crossing = step.side * missed[:, 1] < 0.0
    missed[:, 1] *= np.where(crossing, gains.crossing, 1.0)
    late = (
        least_times(
            place - step.foot,
            step.foot_velocity,
            times,
            foot_speed,
            gains.acceleration * rate**2 * length,
        )
        - times
    )
    speed = rate * length
    cost = (
        (missed**2).sum(axis=1)
        + gains.place_cost * ((place - planned) ** 2).sum(axis=1)
        + gains.time_cost * ((times - left) * speed) ** 2
        + LATE_COST * (np.maximum(late, 0.0) * speed) ** 2
    )
    best = int(np.argmin(cost))
    return Foothold(
        place[best],
        float(times[best]),
        float(lower[best]),
        float(cost[best]),
        bool(crossing[best]),
    )


def _box(step: Step, gains: StepGains, length: float) -> tuple[Array, Array]:
    """Return where feet may come down: neither too far nor on the other foot."""
    outward = step.side * step.planned[1]
    inner = min(2.0 * step.sole_half[1] + gains.gap * length, outward)
    outer = max(gains.outward * length, outward)
    sides = sorted((step.side * inner, step.side * outer))
    low = np.array([-gains.backward * length, sides[0]])
    high = np.array([gains.forward * length, sides[1]])
    return low, high


def _within_reach(
    step: Step,
    gains: StepGains,
    length: float,
    grow: Array,
    zmp: Array,
    wanted: Array,
    low: Array,
    high: Array,
) -> tuple[Array, Array]:
    """Return footholds that the leg reaches, and how much lower the CoM must be.

    The hip is where the pendulum takes it, c(T) = p + (c - p) cosh ωT + ċ/ω sinh ωT.
    """
    cosh, sinh = 0.5 * (grow + 1.0 / grow), 0.5 * (grow - 1.0 / grow)
    going = step.com_velocity / step.omega
    hip = zmp + (step.com - zmp) * cosh + going * sinh + step.hip_from_com
    longest = gains.stretch * step.leg
    lowest = step.hip_height - gains.lower * length
    radius = math.sqrt(max(longest**2 - lowest**2, (0.05 * length) ** 2))
    away = np.clip(wanted, low, high) - hip
    far = np.linalg.norm(away, axis=1, keepdims=True)
    place = hip + away * np.minimum(1.0, radius / np.maximum(far, 1e-9))
    place = np.clip(place, low, high)
    span = np.minimum(np.linalg.norm(place - hip, axis=1), radius)
    needed = step.hip_height - np.sqrt(longest**2 - span**2)
    return place, np.clip(needed, 0.0, gains.lower * length)
