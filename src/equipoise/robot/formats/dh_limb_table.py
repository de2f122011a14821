"""A DH limb: its data and its reading from a TOML table.

The format and its meaning are described in :mod:`equipoise.robot.formats.dh`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, cast

import numpy as np

from equipoise.arrays import Array, frozen_array
from equipoise.robot.description import transform
from equipoise.robot.formats.link_table import POSE_KEYS, read_mass, read_pose
from equipoise.robot.formats.toml_table import Table

Convention = Literal["standard", "modified"]
CentroidFrame = Literal["proximal", "distal", "distal_axes"]
CENTROID_FRAMES = ("proximal", "distal", "distal_axes")
DhKind = Literal["revolute", "prismatic"]

GEOMETRY_KEYS = ("alpha", "a", "d", "theta")
MASS_KEYS = ("mass", "centroid", "inertia")
LIMIT_KEYS = ("limits", "velocity_limit", "effort_limit")
ROW_KEYS = (
    "joint",
    "link",
    "kind",
    *GEOMETRY_KEYS,
    *MASS_KEYS,
    "shapes",
    *LIMIT_KEYS,
)
LIMB_KEYS = (
    "convention",
    "parent",
    "base",
    "row_0",
    "centroid_frame",
    "mass_row",
    "rows",
    "end",
)
RIGID_TOLERANCE = 1e-6


@dataclass(frozen=True)
class DhParameters:
    """One line of a DH table without its joint.

    Attributes:
        alpha: Link twist [rad].
        a: Link length [m].
        d: Link offset [m]; the position of a prismatic joint adds to it.
        theta: Joint angle offset [rad]; the position of a revolute joint adds to it.
    """

    alpha: float
    a: float
    d: float
    theta: float

    @property
    def about_x(self) -> Array:
        """Tx(a) Rx(α), which commute; shape (4, 4)."""
        cosine, sine = math.cos(self.alpha), math.sin(self.alpha)
        turn = [[1.0, 0.0, 0.0], [0.0, cosine, -sine], [0.0, sine, cosine]]
        return transform(turn, [self.a, 0.0, 0.0])

    @property
    def about_z(self) -> Array:
        """Rz(θ) Tz(d), which commute; shape (4, 4)."""
        cosine, sine = math.cos(self.theta), math.sin(self.theta)
        turn = [[cosine, -sine, 0.0], [sine, cosine, 0.0], [0.0, 0.0, 1.0]]
        return transform(turn, [0.0, 0.0, self.d])

    def transform(self, convention: Convention) -> Array:
        """Return A at joint position zero, frame k to frame k−1, shape (4, 4)."""
        if convention == "standard":
            return frozen_array(self.about_z @ self.about_x)
        return frozen_array(self.about_x @ self.about_z)


@dataclass(frozen=True, eq=False)
class DhRow:
    """One line of a DH table: a joint and the link that it moves.

    Attributes:
        joint: Joint name.
        link: Name of the link that the joint moves.
        kind: ``"revolute"`` or ``"prismatic"``.
        parameters: α, a, d, θ.
        mass: Mass of the link [kg]; zero for none.
        centroid: Centre of mass in the centroid frame [m], shape (3,).
        centroid_frame: Which frame that is; see the module.
        lower: Lower position limit [rad or m].
        upper: Upper position limit [rad or m].
        velocity_limit: Largest speed [rad/s or m/s].
        effort_limit: Largest torque or force [Nm or N].
    """

    joint: str
    link: str
    kind: DhKind
    parameters: DhParameters
    mass: float
    centroid: Array
    centroid_frame: CentroidFrame
    lower: float = -math.inf
    upper: float = math.inf
    velocity_limit: float = math.inf
    effort_limit: float = math.inf


@dataclass(frozen=True, eq=False)
class DhLimb:
    """A serial limb as its DH table gives it.

    Attributes:
        name: Limb name.
        convention: ``"standard"`` or ``"modified"``.
        parent: Link that carries the limb.
        transform_limb_to_parent: Maps coordinates of frame 0 (after ``row_0``) to
            those of the parent link, shape (4, 4).
        rows: The joints from the parent outwards.
        end: Name of the massless link at frame n, or None.
    """

    name: str
    convention: Convention
    parent: str
    transform_limb_to_parent: Array
    rows: tuple[DhRow, ...]
    end: str | None = None

    @cached_property
    def mass(self) -> float:
        """Mass of the limb [kg]."""
        return sum(row.mass for row in self.rows)

    @cached_property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints, from the parent outwards."""
        return tuple(row.joint for row in self.rows)


def read_limb(entry: Table, name: str, root: str) -> DhLimb:
    """Read one limb.

    Args:
        entry: The table ``[dh.LIMB]``.
        name: The limb's name.
        root: Link that carries the limb if it names none.
    """
    entry.check_keys(*LIMB_KEYS)
    convention = cast(Convention, entry.choice("convention", ("standard", "modified")))
    default = "proximal" if convention == "standard" else "distal"
    frame = entry.choice("centroid_frame", CENTROID_FRAMES, default)
    if convention == "modified" and frame != "distal":
        raise entry.error(
            f"centroid_frame '{frame}' belongs to the standard convention; in a "
            "modified table frame k sits on joint k: use 'distal'"
        )
    rows = entry.tables("rows")
    return DhLimb(
        name,
        convention,
        entry.text("parent", root),
        _limb_to_parent(entry, convention),
        tuple(
            _read_row(row, masses, cast(CentroidFrame, frame))
            for row, masses in zip(rows, mass_tables(entry, rows), strict=True)
        ),
        entry.text("end") if "end" in entry else None,
    )


def _limb_to_parent(entry: Table, convention: Convention) -> Array:
    pose = _base_pose(entry.table("base")) if "base" in entry else transform()
    if "row_0" in entry:
        row = entry.table("row_0")
        row.check_keys(*GEOMETRY_KEYS, *MASS_KEYS)
        pose = pose @ _parameters(row).transform(convention)
    return frozen_array(pose)


def _base_pose(base: Table) -> Array:
    base.check_keys(*POSE_KEYS, "matrix")
    if "matrix" not in base:
        return read_pose(base)
    if len(base.values) > 1:
        raise base.error("give either 'matrix' or 'xyz' and 'rpy', not both")
    rows = base.values["matrix"]
    if not isinstance(rows, list) or len(rows) != 4:
        raise base.error("'matrix' needs four rows of four numbers")
    matrix = np.array(
        [Table({"matrix": r}, base.where).vector("matrix", 4) for r in rows]
    )
    rotation = matrix[:3, :3]
    if (
        not np.allclose(rotation @ rotation.T, np.eye(3), atol=RIGID_TOLERANCE)
        or np.linalg.det(rotation) < 0.0
        or not np.array_equal(matrix[3], [0.0, 0.0, 0.0, 1.0])
    ):
        raise base.error("'matrix' is not a rigid transform")
    return matrix


def mass_tables(entry: Table, rows: list[Table]) -> list[Table]:
    """Return, for each row, the table that holds its link's centroid and mass."""
    if entry.choice("mass_row", ("same", "previous"), "same") == "same":
        if "row_0" in entry and any(key in entry.table("row_0") for key in MASS_KEYS):
            raise entry.error(
                'row_0 moves no link; a mass in it needs mass_row = "previous"'
            )
        return rows
    if any(key in rows[-1] for key in MASS_KEYS):
        raise rows[-1].error('with mass_row = "previous" the last row holds no mass')
    first = entry.table("row_0") if "row_0" in entry else Table({}, entry.where)
    return [first, *rows[:-1]]


def _parameters(row: Table) -> DhParameters:
    return DhParameters(*(row.number(key) for key in GEOMETRY_KEYS))


def _read_row(row: Table, masses: Table, frame: CentroidFrame) -> DhRow:
    row.check_keys(*ROW_KEYS)
    joint = row.text("joint")
    lower, upper = -math.inf, math.inf
    if "limits" in row:
        lower, upper = row.vector("limits", 2)
        if lower > upper:
            raise row.error(f"lower limit {lower:g} is above upper limit {upper:g}")
    kind = row.choice("kind", ("revolute", "prismatic"), "revolute")
    has_mass = "mass" in masses
    return DhRow(
        joint,
        row.text("link", f"{joint}_link"),
        cast(DhKind, kind),
        _parameters(row),
        read_mass(masses) if has_mass else 0.0,
        frozen_array(masses.vector("centroid", 3) if has_mass else (0.0, 0.0, 0.0)),
        frame,
        lower,
        upper,
        row.not_negative("velocity_limit", math.inf),
        row.not_negative("effort_limit", math.inf),
    )
