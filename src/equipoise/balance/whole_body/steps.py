"""Recovery steps: where and when the next foot comes down, from the measured DCM.

The pendulum's divergent component ξ = c + ċ / ω runs away from the ZMP p,

    ξ(t + T) = p + (ξ - p) e^(ωT).

A plan wants it at u + b when a foot comes down at u. What of the error the ZMP cannot
take back until then, at the edge of the sole, is the error at touch-down; the foothold
is moved by just that, within reach, and the step made shorter or longer in time where
that helps [Khadiv2016]. What reach does not allow is left to the next step.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass, replace

import numpy as np

from equipoise.arrays import Array
from equipoise.balance.estimator import Estimate
from equipoise.balance.whole_body.feet import Feet, FootState
from equipoise.control.blocks import Reference
from equipoise.control.signals import Target
from equipoise.gait.com_plan import leg_reaches
from equipoise.gait.gait import Gait
from equipoise.gait.parameters import Phase
from equipoise.gait.plan import plan_walk
from equipoise.gait.target_table import TargetTable, target_table
from equipoise.kinematics.leg_freedom import SIDES
from equipoise.kinematics.support import polygon_margin
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.robot.joint_coordinates import degree_of
from equipoise.robot.model import Robot


@dataclass(frozen=True)
class StepGains:
    """Numbers of recovery steps; lengths over the leg's length L, times over √(L / g).

    Attributes:
        dcm: k, as in the controller.
        forward: How far ahead of the stance foot a foot may come down.
        backward: How far behind it.
        outward: How much farther out than in the plan.
        gap: Least gap between the soles.
        speed: Mean speed of a swing foot over √(g L).
        shortest: Least time that is left for a swing that is changed.
        longest: Largest factor of the planned time.
        swing_time: Time of a swing of recovery from standing.
        double: Fraction of double support of steps of recovery.
        clearance: Clearance of their swing feet.
        threshold: Error of the DCM at touch-down from which a step is changed.
        edge: Part of the soles that the DCM may use, standing.
        time_cost: Cost of a step time other than planned, over that of the square of
            an error of the DCM.
        place_cost: The same of a foothold.
    """

    dcm: float = 1.1
    forward: float = 0.6
    backward: float = 0.45
    outward: float = 0.45
    gap: float = 0.02
    speed: float = 1.35
    hip_speed: float = 0.85
    fastest: float = 3.6
    shortest: float = 0.4
    ahead: float = 1.6
    longest: float = 1.3
    swing_time: float = 1.4
    double: float = 0.1
    clearance: float = 0.06
    threshold: float = 0.015
    edge: float = 0.9
    time_cost: float = 2e-3
    place_cost: float = 1e-2
    stretch: float = 0.985
    lower: float = 0.08
    lower_rate: float = 3.0
    crossing: float = 3.0
    freeze: float = 0.3
    hurry: float = 0.05
    double_rate: float = 4.0


class Steps:
    """Changes a plan's steps so that a disturbed robot does not fall.

    Args:
        robot: The robot as it is known.
        period: Time between two ticks [s].
        feet: The feet of the controller.
        plan: The plan of a walk; None for a robot that stands.
        gains: Its numbers.
    """

    def __init__(
        self,
        robot: Robot,
        period: float,
        feet: Feet,
        plan: Reference | None = None,
        gains: StepGains | None = None,
        joint_speed: Array | None = None,
    ) -> None:
        self.robot, self.period, self.feet = robot, period, feet
        self.gains = gains or StepGains()
        gait = getattr(plan, "gait", None)
        self._plan, self._gait = plan, gait
        self.length = feet.length
        self.rate = feet.rate
        polygons = [robot.soles[side].polygon_in_sole for side in SIDES]
        self.low = np.array([p.min(axis=0) for p in polygons])
        self.high = np.array([p.max(axis=0) for p in polygons])
        self.width = float((self.high - self.low)[:, 1].max())
        self.reaches = leg_reaches(robot)
        peak = self.gains.speed * self.length * self.rate
        if joint_speed is not None:
            hips = [joint_speed[degree_of(robot, name)] for side in SIDES for name in robot.legs[side].joints[:3]]
            peak = min(peak, self.gains.hip_speed * float(min(hips)) * self.length)
        self.foot_speed = min(peak, self.gains.fastest) / 1.5
        self.reset()

    def reset(self) -> None:
        """Begin with the plan, nothing changed."""
        self.reference = self._plan
        self.gait: Gait | None = self._gait
        self.recovering = False
        self.offset = 0.0
        self.changing = False
        self.moved = np.zeros((3, 2))
        self.turn = 0.0
        self.origin = np.zeros(2)
        self.step = -1
        self.lowered = self.wanted_lower = self.swung = 0.0
        self.frozen = None
        self.log: list = []

    # -- the plan -------------------------------------------------------------

    def phase(self, time: float) -> Phase:
        phases = self.gait.phases
        starts = [p.start for p in phases[1:]]
        return phases[bisect_right(starts, time)]

    def adjust(self, known: Estimate, target: Target) -> Target:
        """Return what is wanted now, steps changed where that is needed."""
        self.wanted_lower = 0.0
        target = self._adjust(known, target)
        faster = self.gains.lower_rate * (3.0 if self.wanted_lower > self.lowered else 0.3)
        self.lowered += min(faster * self.rate * self.period, 1.0) * (self.wanted_lower - self.lowered)
        if self.lowered > 1e-4 * self.length:
            com = np.array(target.com)
            com[2] -= self.lowered
            target = replace(target, com=com)
        return target

    def _adjust(self, known: Estimate, target: Target) -> Target:
        now = known.time + self.period
        if self.gait is None:
            if not self._lost(known, target):
                return target
            self._begin(known, target, now)
        time = now + self.offset
        phase = self.phase(time)
        if self.gait is not None and not self.recovering and phase.kind in ("hold", "stop") and phase.step > 0:
            if self._lost(known, target):
                self._begin(known, target, now)
                time = now + self.offset
                phase = self.phase(time)
        if phase.kind != "swing":
            if self.changing:
                self.changing = False
            self.moved[:] = 0.0
            if self.recovering:
                time = self._cycle(known, time, phase)
                phase = self.phase(time)
            if (self.recovering or self.offset) and not all(foot.state.carries for foot in self.feet.feet):
                self.offset -= self.period
            elif phase.kind == "double" and self._still_lost(known, time, self.gains.hurry):
                self.offset += (self.gains.double_rate - 1.0) * self.period
            if not self.recovering and self.offset == 0.0:
                return target
            return self._sample(time)
        return self._swing(known, target, time, phase, now)

    def _cycle(self, known: Estimate, time: float, phase: Phase) -> float:
        """Go on stepping in place, or stop."""
        if phase.kind == "double" and phase.step == 3:
            # steady: the step two before is the same
            pair = [p for p in self.gait.phases if p.kind == "swing"]
            back = pair[2].start - pair[0].start
            if self._still_lost(known, time):
                self.offset -= back
                time -= back
        return time

    def _still_lost(self, known: Estimate, time: float, part: float = 0.03) -> bool:
        target = self._sample(time)
        omega = self._omega(target)
        e = self._dcm(known, omega) - target.dcm[:2] - self.feet.shift[:2]
        speed = np.linalg.norm(known.com_velocity[:2])
        return bool(np.linalg.norm(e) > part * self.length)

    def _sample(self, time: float) -> Target:
        target = self.reference.at(time) if isinstance(self.reference, TargetTable) else self.reference.sample(time)
        if self.turn:
            target = turned(target, self.turn)
        return target

    # -- standing -------------------------------------------------------------

    def _lost(self, known: Estimate, target: Target) -> bool:
        """Whether the DCM of a robot that stands has left its soles."""
        omega = self._omega(target)
        ahead = self._dcm(known, omega)
        corners = []
        told, rows = known.told, self.feet._rows
        for foot in range(2):
            sole = told[rows.TOLD_SOLE + foot][:2]
            rot = known.told_rotations[rows.TOLD_SOLES + foot][:2, :2]
            middle = 0.5 * (self.low[foot] + self.high[foot])
            half = 0.5 * self.gains.edge * (self.high[foot] - self.low[foot])
            for sx in (-1, 1):
                for sy in (-1, 1):
                    corners.append(sole + rot @ (middle + half * [sx, sy]))
        from scipy.spatial import ConvexHull
        hull = np.array(corners)
        hull = hull[ConvexHull(hull).vertices]
        return float(np.ravel(polygon_margin(hull, ahead))[0]) < 0.0

    def _begin(self, known: Estimate, target: Target, now: float) -> None:
        """Begin to step from standing, with the foot that helps more."""
        gains, rows = self.gains, self.feet._rows
        soles = [known.told[rows.TOLD_SOLE + f] for f in range(2)]
        headings = [math.atan2(known.told_rotations[rows.TOLD_SOLES + f][1, 0], known.told_rotations[rows.TOLD_SOLES + f][0, 0]) for f in range(2)]
        heading = 0.5 * (headings[0] + headings[1])
        across = np.array([-math.sin(heading), math.cos(heading)])
        width = float((soles[0] - soles[1])[:2] @ across)
        nominal = float((target.soles["left"] - target.soles["right"])[:2, 3] @ across)
        height = float(target.com[2] - 0.5 * (target.soles["left"] + target.soles["right"])[2, 3])
        swing = gains.swing_time / self.rate
        self.swung = 0.0
        best = None
        for first in ("left", "right"):
            key = (first, round(nominal, 3), round(height, 3))
            gait, table = self._template(key, first, abs(nominal), height, swing, target)
            self.gait, self.reference = gait, table
            self.turn = heading
            start = next(p for p in gait.phases if p.kind == "swing")
            probe = self._sample(start.start)
            stance = 1 if first == "left" else 0
            shift = soles[stance] - probe.soles[SIDES[stance]][:3, 3]
            cost, *_ = self._choose(
                known, start, start.start, probe, shift[:2], gains.ahead
            )
            if best is None or cost < best[0]:
                best = cost, gait, table, start, shift, stance
        _, self.gait, self.reference, start, shift, stance = best
        self.offset = start.start - now + self.period
        self.recovering = True
        self.changing = False
        self.step, self.swung = -1, 0.0
        self.feet.shift = np.array(shift)
        self.log.append((now, "begin", SIDES[1 - stance]))

    _made: dict = {}

    def _template(self, key, first, width, height, swing, target):
        key = (id(self.robot), *key)
        if key not in self._made:
            gains = self.gains
            step = swing / (1.0 - gains.double)
            gait = plan_walk(
                self.robot,
                4,
                length=0.0,
                width=width,
                step_time=step,
                double_support=gains.double,
                start_time=step,
                stop_time=2.0 * step,
                clearance=gains.clearance * self.length,
                com_height=height,
                first=first,
            )
            count = round(gait.phases[-1].end / self.period) + 1
            time = self.period * np.arange(count)
            still = np.zeros((count, self.robot.nv - 6))
            table = target_table(gait, time, np.tile(target.position, (count, 1)), still, still)
            self._made[key] = gait, table
        return self._made[key]

    # -- a step ---------------------------------------------------------------

    def _omega(self, target: Target) -> float:
        return math.sqrt(STANDARD_GRAVITY / (target.com[2] - target.zmp[2]))

    def _dcm(self, known: Estimate, omega: float) -> Array:
        return known.com[:2] + known.com_offset + known.com_velocity[:2] / omega

    def _choose(self, known, phase, time, target, shift, ahead=1.0):
        """Return cost, foothold, remaining time and end of the DCM of a step."""
        gains = self.gains
        swing = 1 - SIDES.index(phase.support)
        stance = 1 - swing
        omega = self._omega(target)
        end = self._sample(phase.end)
        nominal = end.soles[SIDES[swing]][:2, 3] + shift
        b = end.dcm[:2] - end.soles[SIDES[swing]][:2, 3]
        zmp = target.zmp[:2] + shift
        rows = self.feet._rows
        sole = known.told[rows.TOLD_SOLE + stance][:2]
        rotation = known.told_rotations[rows.TOLD_SOLES + stance][:2, :2]
        heading = math.atan2(rotation[1, 0], rotation[0, 0])
        c, s = math.cos(heading), math.sin(heading)
        R = np.array([[c, -s], [s, c]])
        # all in the stance foot's axes
        local = lambda x: (x - sole) @ R
        # a push that has just begun will go on
        leads = self._dcm(known, omega) + (ahead - 1.0) * known.com_velocity[:2] / omega
        xi, p, u0 = local(leads), local(zmp), local(nominal)
        b = b @ R
        foot = local(known.told[rows.TOLD_SOLE + swing][:2])
        low, high = self.low[stance], self.high[stance]
        middle, half = 0.5 * (low + high), 0.5 * (high - low) * 0.9
        left = max(phase.end - time, self.period)
        unit = 1.0 / self.rate
        least = max(gains.shortest * unit - self.swung, min(0.25 * unit, left))
        times = np.linspace(least, max(gains.longest * left, least + 0.1 * unit), 24)
        grow = np.exp(omega * times)[:, None]
        ref = p + (u0 + b - p) / grow
        e = xi - ref
        room = np.where(e > 0.0, middle + half - p, p - middle + half)
        room = np.maximum(room, 0.0)
        size = np.abs(e)
        at_end = np.sign(e) * np.maximum(0.0, np.where(size > room, room + (size - room) * grow, 0.0))
        wanted = u0 + at_end
        side = 1.0 if swing == 0 else -1.0
        L = self.length
        lo = np.array([-gains.backward * L, 0.0])
        hi = np.array([gains.forward * L, 0.0])
        inner = self.width + gains.gap * L
        inner = min(inner, side * u0[1])
        outer = side * u0[1] + gains.outward * L
        lo[1], hi[1] = (inner, outer) if side > 0 else (-outer, -inner)
        got = np.clip(wanted, lo, hi)
        # within reach of the leg when the foot comes down
        used = p + np.sign(e) * np.minimum(room, size)
        com = local(known.com[:2] + known.com_offset)
        going = known.com_velocity[:2] @ R / omega
        cosh, sinh = 0.5 * (grow + 1.0 / grow), 0.5 * (grow - 1.0 / grow)
        reach = self.reaches[SIDES[swing]]
        hip = used + (com - used) * cosh + going * sinh + reach.hip_from_com[:2]
        hip = hip - reach.ankle_in_sole[:2]
        tall = target.com[2] + reach.hip_from_com[2] - reach.ankle_in_sole[2] - end.soles[SIDES[swing]][2, 3]
        longest = gains.stretch * reach.longest
        low_hip = tall - gains.lower * L
        radius = math.sqrt(max(longest**2 - low_hip**2, (0.05 * L) ** 2))
        away = got - hip
        far = np.linalg.norm(away, axis=1, keepdims=True)
        got = hip + away * np.minimum(1.0, radius / np.maximum(far, 1e-9))
        got = np.clip(got, lo, hi)
        far = np.minimum(np.linalg.norm(got - hip, axis=1), radius)
        lower = np.clip(tall - np.sqrt(longest**2 - far**2), 0.0, gains.lower * L)
        missed = wanted - got
        inward = side * missed[:, 1] < 0.0
        missed[:, 1] *= np.where(inward, gains.crossing, 1.0)
        miss = (missed ** 2).sum(axis=1)
        far = np.linalg.norm(got - foot, axis=1)
        need = far / self.foot_speed
        late = np.maximum(need - times, 0.0)
        cost = (
            miss
            + gains.place_cost * ((got - u0) ** 2).sum(axis=1)
            + gains.time_cost * ((times - left) * self.rate * L) ** 2
            + (late * self.rate * L) ** 2 * 4.0
        )
        best = int(np.argmin(cost))
        self.wanted_lower = float(lower[best])
        u = sole + R @ got[best]
        final = sole + R @ (got[best] + b)
        err = float(np.linalg.norm(at_end[best]))
        # error if nothing is changed
        k = int(np.argmin(np.abs(times - left)))
        unchanged = float(np.linalg.norm(at_end[k]))
        return float(cost[best]), u, float(times[best]), final, omega, zmp, unchanged, nominal

    def _swing(self, known, target, time, phase, now):
        gains = self.gains
        swing = 1 - SIDES.index(phase.support)
        if phase.step != self.step:
            self.step, self.changing = phase.step, self.recovering
            self.moved[:] = 0.0
            self.frozen = None
            self.swung = 0.0
            if self.recovering or self.offset:
                planned = self._sample(time).soles[SIDES[1 - swing]][:3, 3]
                rows = self.feet._rows
                self.feet.shift = known.told[rows.TOLD_SOLE + 1 - swing] - planned
        foot = self.feet.feet[swing]
        plan = self._sample(time) if (self.recovering or self.offset) else target
        shift = self.feet.shift[:2]
        self.swung += self.period
        cost, u, left, final, omega, zmp, unchanged, nominal = self._choose(
            known, phase, time, plan, shift
        )
        if self.frozen is not None:
            u, final, ends, self.wanted_lower = self.frozen
            left = max(ends - now, self.period)
        elif left < gains.freeze / self.rate and self.changing:
            self.frozen = u, final, now + left, self.wanted_lower
        progress = (time - phase.start) / phase.duration
        if not self.changing:
            if unchanged < gains.threshold * self.length:
                self.wanted_lower = 0.0
                return plan
            self.changing = True
            self.log.append((now, "change", SIDES[swing]))
        # landed?
        if foot.state is FootState.STANCE and progress > 0.4:
            self.offset += phase.end - time
            self.log.append((now, "landed", SIDES[swing]))
            self.moved[:] = 0.0
            return self._sample(phase.end)
        rest = phase.end - time
        landing = False
        if rest <= 2.5 * self.period:
            # no ground yet: wait
            self.offset -= self.period
            landing = True
        rate = min(max(rest / max(left, self.period), 0.5), 4.0)
        if not landing:
            # never past the end of the swing while the foot is in the air
            ahead = min(rate * self.period, rest - 1.2 * self.period)
            self.offset += ahead - self.period
        goal = u - nominal
        self._move(goal, max(left, 2 * self.period))
        plan = self._sample(time)
        changed = self._changed(plan, swing, rate, known, omega, final, left, zmp, shift)
        if landing:
            changed = replace(changed, support="both")
        return changed

    def _move(self, goal: Array, left: float) -> None:
        """Move the foothold's shift towards its goal in the time left."""
        place, speed, _ = self.moved
        rest, dt = max(left, 4.0 * self.period), self.period
        # the cubic to the goal at rest
        rate = 6.0 * (goal - place) / rest**2 - 4.0 * speed / rest
        self.moved[0] = place + dt * speed + 0.5 * dt**2 * rate
        self.moved[1] = speed + dt * rate
        self.moved[2] = rate

    def _changed(self, plan, swing, rate, known, omega, final, left, zmp, shift):
        side = SIDES[swing]
        soles = dict(plan.soles)
        twists, rates = dict(plan.sole_twists), dict(plan.sole_accelerations)
        sole = np.array(soles[side])
        sole[:2, 3] += self.moved[0]
        twist, acc = rate * twists[side], rate**2 * rates[side]
        twist[:2] += self.moved[1]
        acc[:2] += self.moved[2]
        soles[side], twists[side], rates[side] = sole, twist, acc
        # DCM that is at its end when the foot comes down
        wanted = zmp + (final - zmp) * math.exp(-omega * left)
        com = np.array(plan.com)
        velocity, acceleration = np.array(plan.com_velocity), np.array(plan.com_acceleration)
        centre = known.com[:2] + known.com_offset
        com[:2] = centre - shift
        velocity[:2] = omega * (wanted - centre)
        acceleration[:2] = omega**2 * (centre - zmp)
        dcm = np.array(plan.dcm)
        dcm[:2] = wanted - shift
        return replace(
            plan,
            com=com,
            com_velocity=velocity,
            com_acceleration=acceleration,
            dcm=dcm,
            soles=soles,
            sole_twists=twists,
            sole_accelerations=rates,
            velocity=rate * plan.velocity,
        )


def turned(target: Target, angle: float) -> Target:
    """Return a target turned about the world's z [rad]."""
    c, s = math.cos(angle), math.sin(angle)
    turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    whole = np.eye(4)
    whole[:3, :3] = turn

    def twist(x):
        return np.concatenate((turn @ x[:3], turn @ x[3:]))

    return replace(
        target,
        com=turn @ target.com,
        com_velocity=turn @ target.com_velocity,
        com_acceleration=turn @ target.com_acceleration,
        dcm=turn @ target.dcm,
        zmp=turn @ target.zmp,
        soles={k: whole @ v for k, v in target.soles.items()},
        sole_twists={k: twist(v) for k, v in target.sole_twists.items()},
        sole_accelerations={k: twist(v) for k, v in target.sole_accelerations.items()},
        torso=turn @ target.torso,
    )
