"""Pose and Jacobian of one frame in many configurations."""

# Kernel bodies are in Warp's own language, which mypy misreads.
# mypy: disable-error-code="arg-type, attr-defined, untyped-decorator"

from types import SimpleNamespace
from typing import Any

import numpy as np
import warp as wp
from numpy.typing import NDArray

from equipoise.kernels.bodies import ORIGIN, make_bodies, make_columns
from equipoise.kernels.lanes import make_lanes
from equipoise.kernels.once import once
from equipoise.kernels.runtime import MODULE_OPTIONS
from equipoise.kernels.tree import DeviceTree

# Axes and reference point of a frame Jacobian, as Pinocchio's reference frames.
LOCAL_WORLD_ALIGNED, WORLD, LOCAL = range(3)


def frame_pose(
    tree: DeviceTree, q: NDArray[Any], body: int, placement: NDArray[np.float64]
) -> NDArray[Any]:
    """Return transforms from the frame to the world, shape (n, 4, 4).

    Args:
        tree: The robot.
        q: Configurations, shape (n, nq).
        body: The body that carries the frame.
        placement: Maps frame coordinates to body coordinates, (4, 4).
    """
    kernel = _make_kernels(tree.scalar, tree.width).frame_pose
    parameters = _frame_parameters(tree, body, placement)
    (pose,) = tree.run(kernel, ORIGIN + 1, [q], [(4, 4)], parameters, zeroed=True)
    pose[:, 3, 3] = 1.0
    return pose


def frame_jacobian(
    tree: DeviceTree,
    q: NDArray[Any],
    body: int,
    placement: NDArray[np.float64],
    reference: int,
) -> NDArray[Any]:
    """Return frame Jacobians, linear part first, shape (n, 6, nv).

    Args:
        tree: The robot.
        q: Configurations, shape (n, nq).
        body: The body that carries the frame.
        placement: Maps frame coordinates to body coordinates, (4, 4).
        reference: :data:`LOCAL_WORLD_ALIGNED`, :data:`WORLD` or :data:`LOCAL`.
    """
    kernel = _make_kernels(tree.scalar, tree.width).frame_jacobian
    parameters = [*_frame_parameters(tree, body, placement), reference]
    shapes = [(6, tree.nv)]
    (jacobian,) = tree.run(kernel, ORIGIN + 1, [q], shapes, parameters, zeroed=True)
    return jacobian


def _frame_parameters(
    tree: DeviceTree, body: int, placement: NDArray[np.float64]
) -> list[Any]:
    """Return the bodies from base to frame, and the placement in kernel axes."""
    types = make_bodies(tree.scalar, tree.width)
    chain = [body]
    while chain[-1] > 0:
        chain.append(int(tree.parent[chain[-1]]))
    to_kernel = tree.alignment[body].T
    return [
        np.array(chain[::-1]),
        types.mat33(*(to_kernel @ placement[:3, :3]).ravel()),
        types.vec3(*(to_kernel @ placement[:3, 3])),
    ]


@once
def _make_kernels(scalar: Any, width: int) -> SimpleNamespace:
    lanes = make_lanes(scalar, width)
    Lanes3, resolve, store_column = lanes.Lanes3, lanes.resolve, lanes.store_column
    bodies = make_bodies(scalar, width)
    Tree, vec3, mat33 = bodies.Tree, bodies.vec3, bodies.mat33
    start, place, local = bodies.start, bodies.place, bodies.local
    columns = make_columns(scalar, width)
    store_columns, store_turns = columns.store_columns, columns.store_turns

    @wp.kernel(module="unique", module_options=MODULE_OPTIONS)
    def frame_pose(
        tree: Tree,
        q: wp.array2d[scalar],
        scratch: wp.array3d[Lanes3],
        pose: wp.array3d[scalar],
        chain: wp.array[int],
        rotation: mat33,
        translation: vec3,
    ) -> None:
        t = wp.tid()
        start(scratch, t)
        last = chain[chain.shape[0] - 1]
        for first in range(t * width, q.shape[0], scratch.shape[2] * width):
            for link in range(1, chain.shape[0]):
                place(tree, chain[link], q, first, scratch, t)
            for axis in range(3):
                unit = vec3(rotation[0, axis], rotation[1, axis], rotation[2, axis])
                store_column(pose, first, 0, axis, local(scratch, last, t, unit))
            position = scratch[last, ORIGIN, t] + local(scratch, last, t, translation)
            store_column(pose, first, 0, 3, position)

    @wp.kernel(module="unique", module_options=MODULE_OPTIONS)
    def frame_jacobian(
        tree: Tree,
        q: wp.array2d[scalar],
        scratch: wp.array3d[Lanes3],
        jacobian: wp.array3d[scalar],
        chain: wp.array[int],
        rotation: mat33,
        translation: vec3,
        reference: int,
    ) -> None:
        t = wp.tid()
        start(scratch, t)
        last = chain[chain.shape[0] - 1]
        for first in range(t * width, q.shape[0], scratch.shape[2] * width):
            for link in range(1, chain.shape[0]):
                place(tree, chain[link], q, first, scratch, t)
            r = rotation
            x = local(scratch, last, t, vec3(r[0, 0], r[1, 0], r[2, 0]))
            y = local(scratch, last, t, vec3(r[0, 1], r[1, 1], r[2, 1]))
            z = local(scratch, last, t, vec3(r[0, 2], r[1, 2], r[2, 2]))
            point = Lanes3()
            if reference != WORLD:
                point = scratch[last, ORIGIN, t] + local(scratch, last, t, translation)
            for link in range(1, chain.shape[0]):
                j = chain[link]
                lever = point - scratch[j, ORIGIN, t]
                if reference == LOCAL:
                    lever = resolve(x, y, z, lever)
                    for axis in range(3):
                        turned = resolve(x, y, z, scratch[j, axis, t])
                        scratch[j, axis, t] = turned
                one = scalar(1.0)
                store_columns(tree, j, scratch, t, one, lever, jacobian, first)
                store_turns(tree, j, scratch, t, jacobian, first)

    return SimpleNamespace(frame_pose=frame_pose, frame_jacobian=frame_jacobian)
