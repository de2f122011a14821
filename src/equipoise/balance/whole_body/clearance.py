"""Arms that keep clear of the rest of the robot while it recovers from a push.

A leg that steps out moves under the arm beside it, and arms that swing with an upper
body come to the torso and to each other. The distance s of two solids, along the line
of their nearest points with direction n, changes at

    ṡ = n · (v₂ - v₁) = J v,

and where it would be below s₀ after the time τ, the joints of the arms are asked for

    J_arms a = k (s₀ - s) - d ṡ:

legs and torso go where balance needs them, and arms give way. s₀ is less than the
distance in the standing posture, so that arms that hang are left alone.

Where contacts cannot be kept, arms are thrown about to keep them as well as possible,
whatever tasks ask for. Limits of joints hold even then: joints of an arm have stops as
far away as s / Σ|Jᵢ|, at which they would have used up the distance together, and brake
before these as before their own. While a leg swings, what others take of the distance
in the time τ is not counted.

Arms keep clear for a while longer than a push is recovered from: between two steps that
are changed there may be one that is not yet, and arms are not back at once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.balance.skeleton import BASE_DOF
from equipoise.balance.whole_body.dynamics import Dynamics
from equipoise.balance.whole_body.limits import JointRange
from equipoise.balance.whole_body.swing import degrees_of
from equipoise.balance.whole_body.tasks import Task
from equipoise.robot.collision import collision_geometry
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.robot.model import Robot


@dataclass(frozen=True)
class ClearanceGains:
    """Numbers of arms that keep clear; L is the leg's length.

    Attributes:
        near: Distance at which solids are near, over L.
        standing: s₀ is at most this part of the distance in the standing posture.
        ahead: τ, how far distances are foreseen, times √(g / L).
        rate: Rate at which arms get clear, over √(g / L).
        weight: Weight of the distance [per (m/s²)²].
        unforeseen: Speed at which foreseen distances may shrink, over √(g L): solids
            that are far apart are looked at rarely.
        rarely: Longest time between two looks, times √(g / L).
        pairs: How many pairs of solids count at a time.
        linger: For how long arms keep clear after a push, times √(g / L).
    """

    near: float = 0.05
    standing: float = 0.8
    ahead: float = 0.3
    rate: float = 8.0
    weight: float = 30.0
    unforeseen: float = 1.0
    rarely: float = 0.3
    pairs: int = 6
    linger: float = 4.0


class ArmClearance(Task):
    """Keeps arms clear of the torso, the legs and each other.

    Its rows are always as many; those of pairs that do not count are zero.

    Args:
        robot: The robot.
        length: The leg's length [m].
        period: Time between two ticks [s].
        gains: Its numbers.

    Attributes:
        possible: Whether there are arms with shapes that could touch something.
    """

    name = "arms"

    def __init__(
        self,
        robot: Robot,
        length: float,
        period: float,
        gains: ClearanceGains | None = None,
    ) -> None:
        self.gains = gains = gains or ClearanceGains()
        super().__init__(gains.weight, 0.0, 0.0)
        self._made_of = robot, length, period, gains
        unit = math.sqrt(STANDARD_GRAVITY / length)
        self._rate, self._ahead = gains.rate * unit, gains.ahead / unit
        self._unforeseen = gains.unforeseen * length * unit
        self._rarely, self._period = max(gains.rarely / unit / period, 1.0), period
        self._linger = gains.linger / unit
        self._geometry, gaps = _arm_pairs(robot)
        self._data = pin.GeometryData(self._geometry)
        objects = self._geometry.geometryObjects
        bodies = [
            (objects[pair.first].parentJoint, objects[pair.second].parentJoint)
            for pair in self._geometry.collisionPairs
        ]
        self.possible = bool(bodies)
        moved = {body: _moved_by(robot, body) for pair in bodies for body in pair}
        count = len(bodies)
        self._signs = np.zeros((count, robot.nv))
        for row, (first, second) in zip(self._signs, bodies, strict=True):
            row[:] = moved[second] - moved[first]
        self._arms = np.zeros(robot.nv)
        self._arms[BASE_DOF:][degrees_of(robot, "arm")] = 1.0
        self._wanted = np.minimum(gains.near * length, gains.standing * gaps)
        self.reset()

    def __reduce__(self) -> tuple[Any, ...]:
        """Make copies anew."""
        return ArmClearance, self._made_of

    def reset(self) -> None:
        """Begin with nothing known of distances."""
        self._tick, self._time_left = 0, 0.0
        count = self.gains.pairs
        # not all at once
        self._due = np.arange(len(self._wanted)) % math.ceil(self._rarely)
        self._jacobian = np.zeros((count, len(self._arms)))
        self._goal, self.root_weight = np.zeros(count), np.zeros(count)
        self._room = np.full((2, len(self._arms) - BASE_DOF), np.inf)

    def error(self, dynamics: Dynamics) -> Array:
        """Return zero: what is asked for is an acceleration."""
        return np.zeros(len(self._goal))

    def jacobian(self, dynamics: Dynamics) -> Array:
        """Return the rows of the distances, joints of arms alone."""
        return self._jacobian

    def rows(self, dynamics: Dynamics) -> tuple[Array, Array]:
        """Return J and b of J a = b."""
        return self._jacobian, self._goal

    @property
    def lingers(self) -> bool:
        """Whether a push is over, and arms still keep clear."""
        return 0.0 < self._time_left < self._linger

    def needed(self, *, recovers: bool) -> bool:
        """Return whether arms keep clear in this tick.

        Args:
            recovers: Whether a push is recovered from.
        """
        if not self.possible:
            return False
        self._time_left = self._linger if recovers else self._time_left - self._period
        return self._time_left > 0.0

    def update(self, dynamics: Dynamics, *, leg_swings: bool = False) -> None:
        """Find distances, and what arms do about them.

        Args:
            dynamics: Dynamics of the robot, up to date.
            leg_swings: Whether a leg swings.
        """
        self._jacobian[:], self._goal[:], self.root_weight[:] = 0.0, 0.0, 0.0
        self._room[:] = np.inf
        self._tick += 1
        due = np.flatnonzero(self._due <= self._tick)
        if len(due) == 0:
            return
        distance, wrenches = self._measure(dynamics, due)
        rows = wrenches.dot(dynamics.data.J)
        rows *= self._signs[due]
        own = rows * self._arms
        speed, wanted = rows.dot(dynamics.v), self._wanted[due]
        nearer = np.maximum(-speed, 0.0)
        short = wanted - distance + self._ahead * nearer  # as foreseen
        ticks = -short / (self._period * (nearer + self._unforeseen))
        ticks = np.minimum(np.maximum(ticks, 1.0), self._rarely)
        self._due[due] = self._tick + ticks.astype(np.int64)
        chosen = np.flatnonzero(short > 0.0)
        if len(chosen) == 0:
            return
        left = distance
        if leg_swings:  # when it has come as foreseen
            left = distance + self._ahead * np.minimum(
                (rows - own).dot(dynamics.v), 0.0
            )
        self._stop_before(own[chosen], left[chosen])
        # in metres: where solids are near each other standing, little is all of s₀
        chosen = chosen[np.argsort(-short[chosen])[: self.gains.pairs]]
        counts = np.minimum(short[chosen] / wanted[chosen], 1.0)
        number, rate = len(chosen), self._rate
        self._jacobian[:number] = own[chosen]
        goal = rate**2 * (wanted - distance) - 2.0 * rate * speed
        self._goal[:number] = goal[chosen]
        self.root_weight[:number] = np.sqrt(self.gains.weight * counts)

    def stops(self, motion: JointRange, position: Array) -> JointRange:
        """Return where joints may be before solids meet that are near each other.

        Args:
            motion: Where they may be by themselves.
            position: Where they are [rad or m], shape (nv - 6,).
        """
        up, down = self._room
        return replace(
            motion,
            lower=np.maximum(motion.lower, position - down),
            upper=np.minimum(motion.upper, position + up),
        )

    def _stop_before(self, rows: Array, distance: Array) -> None:
        """Let joints move at most so far that together they use a distance up.

        Args:
            rows: How distances change with them, shape (k, nv).
            distance: Distances [m], shape (k,).
        """
        rows = rows[:, BASE_DOF:]
        total = np.maximum(np.abs(rows).sum(axis=1), 1e-9)
        room = (np.maximum(distance, 0.0) / total)[:, None]
        self._room[0] = np.where(rows < 0.0, room, np.inf).min(axis=0)
        self._room[1] = np.where(rows > 0.0, room, np.inf).min(axis=0)

    def _measure(
        self, dynamics: Dynamics, due: NDArray[np.int64]
    ) -> tuple[Array, Array]:
        """Return distances of pairs [m], and wrenches of unit forces along them.

        A wrench (n, p x n) times the Jacobian of a body is that of its velocity at p
        along n.
        """
        geometry, data = self._geometry, self._data
        pin.updateGeometryPlacements(dynamics.model, dynamics.data, geometry, data)
        numbers = []
        for pair in due.tolist():
            found = pin.computeDistance(geometry, data, pair)
            a, b, c = found.normal.tolist()
            x, y, z = found.getNearestPoint1().tolist()
            moment = y * c - z * b, z * a - x * c, x * b - y * a
            numbers.append((found.min_distance, a, b, c, *moment))
        measured = np.array(numbers)
        return measured[:, 0], measured[:, 1:]


def _arm_pairs(robot: Robot) -> tuple[pin.GeometryModel, Array]:
    """Return pairs of which one is an arm's, that could touch and do not standing.

    With them come their distances in the standing posture [m].
    """
    arm_of = {
        int(robot.joint_id(name)): number
        for number, arm in enumerate(robot.arms.values())
        for name in arm.subtree_joints
    }
    if not arm_of:
        return pin.GeometryModel(), np.zeros(0)
    geometry, _ = collision_geometry(robot)
    parents, pairs = robot.model.parents, []
    objects = list(geometry.geometryObjects)
    for second, other in enumerate(objects):
        for first, one in enumerate(objects[:second]):
            bodies = sorted((int(one.parentJoint), int(other.parentJoint)))
            arms = [arm_of.get(body) for body in bodies]
            if arms[0] != arms[1] and parents[bodies[1]] != bodies[0]:
                geometry.addCollisionPair(pin.CollisionPair(first, second))
                pairs.append((first, second))
    data = pin.GeometryData(geometry)
    pin.computeDistances(robot.model, robot.data, geometry, data, robot.standing)
    gaps = [result.min_distance for result in data.distanceResults]
    for pair, gap in zip(pairs, gaps, strict=True):
        if gap <= 0.0:
            geometry.removeCollisionPair(pin.CollisionPair(*pair))
    return geometry, np.array([gap for gap in gaps if gap > 0.0])


def _moved_by(robot: Robot, body: int) -> Array:
    """Return which degrees of freedom move a body, as ones, shape (nv,)."""
    moves = np.zeros(robot.nv)
    for joint in robot.model.supports[body]:
        first = robot.model.idx_vs[joint]
        if joint > 0:
            moves[first : first + robot.model.nvs[joint]] = 1.0
    return moves
