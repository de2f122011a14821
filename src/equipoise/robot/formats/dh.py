"""Denavit–Hartenberg tables into a Description, one limb at a time.

A table is copied from a paper line by line::

    [base]                     # the link that floats; its frame carries the limbs
    name = "pelvis"
    mass = 4.6
    com = [-0.056, 0, -0.017]
    links = [                  # more bodies that are rigidly part of it
        { name = "waist", mass = 25.7, com = [0, 0, 0.17], xyz = [0, 0, 0] },
    ]

    [dh.left_leg]
    convention = "standard"    # or "modified" (Craig)
    parent = "pelvis"          # link that carries the limb; the base if left out
    base = { xyz = [0, 0.1, 0], rpy = ["pi/2", 0, 0] }        # or matrix = [[…], …]
    row_0 = { alpha = 0, a = 0.09, d = -0.146, theta = "pi/2" }      # fixed DH row
    centroid_frame = "proximal"       # or "distal", "distal_axes"
    mass_row = "same"                 # or "previous"
    rows = [
        { joint = "hip", link = "thigh", alpha = 0, a = 0.31, d = 0, theta = 0,
          mass = 3.4, centroid = [0.2, 0, 0] },
    ]
    end = "left_sole"          # names frame n: a massless link

Row k moves frame k−1 to frame k. With the joint position q_k added to θ_k of a
revolute and to d_k of a prismatic joint,

- ``standard``: A_k = Rz(θ_k) Tz(d_k) Tx(a_k) Rx(α_k), joint k about z of frame k−1;
- ``modified``: A_k = Rx(α) Tx(a) Rz(θ_k) Tz(d_k), joint k about z of frame k, where
  α and a stand in the row of the joint, as in Craig's table (his α_{k−1}, a_{k−1}).

A centroid is given in one of three frames:

- ``proximal`` (standard only): frame k−1 moved by q_k alone, without the offset θ_k;
  σ_k in App. 9.3 of [Choi2007]. The default for standard tables.
- ``distal``: frame k, as in Eq. (18) of [Sanliturk2024]. In modified tables that
  frame sits on the link's own joint, and it is the only choice.
- ``distal_axes`` (standard only): measured from the link's own joint, as
  ``proximal``, but along the axes of frame k, as ``distal``.

In the Description the frame of link k is frame k−1 moved by q_k (standard) or frame k
(modified); its joint axis is z. Rows with ``mass_row = "previous"`` hold the centroid
and mass of the next link, as in Table 1 of [Choi2007].
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, cast

import numpy as np

from equipoise.arrays import Array, frozen_array
from equipoise.robot.description import Description, Joint, Link
from equipoise.robot.formats.settings import LIMBS
from equipoise.robot.formats.toml_table import (
    LINK_KEYS,
    POSE_KEYS,
    SETTINGS_KEYS,
    Table,
    description_from_links,
    read_link,
    read_mass,
    read_pose,
)
from equipoise.robot.inertias import Inertial
from equipoise.rotations import transform

Convention = Literal["standard", "modified"]
CentroidFrame = Literal["proximal", "distal", "distal_axes"]
DhKind = Literal["revolute", "prismatic"]

GEOMETRY_KEYS = ("alpha", "a", "d", "theta")
MASS_KEYS = ("mass", "centroid", "inertia")
LIMIT_KEYS = ("limits", "velocity_limit", "effort_limit")
ROW_KEYS = ("joint", "link", "kind", *GEOMETRY_KEYS, *MASS_KEYS, "shapes", *LIMIT_KEYS)
LIMB_KEYS = (
    *("convention", "parent", "base", "row_0"),
    *("centroid_frame", "mass_row", "rows", "end"),
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
    """

    joint: str
    link: str
    kind: DhKind
    parameters: DhParameters
    mass: float
    centroid: Array
    centroid_frame: CentroidFrame


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


def read_dh(table: Mapping[str, Any], source: str) -> Description:
    """Read a robot of ``name``, ``[base]`` and ``[dh.LIMB]``; settings are skipped.

    Raises:
        RobotFileError: If anything in it is missing, unknown or impossible.
    """
    file = Table(table, source)
    file.check_keys("name", "base", "dh", *SETTINGS_KEYS)
    estimated: list[str] = []
    links, joints = _read_base(file.table("base"), estimated)
    for entry, limb in _limbs(file):
        more_links, more_joints = _tree_of_limb(entry, limb, estimated)
        links += more_links
        joints += more_joints
    return description_from_links(file, links, joints, estimated)


def read_dh_limbs(
    table: Mapping[str, Any], source: str = "DH table"
) -> dict[str, DhLimb]:
    """Read the limbs alone, by name, in the order of the file, as :func:`read_dh`."""
    return {limb.name: limb for _, limb in _limbs(Table(table, source))}


def limb_settings(limbs: Iterable[DhLimb]) -> dict[str, dict[str, Any]]:
    """Return the ``[limbs.*]`` settings that DH limbs of known names imply."""
    return {
        limb.name: {"joints": list(limb.joints), "end_link": limb.rows[-1].link}
        for limb in limbs
        if limb.name in LIMBS
    }


def _read_base(base: Table, estimated: list[str]) -> tuple[list[Link], list[Joint]]:
    base.check_keys("name", *LINK_KEYS, "links")
    root = base.text("name", "base")
    links = [read_link(base, root, estimated)]
    joints = []
    for entry in base.tables("links", required=False):
        entry.check_keys("name", *LINK_KEYS, *POSE_KEYS)
        name = entry.text("name")
        links.append(read_link(entry, name, estimated))
        joints.append(Joint(f"{name}_fixed", "fixed", root, name, read_pose(entry)))
    return links, joints


def _limbs(file: Table) -> list[tuple[Table, DhLimb]]:
    limbs = file.table("dh")
    if not limbs.values:
        raise limbs.error("holds no limb; give at least one [dh.LIMB]")
    root = file.table("base").text("name", "base")
    found = []
    for name in limbs.values:
        entry = Table(limbs.table(name).values, f"{file.where}: [dh.{name}]")
        found.append((entry, _read_limb(entry, name, root)))
    return found


def _read_limb(entry: Table, name: str, root: str) -> DhLimb:
    entry.check_keys(*LIMB_KEYS)
    convention = cast(Convention, entry.choice("convention", ("standard", "modified")))
    default = "proximal" if convention == "standard" else "distal"
    frame = entry.choice(
        "centroid_frame", ("proximal", "distal", "distal_axes"), default
    )
    if convention == "modified" and frame != "distal":
        raise entry.error(
            f"centroid_frame '{frame}' belongs to the standard convention; in a "
            "modified table frame k sits on joint k: use 'distal'"
        )
    parent = entry.text("parent", root)
    pose = _base_pose(entry.table("base")) if "base" in entry else transform()
    if "row_0" in entry:
        row_0 = entry.table("row_0")
        row_0.check_keys(*GEOMETRY_KEYS, *MASS_KEYS)
        pose = pose @ _parameters(row_0).transform(convention)
    rows = entry.tables("rows")
    return DhLimb(
        name,
        convention,
        parent,
        frozen_array(pose),
        tuple(
            _read_row(row, masses, cast(CentroidFrame, frame))
            for row, masses in zip(rows, _mass_tables(entry, rows), strict=True)
        ),
        entry.text("end") if "end" in entry else None,
    )


def _base_pose(base: Table) -> Array:
    base.check_keys(*POSE_KEYS, "matrix")
    if "matrix" not in base:
        return read_pose(base)
    if len(base.values) > 1:
        raise base.error("give either 'matrix' or 'xyz' and 'rpy', not both")
    rows = base.values["matrix"]
    if not isinstance(rows, list) or len(rows) != 4:
        raise base.error("'matrix' needs four rows of four numbers")
    matrix = base.rows("matrix", 4)
    rotation = matrix[:3, :3]
    if (
        not np.allclose(rotation @ rotation.T, np.eye(3), atol=RIGID_TOLERANCE)
        or np.linalg.det(rotation) < 0.0
        or not np.array_equal(matrix[3], [0.0, 0.0, 0.0, 1.0])
    ):
        raise base.error("'matrix' is not a rigid transform")
    return matrix


def _mass_tables(entry: Table, rows: list[Table]) -> list[Table]:
    """Return, for each row, the table that holds its link's centroid and mass."""
    row_0 = entry.table("row_0") if "row_0" in entry else Table({}, entry.where)
    if entry.choice("mass_row", ("same", "previous"), "same") == "same":
        if any(key in row_0 for key in MASS_KEYS):
            raise entry.error(
                'row_0 moves no link; a mass in it needs mass_row = "previous"'
            )
        return rows
    if any(key in rows[-1] for key in MASS_KEYS):
        raise rows[-1].error('with mass_row = "previous" the last row holds no mass')
    return [row_0, *rows[:-1]]


def _parameters(row: Table) -> DhParameters:
    return DhParameters(*(row.number(key) for key in GEOMETRY_KEYS))


def _read_row(row: Table, masses: Table, frame: CentroidFrame) -> DhRow:
    row.check_keys(*ROW_KEYS)
    joint = row.text("joint")
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
    )


def _tree_of_limb(
    entry: Table, limb: DhLimb, estimated: list[str]
) -> tuple[list[Link], list[Joint]]:
    """Return links and joints of a limb; joint k moves the frame of link k about z."""
    rows = entry.tables("rows")
    masses = _mass_tables(entry, rows)
    a_matrices = [row.parameters.transform(limb.convention) for row in limb.rows]
    place = limb.transform_limb_to_parent
    # from frame of link k to the place of joint k + 1, or of frame n
    onward = a_matrices
    if limb.convention == "modified":
        place = place @ a_matrices[0]
        onward = [*a_matrices[1:], transform()]
    axis = frozen_array([0.0, 0.0, 1.0])
    links, joints, parent = [], [], limb.parent
    for k, row in enumerate(limb.rows):
        joints.append(
            Joint(
                *(row.joint, row.kind, parent, row.link, frozen_array(place), axis),
                *rows[k].limits(),
                rows[k].not_negative("velocity_limit", math.inf),
                rows[k].not_negative("effort_limit", math.inf),
            )
        )
        centroid_to_link = transform()
        if limb.convention == "standard" and row.centroid_frame != "proximal":
            at_joint = row.centroid_frame == "distal_axes"
            offset = 0.0 if at_joint else onward[k][:3, 3]
            centroid_to_link = transform(onward[k][:3, :3], offset)
        values = {key: masses[k].values[key] for key in MASS_KEYS if key in masses[k]}
        if "shapes" in rows[k]:
            values["shapes"] = rows[k].values["shapes"]
        span = centroid_to_link[:3, :3].T @ onward[k][:3, 3]
        table = Table(values, masses[k].where)
        link = read_link(table, row.link, estimated, span, com_key="centroid")
        links.append(_with_inertial_moved(link, centroid_to_link))
        place, parent = onward[k], row.link
    if limb.end is not None:
        links.append(Link(limb.end))
        joints.append(Joint(f"{limb.end}_fixed", "fixed", parent, limb.end, place))
    return links, joints


def _with_inertial_moved(link: Link, centroid_to_link: Array) -> Link:
    if link.inertial is None:
        return link
    rotation = centroid_to_link[:3, :3]
    com = rotation @ link.inertial.com_in_link + centroid_to_link[:3, 3]
    inertia = rotation @ link.inertial.inertia_in_link @ rotation.T
    inertial = Inertial(link.inertial.mass, frozen_array(com), frozen_array(inertia))
    return replace(link, inertial=inertial)
