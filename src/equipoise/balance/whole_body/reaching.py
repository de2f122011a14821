"""How far a standing robot can reach: a path of the whole body, by kinematics.

Feet stay where they are, the CoM stays above the soles with a margin, joints stay
within their stops. The hands go along straight lines towards their goals; each point of
the path is the posture nearest to the first one that has them there, or as near as
these limits allow. A link that meets another one, or the ground, is not looked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.balance.skeleton import BASE_DOF
from equipoise.balance.whole_body.dynamics import Dynamics, sole_frame
from equipoise.balance.whole_body.hands import add_hands
from equipoise.balance.whole_body.limits import Joints
from equipoise.gait.feedforward import standing_torques
from equipoise.kinematics.support import support_polygon
from equipoise.robot.joint_coordinates import degree_names
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side

# The CoM stays within this part of the support polygon, about its middle: so both feet
# carry.
COM_PART = 0.6
# The base tilts by at most this [rad], and the CoM stays above this part of its height.
MOST_TILT, LEAST_HEIGHT = 0.8, 0.7
# Points of a path lie this fraction of the arm's length apart, and each is improved so
# often; the last until it changes by less than that [m], or so often.
SPACING, IMPROVED, STILL, MOST_IMPROVED = 0.03, 4, 1e-5, 200
# Joints stay this part of their range inside their stops, and change by at most so much
# at once [rad or m].
STOP_MARGIN, LARGEST_CHANGE = 0.04, 0.05
# Costs beside the square of a hand's distance [1/m²]: joints off the first posture, of
# arms and of others [per rad²], and the CoM off its place [per m²].
ARM_COST, OTHER_COST, COM_COST = 1e-5, 1e-4, 1e-2
# ... of which this part counts at the end of a path, where the hands matter alone.
AT_END = 0.1
# The part of the torque limits that a posture may take.
TORQUE = 0.9
# A limit counts as met within this distance [m], and a joint within that part of its
# range.
MET, AT_STOP = 1e-3, 0.02


@dataclass(frozen=True, eq=False)
class ReachPath:
    """Postures along a reach, n of them.

    Attributes:
        robot: The robot.
        q: Configurations, shape (n, nq).
        hands: Where each hand is [m], shape (n, 3).
        com: Centre of mass [m], shape (n, 3).
        remaining: Largest distance of a hand from its goal at the end [m].
        limited_by: What keeps it from getting nearer: words, none if it gets there.
    """

    robot: Robot
    q: Array
    hands: Mapping[Side, Array]
    com: Array
    remaining: float
    limited_by: tuple[str, ...]


def plan_reach(
    robot: Robot,
    q: Array,
    goals: Mapping[Side, Array],
    joints: Joints,
    *,
    moving: Sequence[str] | None = None,
) -> ReachPath:
    """Return the path of a robot that stands and reaches.

    Args:
        robot: The robot.
        q: Posture in which it stands on both soles, shape (nq,).
        goals: Where hands are wanted in the world [m], shape (3,) each.
        joints: What its actuators can do.
        moving: Joints that may move; all unless given.
    """
    return _Planner(robot, q, goals, joints, moving).path()


class _Planner:
    """Finds postures one after the other, each by small quadratic programmes."""

    def __init__(
        self,
        robot: Robot,
        q: Array,
        goals: Mapping[Side, Array],
        joints: Joints,
        moving: Sequence[str] | None,
    ) -> None:
        self.robot, self.joints = robot, joints
        self.dynamics = dynamics = Dynamics(robot)
        hands = add_hands(dynamics)
        self.hands = {side: hands[side] for side in goals}
        self.goals = {side: np.asarray(goal) for side, goal in goals.items()}
        self.first = np.array(q)
        dynamics.update(self.first, np.zeros(robot.nv))
        self.first_joints = np.array(dynamics.joint_positions)
        self.first_com = np.array(dynamics.com)
        self.soles = {
            side: dynamics.pose(dynamics.frame(sole_frame(side))).copy()
            for side in robot.soles
        }
        heights = [pose.translation[2] for pose in self.soles.values()]
        self.ground = float(np.mean(heights))
        self.starts = {side: self._hand(side) for side in goals}
        names = degree_names(robot)
        self.names = names
        arms = {name for hand in self.hands.values() for name in hand.joints}
        is_arm = np.array([name in arms for name in names])
        self.cost = np.where(is_arm, ARM_COST, OTHER_COST)
        locked = [moving is not None and name not in moving for name in names]
        self.locked: NDArray[np.bool_] = np.array(locked)
        self.base_locked = moving is not None and bool(
            self.locked[[not arm for arm in is_arm]].all()
        )
        self.edges, self.bounds = self._support()

    def _hand(self, side: Side) -> Array:
        frame = self.dynamics.frame(self.hands[side].frame)
        return np.array(self.dynamics.pose(frame).translation)

    def _support(self) -> tuple[Array, Array]:
        """Return normals and offsets of where the CoM may be: N c ≤ b."""
        corners = np.asarray(support_polygon(self.robot, self.first))
        middle = 0.5 * (corners.min(axis=0) + corners.max(axis=0))
        corners = middle + COM_PART * (corners - middle)
        along = np.roll(corners, -1, axis=0) - corners
        normals = np.column_stack([along[:, 1], -along[:, 0]])
        normals /= np.linalg.norm(normals, axis=1)[:, None]
        bounds = (normals * corners).sum(axis=1)
        # where it stands already is always allowed
        return normals, np.maximum(bounds, normals @ self.first_com[:2])

    def path(self) -> ReachPath:
        """Return the path as far as the robot gets."""
        far = max(
            float(np.linalg.norm(self.goals[side] - self.starts[side]))
            for side in self.goals
        )
        length = min(hand.length for hand in self.hands.values())
        count = max(int(np.ceil(far / (SPACING * length))), 2)
        q, rows = self.first, [self.first]
        weak = self._too_weak(q)
        too_weak: str | None = None
        for part in np.linspace(0.0, 1.0, count + 1)[1:]:
            for _ in range(IMPROVED):
                q = self._improve(q, float(part))
            too_weak = self._too_weak(q) if weak is None else None
            if too_weak is not None:
                break
            rows.append(q)
        if too_weak is None:
            rows += self._last(q)
        path = np.array(rows)
        hands: dict[Side, list[Array]] = {side: [] for side in self.goals}
        centres = []
        for row in path:
            self.dynamics.update(row, np.zeros(self.robot.nv))
            centres.append(np.array(self.dynamics.com))
            for side in hands:
                hands[side].append(self._hand(side))
        remaining = max(
            float(np.linalg.norm(self.goals[side] - points[-1]))
            for side, points in hands.items()
        )
        limits = self._limits(too_weak) if remaining > MET else ()
        return ReachPath(
            self.robot,
            path,
            {side: np.array(points) for side, points in hands.items()},
            np.array(centres),
            remaining,
            limits,
        )

    def _last(self, q: Array) -> list[Array]:
        """Return what follows until the hands get no nearer."""
        rows: list[Array] = []
        before = np.inf
        for number in range(MOST_IMPROVED):
            q = self._improve(q, 1.0, AT_END)
            away = max(
                float(np.linalg.norm(self.goals[side] - self._hand(side)))
                for side in self.goals
            )
            if number % IMPROVED == IMPROVED - 1:
                if self._too_weak(q) is not None:
                    break
                rows.append(q)
                if away > before - STILL:
                    break
                before = away
        return rows

    def _improve(self, q: Array, part: float, pull: float = 1.0) -> Array:
        """Return a posture nearer to a part of the way to the goals.

        Args:
            q: The posture.
            part: Which part of the way.
            pull: How much the costs of the posture count.
        """
        import daqp

        dynamics, nv = self.dynamics, self.robot.nv
        dynamics.update(q, np.zeros(nv))
        cost, gradient = np.zeros((nv, nv)), np.zeros(nv)
        diagonal = cost.reshape(-1)[:: nv + 1]
        diagonal[:] = 1e-9
        for side, goal in self.goals.items():
            wanted = self.starts[side] + part * (goal - self.starts[side])
            frame = dynamics.frame(self.hands[side].frame)
            jacobian = dynamics.jacobian(frame)[:3]
            cost += jacobian.T @ jacobian
            gradient -= (wanted - self._hand(side)) @ jacobian
        to_com = dynamics.com_jacobian[:2]
        cost += COM_COST * to_com.T @ to_com
        gradient -= pull * COM_COST * (self.first_com - dynamics.com)[:2] @ to_com
        off = dynamics.joint_positions - self.first_joints
        diagonal[BASE_DOF:] += self.cost
        gradient[BASE_DOF:] += pull * self.cost * off
        least, most = self._changes()
        rows, lower, upper = [], [], []
        for side, stood in self.soles.items():
            frame = dynamics.frame(sole_frame(side))
            pose = dynamics.pose(frame)
            turn = pin.log3(pose.rotation.T @ stood.rotation)
            error = np.concatenate(
                [stood.translation - pose.translation, pose.rotation @ turn]
            )
            rows.append(dynamics.jacobian(frame))
            lower.append(error)
            upper.append(error)
        if self.base_locked:
            rows, lower, upper = [], [], []
        equal = sum(map(len, rows))
        inside, room = self._upright()
        rows.append(inside)
        upper.append(room)
        lower.append(np.full(len(room), -1e20))
        matrix = np.concatenate(rows)
        sense = np.zeros(nv + len(matrix), dtype=np.int32)
        sense[nv : nv + equal] = 5
        step, _, flag, _ = daqp.solve(
            cost,
            gradient,
            matrix,
            np.concatenate([most, *upper]),
            np.concatenate([least, *lower]),
            sense,
        )
        if flag <= 0:
            return q
        return np.asarray(pin.integrate(self.robot.model, q, step))

    def _upright(self) -> tuple[Array, Array]:
        """Return rows and bounds of balance: CoM above the soles, base not tilted."""
        dynamics, nv = self.dynamics, self.robot.nv
        to_com, com = dynamics.com_jacobian, dynamics.com
        up = dynamics.base_rotation[2]
        tilt, axis = np.zeros(nv), np.array([0.0, 0.0, 1.0])
        tilt[3:6] = -np.cross(axis, up)
        rows = np.vstack([self.edges @ to_com[:2], -to_com[2], tilt])
        lowest = LEAST_HEIGHT * (self.first_com[2] - self.ground) + self.ground
        room = [com[2] - lowest, up[2] - np.cos(MOST_TILT)]
        return rows, np.concatenate([self.bounds - self.edges @ com[:2], room])

    def _changes(self) -> tuple[Array, Array]:
        """Return the least and the largest change of each coordinate."""
        least = np.full(self.robot.nv, -LARGEST_CHANGE)
        most = np.full(self.robot.nv, LARGEST_CHANGE)
        lower, upper = self._stops()
        now = self.dynamics.joint_positions
        room = np.minimum(lower - now, 0.0), np.maximum(upper - now, 0.0)
        least[BASE_DOF:] = np.maximum(least[BASE_DOF:], room[0])
        most[BASE_DOF:] = np.minimum(most[BASE_DOF:], room[1])
        least[BASE_DOF:][self.locked] = most[BASE_DOF:][self.locked] = 0.0
        if self.base_locked:
            least[:BASE_DOF] = most[:BASE_DOF] = 0.0
        return least, most

    def _stops(self) -> tuple[Array, Array]:
        motion = self.joints.motion
        span = np.where(
            np.isfinite(motion.upper - motion.lower), motion.upper - motion.lower, 0.0
        )
        return motion.lower + STOP_MARGIN * span, motion.upper - STOP_MARGIN * span

    def _too_weak(self, q: Array) -> str | None:
        """Return the joint whose torque would be too small to hold a posture."""
        torque = np.abs(standing_torques(self.robot, q))
        part = torque / np.maximum(self.joints.torque, 1e-9)
        worst = int(part.argmax())
        return self.names[worst] if part[worst] > TORQUE else None

    def _limits(self, too_weak: str | None) -> tuple[str, ...]:
        """Return what keeps the last posture from getting nearer, in words."""
        if too_weak is not None:
            return (f"the torque of {too_weak}",)
        found = []
        dynamics = self.dynamics
        *room, high, level = self._upright()[1]
        if not self.base_locked:
            if min(room) < MET:
                found.append("balance (CoM at the edge of what soles allow)")
            if high < MET:
                found.append("the height of the CoM")
            if level < MET:
                found.append("the tilt of the body")
        lower, upper = self._stops()
        now, span = dynamics.joint_positions, upper - lower
        near = np.minimum(upper - now, now - lower) < AT_STOP * span
        near &= ~self.locked & (np.abs(now - self.first_joints) > AT_STOP * span)
        stopped = [name for name, at in zip(self.names, near, strict=True) if at]
        if stopped:
            found.append(f"the stops of {', '.join(stopped)}")
        return tuple(found) or ("the length of the arm",)
