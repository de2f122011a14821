"""Where and in which numbers a batch is computed, and the robot made ready for it.

Kernels read a robot's Pinocchio model as arrays, which are kept for the next call.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
import pinocchio as pin
from numpy.typing import DTypeLike, NDArray

from equipoise.errors import EquipoiseError
from equipoise.robot.model import Robot

if TYPE_CHECKING:
    from equipoise.kernels.tree import DeviceTree, TreeArrays

Floats = NDArray[np.floating[Any]]

NUMBER_TYPES = (np.dtype(np.float64), np.dtype(np.float32))

# Trees by device, number type and joints; they go when their robot goes.
_trees: WeakKeyDictionary[Robot, dict[Any, DeviceTree]] = WeakKeyDictionary()


def check_target(device: str, dtype: DTypeLike) -> np.dtype[Any]:
    """Return the number type of results, computed on a device.

    Args:
        device: ``"cpu"``, ``"cuda"`` or ``"cuda:1"``.
        dtype: ``float64`` or ``float32``.

    Raises:
        EquipoiseError: For a device that is not there, or another type.
    """
    try:
        numbers = np.dtype(dtype)
    except (TypeError, ValueError):
        numbers = np.dtype(np.void)
    if numbers not in NUMBER_TYPES:
        raise EquipoiseError(
            f"dtype is '{getattr(dtype, '__name__', dtype)}'; results are computed in: "
            f"{', '.join(map(str, NUMBER_TYPES))}"
        )
    if device != "cpu":
        from equipoise.kernels import runtime  # Warp takes 0.6 s to import

        runtime.device_named(device)
    return numbers


def device_tree(
    robot: Robot, device: str, numbers: np.dtype[Any], only: Iterable[str] | None = None
) -> DeviceTree:
    """Return a robot's tree on a device, uploading it at the first call.

    Args:
        robot: The robot.
        device: ``"cpu"``, ``"cuda"`` or ``"cuda:1"``.
        numbers: From :func:`check_target`.
        only: Joints whose bodies keep their mass, or None for all; the total mass
            stays the whole robot's.
    """
    from equipoise.kernels import runtime, tree
    from equipoise.kernels.once import lock

    scalar = runtime.SCALARS[numbers]
    place = runtime.device_named(device)
    key = (place.alias, scalar, None if only is None else tuple(only))
    known = _trees.get(robot, {}).get(key)
    if known is None:
        with lock:
            trees = _trees.setdefault(robot, {})
            if key not in trees:
                trees[key] = tree.upload(tree_arrays(robot, key[2]), scalar, place)
            known = trees[key]
    return known


def tree_arrays(robot: Robot, only: Iterable[str] | None = None) -> TreeArrays:
    """Return a robot's tree as arrays, in Pinocchio's order of joints.

    Args:
        robot: The robot.
        only: As for :func:`device_tree`.
    """
    from equipoise.kernels.bodies import FLOATING
    from equipoise.kernels.tree import TreeArrays

    model = robot.model
    joints = [_kind_axis_pitch(joint) for joint in list(model.joints)[1:]]
    keeps_mass = np.ones(model.njoints)
    if only is not None:
        keeps_mass[:] = 0.0
        keeps_mass[[robot.joint_id(name) for name in only]] = 1.0
    keeps_mass[0] = 0.0  # what is fixed to the world does not move
    return TreeArrays(
        parent=np.array(model.parents, dtype=np.int32),
        kind=np.array([FLOATING] + [kind for kind, _, _ in joints], dtype=np.int32),
        axis=np.array([np.zeros(3)] + [axis for _, axis, _ in joints]),
        pitch=np.array([0.0] + [pitch for _, _, pitch in joints]),
        idx_q=np.array(model.idx_qs, dtype=np.int32),
        idx_v=np.array(model.idx_vs, dtype=np.int32),
        placement=np.array([pose.homogeneous for pose in model.jointPlacements]),
        mass=np.array([body.mass for body in model.inertias]) * keeps_mass,
        com=np.array([body.lever for body in model.inertias]),
        inertia=np.array([body.inertia for body in model.inertias])
        * keeps_mass[:, None, None],
        total_mass=robot.mass,
        nv=robot.nv,
    )


def _kind_axis_pitch(joint: pin.JointModel) -> tuple[int, Any, float]:
    """Read kind, axis and pitch [m/rad] off a joint's motion subspace."""
    from equipoise.kernels import bodies

    data = joint.createData()
    lone = pin.Model()
    lone.addJoint(0, joint, pin.SE3.Identity(), "joint")
    lone.joints[1].calc(data, pin.neutral(lone))
    subspace = np.asarray(data.S).reshape(6, -1)
    match (joint.nq, joint.nv):
        case (7, 6):
            return bodies.FLOATING, np.zeros(3), 0.0
        case (4, 3):
            return bodies.SPHERICAL, np.zeros(3), 0.0
        case (2, 1):
            return bodies.CONTINUOUS, subspace[3:, 0], 0.0
        case (1, 1):
            linear, axis = subspace[:3, 0], subspace[3:, 0]
            if not axis.any():
                return bodies.PRISMATIC, linear, 0.0
            pitch = float(linear @ axis)
            return (bodies.HELICAL if pitch else bodies.REVOLUTE), axis, pitch
    raise EquipoiseError(
        f"joint model '{joint.shortname()}' is not supported in batches"
    )
