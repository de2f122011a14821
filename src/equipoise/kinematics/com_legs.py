"""Legs that put soles and centre of mass exactly where they should be.

What CCG of [Sanliturk2024] does, by Newton's method: errors fall quadratically, legs
may have any joints of one degree of freedom, five or more, and all points of a path are
solved in one launch.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike, NDArray

from equipoise.arrays import Array, frozen_array
from equipoise.errors import EquipoiseError
from equipoise.kinematics.batch import device_tree, tree_arrays
from equipoise.kinematics.com_targets import ComSolution, ComTargets, Outcome
from equipoise.kinematics.leg_freedom import SIDES, leg_freedom
from equipoise.robot.anatomy.soles import placement_in_body
from equipoise.robot.joint_coordinates import joint_positions
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side

if TYPE_CHECKING:
    from equipoise.kernels.leg_path import LegArrays
    from equipoise.kernels.tree import KernelAxes, TreeArrays

TOLERANCE = 1e-10
MOST_STEPS = 40
BASE = 1
# Joints are bent by this fraction of the way to the middle of their ranges at first; by
# more where that is on the wrong side of a straight leg: with offsets between axes, a
# leg is not straight where its knee begins to bend.
BENDS = (0.15, 0.3, 0.45, 0.6)


def solve_com(
    robot: Robot,
    targets: ComTargets,
    *,
    posture: ArrayLike | None = None,
    tolerance: float = TOLERANCE,
    max_iterations: int = MOST_STEPS,
) -> ComSolution:
    """Return configurations whose CoM, soles and torso are where targets want them.

    Args:
        robot: The robot; legs have six joints or more, or five and soles whose
            heading is free.
        targets: Targets at n points; neighbours are taken for neighbours on a path.
        posture: Configurations of all joints but the legs', shape (nq,) or (n, nq);
            the first is where the search begins. Standing unless given.
        tolerance: Error of CoM and soles that is accepted [m or rad].
        max_iterations: Newton steps at one point, at most.

    Returns:
        The solution; points that were not reached have the nearest that was found, and
        say how far off it is.

    Raises:
        EquipoiseError: If a leg has too few joints, they do not begin at the same
            body, or a joint of a leg neither turns nor slides.
        ShapeError: If ``posture`` has a wrong shape.
    """
    from equipoise.kernels import com_legs, leg_path

    start = robot.check_q(robot.standing if posture is None else posture)
    held = np.array(np.broadcast_to(start, (len(targets), robot.nq)))
    chains = _chains(robot)
    begin = held[0]
    tree, axes = _tree_and_axes(robot)
    pin.forwardKinematics(robot.model, robot.data, begin)
    joints = _joints_of(robot, chains, begin)
    legs = _leg_arrays(robot, chains, tree, axes, joints)
    hub = _hub(robot, chains, axes)
    upright = np.array(pin.Quaternion(robot.standing[3:7]).toRotationMatrix())
    attitude = targets.torso @ upright
    rest = _moment_of_the_rest(robot, chains, start)
    rows = np.empty((len(targets), com_legs.TARGETS, 3))
    rows[:, com_legs.TARGET_COM] = targets.com
    # legs may hang on another body than the root: a waist, which is held
    to_hub = attitude @ hub[:3, 3]
    turned = attitude @ hub[:3, :3]
    rows[:, com_legs.BASE_X : com_legs.BASE_Z + 1] = np.swapaxes(turned, 1, 2)
    held_mass = robot.mass - float(legs.mass.sum())
    moment = (attitude @ rest[..., None])[..., 0]
    rows[:, com_legs.REST] = moment - held_mass * to_hub
    soles = ((com_legs.LEFT_X, targets.left), (com_legs.RIGHT_X, targets.right))
    for first, pose in soles:
        rows[:, first : first + 4] = np.swapaxes(pose[:, :3, :], 1, 2)
    for bend in BENDS:
        bent = _bent(joints, legs, bend).ravel()
        found = leg_path.solve_legs(
            legs, rows, begin[:3] + to_hub[0], bent, tolerance, max_iterations
        )
        if found.sole_error[0] <= tolerance and found.com_error[0] <= tolerance:
            break
    held[:, :3] = found.base - to_hub
    held[:, 3:7] = _quaternions(attitude)
    solved = np.asarray(found.joints, dtype=np.float64).reshape(len(held), 2, -1)
    _put_joints(robot, chains, solved, held)
    placed = found.sole_error <= tolerance
    outcome = np.where(
        placed & (found.com_error <= tolerance),
        Outcome.CONVERGED,
        np.where(placed, Outcome.NOT_CONVERGED, Outcome.UNREACHABLE),
    )
    return ComSolution(
        q=frozen_array(held),
        com_error=frozen_array(found.com_error),
        foot_gap=frozen_array(found.sole_error),
        iterations=found.iterations.astype(np.int64),
        outcome=outcome.astype(np.int64),
    )


@lru_cache(maxsize=8)
def _tree_and_axes(robot: Robot) -> tuple[TreeArrays, KernelAxes]:
    """Return the robot's bodies as arrays, and in kernel axes; found once."""
    from equipoise.kernels.tree import in_kernel_axes

    tree = tree_arrays(robot)
    return tree, in_kernel_axes(tree)


def _chains(robot: Robot) -> list[list[int]]:
    """Return the bodies of both legs, from the base outwards.

    Raises:
        EquipoiseError: If one of them cannot be solved.
    """
    chains = [
        [robot.joint_id(name) for name in robot.legs[side].joints] for side in SIDES
    ]
    hubs = {int(robot.model.parents[chain[0]]) for chain in chains}
    if len(hubs) > 1:
        raise EquipoiseError(f"{robot.name}: its legs do not hang on the same body")
    for chain in chains:
        for above, body in zip([*hubs, *chain], chain, strict=False):
            if robot.model.parents[body] != above:
                raise EquipoiseError(
                    f"{robot.name}: joint '{robot.model.names[body]}' of a leg is not "
                    "on the joint before it"
                )
    return chains


def _joints_of(robot: Robot, chains: list[list[int]], q: Array) -> Array:
    """Return the joints of both legs [rad or m], shape (2, n), padded at the front."""
    positions = joint_positions(robot, q)
    own = np.zeros((2, max(map(len, chains))))
    for row, chain in zip(own, chains, strict=True):
        degrees = [robot.model.joints[body].idx_v - 6 for body in chain]
        row[-len(chain) :] = positions[degrees]
    return own


def _put_joints(robot: Robot, chains: list[list[int]], joints: Array, q: Array) -> None:
    """Write joints of both legs, shape (m, 2, n), into configurations, (m, nq)."""
    for leg, chain in enumerate(chains):
        for body, values in zip(chain[::-1], joints[:, leg, ::-1].T, strict=False):
            joint = robot.model.joints[body]
            if joint.nq == 1:
                q[:, joint.idx_q] = values
            else:  # continuous: (cos, sin)
                q[:, joint.idx_q] = np.cos(values)
                q[:, joint.idx_q + 1] = np.sin(values)


def _hub(robot: Robot, chains: list[list[int]], axes: KernelAxes) -> Array:
    """Return the kernel axes of the body that the legs hang on in the root, (4, 4).

    Bodies are placed as the robot's workspace has them.
    """
    data = robot.data
    body = int(robot.model.parents[chains[0][0]])
    pose = np.array(data.oMi[BASE].actInv(data.oMi[body]).homogeneous)
    pose[:3, :3] = pose[:3, :3] @ axes.alignment[body]
    return pose


def _carriers(robot: Robot, chains: list[list[int]]) -> NDArray[np.int64]:
    """Return the body that each is fixed to while all joints but the legs' are held.

    It is a body of a leg, or the base.
    """
    own = {body for chain in chains for body in chain} | {BASE}
    carrier = np.zeros(robot.model.njoints, dtype=np.int64)
    for body in range(BASE, robot.model.njoints):
        carrier[body] = body if body in own else carrier[robot.model.parents[body]]
    return carrier


def _leg_arrays(
    robot: Robot,
    chains: list[list[int]],
    tree: TreeArrays,
    axes: KernelAxes,
    joints: Array,
) -> LegArrays:
    """Return both legs as arrays, with all that hangs on them.

    Bodies are placed as the robot's workspace has them; joints that do not place the
    soles are held as they are there.
    """
    from equipoise.kernels.bodies import PRISMATIC
    from equipoise.kernels.leg_path import LegArrays

    model, data = robot.model, robot.data
    carrier = _carriers(robot, chains)
    mass = np.zeros(model.njoints)
    moment = np.zeros((model.njoints, 3))
    for body in range(BASE, model.njoints):
        on = int(carrier[body])
        inertia = model.inertias[body]
        place = data.oMi[on].actInv(data.oMi[body].act(np.array(inertia.lever)))
        mass[on] += inertia.mass
        moment[on] += inertia.mass * place
    in_axes = np.einsum("bij,bi->bj", axes.alignment, moment)
    count = max(map(len, chains))
    shape = (2, count)
    # a shorter leg begins with joints that are held and have no mass
    legs = LegArrays(
        rotation=np.tile(np.eye(3), (*shape, 1, 1)),
        translation=np.zeros((*shape, 3)),
        turns=np.zeros(shape),
        slides=np.zeros(shape),
        mass=np.zeros(shape),
        moment=np.zeros((*shape, 3)),
        lower=np.full(shape, -np.inf),
        upper=np.full(shape, np.inf),
        sole=np.zeros((2, 4, 4)),
        yaw_free=np.zeros(2),
        total_mass=robot.mass,
    )
    for leg, (side, chain) in enumerate(zip(SIDES, chains, strict=True)):
        freedom = leg_freedom(robot)[side]
        legs.yaw_free[leg] = freedom.yaw_free
        legs.sole[leg] = _sole(robot, side, chain[-1], axes)
        for at, body in enumerate(chain, start=count - len(chain)):
            joint = model.joints[body]
            turn, slide = np.eye(3), np.zeros(3)
            slides = tree.kind[body] == PRISMATIC
            if model.names[body] in freedom.moved:
                legs.slides[leg, at], legs.turns[leg, at] = slides, not slides
                if joint.nq == 1:
                    legs.lower[leg, at] = model.lowerPositionLimit[joint.idx_q]
                    legs.upper[leg, at] = model.upperPositionLimit[joint.idx_q]
            elif slides:
                slide[2] = joints[leg, at]
            else:
                turn = pin.exp3(np.array([0.0, 0.0, joints[leg, at]]))
            legs.rotation[leg, at] = axes.rotation[body] @ turn
            legs.translation[leg, at] = (
                axes.translation[body] + axes.rotation[body] @ slide
            )
            legs.mass[leg, at], legs.moment[leg, at] = mass[body], in_axes[body]
    return legs


def _sole(robot: Robot, side: Side, last: int, axes: KernelAxes) -> Array:
    """Return the transform from a sole to the axes of the last body, (4, 4)."""
    body, pose = placement_in_body(robot.model, robot.soles[side])
    if body != last:
        raise EquipoiseError(
            f"{robot.name}: the {side} sole is not at the end of its leg"
        )
    turned = np.eye(4)
    turned[:3] = axes.alignment[body].T @ np.asarray(pose)[:3]
    return turned


def _bent(joints: Array, legs: LegArrays, bend: float) -> Array:
    """Return joints moved by a fraction of the way to the middle of their ranges.

    A straight knee could bend either way, and may only bend one.
    """
    ranged = np.isfinite(legs.lower) & np.isfinite(legs.upper)
    ends = [np.where(ranged, limit, joints) for limit in (legs.lower, legs.upper)]
    middle = 0.5 * (ends[0] + ends[1])
    return np.asarray(joints + bend * (middle - joints))


def _moment_of_the_rest(robot: Robot, chains: list[list[int]], posture: Array) -> Array:
    """Return mass × place of all that the base carries, in its axes, (3,) or (n, 3)."""
    from equipoise.kernels import com as kernels

    carrier = _carriers(robot, chains)
    names = [
        robot.model.names[body]
        for body in range(BASE, robot.model.njoints)
        if carrier[body] == BASE
    ]
    tree = device_tree(robot, "cpu", np.dtype(np.float64), only=names)
    rows = np.array(np.atleast_2d(posture))
    rows[:, :7] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
    moment = robot.mass * kernels.com(tree, rows)
    return np.asarray(moment[0] if np.ndim(posture) == 1 else moment)


def _quaternions(rotation: Array) -> Array:
    """Return quaternions xyzw, shape (n, 4), each near the one before."""
    from scipy.spatial.transform import Rotation

    xyzw = np.asarray(Rotation.from_matrix(rotation).as_quat())
    flips = np.sign(np.einsum("ni,ni->n", xyzw[1:], xyzw[:-1]))
    xyzw[1:] *= np.cumprod(np.where(flips < 0.0, -1.0, 1.0))[:, None]
    return xyzw
