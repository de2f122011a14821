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

from collections.abc import Iterable, Mapping
from typing import Any

from equipoise.arrays import Array, frozen_array
from equipoise.robot.description import Description, Inertial, Joint, Link, transform
from equipoise.robot.formats.dh_limb_table import (
    MASS_KEYS,
    Convention,
    DhLimb,
    DhParameters,
    DhRow,
    mass_tables,
    read_limb,
)
from equipoise.robot.formats.link_table import (
    LINK_KEYS,
    POSE_KEYS,
    estimated_inertias,
    read_link,
    read_pose,
)
from equipoise.robot.formats.toml_table import SETTINGS_KEYS, Table
from equipoise.robot.tree import check_tree, checked_name

__all__ = [
    "Convention",
    "DhLimb",
    "DhParameters",
    "DhRow",
    "limb_settings",
    "read_dh",
    "read_dh_limbs",
]

LIMB_NAMES = ("left_leg", "right_leg", "left_arm", "right_arm", "head", "torso")


def read_dh(table: Mapping[str, Any], source: str) -> Description:
    """Read a robot of DH limbs.

    Args:
        table: The parsed TOML: ``name``, ``[base]``, ``[dh.LIMB]``; settings
            sections (see :mod:`equipoise.robot.formats.settings`) are skipped.
        source: File name for messages.

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
    # as the URDF reader, so that q is the same for a robot and its URDF
    joints.sort(key=lambda joint: joint.name)
    root = check_tree(links, joints, source)
    name = checked_name("robot", file.text("name", source), source)
    return Description(
        name,
        tuple(links),
        tuple(joints),
        root,
        assumptions=estimated_inertias(estimated),
    )


def read_dh_limbs(
    table: Mapping[str, Any], source: str = "DH table"
) -> dict[str, DhLimb]:
    """Read the limbs of a robot of DH limbs, by name, in the order of the file.

    Args:
        table: The parsed TOML, as for :func:`read_dh`.
        source: File name for messages.
    """
    return {limb.name: limb for _, limb in _limbs(Table(table, source))}


def limb_settings(limbs: Iterable[DhLimb]) -> dict[str, dict[str, Any]]:
    """Return the ``[limbs.*]`` settings that DH limbs of known names imply."""
    return {
        limb.name: {"joints": list(limb.joints), "end_link": limb.rows[-1].link}
        for limb in limbs
        if limb.name in LIMB_NAMES
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
        found.append((entry, read_limb(entry, name, root)))
    return found


def _tree_of_limb(
    entry: Table, limb: DhLimb, estimated: list[str]
) -> tuple[list[Link], list[Joint]]:
    """Return links and joints of a limb; joint k moves the frame of link k about z."""
    rows = entry.tables("rows")
    masses = mass_tables(entry, rows)
    axis = frozen_array([0.0, 0.0, 1.0])
    standard = limb.convention == "standard"
    a_matrices = [row.parameters.transform(limb.convention) for row in limb.rows]
    # from frame of link k to the place of joint k + 1, or of frame n
    onward = a_matrices if standard else [*a_matrices[1:], transform()]
    place = limb.transform_limb_to_parent
    if not standard:
        place = place @ a_matrices[0]
    links, joints, parent = [], [], limb.parent
    for k, row in enumerate(limb.rows):
        joints.append(
            Joint(
                row.joint,
                row.kind,
                parent,
                row.link,
                frozen_array(place),
                axis,
                row.lower,
                row.upper,
                row.velocity_limit,
                row.effort_limit,
            )
        )
        centroid_to_link = _centroid_to_link(row, limb.convention)
        links.append(
            _link_of_row(
                rows[k], masses[k], row, centroid_to_link, onward[k], estimated
            )
        )
        place, parent = onward[k], row.link
    if limb.end is not None:
        links.append(Link(limb.end))
        joints.append(Joint(f"{limb.end}_fixed", "fixed", parent, limb.end, place))
    return links, joints


def _centroid_to_link(row: DhRow, convention: Convention) -> Array:
    if convention == "modified" or row.centroid_frame == "proximal":
        return transform()
    onward = row.parameters.transform(convention)
    at_joint = row.centroid_frame == "distal_axes"
    return transform(onward[:3, :3], 0.0 if at_joint else onward[:3, 3])


def _link_of_row(
    row_table: Table,
    mass_table: Table,
    row: DhRow,
    centroid_to_link: Array,
    onward: Array,
    estimated: list[str],
) -> Link:
    values = {key: mass_table.values[key] for key in MASS_KEYS if key in mass_table}
    if "shapes" in row_table:
        values["shapes"] = row_table.values["shapes"]
    rotation = centroid_to_link[:3, :3]
    span = rotation.T @ onward[:3, 3]
    table = Table(values, mass_table.where)
    link = read_link(table, row.link, estimated, span, com_key="centroid")
    if link.inertial is None:
        return link
    com = rotation @ link.inertial.com_in_link + centroid_to_link[:3, 3]
    inertia = rotation @ link.inertial.inertia_in_link @ rotation.T
    inertial = Inertial(link.inertial.mass, frozen_array(com), frozen_array(inertia))
    return Link(link.name, inertial, link.collisions, link.visuals)
