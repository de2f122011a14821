"""Linear and angular momentum of many configurations."""

# Kernel bodies are in Warp's own language, which mypy misreads.
# mypy: disable-error-code="arg-type, attr-defined, untyped-decorator"

from typing import Any

import warp as wp
from numpy.typing import NDArray

from equipoise.kernels.bodies import OMEGA, ORIGIN, VELOCITY, X, Y, Z, make_bodies
from equipoise.kernels.lanes import make_lanes
from equipoise.kernels.once import once
from equipoise.kernels.runtime import MODULE_OPTIONS
from equipoise.kernels.tree import DeviceTree


def centroidal_momentum(
    tree: DeviceTree, q: NDArray[Any], v: NDArray[Any]
) -> NDArray[Any]:
    """Return momenta (n, 6): linear [N s], angular about the CoM [N m s]."""
    kernel = _make_kernel(tree.scalar, tree.width)
    (momentum,) = tree.run(kernel, VELOCITY + 1, [q, v], [(6,)])
    return momentum


@once
def _make_kernel(scalar: Any, width: int) -> wp.Kernel:
    lanes = make_lanes(scalar, width)
    Lanes3, store = lanes.Lanes3, lanes.store
    scale, cross, resolve = lanes.scale, lanes.cross, lanes.resolve
    bodies = make_bodies(scalar, width)
    Tree, mat33 = bodies.Tree, bodies.mat33
    start, place, move, local = bodies.start, bodies.place, bodies.move, bodies.local

    @wp.func
    def inertia_times(
        inertia: mat33, omega: Lanes3, scratch: wp.array3d[Lanes3], j: int, t: int
    ) -> Lanes3:
        """Return R I Rᵀ ω, the inertia I given in the axes R of body j."""
        x = scratch[j, X, t]
        y = scratch[j, Y, t]
        z = scratch[j, Z, t]
        w = resolve(x, y, z, omega)
        spin = wp.matrix_from_rows(
            inertia[0, 0] * w[0] + inertia[0, 1] * w[1] + inertia[0, 2] * w[2],
            inertia[1, 0] * w[0] + inertia[1, 1] * w[1] + inertia[1, 2] * w[2],
            inertia[2, 0] * w[0] + inertia[2, 1] * w[1] + inertia[2, 2] * w[2],
        )
        return scale(spin[0], x) + scale(spin[1], y) + scale(spin[2], z)

    @wp.kernel(module="unique", module_options=MODULE_OPTIONS)
    def centroidal_momentum(
        tree: Tree,
        q: wp.array2d[scalar],
        v: wp.array2d[scalar],
        scratch: wp.array3d[Lanes3],
        momentum: wp.array2d[scalar],
    ) -> None:
        t = wp.tid()
        start(scratch, t)
        for first in range(t * width, q.shape[0], scratch.shape[2] * width):
            moment = Lanes3()
            linear = Lanes3()
            angular = Lanes3()
            for j in range(1, tree.bodies):
                place(tree, j, q, first, scratch, t)
                move(tree, j, v, first, scratch, t)
                omega = scratch[j, OMEGA, t]
                velocity = scratch[j, VELOCITY, t]
                # about the base's origin: exact also far from the world's
                origin = scratch[j, ORIGIN, t] - scratch[1, ORIGIN, t]
                arm = local(scratch, j, t, tree.moment[j])
                push = tree.mass[j] * velocity + cross(omega, arm)
                moment = moment + tree.mass[j] * origin + arm
                linear = linear + push
                spin = inertia_times(tree.inertia[j], omega, scratch, j, t)
                angular = angular + spin + cross(arm, velocity) + cross(origin, push)
            com_from_base = (scalar(1.0) / tree.total_mass) * moment
            store(momentum, first, 0, linear)
            store(momentum, first, 3, angular - cross(com_from_base, linear))

    return centroidal_momentum
