"""Links as TOML tables: mass, centre of mass, inertia and shapes.

An inertia is six numbers, or a uniform solid of the link's mass, or left out; then
it is estimated, because a link without inertia cannot be simulated.
"""

from __future__ import annotations

import numpy as np

from equipoise.arrays import Array, frozen_array
from equipoise.robot.description import (
    Inertial,
    Link,
    Shape,
    ShapeKind,
    rotation_from_rpy,
    transform,
)
from equipoise.robot.formats.toml_table import Table
from equipoise.robot.tree import check_inertial

LINK_KEYS = ("mass", "com", "inertia", "shapes")
POSE_KEYS = ("xyz", "rpy")
SHAPE_SIZES: dict[ShapeKind, int] = {
    "box": 3,
    "sphere": 1,
    "cylinder": 2,
    "capsule": 2,
}
SOLIDS = ("box", "ellipsoid", "sphere", "cylinder")

# Mean density of a link, shell and hollows included, where its inertia is estimated
# [kg/m³]; about that of water, as of most humanoid robots and of their makers.
LINK_DENSITY = 1000.0

ESTIMATE = (
    f"a uniform solid of {LINK_DENSITY:g} kg/m³: a cylinder from the link's joint to "
    "the next one, or a sphere where these are closer than its diameter"
)


def read_link(
    entry: Table,
    name: str,
    estimated: list[str],
    span: Array | None = None,
    com_key: str = "com",
) -> Link:
    """Read one link.

    Args:
        entry: Holds ``mass``, the centre of mass, ``inertia`` and ``shapes``; a link
            without ``mass`` is massless.
        name: The link's name.
        estimated: Gets the name appended if the inertia had to be estimated.
        span: From the link's joint to the next in link axes [m], shape (3,), for
            the estimate.
        com_key: The key of the centre of mass.
    """
    shapes = tuple(
        read_shape(shape) for shape in entry.tables("shapes", required=False)
    )
    if "mass" not in entry:
        for key in (com_key, "inertia"):
            if key in entry:
                raise entry.error(f"has '{key}' but no 'mass'")
        return Link(name, None, shapes, shapes)
    mass = read_mass(entry)
    if "inertia" in entry:
        inertia = read_inertia(entry, mass)
    else:
        inertia = estimate_inertia(mass, np.zeros(3) if span is None else span)
        estimated.append(name)
    com = frozen_array(entry.vector(com_key, 3))
    inertial = Inertial(mass, com, frozen_array(inertia))
    check_inertial(inertial, entry.where)
    return Link(name, inertial, shapes, shapes)


def read_mass(entry: Table) -> float:
    """Return a mass above zero [kg]."""
    mass = entry.number("mass")
    if mass <= 0.0:
        raise entry.error(f"mass {mass:g} kg must be above zero; leave it out for none")
    return mass


def read_inertia(entry: Table, mass: float) -> Array:
    """Return the inertia about the centre of mass in link axes [kg m²], (3, 3).

    ``inertia`` is ``[ixx, iyy, izz, ixy, ixz, iyz]`` [kg m²] or a uniform solid of
    the link's mass: ``{ box = [x, y, z] }`` or ``{ ellipsoid = [x, y, z] }`` with
    full extents, ``{ sphere = [radius] }``, ``{ cylinder = [radius, length] }``
    along z, all [m].
    """
    if isinstance(entry.values["inertia"], list):
        xx, yy, zz, xy, xz, yz = entry.vector("inertia", 6)
        return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    solid = entry.table("inertia")
    solid.check_keys(*SOLIDS)
    if len(solid.values) != 1:
        raise solid.error(f"name one solid of {', '.join(SOLIDS)}")
    kind = next(iter(solid.values))
    counts = {"box": 3, "ellipsoid": 3, "sphere": 1, "cylinder": 2}
    size = np.array(solid.vector(kind, counts[kind]))
    if (size <= 0.0).any():
        raise solid.error(f"'{kind}' has an extent that is not above zero")
    match kind:
        case "box":
            return mass / 12.0 * np.diag((size**2).sum() - size**2)
        case "ellipsoid":
            return mass / 20.0 * np.diag((size**2).sum() - size**2)
        case "sphere":
            return _sphere(mass, size[0])
        case _:
            return _cylinder(mass, size[0], size[1], np.array([0.0, 0.0, 1.0]))


def estimate_inertia(mass: float, span: Array) -> Array:
    """Estimate the inertia about the centre of mass [kg m²], shape (3, 3).

    The link is a uniform solid of :data:`LINK_DENSITY`: a cylinder along ``span``
    and as long, or a sphere where the span is shorter than the sphere's diameter.

    Args:
        mass: Mass [kg].
        span: From the link's joint to the next [m], shape (3,).
    """
    volume = mass / LINK_DENSITY
    radius = np.cbrt(0.75 * volume / np.pi)
    length = float(np.linalg.norm(span))
    if length <= 2.0 * radius:
        return _sphere(mass, float(radius))
    return _cylinder(mass, float(np.sqrt(volume / (np.pi * length))), length, span)


def estimated_inertias(estimated: list[str]) -> tuple[str, ...]:
    """Return the sentence that says which inertias were estimated, if any."""
    if not estimated:
        return ()
    names = ", ".join(estimated[:3]) + (", …" if len(estimated) > 3 else "")
    which = "1 link has" if len(estimated) == 1 else f"{len(estimated)} links have"
    return (f"{which} no inertia in the file ({names}): estimated as {ESTIMATE}",)


def read_shape(entry: Table) -> Shape:
    """Read a shape: ``{ box = [x, y, z], xyz = …, rpy = … }`` and the like."""
    entry.check_keys(*SHAPE_SIZES, *POSE_KEYS)
    kinds = [kind for kind in SHAPE_SIZES if kind in entry]
    if len(kinds) != 1:
        raise entry.error(f"name one shape of {', '.join(SHAPE_SIZES)}")
    size = entry.vector(kinds[0], SHAPE_SIZES[kinds[0]])
    if min(size) <= 0.0:
        raise entry.error(f"'{kinds[0]}' has an extent that is not above zero")
    return Shape(kinds[0], size, read_pose(entry))


def read_pose(entry: Table) -> Array:
    """Return the transform of ``xyz`` [m] and ``rpy`` [rad], both zero if left out."""
    zero = (0.0, 0.0, 0.0)
    rotation = rotation_from_rpy(entry.vector("rpy", 3, zero))
    return transform(rotation, entry.vector("xyz", 3, zero))


def _sphere(mass: float, radius: float) -> Array:
    moment: float = 0.4 * mass * radius**2
    return np.diag([moment, moment, moment])


def _cylinder(mass: float, radius: float, length: float, axis: Array) -> Array:
    along = 0.5 * mass * radius**2
    across = mass * (3.0 * radius**2 + length**2) / 12.0
    unit = axis / np.linalg.norm(axis)
    return across * np.eye(3) + (along - across) * np.outer(unit, unit)
