"""Checked access to TOML tables, and the links, shapes and poses in them.

Every complaint names file and item.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from equipoise.arrays import Array, frozen_array
from equipoise.errors import RobotFileError, suggest
from equipoise.robot.description import (
    LARGEST,
    Description,
    Joint,
    Link,
    Shape,
    ShapeKind,
    check_tree,
    checked_name,
)
from equipoise.robot.inertias import (
    LINK_DENSITY,
    Inertial,
    check_inertial,
    cylinder_inertia,
    estimate_inertia,
    sphere_inertia,
)
from equipoise.rotations import rotation_from_rpy, transform

# What a robot's TOML may hold beside its links and joints: the same sections that a
# sidecar file beside a URDF may have.
SETTINGS_KEYS = (
    *("title", "summary", "source", "assumptions", "format"),
    *("orientation", "limbs", "soles", "actuators", "postures"),
)

LINK_KEYS = ("mass", "com", "inertia", "shapes")
POSE_KEYS = ("xyz", "rpy")
SHAPE_SIZES: dict[ShapeKind, int]
SHAPE_SIZES = {"box": 3, "sphere": 1, "cylinder": 2, "capsule": 2}
SOLIDS = {"box": 3, "ellipsoid": 3, "sphere": 1, "cylinder": 2}

_NUMBER = r"(\d+\.?\d*|\.\d+)"
_MULTIPLE_OF_PI = re.compile(rf"([+-]?)(?:{_NUMBER}\*?)?(?:pi|π)(?:/{_NUMBER})?")
_DEGREES = re.compile(rf"([+-]?){_NUMBER}(?:deg|°)")


class Table:
    """One table of a TOML file.

    Attributes:
        values: The table as ``tomllib`` gives it.
        where: Names file and item, e.g. ``"robot.toml: [dh.left_leg] row 2"``.
    """

    def __init__(self, values: Mapping[str, Any], where: str) -> None:
        self.values = values
        self.where = where

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def error(self, message: str) -> RobotFileError:
        """Return an error that begins with file and item."""
        return RobotFileError(f"{self.where}: {message}")

    def check_keys(self, *valid: str) -> None:
        """Refuse keys that are not among the valid ones."""
        for key in self.values:
            if key not in valid:
                raise self.error(
                    f"unknown key '{key}'{suggest(key, valid)}; "
                    f"known are {', '.join(valid)}"
                )

    def text(self, key: str, default: str | None = None) -> str:
        """Return a non-empty string."""
        value = self._get(key, default)
        if not isinstance(value, str) or not value:
            raise self.error(f"'{key}' must be a name in quotes, is {value!r}")
        return value

    def choice(self, key: str, valid: Sequence[str], default: str | None = None) -> str:
        """Return a string that is one of the valid ones."""
        value = self.text(key, default)
        if value not in valid:
            raise self.error(
                f"{key} '{value}' is not known{suggest(value, valid)}; "
                f"choose from {', '.join(valid)}"
            )
        return value

    def number(self, key: str, default: float | None = None) -> float:
        """Return a finite number; angles may be ``"pi/2"`` or ``"90 deg"``."""
        return self._to_float(self._get(key, default), key)

    def not_negative(self, key: str, default: float | None = None) -> float:
        """Return a finite number of zero or more, or the default."""
        if key not in self and default is not None:
            return default
        value = self.number(key)
        if value < 0.0:
            raise self.error(f"'{key}' is {value:g}, it must not be negative")
        return value

    def vector(
        self, key: str, count: int, default: Sequence[float] | None = None
    ) -> tuple[float, ...]:
        """Return a list of so many finite numbers."""
        values = self._get(key, default)
        if not isinstance(values, Sequence) or isinstance(values, str):
            raise self.error(f"'{key}' needs a list of {count} numbers, is {values!r}")
        if len(values) != count:
            raise self.error(f"'{key}' needs {count} numbers, has {len(values)}")
        return tuple(self._to_float(value, key) for value in values)

    def rows(self, key: str, width: int) -> Array:
        """Return a list of lists of so many finite numbers, shape (n, width)."""
        rows = (Table({key: row}, self.where) for row in self.values[key])
        return np.array([row.vector(key, width) for row in rows])

    def limits(self) -> tuple[float, float]:
        """Return the lower and upper position limit, infinite if left out."""
        if "limits" not in self:
            return -math.inf, math.inf
        lower, upper = self.vector("limits", 2)
        if lower > upper:
            raise self.error(f"lower limit {lower:g} is above upper limit {upper:g}")
        return lower, upper

    def table(self, key: str) -> Table:
        """Return the table under a key."""
        value = self._get(key, None)
        if not isinstance(value, Mapping):
            raise self.error(f"'{key}' must be a table, is {value!r}")
        return Table(value, f"{self.where}, {key}")

    def tables(self, key: str, *, required: bool = True) -> list[Table]:
        """Return the list of tables under a key, each named by its own name."""
        values = self._get(key, None if required else [])
        if not isinstance(values, list) or not all(
            isinstance(value, Mapping) for value in values
        ):
            raise self.error(f"'{key}' must be a list of tables")
        if required and not values:
            raise self.error(f"'{key}' is empty")
        return [
            Table(value, f"{self.where}, {key} {_label(value, number)}")
            for number, value in enumerate(values, start=1)
        ]

    def _get(self, key: str, default: Any) -> Any:
        if key in self.values:
            return self.values[key]
        if default is None:
            near = suggest(key, set(self.values))
            raise self.error(f"'{key}' is missing{near}")
        return default

    def _to_float(self, value: object, key: str) -> float:
        number = math.nan
        if isinstance(value, str):
            number = angle_from_text(value)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            number = float(value) if abs(value) <= LARGEST else math.nan
        if not abs(number) <= LARGEST:
            raise self.error(
                f"'{key}' is {repr(value)[:40]}, not a finite number below {LARGEST:g} "
                '(angles may also be written "pi/2" or "90 deg")'
            )
        return number


def angle_from_text(text: str) -> float:
    """Return the angle that a text such as "-3pi/4" or "90 deg" names [rad].

    Only a multiple of π and degrees are understood; anything else gives NaN.
    """
    compact = "".join(text.split())
    if match := _MULTIPLE_OF_PI.fullmatch(compact):
        sign, factor, divisor = match.groups()
        size = float(factor or 1.0) * math.pi
        parts = float(divisor or 1.0)
        return math.nan if parts == 0.0 else float(f"{sign}1") * (size / parts)
    if match := _DEGREES.fullmatch(compact):
        sign, degrees = match.groups()
        return float(f"{sign}1") * math.radians(float(degrees))
    return math.nan


def _label(value: Mapping[str, Any], number: int) -> str:
    """Name an entry of a list by its number and what it calls itself."""
    name = value.get("joint", value.get("name", value.get("link")))
    return f"{number} ('{name}')" if isinstance(name, str) else str(number)


def read_link(
    entry: Table,
    name: str,
    estimated: list[str],
    span: Array | None = None,
    com_key: str = "com",
) -> Link:
    """Read one link: ``mass``, centre of mass, ``inertia`` and ``shapes``.

    A link without ``mass`` is massless. One without ``inertia`` gets an estimate, as
    it could not be simulated otherwise.

    Args:
        entry: The link's table.
        name: Link name; appended to ``estimated`` if the inertia is an estimate.
        estimated: Links so far.
        span: From the link's joint to the next in link axes [m], shape (3,).
        com_key: The key of the centre of mass.
    """
    shapes = tuple(
        _read_shape(shape) for shape in entry.tables("shapes", required=False)
    )
    if "mass" not in entry:
        for key in (com_key, "inertia"):
            if key in entry:
                raise entry.error(f"has '{key}' but no 'mass'")
        return Link(name, None, shapes, shapes)
    mass = read_mass(entry)
    if "inertia" in entry:
        inertia = _read_inertia(entry, mass)
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


def _read_inertia(entry: Table, mass: float) -> Array:
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
    size = np.array(solid.vector(kind, SOLIDS[kind]))
    if (size <= 0.0).any():
        raise solid.error(f"'{kind}' has an extent that is not above zero")
    match kind:
        case "box" | "ellipsoid":
            parts = 12.0 if kind == "box" else 20.0
            return mass / parts * np.diag((size**2).sum() - size**2)
        case "sphere":
            return sphere_inertia(mass, size[0])
        case _:
            return cylinder_inertia(mass, size[0], size[1], np.array([0.0, 0.0, 1.0]))


def _read_shape(entry: Table) -> Shape:
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


def description_from_links(
    file: Table, links: list[Link], joints: list[Joint], estimated: list[str]
) -> Description:
    """Check links and joints; ``estimated`` names links with an estimated inertia."""
    # as the URDF reader, so that q is the same for a robot and its URDF
    joints = sorted(joints, key=lambda joint: joint.name)
    root = check_tree(links, joints, file.where)
    name = checked_name("robot", file.text("name", file.where), file.where)
    assumptions: tuple[str, ...] = ()
    if estimated:
        names = ", ".join(estimated[:3]) + (", …" if len(estimated) > 3 else "")
        which = "1 link has" if len(estimated) == 1 else f"{len(estimated)} links have"
        assumptions = (
            f"{which} no inertia in the file ({names}): estimated as a uniform solid "
            f"of {LINK_DENSITY:g} kg/m³: a cylinder from the link's joint to the next "
            "one, or a sphere where these are closer than its diameter",
        )
    return Description(name, tuple(links), tuple(joints), root, assumptions=assumptions)
