"""A robot's bodies without lanes: what one control tick needs, one robot a thread.

Batches of the same work run in lanes (:mod:`equipoise.kernels.bodies`); a control tick
is many different small steps for one robot, in plain vectors and matrices.
"""

# Kernel bodies are in Warp's own language, which mypy misreads.
# mypy: disable-error-code="arg-type, attr-defined, untyped-decorator"

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import warp as wp
from numpy.typing import NDArray

from equipoise.kernels.once import once


@dataclass(frozen=True, eq=False)
class SkeletonArrays:
    """Bodies of a robot, body 0 being the world and body 1 the floating base.

    Attributes:
        parent: Body that each hangs on, shape (nbodies,).
        degree: Index of its joint in v[6:], -1 where it is held, shape (nbodies,).
        slides: Whether its joint slides (1) or turns (0), shape (nbodies,).
        axis: Unit axis in its own coordinates, shape (nbodies, 3).
        placement: From its coordinates at zero position to its parent's, (nbodies, 4,
            4).
        mass: [kg], shape (nbodies,).
        com_in_body: Centre of mass in its coordinates [m], shape (nbodies, 3).
    """

    parent: NDArray[np.int32]
    degree: NDArray[np.int32]
    slides: NDArray[np.int32]
    axis: NDArray[np.float64]
    placement: NDArray[np.float64]
    mass: NDArray[np.float64]
    com_in_body: NDArray[np.float64]


@once
def make_skeleton(scalar: Any) -> SimpleNamespace:
    """Return the struct ``Skeleton`` and functions over it and over rotations.

    - ``axis_turn(axis, s, c)``: a rotation from its unit axis, sine and cosine
    - ``rotation_of(w)``, ``vector_of(R)``: a rotation from its rotation vector, and
      back (angles below π)
    - ``place(skeleton, t, R, p, joints, rotations, origins)``: rotation and origin of
      all bodies in the world, from those of the base
    """
    vec3 = wp.types.vector(length=3, dtype=scalar)
    mat33 = wp.types.matrix(shape=(3, 3), dtype=scalar)
    half, one = scalar(0.5), scalar(1.0)
    tiny = scalar(1e-12)

    @wp.struct
    class Skeleton:
        bodies: int
        joints: int
        parent: wp.array[int]
        degree: wp.array[int]
        slides: wp.array[int]
        axis: wp.array[vec3]
        rotation: wp.array[mat33]
        translation: wp.array[vec3]
        mass: wp.array[scalar]
        com_in_body: wp.array[vec3]
        total_mass: scalar

    @wp.func
    def axis_turn(axis: vec3, s: scalar, c: scalar) -> mat33:
        k = wp.skew(axis)
        return wp.identity(n=3, dtype=scalar) + s * k + (one - c) * (k @ k)

    @wp.func
    def rotation_of(w: vec3) -> mat33:
        angle = wp.length(w)
        axis = w / wp.max(angle, tiny)
        return axis_turn(axis, wp.sin(angle), wp.cos(angle))

    @wp.func
    def vector_of(r: mat33) -> vec3:
        twice = vec3(r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1])
        sine = half * wp.length(twice)
        cosine = half * (r[0, 0] + r[1, 1] + r[2, 2] - one)
        angle = wp.atan2(sine, cosine)
        factor = half
        if sine > tiny:
            factor = half * angle / sine
        return factor * twice

    @wp.func
    def place(
        skeleton: Skeleton,
        t: int,
        base_rotation: mat33,
        base_position: vec3,
        joints: wp.array2d[scalar],
        rotations: wp.array2d[mat33],
        origins: wp.array2d[vec3],
    ) -> None:
        rotations[t, 1] = base_rotation
        origins[t, 1] = base_position
        for body in range(2, skeleton.bodies):
            parent = skeleton.parent[body]
            above = rotations[t, parent]
            origin = origins[t, parent] + above @ skeleton.translation[body]
            turned = above @ skeleton.rotation[body]
            degree = skeleton.degree[body]
            if degree >= 0:
                value = joints[t, degree]
                axis = skeleton.axis[body]
                if skeleton.slides[body] == 1:
                    origin = origin + value * (turned @ axis)
                else:
                    turned = turned @ axis_turn(axis, wp.sin(value), wp.cos(value))
            rotations[t, body] = turned
            origins[t, body] = origin

    return SimpleNamespace(
        Skeleton=Skeleton,
        vec3=vec3,
        mat33=mat33,
        axis_turn=axis_turn,
        rotation_of=rotation_of,
        vector_of=vector_of,
        place=place,
    )


def upload_skeleton(arrays: SkeletonArrays, scalar: Any, device: wp.Device) -> Any:
    """Return the struct ``Skeleton`` of a robot on a device."""
    types = make_skeleton(scalar)
    struct = types.Skeleton()
    struct.bodies = len(arrays.parent)
    struct.joints = int(arrays.degree.max(initial=-1)) + 1
    struct.total_mass = float(arrays.mass[1:].sum())
    for name, values, dtype in (
        ("parent", arrays.parent, wp.int32),
        ("degree", arrays.degree, wp.int32),
        ("slides", arrays.slides, wp.int32),
        ("axis", arrays.axis, types.vec3),
        ("rotation", arrays.placement[:, :3, :3], types.mat33),
        ("translation", arrays.placement[:, :3, 3], types.vec3),
        ("mass", arrays.mass, scalar),
        ("com_in_body", arrays.com_in_body, types.vec3),
    ):
        number = np.int32 if dtype is wp.int32 else wp.dtype_to_numpy(scalar)
        row = np.ascontiguousarray(values, dtype=number)
        setattr(struct, name, wp.array(row, dtype=dtype, device=device))
    return struct
