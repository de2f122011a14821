"""Centre of mass of many configurations, its Jacobian, their rates, and momentum."""

# ruff: noqa: SIM109 (kernels have no `in`)
# Kernel bodies are in Warp's own language, which mypy misreads.
# mypy: disable-error-code="arg-type, attr-defined, untyped-decorator"

from types import SimpleNamespace
from typing import Any

import warp as wp
from numpy.typing import NDArray

from equipoise.kernels.bodies import (
    CONTINUOUS,
    FLOATING,
    HELICAL,
    MOMENT,
    MOMENTUM,
    OMEGA,
    ORIGIN,
    PRISMATIC,
    REVOLUTE,
    VELOCITY,
    X,
    Y,
    Z,
    make_bodies,
    make_columns,
)
from equipoise.kernels.lanes import make_lanes
from equipoise.kernels.once import once
from equipoise.kernels.runtime import MODULE_OPTIONS
from equipoise.kernels.tree import DeviceTree


def com(tree: DeviceTree, q: NDArray[Any]) -> NDArray[Any]:
    """Return centres of mass [m], shape (n, 3), of configurations (n, nq)."""
    kernel = _make_com_kernels(tree.scalar, tree.width).com
    (position,) = tree.run(kernel, ORIGIN + 1, [q], [(3,)])
    return position


def com_and_jacobian(
    tree: DeviceTree, q: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return centres of mass (n, 3) and Jacobians (n, 3, nv) of configurations."""
    kernel = _make_com_kernels(tree.scalar, tree.width).com_jacobian
    shapes = [(3,), (3, tree.nv)]
    position, jacobian = tree.run(kernel, MOMENT + 1, [q], shapes)
    return position, jacobian


@once
def _make_com_kernels(scalar: Any, width: int) -> SimpleNamespace:
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


def com_velocity(tree: DeviceTree, q: NDArray[Any], v: NDArray[Any]) -> NDArray[Any]:
    """Return velocities of the centre of mass [m/s], shape (n, 3)."""
    kernel = _make_rate_kernels(tree.scalar, tree.width).com_velocity
    (velocity,) = tree.run(kernel, VELOCITY + 1, [q, v], [(3,)])
    return velocity


def com_jacobian_rate(
    tree: DeviceTree, q: NDArray[Any], v: NDArray[Any]
) -> NDArray[Any]:
    """Return time derivatives of the CoM Jacobian along v, shape (n, 3, nv)."""
    kernel = _make_rate_kernels(tree.scalar, tree.width).com_jacobian_rate
    (rate,) = tree.run(kernel, MOMENTUM + 1, [q, v], [(3, tree.nv)])
    return rate


@once
def _make_rate_kernels(scalar: Any, width: int) -> SimpleNamespace:
    lanes = make_lanes(scalar, width)
    Lanes3, cross = lanes.Lanes3, lanes.cross
    store, store_column = lanes.store, lanes.store_column
    bodies = make_bodies(scalar, width)
    Tree, start, place, move = bodies.Tree, bodies.start, bodies.place, bodies.move
    local, moment_of, hand_down = bodies.local, bodies.moment_of, bodies.hand_down

    @wp.func
    def momentum_of(tree: Tree, j: int, scratch: wp.array3d[Lanes3], t: int) -> Lanes3:
        arm = local(scratch, j, t, tree.moment[j])
        return tree.mass[j] * scratch[j, VELOCITY, t] + cross(scratch[j, OMEGA, t], arm)

    @wp.kernel(module="unique", module_options=MODULE_OPTIONS)
    def com_velocity(
        tree: Tree,
        q: wp.array2d[scalar],
        v: wp.array2d[scalar],
        scratch: wp.array3d[Lanes3],
        velocity: wp.array2d[scalar],
    ) -> None:
        t = wp.tid()
        start(scratch, t)
        for first in range(t * width, q.shape[0], scratch.shape[2] * width):
            momentum = Lanes3()
            for j in range(1, tree.bodies):
                place(tree, j, q, first, scratch, t)
                move(tree, j, v, first, scratch, t)
                momentum = momentum + momentum_of(tree, j, scratch, t)
            store(velocity, first, 0, (scalar(1.0) / tree.total_mass) * momentum)

    @wp.func
    def turning(a: Lanes3, omega: Lanes3, lever: Lanes3, lever_rate: Lanes3) -> Lanes3:
        """Return d/dt (a × lever) of an axis that turns with ``omega``."""
        return cross(cross(omega, a), lever) + cross(a, lever_rate)

    @wp.func
    def store_column_rates(
        tree: Tree,
        j: int,
        scratch: wp.array3d[Lanes3],
        t: int,
        fraction: scalar,
        lever: Lanes3,
        lever_rate: Lanes3,
        out: wp.array3d[scalar],
        first: int,
    ) -> None:
        """Write the time derivative of what ``store_columns`` writes."""
        kind = tree.kind[j]
        at = tree.idx_v[j]
        omega = scratch[j, OMEGA, t]
        if kind == REVOLUTE or kind == CONTINUOUS:
            turned = turning(scratch[j, Z, t], omega, lever, lever_rate)
            store_column(out, first, 0, at, turned)
        elif kind == PRISMATIC:
            store_column(out, first, 0, at, fraction * cross(omega, scratch[j, Z, t]))
        elif kind == HELICAL:
            z = scratch[j, Z, t]
            screwed = turning(z, omega, lever, lever_rate)
            screwed = screwed + (fraction * tree.pitch[j]) * cross(omega, z)
            store_column(out, first, 0, at, screwed)
        else:
            if kind == FLOATING:
                for axis in range(3):
                    moved = fraction * cross(omega, scratch[j, axis, t])
                    store_column(out, first, 0, at + axis, moved)
                at = at + 3
            for axis in range(3):
                spun = turning(scratch[j, axis, t], omega, lever, lever_rate)
                store_column(out, first, 0, at + axis, spun)

    @wp.kernel(module="unique", module_options=MODULE_OPTIONS)
    def com_jacobian_rate(
        tree: Tree,
        q: wp.array2d[scalar],
        v: wp.array2d[scalar],
        scratch: wp.array3d[Lanes3],
        rate: wp.array3d[scalar],
    ) -> None:
        t = wp.tid()
        start(scratch, t)
        per_mass = scalar(1.0) / tree.total_mass
        for first in range(t * width, q.shape[0], scratch.shape[2] * width):
            for j in range(1, tree.bodies):
                place(tree, j, q, first, scratch, t)
                move(tree, j, v, first, scratch, t)
                scratch[j, MOMENT, t] = moment_of(tree, j, scratch, t)
                scratch[j, MOMENTUM, t] = momentum_of(tree, j, scratch, t)
            for back in range(1, tree.bodies):
                j = tree.bodies - back
                moment = hand_down(tree, j, MOMENT, scratch, t)
                momentum = hand_down(tree, j, MOMENTUM, scratch, t)
                fraction = per_mass * tree.mass_below[j]
                lever = per_mass * moment - fraction * scratch[j, ORIGIN, t]
                lever_rate = per_mass * momentum - fraction * scratch[j, VELOCITY, t]
                store_column_rates(
                    tree, j, scratch, t, fraction, lever, lever_rate, rate, first
                )

    return SimpleNamespace(
        com_velocity=com_velocity, com_jacobian_rate=com_jacobian_rate
    )


def centroidal_momentum(
    tree: DeviceTree, q: NDArray[Any], v: NDArray[Any]
) -> NDArray[Any]:
    """Return momenta (n, 6): linear [N s], angular about the CoM [N m s]."""
    kernel = _make_momentum_kernel(tree.scalar, tree.width)
    (momentum,) = tree.run(kernel, VELOCITY + 1, [q, v], [(6,)])
    return momentum


@once
def _make_momentum_kernel(scalar: Any, width: int) -> wp.Kernel:
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
