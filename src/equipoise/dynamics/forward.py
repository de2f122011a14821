"""Forward dynamics of many configurations at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from equipoise.errors import ShapeError
from equipoise.kinematics.batch import Floats, check_target, tree_arrays
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.robot.model import Robot

if TYPE_CHECKING:
    from equipoise.kernels.program import LaneProgram

# Trees in lanes by device, number type and what is side by side; they go with their
# robot.
_programs: WeakKeyDictionary[Robot, dict[Any, LaneProgram]] = WeakKeyDictionary()


def forward_dynamics(
    robot: Robot,
    q: ArrayLike,
    v: ArrayLike,
    effort: ArrayLike,
    *,
    gravity: float = STANDARD_GRAVITY,
    device: str = "cpu",
    dtype: DTypeLike = np.float64,
) -> Floats:
    """Return accelerations of a robot that nothing touches.

    What ``pin.aba`` computes for one configuration, rotor inertia included, for many;
    friction is not.

    Args:
        robot: The robot; its joints have one degree of freedom each.
        q: One configuration, shape (nq,), or a batch, shape (n, nq).
        v: Velocities, shape (nv,) or (n, nv).
        effort: Generalised forces, shape (nv,) or (n, nv); the first six act on the
            base, in its axes.
        gravity: Downwards [m/s²].
        device: ``"cpu"``, ``"cuda"`` or ``"cuda:1"``.
        dtype: ``float64`` or ``float32``.

    Returns:
        Accelerations, derivative of v, shape (nv,) or (n, nv).

    Raises:
        ShapeError: If a shape is wrong.
        EquipoiseError: If a joint has more than one degree of freedom.
    """
    q = robot.check_q(q)
    v = robot.check_v(v, like=q)
    effort = robot.check_v(effort)
    if effort.shape != v.shape:
        raise ShapeError(f"effort has shape {effort.shape}; v has shape {v.shape}")
    program = lane_program(robot, device, check_target(device, dtype), q.ndim > 1)
    from equipoise.kernels import forward

    result = forward.forward_dynamics(
        program, np.atleast_2d(q), np.atleast_2d(v), np.atleast_2d(effort), gravity
    )
    return result.reshape(v.shape)


def lane_program(
    robot: Robot, device: str, numbers: np.dtype[Any], many: bool
) -> LaneProgram:
    """Return a robot's tree in lanes, made at the first call.

    Args:
        robot: The robot.
        device: ``"cpu"``, ``"cuda"`` or ``"cuda:1"``.
        numbers: Number type.
        many: Whether robots or limbs of one robot are side by side.
    """
    from equipoise.kernels import runtime
    from equipoise.kernels.articulated import P_GAIN
    from equipoise.kernels.once import lock
    from equipoise.kernels.program import make_program

    scalar, place = runtime.SCALARS[numbers], runtime.device_named(device)
    key = (place.alias, scalar, many)
    with lock:
        known = _programs.setdefault(robot, {})
        if key not in known:
            tree = tree_arrays(robot)
            rotors = np.zeros((len(tree.parent), 3))
            rotors[2:, 2] = robot.model.armature[tree.idx_v[2:]]
            known[key] = make_program(
                tree, scalar, place, "robots" if many else "limbs", {P_GAIN: rotors}
            )
        return known[key]
