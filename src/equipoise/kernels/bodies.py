"""Where the bodies of a tree are and how they move: the steps of every recursion.

Kernels are loops over these Warp functions. What is known of a body lies in working
memory, ``scratch[body, slot, thread]``, in world axes. Each step reads it from there
and writes it back: the compiler vectorises loads and stores of lanes well, and values
that live across the branches of joint kinds badly.
"""

# ruff: noqa: SIM109 (kernels have no `in`)
# Kernel bodies are in Warp's own language, which mypy misreads.
# mypy: disable-error-code="arg-type, attr-defined, untyped-decorator"

from types import SimpleNamespace
from typing import Any

import warp as wp

from equipoise.kernels.lanes import make_lanes
from equipoise.kernels.once import once
from equipoise.kernels.sincos import make_sincos

# Joint kinds as kernels number them.
REVOLUTE, CONTINUOUS, PRISMATIC, HELICAL, SPHERICAL, FLOATING = range(6)
# The slots: axes and origin of a body; mass × centre of mass; angular velocity and
# velocity of the origin; linear momentum. Kernels reserve as many as they use.
X, Y, Z, ORIGIN, MOMENT, OMEGA, VELOCITY, MOMENTUM = range(8)


@once
def make_bodies(scalar: Any, width: int) -> SimpleNamespace:
    """Return the struct ``Tree`` and the steps of recursions over it.

    - ``start(scratch, t)``: put body 0, the world, at rest at the origin
    - ``place(tree, j, q, first, scratch, t)``: axes and origin of body j from those
      of its parent
    - ``move(tree, j, v, first, scratch, t)``: its angular velocity and the velocity
      of its origin, likewise
    - ``local(scratch, j, t, a)``: a vector given in the axes of body j
    - ``moment_of(tree, j, scratch, t)``: mass × centre of mass of body j
    - ``hand_down(tree, j, slot, scratch, t)``: what a slot of body j holds, after
      adding it to that of its parent; from the last body to the first this sums up
      what each joint carries

    ``first`` is the configuration in the first lane, ``t`` the thread.
    """
    lanes = make_lanes(scalar, width)
    Lanes, Lanes3, load = lanes.Lanes, lanes.Lanes3, lanes.load
    scale, cross, combine = lanes.scale, lanes.cross, lanes.combine
    turned = lanes.turned
    sincos = make_sincos(scalar, width).function
    vec3 = wp.types.vector(length=3, dtype=scalar)
    mat33 = wp.types.matrix(shape=(3, 3), dtype=scalar)
    one = scalar(1.0)

    @wp.struct
    class Tree:
        bodies: int
        parent: wp.array[int]
        kind: wp.array[int]
        idx_q: wp.array[int]
        idx_v: wp.array[int]
        rotation: wp.array[mat33]
        translation: wp.array[vec3]
        pitch: wp.array[scalar]
        mass: wp.array[scalar]
        mass_below: wp.array[scalar]
        moment: wp.array[vec3]
        inertia: wp.array[mat33]
        total_mass: scalar

    @wp.func
    def start(scratch: wp.array3d[Lanes3], t: int) -> None:
        for slot in range(scratch.shape[1]):
            scratch[0, slot, t] = Lanes3()
        for axis in range(3):
            unit = Lanes3()
            for i in range(width):
                unit[axis, i] = one
            scratch[0, axis, t] = unit

    @wp.func
    def local(scratch: wp.array3d[Lanes3], j: int, t: int, a: vec3) -> Lanes3:
        return combine(scratch[j, X, t], scratch[j, Y, t], scratch[j, Z, t], a)

    @wp.func
    def components(
        values: wp.array2d[scalar],
        first: int,
        at: int,
        scratch: wp.array3d[Lanes3],
        j: int,
        t: int,
    ) -> Lanes3:
        """Return a vector whose components in the axes of body j are given."""
        return (
            scale(load(values, first, at), scratch[j, X, t])
            + scale(load(values, first, at + 1), scratch[j, Y, t])
            + scale(load(values, first, at + 2), scratch[j, Z, t])
        )

    @wp.func
    def turn_about_z(
        cos: Lanes, sin: Lanes, scratch: wp.array3d[Lanes3], j: int, t: int
    ) -> None:
        x = scratch[j, X, t]
        y = scratch[j, Y, t]
        scratch[j, X, t] = scale(cos, x) + scale(sin, y)
        scratch[j, Y, t] = scale(cos, y) - scale(sin, x)

    @wp.func
    def turn_by_quaternion(
        q: wp.array2d[scalar],
        first: int,
        at: int,
        scratch: wp.array3d[Lanes3],
        j: int,
        t: int,
    ) -> None:
        """Turn the axes of body j by the quaternion (x, y, z, w) in ``q``."""
        axes = turned(
            scratch[j, X, t],
            scratch[j, Y, t],
            scratch[j, Z, t],
            load(q, first, at),
            load(q, first, at + 1),
            load(q, first, at + 2),
            load(q, first, at + 3),
        )
        scratch[j, X, t] = axes.x
        scratch[j, Y, t] = axes.y
        scratch[j, Z, t] = axes.z

    @wp.func
    def place(
        tree: Tree,
        j: int,
        q: wp.array2d[scalar],
        first: int,
        scratch: wp.array3d[Lanes3],
        t: int,
    ) -> None:
        parent = tree.parent[j]
        x = scratch[parent, X, t]
        y = scratch[parent, Y, t]
        z = scratch[parent, Z, t]
        r = tree.rotation[j]
        shift = combine(x, y, z, tree.translation[j])
        scratch[j, ORIGIN, t] = scratch[parent, ORIGIN, t] + shift
        scratch[j, X, t] = combine(x, y, z, vec3(r[0, 0], r[1, 0], r[2, 0]))
        scratch[j, Y, t] = combine(x, y, z, vec3(r[0, 1], r[1, 1], r[2, 1]))
        scratch[j, Z, t] = combine(x, y, z, vec3(r[0, 2], r[1, 2], r[2, 2]))

        kind = tree.kind[j]
        at = tree.idx_q[j]
        if kind == REVOLUTE or kind == HELICAL:
            angle = load(q, first, at)
            if kind == HELICAL:
                advance = scale(tree.pitch[j] * angle, scratch[j, Z, t])
                scratch[j, ORIGIN, t] = scratch[j, ORIGIN, t] + advance
            wave = sincos(angle)
            turn_about_z(wave.cos, wave.sin, scratch, j, t)
        elif kind == CONTINUOUS:
            turn_about_z(load(q, first, at), load(q, first, at + 1), scratch, j, t)
        elif kind == PRISMATIC:
            slide = scale(load(q, first, at), scratch[j, Z, t])
            scratch[j, ORIGIN, t] = scratch[j, ORIGIN, t] + slide
        elif kind == SPHERICAL:
            turn_by_quaternion(q, first, at, scratch, j, t)
        elif kind == FLOATING:
            travel = components(q, first, at, scratch, j, t)
            scratch[j, ORIGIN, t] = scratch[j, ORIGIN, t] + travel
            turn_by_quaternion(q, first, at + 3, scratch, j, t)

    @wp.func
    def move(
        tree: Tree,
        j: int,
        v: wp.array2d[scalar],
        first: int,
        scratch: wp.array3d[Lanes3],
        t: int,
    ) -> None:
        parent = tree.parent[j]
        omega = scratch[parent, OMEGA, t]
        arm = scratch[j, ORIGIN, t] - scratch[parent, ORIGIN, t]
        scratch[j, OMEGA, t] = omega
        scratch[j, VELOCITY, t] = scratch[parent, VELOCITY, t] + cross(omega, arm)

        kind = tree.kind[j]
        at = tree.idx_v[j]
        if kind == REVOLUTE or kind == CONTINUOUS:
            rate = scale(load(v, first, at), scratch[j, Z, t])
            scratch[j, OMEGA, t] = scratch[j, OMEGA, t] + rate
        elif kind == PRISMATIC:
            slide = scale(load(v, first, at), scratch[j, Z, t])
            scratch[j, VELOCITY, t] = scratch[j, VELOCITY, t] + slide
        elif kind == HELICAL:
            screw = scale(load(v, first, at), scratch[j, Z, t])
            scratch[j, OMEGA, t] = scratch[j, OMEGA, t] + screw
            scratch[j, VELOCITY, t] = scratch[j, VELOCITY, t] + tree.pitch[j] * screw
        else:
            if kind == FLOATING:
                travel = components(v, first, at, scratch, j, t)
                scratch[j, VELOCITY, t] = scratch[j, VELOCITY, t] + travel
                at = at + 3
            spin = components(v, first, at, scratch, j, t)
            scratch[j, OMEGA, t] = scratch[j, OMEGA, t] + spin

    @wp.func
    def moment_of(tree: Tree, j: int, scratch: wp.array3d[Lanes3], t: int) -> Lanes3:
        arm = local(scratch, j, t, tree.moment[j])
        return tree.mass[j] * scratch[j, ORIGIN, t] + arm

    @wp.func
    def hand_down(
        tree: Tree, j: int, slot: int, scratch: wp.array3d[Lanes3], t: int
    ) -> Lanes3:
        parent = tree.parent[j]
        carried = scratch[j, slot, t]
        scratch[parent, slot, t] = scratch[parent, slot, t] + carried
        return carried

    return SimpleNamespace(
        Tree=Tree,
        vec3=vec3,
        mat33=mat33,
        start=start,
        place=place,
        move=move,
        local=local,
        moment_of=moment_of,
        hand_down=hand_down,
    )


@once
def make_columns(scalar: Any, width: int) -> SimpleNamespace:
    """Return the Warp functions that write a joint's columns of a Jacobian.

    - ``store_columns(tree, j, scratch, t, fraction, lever, out, first)``: the linear
      part, rows 0 to 2. A turn of joint j about its axis z moves the point by
      z × ``lever``, a translation along z by ``fraction`` z. For a point of a body,
      ``lever`` leads from the joint to it and ``fraction`` is 1; for the centre of mass
      both are weighted with the fraction of mass that the joint carries.
    - ``store_turns(tree, j, scratch, t, out, first)``: the angular part, rows 3 to 5.
    """
    lanes = make_lanes(scalar, width)
    Lanes3, cross, store_column = lanes.Lanes3, lanes.cross, lanes.store_column
    Tree = make_bodies(scalar, width).Tree

    @wp.func
    def store_columns(
        tree: Tree,
        j: int,
        scratch: wp.array3d[Lanes3],
        t: int,
        fraction: scalar,
        lever: Lanes3,
        out: wp.array3d[scalar],
        first: int,
    ) -> None:
        kind = tree.kind[j]
        at = tree.idx_v[j]
        if kind == REVOLUTE or kind == CONTINUOUS:
            store_column(out, first, 0, at, cross(scratch[j, Z, t], lever))
        elif kind == PRISMATIC:
            store_column(out, first, 0, at, fraction * scratch[j, Z, t])
        elif kind == HELICAL:
            z = scratch[j, Z, t]
            advance = (fraction * tree.pitch[j]) * z
            store_column(out, first, 0, at, cross(z, lever) + advance)
        else:
            if kind == FLOATING:
                for axis in range(3):
                    moved = fraction * scratch[j, axis, t]
                    store_column(out, first, 0, at + axis, moved)
                at = at + 3
            for axis in range(3):
                turned = cross(scratch[j, axis, t], lever)
                store_column(out, first, 0, at + axis, turned)

    @wp.func
    def store_turns(
        tree: Tree,
        j: int,
        scratch: wp.array3d[Lanes3],
        t: int,
        out: wp.array3d[scalar],
        first: int,
    ) -> None:
        kind = tree.kind[j]
        at = tree.idx_v[j]
        if kind == REVOLUTE or kind == CONTINUOUS or kind == HELICAL:
            store_column(out, first, 3, at, scratch[j, Z, t])
        elif kind != PRISMATIC:
            if kind == FLOATING:
                at = at + 3
            for axis in range(3):
                store_column(out, first, 3, at + axis, scratch[j, axis, t])

    return SimpleNamespace(store_columns=store_columns, store_turns=store_turns)
