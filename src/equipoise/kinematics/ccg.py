"""Converging centre of gravity: Algorithm 1 of [Sanliturk2024].

The soles and the torso's attitude are given, so a posture is known from the pelvis'
position alone. It is moved along the error of the centre of mass, step by step, until
that is small enough, and stays there for the next point.

The published step has a fixed length β. Let J be how the centre of mass follows the
pelvis, dc = J dp, and ĝ the unit vector of the error e. A step makes the error smaller
only while::

    |e| > β |J ĝ|² / (2 ĝᵀ J ĝ),

which is β j / 2 for J = j·1. With a tolerance ε below that the centre of mass goes
round its target for ever; this is noticed, and the point given up. On the ITU Biped
with bent knees J has singular values from 0.4 to 0.9, so that the published β = ε
converges; towards straight knees the largest has no bound. The proportional step moves
the pelvis by a fraction of the error instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError, NameNotFoundError, ShapeError
from equipoise.kinematics.com import com
from equipoise.kinematics.com_targets import ComSolution, ComTargets, Outcome
from equipoise.kinematics.leg_geometry import Knee, LegGeometry, Number, leg_geometry
from equipoise.kinematics.leg_ik import knee_sense, solve_leg, solve_legs
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side

SIDES: tuple[Side, Side] = ("left", "right")
BASE_NQ = 7


class Placed(NamedTuple):
    """A configuration with the pelvis at a given place, or n of them.

    Attributes:
        q: Shape (nq,) or (n, nq).
        com: Centre of mass in the world [m], shape (3,) or (n, 3).
        foot_gap: Distance of the farther sole from its place [m], or shape (n,).
    """

    q: Array
    com: Array
    foot_gap: Number


class Pelvis:
    """Pelvis and legs of a robot, on the way along targets.

    The pelvis is the base; its attitude is the targets' and only its position is left
    to choose. All joints but the legs' stay as they are in a posture.

    Attributes:
        constant: Where the base is [m] if the CoM lies in it where it does in the
            posture standing, shape (n, 3).
        to_hips: From the base to left and right hip, world axes [m], shape (n, 2, 3).
    """

    def __init__(
        self,
        robot: Robot,
        targets: ComTargets,
        posture: ArrayLike | None = None,
        knee: Knee = "forward",
    ) -> None:
        """Make ready for targets.

        Args:
            robot: The robot.
            targets: The targets.
            posture: Configuration whose joints are held, but for the legs', shape
                (nq,) or (n, nq); the posture standing if not given.
            knee: Side to which knees bend.

        Raises:
            NoClosedFormError: If a leg does not qualify; the message says why.
            ShapeError: If the posture is none, or not one for each target.
        """
        held = robot.check_q(robot.standing if posture is None else posture)
        if held.ndim == 2 and len(held) != len(targets):
            raise ShapeError(
                f"posture has {len(held)} rows but there are {len(targets)} targets"
            )
        upright = Rotation.from_quat(robot.standing[3:BASE_NQ]).as_matrix()
        rotation = targets.torso @ upright
        to_com = (com(robot, robot.standing) - robot.standing[:3]) @ upright
        self.constant = np.asarray(targets.com - rotation @ to_com)
        self._robot = robot
        self._q = np.array(np.broadcast_to(held, (len(targets), robot.nq)))
        if len(targets):
            self._q[:, 3:BASE_NQ] = Rotation.from_matrix(rotation).as_quat()
        self._legs = [
            _Leg(robot, leg_geometry(robot, side), rotation, sole, knee)
            for side, sole in zip(SIDES, (targets.left, targets.right), strict=True)
        ]
        self.to_hips = np.stack(
            [rotation @ leg.geometry.hip for leg in self._legs], axis=1
        )

    def place(self, row: int, position: Array) -> Placed:
        """Return the configuration for one target.

        Args:
            row: Which target.
            position: Position of the base in the world [m], shape (3,).
        """
        q = self._q[row].copy()
        q[:3] = position
        where = position.tolist()
        gap = 0.0
        for leg in self._legs:
            *angles, missing = leg.reach(row, where)
            q[leg.columns] = leg.coordinates(np.array(angles))
            gap = max(gap, missing)
        at = pin.centerOfMass(self._robot.model, self._robot.data, q, False)
        return Placed(q, np.array(at), gap)

    def place_all(self, positions: Array) -> Placed:
        """Return configurations for all targets.

        Args:
            positions: Positions of the base in the world [m], shape (n, 3).
        """
        q = self._q.copy()
        q[:, :3] = positions
        gap = np.zeros(len(q))
        for leg in self._legs:
            angles, missing = leg.reach_all(positions)
            q[:, leg.columns] = leg.coordinates(angles)
            gap = np.maximum(gap, missing)
        at = np.asarray(com(self._robot, q), dtype=np.float64)
        return Placed(q, at, gap)


class _Leg:
    """A leg, and where its ankle and foot should be at each target."""

    def __init__(
        self, robot: Robot, leg: LegGeometry, rotation: Array, sole: Array, knee: Knee
    ) -> None:
        to_base = np.swapaxes(rotation, -1, -2)
        zero = leg.transform_sole_to_base
        ankle_in_sole = (leg.ankle - zero[:3, 3]) @ zero[:3, :3]
        ankle = sole[:, :3, :3] @ ankle_in_sole + sole[:, :3, 3]
        self.geometry = leg
        self.sense = knee_sense(leg, knee)
        self.to_base = to_base
        self.moved = to_base @ sole[:, :3, :3] @ zero[:3, :3].T
        # From hip to ankle in base axes is this, less the base's position turned.
        self.offset = (to_base @ ankle[:, :, None])[:, :, 0] - leg.hip
        self._numbers = (
            self.moved.reshape(-1, 9).tolist(),
            to_base.reshape(-1, 9).tolist(),
            self.offset.tolist(),
        )
        joints = [robot.model.joints[robot.joint_id(name)] for name in leg.joints]
        self.columns = [joint.idx_q + at for joint in joints for at in range(joint.nq)]
        self._endless = [at for at, joint in enumerate(joints) if joint.nq == 2]

    def reach(self, row: int, position: Sequence[float]) -> tuple[float, ...]:
        moved, turned, (p, q, r) = (values[row] for values in self._numbers)
        (x, y, z), (a, b, c, d, e, f, g, h, i) = position, turned
        to_ankle = (
            p - a * x - b * y - c * z,
            q - d * x - e * y - f * z,
            r - g * x - h * y - i * z,
        )
        return solve_leg(self.geometry, moved, to_ankle, self.sense)

    def reach_all(self, positions: Array) -> tuple[Array, Array]:
        to_ankle = self.offset - (self.to_base @ positions[:, :, None])[:, :, 0]
        return solve_legs(self.geometry, self.moved, to_ankle, self.sense)

    def coordinates(self, angles: Array) -> Array:
        """Return Pinocchio's: cosine and sine of joints without end."""
        if not self._endless:
            return angles
        parts = [
            [np.cos(angle), np.sin(angle)] if at in self._endless else [angle]
            for at, angle in enumerate(np.moveaxis(angles, -1, 0))
        ]
        return np.stack([number for part in parts for number in part], axis=-1)


Step = Literal["published", "proportional"]

# Progress that counts, as a fraction of the smaller of step and tolerance.
PROGRESS = 1e-3


@dataclass(frozen=True)
class CcgParameters:
    """Parameters of the algorithm; those of Table 4 of [Sanliturk2024] by default.

    Attributes:
        step: ``"published"``: of fixed length; ``"proportional"``: to the error.
        step_length: β, length of a published step [m].
        tolerance: ε, G_prec in Table 4: error of the CoM that is accepted [m].
        gain: Length of a proportional step over the error [1].
        max_iterations: Steps at one point, at most.
        patience: Steps without progress after which a point is given up.
    """

    step: Step = "published"
    step_length: float = 0.001
    tolerance: float = 0.001
    gain: float = 1.0
    max_iterations: int = 2000
    patience: int = 50

    def __post_init__(self) -> None:
        """Check the values."""
        if self.step not in get_args(Step):
            raise NameNotFoundError("step", self.step, get_args(Step), "CCG")
        for name, value in vars(self).items():
            if name != "step" and not 0.0 < value < np.inf:
                raise EquipoiseError(f"CCG: {name} must be positive, it is {value}")


def solve_ccg(
    robot: Robot,
    targets: ComTargets,
    parameters: CcgParameters | None = None,
    *,
    posture: ArrayLike | None = None,
    knee: Knee = "forward",
) -> ComSolution:
    """Return configurations with soles in place and the CoM near its targets.

    Joint limits are not looked at. A point that is not solved says so in ``outcome``;
    its configuration is then the one with the least sum of errors of CoM and sole. The
    first point begins where :func:`solve_constant_pelvis` has the pelvis.

    Args:
        robot: A robot whose legs have closed-form inverse kinematics.
        targets: Centre of mass, soles and torso, in the order of the path.
        parameters: The paper's if not given.
        posture: Configuration whose joints are held, but for the legs', shape (nq,) or
            (n, nq); the posture standing if not given.
        knee: Side to which knees bend.

    Raises:
        NoClosedFormError: If a leg does not qualify; the message says why.
        ShapeError: If the posture is none.
    """
    chosen = CcgParameters() if parameters is None else parameters
    pelvis = Pelvis(robot, targets, posture, knee)
    count = len(targets)
    solution = ComSolution(
        q=np.empty((count, robot.nq)),
        com_error=np.empty(count),
        foot_gap=np.empty(count),
        iterations=np.empty(count, dtype=np.int64),
        outcome=np.empty(count, dtype=np.int64),
    )
    for row in range(count):  # line 3
        start = solution.q[row - 1, :3] if row else pelvis.constant[0]
        point = _converge(pelvis, row, targets.com[row], start, chosen)
        solution.q[row] = point.placed.q
        solution.com_error[row] = point.com_error
        solution.foot_gap[row] = point.placed.foot_gap
        solution.iterations[row] = point.iterations
        solution.outcome[row] = point.outcome(chosen)
    return solution


class _Point(NamedTuple):
    """The best posture met at a point, and how long it took to find."""

    placed: Placed
    com_error: float
    iterations: int
    stuck: bool

    def outcome(self, parameters: CcgParameters) -> Outcome:
        if self.placed.foot_gap > 0.0:
            return Outcome.UNREACHABLE
        if self.com_error < parameters.tolerance:
            return Outcome.CONVERGED
        return Outcome.ORBITING if self.stuck else Outcome.NOT_CONVERGED


def _converge(
    pelvis: Pelvis, row: int, com: Array, start: Array, parameters: CcgParameters
) -> _Point:
    """Move the pelvis until the CoM is within the tolerance: lines 4 to 25."""
    placed = pelvis.place(row, start)
    error = com - placed.com  # Eq. (20)
    length = float(np.sqrt(error @ error))
    best = _Point(placed, length, 0, False)
    position, fixed, iterations = start, 0, 0
    progress = PROGRESS * min(parameters.step_length, parameters.tolerance)
    least = mark = length + placed.foot_gap
    waited = 0
    while (
        length >= parameters.tolerance  # line 7
        and iterations < parameters.max_iterations
        and waited < parameters.patience
    ):
        if parameters.step == "published":
            step = parameters.step_length * (error / length)  # Eq. (21), (22)
        else:
            step = parameters.gain * error
        to_fixed = pelvis.to_hips[row, fixed]
        fixed_hip = position + to_fixed + step  # Eq. (22), line 11
        position = fixed_hip - to_fixed  # line 12: the other hip goes along
        fixed = 1 - fixed  # lines 22 to 24
        placed = pelvis.place(row, position)  # Eq. (5)–(10), (19)
        error = com - placed.com  # Eq. (20)
        length = float(np.sqrt(error @ error))
        iterations += 1

        total = length + placed.foot_gap
        if total < least:
            least, best = total, _Point(placed, length, iterations, False)
        if total < mark - progress:
            mark, waited = total, 0
        else:
            waited += 1
    stuck = waited >= parameters.patience
    return best._replace(iterations=iterations, stuck=stuck)


def solve_constant_pelvis(
    robot: Robot,
    targets: ComTargets,
    tolerance: float = 0.001,
    *,
    posture: ArrayLike | None = None,
    knee: Knee = "forward",
) -> ComSolution:
    """Return configurations with soles in place and the pelvis below or above the CoM.

    The vector from pelvis to CoM turns with the torso. No step is taken to bring the
    CoM nearer: ``iterations`` is zero.

    Args:
        robot: A robot whose legs have closed-form inverse kinematics.
        targets: Centre of mass, soles and torso.
        tolerance: Error of the CoM up to which a point counts as converged [m].
        posture: Configuration whose joints are held, but for the legs', shape (nq,) or
            (n, nq); the posture standing if not given. The vector is that of standing
            in any case.
        knee: Side to which knees bend.

    Raises:
        EquipoiseError: If the tolerance is not positive.
        NoClosedFormError: If a leg does not qualify; the message says why.
        ShapeError: If the posture is none.
    """
    if not 0.0 < tolerance < np.inf:
        raise EquipoiseError(f"tolerance must be positive, it is {tolerance}")
    pelvis = Pelvis(robot, targets, posture, knee)
    placed = pelvis.place_all(pelvis.constant)
    com_error = np.linalg.norm(targets.com - placed.com, axis=1)
    outcome = np.select(
        [placed.foot_gap > 0.0, com_error < tolerance],
        [Outcome.UNREACHABLE, Outcome.CONVERGED],
        Outcome.NOT_CONVERGED,
    )
    none = np.zeros(len(targets), dtype=np.int64)
    return ComSolution(placed.q, com_error, placed.foot_gap, none, outcome)
