"""Centre of mass of many configurations, and its Jacobian."""

# Kernel bodies are in Warp's own language, which mypy misreads.
# mypy: disable-error-code="arg-type, attr-defined, untyped-decorator"

from types import SimpleNamespace
from typing import Any

import warp as wp
from numpy.typing import NDArray

from equipoise.kernels.bodies import MOMENT, ORIGIN, make_bodies, make_columns
from equipoise.kernels.lanes import make_lanes
from equipoise.kernels.once import once
from equipoise.kernels.runtime import MODULE_OPTIONS
from equipoise.kernels.tree import DeviceTree


def com(tree: DeviceTree, q: NDArray[Any]) -> NDArray[Any]:
    """Return centres of mass [m], shape (n, 3), of configurations (n, nq)."""
    kernel = _make_kernels(tree.scalar, tree.width).com
    (position,) = tree.run(kernel, ORIGIN + 1, [q], [(3,)])
    return position


def com_and_jacobian(
    tree: DeviceTree, q: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return centres of mass (n, 3) and Jacobians (n, 3, nv) of configurations."""
    kernel = _make_kernels(tree.scalar, tree.width).com_jacobian
    shapes = [(3,), (3, tree.nv)]
    position, jacobian = tree.run(kernel, MOMENT + 1, [q], shapes)
    return position, jacobian


@once
def _make_kernels(scalar: Any, width: int) -> SimpleNamespace:
    lanes = make_lanes(scalar, width)
    Lanes3, store = lanes.Lanes3, lanes.store
    bodies = make_bodies(scalar, width)
    Tree, start, place = bodies.Tree, bodies.start, bodies.place
    moment_of, hand_down = bodies.moment_of, bodies.hand_down
    store_columns = make_columns(scalar, width).store_columns

    @wp.kernel(module="unique", module_options=MODULE_OPTIONS)
    def com(
        tree: Tree,
        q: wp.array2d[scalar],
        scratch: wp.array3d[Lanes3],
        position: wp.array2d[scalar],
    ) -> None:
        t = wp.tid()
        start(scratch, t)
        for first in range(t * width, q.shape[0], scratch.shape[2] * width):
            moment = Lanes3()
            for j in range(1, tree.bodies):
                place(tree, j, q, first, scratch, t)
                moment = moment + moment_of(tree, j, scratch, t)
            store(position, first, 0, (scalar(1.0) / tree.total_mass) * moment)

    @wp.kernel(module="unique", module_options=MODULE_OPTIONS)
    def com_jacobian(
        tree: Tree,
        q: wp.array2d[scalar],
        scratch: wp.array3d[Lanes3],
        position: wp.array2d[scalar],
        jacobian: wp.array3d[scalar],
    ) -> None:
        t = wp.tid()
        start(scratch, t)
        per_mass = scalar(1.0) / tree.total_mass
        for first in range(t * width, q.shape[0], scratch.shape[2] * width):
            for j in range(1, tree.bodies):
                place(tree, j, q, first, scratch, t)
                scratch[j, MOMENT, t] = moment_of(tree, j, scratch, t)
            scratch[0, MOMENT, t] = Lanes3()
            for back in range(1, tree.bodies):
                j = tree.bodies - back
                moment = hand_down(tree, j, MOMENT, scratch, t)
                fraction = per_mass * tree.mass_below[j]
                lever = per_mass * moment - fraction * scratch[j, ORIGIN, t]
                store_columns(tree, j, scratch, t, fraction, lever, jacobian, first)
            store(position, first, 0, per_mass * scratch[0, MOMENT, t])

    return SimpleNamespace(com=com, com_jacobian=com_jacobian)
