"""Colours of shapes, in and out of robot files."""

from __future__ import annotations

from pathlib import Path

import pytest

import equipoise as eq
from equipoise.robot.description import Description
from equipoise.robot.formats.export import to_urdf
from equipoise.robot.formats.mjcf import read_mjcf
from equipoise.robot.formats.mjcf_export import to_mjcf
from equipoise.robot.formats.urdf import read_urdf
from equipoise.robot.formats.xml_file import parse_xml

INERTIAL = (
    '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" '
    'iyz="0"/></inertial>'
)
VISUAL = '<visual><geometry><sphere radius="0.1"/></geometry>{}</visual>'


def read(text: str) -> Description:
    """Return a robot from URDF text."""
    return read_urdf(parse_xml(text.encode(), Path("r.urdf")), Path("r.urdf"))


@pytest.mark.parametrize(
    ("material", "colour"),
    [
        ("", None),
        ('<material name="m"><color rgba="1 0.5 0 1"/></material>', (255, 128, 0)),
        ('<material name="shared"/>', (51, 51, 51)),
        ('<material name="nowhere"/>', None),
        ('<material name="m"><color rgba="1 0.5"/></material>', None),
        ('<material name="m"><color rgba="red"/></material>', None),
        ('<material name="m"><color rgba="nan 0 0 1"/></material>', None),
        ('<material name="m"><color rgba="7 -1 0 1"/></material>', (255, 0, 0)),
    ],
)
def test_urdf_materials(material: str, colour: tuple[int, int, int] | None) -> None:
    """Colours are read from a shape, or from the robot's materials; or are none."""
    text = (
        '<robot name="r"><material name="shared"><color rgba="0.2 0.2 0.2 1"/>'
        f'</material><link name="a">{INERTIAL}{VISUAL.format(material)}</link></robot>'
    )
    (shape,) = read(text).links[0].visuals
    assert shape.colour == colour
    (again,) = read(to_urdf(read(text))).links[0].visuals
    assert again.colour == colour
    path = Path("r.xml")
    mjcf = read_mjcf(parse_xml(to_mjcf(read(text)).encode(), path), path)
    (through,) = mjcf.links[0].visuals
    assert through.colour == colour


def test_a_real_robot_has_colours(g1_urdf: Path) -> None:
    """Unitree's G1 is grey and black."""
    links = eq.load(g1_urdf).description.links
    colours = {shape.colour for link in links for shape in link.visuals}
    assert colours == {(51, 51, 51), (178, 178, 178)}
