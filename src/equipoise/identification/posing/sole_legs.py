"""Postures on flat soles for legs that cannot put the CoM anywhere, by least squares.

Legs of fewer than six joints leave few postures with both soles in place; all lie on a
surface in the space of configurations. The search begins on it, at a posture that
stands, and keeps close to it, for many postures at once: each Gauss-Newton step
minimises

    ‖J_s Δ - e_s‖² + w_c ‖J_c Δ - e_c‖² + w_p ‖Δ - e_p‖²

with errors of soles, e_s, of the horizontal CoM, e_c, and of what is drawn at random,
e_p: the torso's attitude and the legs' joints. The last steps close the soles alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.identification.posing.pose_limits import joint_ranges
from equipoise.identification.statics import FEET
from equipoise.kinematics.com import com_and_jacobian
from equipoise.kinematics.frames import frame_jacobian, frame_pose
from equipoise.robot.model import Robot

if TYPE_CHECKING:
    from equipoise.identification.posing.foot_placements import Placement, Soles

# The torso is not farther from upright than this, nor turned about the vertical [rad].
MOST_TILT = 1.0
# Weights of CoM and of drawn attitude and joints beside that of the soles; the least
# keeps the equations regular. Lengths count as fractions of the legs' length.
COM_WEIGHT, DRAWN_WEIGHT, LEAST_WEIGHT = 0.1, 1e-4, 1e-7
# Steps for all errors together, then at most for the soles alone, which are in place
# within the tolerance. No step turns a joint by more than the longest [rad].
STEPS_TOGETHER, MOST_STEPS = 16, 24
TOLERANCE, LONGEST_STEP, LEAST_DAMPING = 1e-10, 0.3, 1e-12
BASE_DOF = 6


class SoleLegs:
    """Legs of any joints; they bring the CoM as near as they can to where it is wanted.

    Base and legs move; all other joints stay as they are given.
    """

    homes_at_once = 64

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self.length = min(leg.length for leg in robot.legs.values())
        followers = {j.name for j in robot.description.joints if j.mimic is not None}
        names = [name for leg in robot.legs.values() for name in leg.joints]
        joints = [robot.model.joints[robot.joint_id(name)] for name in names]
        joints = [
            joint
            for joint, name in zip(joints, names, strict=True)
            if joint.nv == 1 and name not in followers
        ]
        # what moves, in v, and in q the joints among that; -1 if they have no limits
        self.columns = np.array([*range(BASE_DOF), *(joint.idx_v for joint in joints)])
        self.places = [joint.idx_q if joint.nq == 1 else -1 for joint in joints]
        # steps are in radians and in lengths of the legs
        self.scale = np.ones(len(self.columns))
        self.scale[:3] = self.length
        for column, joint in enumerate(joints, BASE_DOF):
            if joint.shortname().startswith("JointModelP"):
                self.scale[column] = self.length
        self.weights = np.full(len(self.columns), DRAWN_WEIGHT)
        self.weights[:3] = LEAST_WEIGHT
        ranges = joint_ranges(robot)
        fixed = ranges[0] == ranges[1]
        self.lower, self.upper = np.where(fixed, [[-np.inf], [np.inf]], ranges)

    def homes(self, places: Sequence[tuple[Soles, Array]]) -> list[Array | None]:
        """Return postures near standing with the CoM near the middle.

        There is one for each pair of soles and polygon, None where legs do not reach.
        """
        if not places:
            return []
        standing = np.tile(self.robot.standing, (len(places), 1))
        soles = np.array([[poses[side] for side in FEET] for poses, _ in places])
        middle = np.array([polygon.mean(axis=0) for _, polygon in places])
        q, reached = self._solved(standing, soles, middle, standing)
        return [row if there else None for row, there in zip(q, reached, strict=True)]

    def draw(
        self, place: Placement, inner: Array, postures: Array, rng: np.random.Generator
    ) -> Array:
        """Return configurations on a placement that legs reach, shape (m, nq), m ≤ n.

        Args:
            place: Where the feet are.
            inner: Points that the CoM should be above [m], shape (n, 2).
            postures: Configurations whose joints are wanted, shape (n, nq); the legs
                come as near as soles and CoM let them.
            rng: Draws the attitudes of the torso.
        """
        from scipy.spatial.transform import Rotation

        wanted, count = np.array(postures), len(postures)
        angles = rng.uniform(-MOST_TILT, MOST_TILT, (count, 3))
        torso = Rotation.from_euler("xyz", rng.uniform(0.0, 1.0, (count, 1)) * angles)
        upright = Rotation.from_quat(self.robot.standing[3:7])
        wanted[:, 3:7] = (torso * upright).as_quat()
        start = np.array(postures)
        start[:, :7] = place.home[:7]
        for leg in self.robot.legs.values():
            for name in leg.joints:
                joint = self.robot.model.joints[self.robot.joint_id(name)]
                own = slice(joint.idx_q, joint.idx_q + joint.nq)
                start[:, own] = place.home[own]
        soles = np.tile([place.soles[side] for side in FEET], (count, 1, 1, 1))
        q, reached = self._solved(start, soles, inner, wanted)
        q = q[reached]
        turned = Rotation.from_quat(q[:, 3:7]) * upright.inv()
        is_upright = turned.as_matrix()[:, 2, 2] >= np.cos(MOST_TILT)
        return np.asarray(q[is_upright])

    def _solved(
        self, start: Array, soles: Array, com: Array, wanted: Array
    ) -> tuple[Array, NDArray[np.bool_]]:
        """Return n postures, and in which of them the soles are in their places.

        Args:
            start: Configurations to begin with, shape (n, nq).
            soles: Wanted transforms from sole to world, shape (n, 2, 4, 4).
            com: Points that the CoM should be above [m], shape (n, 2).
            wanted: Configurations whose attitude and legs are wanted, shape (n, nq).
        """
        q = np.array(start)
        for _ in range(STEPS_TOGETHER):
            normal, force = _normal_equations(*self._sole_errors(q, soles))
            of_com = _normal_equations(*self._com_errors(q, com))
            normal += COM_WEIGHT * of_com[0] + np.diag(self.weights)
            force += COM_WEIGHT * of_com[1]
            force += self.weights * self._drawn_errors(q, wanted)
            q = self._stepped(q, normal, force)
        left = np.arange(len(q))
        for _ in range(MOST_STEPS):
            error, jacobian = self._sole_errors(q[left], soles[left])
            off = np.abs(error).max(axis=1) >= TOLERANCE
            left, error, jacobian = left[off], error[off], jacobian[off]
            if len(left) == 0:
                break
            normal, force = _normal_equations(error, jacobian)
            # damping that vanishes with the error keeps convergence quadratic, also
            # where the Jacobian loses rank
            damping = np.sum(error**2, axis=1) + LEAST_DAMPING
            normal += np.eye(len(self.columns)) * damping[:, None, None]
            q[left] = self._stepped(q[left], normal, force)
        return q, ~np.isin(np.arange(len(q)), left)

    def _sole_errors(self, q: Array, soles: Array) -> tuple[Array, Array]:
        """Return errors of the soles, (n, 12), and their Jacobian, (n, 12, k).

        World axes; lengths are fractions of the legs' length.
        """
        from scipy.spatial.transform import Rotation

        errors, jacobians = [], []
        for number, side in enumerate(FEET):
            sole, wanted = self.robot.soles[side], soles[:, number]
            link = frame_pose(self.robot, q, sole.link)
            pose = link @ sole.transform_sole_to_link
            rows = frame_jacobian(self.robot, q, sole.link)[..., self.columns]
            lever = pose[:, :3, 3] - link[:, :3, 3]
            turning = np.swapaxes(rows[:, 3:], 1, 2)
            linear = rows[:, :3] + np.swapaxes(np.cross(turning, lever[:, None]), 1, 2)
            turn = wanted[:, :3, :3] @ np.swapaxes(pose[:, :3, :3], 1, 2)
            errors += [
                (wanted[:, :3, 3] - pose[:, :3, 3]) / self.length,
                Rotation.from_matrix(turn).as_rotvec(),
            ]
            jacobians += [linear / self.length, rows[:, 3:]]
        return np.hstack(errors), np.concatenate(jacobians, axis=1) * self.scale

    def _com_errors(self, q: Array, wanted: Array) -> tuple[Array, Array]:
        """Return errors of the horizontal CoM, (n, 2), and the Jacobian, (n, 2, k)."""
        com, jacobian = com_and_jacobian(self.robot, q)
        rows = jacobian[:, :2, self.columns] * self.scale
        return (wanted - com[:, :2]) / self.length, rows / self.length

    def _drawn_errors(self, q: Array, wanted: Array) -> Array:
        """Return how far attitude and joints are from those wanted, (n, k)."""
        from scipy.spatial.transform import Rotation

        now, then = (Rotation.from_quat(rows[:, 3:7]) for rows in (q, wanted))
        errors = np.zeros((len(q), len(self.columns)))
        errors[:, 3:BASE_DOF] = (now.inv() * then).as_rotvec()
        for column, at in enumerate(self.places, BASE_DOF):
            if at >= 0:
                errors[:, column] = (wanted[:, at] - q[:, at]) / self.scale[column]
        return errors

    def _stepped(self, q: Array, normal: Array, force: Array) -> Array:
        """Return configurations a step further, joints within their limits.

        A joint at a limit takes no part in a step that pushes it beyond.
        """
        held = np.zeros(force.shape, dtype=np.bool_)
        for column, at in enumerate(self.places, BASE_DOF):
            if at >= 0:
                held[:, column] = (q[:, at] <= self.lower[at]) & (force[:, column] < 0)
                held[:, column] |= (q[:, at] >= self.upper[at]) & (force[:, column] > 0)
        apart = held[:, :, None] | held[:, None]
        free = np.where(apart, np.eye(len(self.columns)), normal)
        step = np.linalg.solve(free, np.where(held, 0.0, force)[..., None])[..., 0]
        longest = np.abs(step).max(axis=1, keepdims=True)
        step *= np.minimum(1.0, LONGEST_STEP / np.maximum(longest, 1e-12))
        moved = np.zeros((len(q), self.robot.nv))
        moved[:, self.columns] = step * self.scale
        rows = zip(q, moved, strict=True)
        found = np.array([pin.integrate(self.robot.model, *row) for row in rows])
        for at in self.places:
            if at >= 0:
                found[:, at] = np.clip(found[:, at], self.lower[at], self.upper[at])
        return found


def _normal_equations(error: Array, jacobian: Array) -> tuple[Array, Array]:
    """Return JᵀJ, (n, k, k), and Jᵀe, (n, k)."""
    across = np.swapaxes(jacobian, 1, 2)
    return across @ jacobian, (across @ error[..., None])[..., 0]
