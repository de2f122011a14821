"""The tree of bodies as arrays, and its way onto a device.

Body 0 is the world; body j hangs by joint j on body ``parent[j]`` < j. Inside the
kernels each joint with an axis has its frame turned so that the axis is z: a joint
angle then only mixes the x- and y-axis.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import warp as wp
from numpy.typing import NDArray

from equipoise.kernels.bodies import SPHERICAL, make_bodies
from equipoise.kernels.lanes import make_lanes
from equipoise.kernels.once import lock
from equipoise.kernels.runtime import (
    empty_result,
    lane_width,
    launch,
    thread_count,
    to_device,
)


@dataclass(frozen=True, eq=False)
class TreeArrays:
    """A tree of bodies, body 0 being the world; all arrays have one row for each.

    Attributes:
        parent: Body that the joint is fixed to, shape (nbodies,).
        kind: A number of :mod:`equipoise.kernels.bodies`, shape (nbodies,).
        axis: Unit axis in joint coordinates, shape (nbodies, 3); unused by
            spherical and floating joints.
        pitch: Advance of helical joints [m/rad], shape (nbodies,).
        idx_q: Where the joint begins in a configuration, shape (nbodies,).
        idx_v: Where it begins in a velocity, shape (nbodies,).
        placement: Maps joint coordinates at zero position to parent coordinates,
            shape (nbodies, 4, 4).
        mass: [kg], shape (nbodies,).
        com: Centre of mass in body coordinates [m], shape (nbodies, 3).
        inertia: About the centre of mass in body axes [kg m²], (nbodies, 3, 3).
        total_mass: Mass that the centre of mass is divided by [kg].
        nv: Length of a velocity.
    """

    parent: NDArray[np.int32]
    kind: NDArray[np.int32]
    axis: NDArray[np.float64]
    pitch: NDArray[np.float64]
    idx_q: NDArray[np.int32]
    idx_v: NDArray[np.int32]
    placement: NDArray[np.float64]
    mass: NDArray[np.float64]
    com: NDArray[np.float64]
    inertia: NDArray[np.float64]
    total_mass: float
    nv: int


@dataclass(frozen=True, eq=False)
class DeviceTree:
    """A tree on a device, ready for kernels.

    Attributes:
        struct: What kernels get.
        scalar: Warp's number type.
        width: Configurations that a thread works on side by side.
        device: Where the arrays are.
        bodies: How many bodies, the world included.
        nv: Length of a velocity.
        parent: Body that each body hangs on, (nbodies,).
        alignment: Maps kernel axes of each body to its own, (nbodies, 3, 3).
    """

    struct: Any
    scalar: Any
    width: int
    device: wp.Device
    bodies: int
    nv: int
    parent: NDArray[np.int32]
    alignment: NDArray[np.float64]

    def run(
        self,
        kernel: wp.Kernel,
        slots: int,
        rows: Sequence[NDArray[Any]],
        shapes: Sequence[tuple[int, ...]],
        parameters: Sequence[Any] = (),
        *,
        zeroed: bool = False,
    ) -> list[NDArray[Any]]:
        """Run a kernel of ``(tree, *rows, scratch, *results, *parameters)``.

        Args:
            kernel: What to run.
            slots: Vectors of working memory for each body.
            rows: Configurations (n, nq) and perhaps velocities (n, nv).
            shapes: Shapes of each result, for one configuration.
            parameters: Further arguments; arrays are bodies by number.
            zeroed: Whether kernels leave out zeros.

        Returns:
            The results as NumPy arrays, shapes (n, ...); on the CPU without a copy.
        """
        # a GPU's memory and its one stream are for one thread at a time
        with lock if self.device.is_cuda else contextlib.nullcontext():
            return self._run(kernel, slots, rows, shapes, parameters, zeroed)

    def _run(
        self,
        kernel: wp.Kernel,
        slots: int,
        rows: Sequence[NDArray[Any]],
        shapes: Sequence[tuple[int, ...]],
        parameters: Sequence[Any],
        zeroed: bool,
    ) -> list[NDArray[Any]]:
        count, device = len(rows[0]), self.device
        threads = thread_count(device, count)
        with lock:
            results = [
                empty_result((count, *shape), self.scalar, device, zeroed=zeroed)
                for shape in shapes
            ]
            vector = make_lanes(self.scalar, self.width).Lanes3
            scratch_shape = (self.bodies, slots, threads)
            scratch = wp.empty(scratch_shape, dtype=vector, device=device)
            arrays = [to_device(row, self.scalar, device) for row in rows]
            further = [
                to_device(value, wp.int32, device)
                if isinstance(value, np.ndarray)
                else value
                for value in parameters
            ]
        if count > 0:
            inputs = [self.struct, *arrays, scratch, *results, *further]
            launch(kernel, threads, inputs, device)
        return [result.numpy() for result in results]


class KernelAxes(NamedTuple):
    """A tree whose joint frames are turned so that axes are z.

    Attributes:
        alignment: Maps kernel axes of each body to its own, (nbodies, 3, 3).
        rotation: Maps kernel axes at zero position to the parent's, (nbodies, 3, 3).
        translation: Translation of the origin, in the parent's kernel axes [m],
            (nbodies, 3).
        moment: Mass × centre of mass in kernel axes [kg m], (nbodies, 3).
        inertia: About the origin in kernel axes [kg m²], (nbodies, 3, 3).
    """

    alignment: NDArray[np.float64]
    rotation: NDArray[np.float64]
    translation: NDArray[np.float64]
    moment: NDArray[np.float64]
    inertia: NDArray[np.float64]


def in_kernel_axes(tree: TreeArrays) -> KernelAxes:
    """Turn all joint frames so that axes are z."""
    alignment = np.stack(
        [
            np.eye(3) if kind >= SPHERICAL else _rotation_with_z(axis)
            for kind, axis in zip(tree.kind, tree.axis, strict=True)
        ]
    )
    to_parent = np.swapaxes(alignment[tree.parent], 1, 2)
    return KernelAxes(
        alignment,
        to_parent @ tree.placement[:, :3, :3] @ alignment,
        (to_parent @ tree.placement[:, :3, 3:])[:, :, 0],
        *turned_inertias(alignment, tree.mass, tree.com, tree.inertia),
    )


def turned_inertias(
    alignment: NDArray[np.float64],
    mass: NDArray[np.float64],
    com: NDArray[np.float64],
    inertia: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return first moments and inertias about the origin, in kernel axes.

    Args:
        alignment: Maps kernel axes of each body to its own, (nbodies, 3, 3).
        mass: Masses [kg], shape (…, nbodies).
        com: Centres of mass in body coordinates [m], shape (…, nbodies, 3).
        inertia: About the centre of mass in body axes [kg m²], (…, nbodies, 3, 3).

    Returns:
        Mass × centre of mass [kg m], shape (…, nbodies, 3), and inertias [kg m²],
        shape (…, nbodies, 3, 3).
    """
    to_kernel = np.swapaxes(alignment, 1, 2)
    moment = to_kernel @ (mass[..., None] * com)[..., None]
    square = np.einsum("...i,...i->...", com, com)[..., None, None] * np.eye(3)
    steiner = square - com[..., :, None] * com[..., None, :]
    about_origin = inertia + mass[..., None, None] * steiner
    return moment[..., 0], to_kernel @ about_origin @ alignment


def upload(tree: TreeArrays, scalar: Any, device: wp.Device) -> DeviceTree:
    """Turn all joint frames so that axes are z, and move the tree to a device."""
    width = lane_width(device, scalar)
    axes = in_kernel_axes(tree)
    mass_below = tree.mass.copy()
    for body in range(len(mass_below) - 1, 0, -1):
        mass_below[tree.parent[body]] += mass_below[body]

    types = make_bodies(scalar, width)
    struct = types.Tree()
    struct.bodies = len(tree.parent)
    struct.total_mass = tree.total_mass
    for name, values, dtype in (
        ("parent", tree.parent, wp.int32),
        ("kind", tree.kind, wp.int32),
        ("idx_q", tree.idx_q, wp.int32),
        ("idx_v", tree.idx_v, wp.int32),
        ("rotation", axes.rotation, types.mat33),
        ("translation", axes.translation, types.vec3),
        ("pitch", tree.pitch, scalar),
        ("mass", tree.mass, scalar),
        ("mass_below", mass_below, scalar),
        ("moment", axes.moment, types.vec3),
        ("inertia", axes.inertia, types.mat33),
    ):
        number = np.int32 if dtype is wp.int32 else wp.dtype_to_numpy(scalar)
        row = np.ascontiguousarray(values, dtype=number)
        setattr(struct, name, wp.array(row, dtype=dtype, device=device))
    return DeviceTree(
        struct,
        scalar,
        width,
        device,
        len(tree.parent),
        tree.nv,
        tree.parent,
        axes.alignment,
    )


def _rotation_with_z(axis: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a rotation whose third column is a unit axis."""
    x = np.cross(np.eye(3)[np.argmin(np.abs(axis))], axis)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(axis, x), axis])
