"""Soles from every kind of geometry, on a biped made for the purpose."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from bipeds import Biped
from hypothesis import given
from hypothesis import strategies as st

import equipoise as eq
from equipoise.robot.anatomy.geometry import (
    contact_points,
    shape_is_known,
    support_point,
    upright_variant,
)
from equipoise.robot.description import Shape
from equipoise.rotations import transform

INERTIAL = (
    '<inertial><mass value="{0}"/><inertia ixx="0.01" iyy="0.01" izz="0.01" '
    'ixy="0" ixz="0" iyz="0"/></inertial>'
)
JOINT = (
    '<joint name="{0}" type="revolute"><parent link="{1}"/><child link="{2}"/>'
    '<origin xyz="{3}" rpy="{4}"/><axis xyz="0 1 0"/>'
    '<limit lower="-2" upper="2" effort="1" velocity="1"/></joint>'
)
BOX = '<box size="0.2 0.1 0.02"/>'


def biped(
    foot: str,
    tag: str = "collision",
    xyz: str = "0.03 0 -0.05",
    rpy: str = "0 0 0",
    ankle_rpy: str = "0 0 0",
    toe: str = "",
) -> str:
    """Return a URDF of a biped with 0.4 m legs and the given foot shape."""
    parts = [f'<link name="hip">{INERTIAL.format(5)}</link>']
    for side, y in (("left", 0.1), ("right", -0.1)):
        shape = (
            f'<{tag}><origin xyz="{xyz}" rpy="{rpy}"/>'
            f"<geometry>{foot}</geometry></{tag}>"
        )
        parts += [
            JOINT.format(f"{side}_a", "hip", f"{side}_thigh", f"0 {y} 0", "0 0 0"),
            JOINT.format(
                f"{side}_b", f"{side}_thigh", f"{side}_shin", "0 0 -0.2", "0 0 0"
            ),
            JOINT.format(
                f"{side}_c", f"{side}_shin", f"{side}_foot", "0 0 -0.2", ankle_rpy
            ),
            f'<link name="{side}_thigh">{INERTIAL.format(1)}</link>',
            f'<link name="{side}_shin">{INERTIAL.format(1)}</link>',
            f'<link name="{side}_foot">{INERTIAL.format(1)}{shape}</link>',
            toe.format(side=side),
        ]
    return f'<robot name="feet">{"".join(parts)}</robot>'


def load_text(text: str, folder: Path) -> eq.Robot:
    """Load a URDF text."""
    path = folder / "feet.urdf"
    path.write_text(text, encoding="utf-8")
    return eq.load(path)


def stl_box(path: Path, size: tuple[float, float, float]) -> None:
    """Write a binary STL with the twelve triangles of a box (as vertex soup)."""
    corners = np.array(
        [[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=np.float32
    ) * (np.array(size, dtype=np.float32) / 2)
    triangles = [(0, 1, 2), (3, 4, 5), (5, 6, 7)]
    content = b"\0" * 80 + struct.pack("<I", len(triangles))
    for triangle in triangles:
        content += struct.pack("<3f", 0, 0, 1)
        content += corners[list(triangle)].tobytes() + b"\0\0"
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("foot", "rpy", "size", "height"),
    [
        (BOX, "0 0 0", (0.2, 0.1), 0.06),
        ('<cylinder radius="0.05" length="0.02"/>', "0 0 0", (0.1, 0.1), 0.06),
        (
            '<capsule radius="0.01" length="0.2"/>',
            "0 1.5707963267948966 0",
            (0.2, 0),
            0.06,
        ),
        ('<sphere radius="0.01"/>', "0 0 0", (0, 0), 0.06),
    ],
)
def test_sole_of_each_primitive(
    tmp_path: Path, foot: str, rpy: str, size: tuple[float, float], height: float
) -> None:
    """The polygon is where the shape touches the ground, below the ankle."""
    robot = load_text(biped(foot, rpy=rpy), tmp_path)
    for sole in robot.soles.values():
        assert sole.origin == "collision geometry"
        assert sole.size == pytest.approx(size, abs=1e-9)
        np.testing.assert_allclose(
            sole.transform_sole_to_link[:3, 3], [0, 0, -height], atol=1e-12
        )
        low, high = sole.polygon_in_sole.min(axis=0), sole.polygon_in_sole.max(axis=0)
        assert (low + high) / 2 == pytest.approx([0.03, 0], abs=1e-9)
    assert robot.legs["left"].length == pytest.approx(0.4 + height, abs=1e-3)


def test_visual_geometry_stands_in(tmp_path: Path) -> None:
    """Without collision shapes the visual ones are used, and named as such."""
    robot = load_text(biped(BOX, tag="visual"), tmp_path)
    assert robot.soles["left"].origin == "visual geometry"
    assert robot.soles["left"].size == pytest.approx((0.2, 0.1))


def test_mesh_is_read_with_its_scale(tmp_path: Path) -> None:
    """A mesh beside the robot gives the sole, in millimetres if the scale says so."""
    stl_box(tmp_path / "foot.stl", (200, 100, 20))
    mesh = '<mesh filename="foot.stl" scale="0.001 0.001 0.001"/>'
    robot = load_text(biped(mesh), tmp_path)
    assert robot.soles["right"].size == pytest.approx((0.2, 0.1), rel=1e-6)
    assert robot.soles["right"].origin == "collision geometry"


def test_missing_mesh_gives_an_estimate(tmp_path: Path) -> None:
    """A foot whose mesh is not there is estimated from the leg, and said so."""
    robot = load_text(biped('<mesh filename="package://p/foot.stl"/>'), tmp_path)
    sole = robot.soles["left"]
    assert sole.origin.startswith("estimate")
    assert 0.1 < sole.size[0] < 0.2


def test_unreadable_mesh_gives_an_estimate(tmp_path: Path) -> None:
    """A file that is not a mesh is treated as a missing one."""
    (tmp_path / "foot.stl").write_bytes(b"solid nothing")
    robot = load_text(biped('<mesh filename="foot.stl"/>'), tmp_path)
    assert robot.soles["left"].origin.startswith("estimate")


def test_tilted_foot_is_levelled(tmp_path: Path) -> None:
    """A foot drawn at an angle has the same sole, and stands flat on it."""
    robot = load_text(biped(BOX, ankle_rpy="0 0.3 0"), tmp_path)
    sole = robot.soles["left"]
    assert sole.size == pytest.approx((0.2, 0.1), abs=1e-9)
    pose = eq.frame_pose(robot, robot.standing, "left_foot")
    np.testing.assert_allclose(
        (pose @ sole.transform_sole_to_link)[:3, 2], [0, 0, 1], atol=1e-8
    )


def test_lying_cylinder_touches_with_its_lowest_line(tmp_path: Path) -> None:
    """A cylinder across the foot stands at its radius, however its ring is turned."""
    foot = '<cylinder radius="0.01" length="0.1"/>'
    robot = load_text(biped(foot, rpy="1.5707963267948966 0.1 0"), tmp_path)
    sole = robot.soles["left"]
    assert sole.transform_sole_to_link[2, 3] == pytest.approx(-0.06, abs=1e-12)


def test_toes_on_a_joint_do_not_become_the_foot(tmp_path: Path) -> None:
    """The larger of two flats on the ground is the sole; toes stay in the leg."""
    toe = (
        JOINT.format("{side}_toe", "{side}_foot", "{side}_toes", "0.13 0 0", "0 0 0")
        + '<link name="{side}_toes">'
        + INERTIAL.format(0.1)
        + '<collision><origin xyz="0.03 0 -0.05"/><geometry>'
        '<box size="0.06 0.1 0.02"/></geometry></collision></link>'
    )
    robot = load_text(biped(BOX, toe=toe), tmp_path)
    assert robot.soles["left"].link == "left_foot"
    assert robot.legs["left"].joints == ("left_a", "left_b", "left_c")
    assert "left_toe" in robot.legs["left"].subtree_joints


def write_collada_box(path: Path, up: str, half_cm: tuple[int, int, int]) -> None:
    """Write the corners of a box as a COLLADA mesh in centimetres."""
    a, b, c = half_cm
    points = [(x, y, z) for x in (-a, a) for y in (-b, b) for z in (-c, c)]
    numbers = " ".join(f"{value}" for point in points for value in point)
    path.write_text(
        f"""<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit name="cm" meter="0.01"/><up_axis>{up}</up_axis></asset>
<library_geometries><geometry id="g"><mesh>
<source id="p"><float_array id="a" count="24">{numbers}</float_array>
<technique_common><accessor source="#a" count="8" stride="3">
<param name="X" type="float"/><param name="Y" type="float"/>
<param name="Z" type="float"/>
</accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<triangles count="4"><input semantic="VERTEX" source="#v" offset="0"/>
<p>0 1 2 3 4 5 5 6 7 0 2 4</p></triangles></mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="s"><node><instance_geometry url="#g"/></node>
</visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#s"/></scene></COLLADA>""",
        encoding="utf-8",
    )


@pytest.mark.parametrize(
    ("up", "half_cm", "size", "turned"),
    [
        ("Z_UP", (10, 5, 1), (0.2, 0.1), False),
        ("Y_UP", (10, 5, 1), (0.2, 0.1), False),  # a foot as it stands
        ("Z_UP", (5, 10, 1), (0.1, 0.2), False),
        ("Y_UP", (5, 10, 1), (0.1, 0.02), True),  # wider than long: not as it stands
    ],
)
def test_collada_is_turned_only_where_that_makes_a_foot(
    tmp_path: Path,
    up: str,
    half_cm: tuple[int, int, int],
    size: tuple[float, float],
    turned: bool,
) -> None:
    """The unit counts; the up axis only where the foot is else wider than long."""
    write_collada_box(tmp_path / "foot.dae", up, half_cm)
    robot = load_text(biped('<mesh filename="foot.dae"/>'), tmp_path)
    assert robot.soles["left"].size == pytest.approx(size, abs=1e-6)
    assert ("up axis" in robot.soles["left"].origin) == turned


@pytest.mark.parametrize(("up", "axis"), [("X_UP", 0), ("Y_UP", 1), ("Z_UP", 2)])
def test_up_axis_of_a_mesh_becomes_z(tmp_path: Path, up: str, axis: int) -> None:
    """The turned mesh is the same mesh, rotated so that its up axis is z."""
    write_collada_box(tmp_path / "a.dae", up, (1, 1, 1))
    turned = upright_variant(Shape("mesh", (1, 1, 1), mesh=tmp_path / "a.dae"))
    if axis == 2:
        assert turned is None
        return
    assert turned is not None
    rotation = turned.transform_shape_to_link[:3, :3]
    np.testing.assert_allclose(rotation[:, axis], [0, 0, 1])
    assert np.linalg.det(rotation) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "shape",
    [
        Shape("box", (0.2, 0.1, 0.3), transform(translation=[1, 2, 3])),
        Shape("cylinder", (0.2, 0.5), transform(translation=[1, 2, 3])),
        Shape("capsule", (0.2, 0.5), transform(translation=[1, 2, 3])),
        Shape("sphere", (0.2,), transform(translation=[1, 2, 3])),
    ],
)
def test_support_point_is_the_lowest_contact_point(shape: Shape) -> None:
    """The farthest point downwards is as low as the lowest contact point."""
    assert shape_is_known(shape)
    rng = np.random.default_rng(1)
    for _ in range(20):
        down = rng.normal(size=3)
        down /= np.linalg.norm(down)
        lowest = (contact_points(shape, down) @ down).max()
        assert support_point(shape, down) @ down == pytest.approx(lowest, abs=1e-12)


def test_guessed_sole_is_warned_of(tmp_path: Path) -> None:
    """A sole without geometry says so in its origin, and a warning names the feet."""
    robot = load_text(biped('<mesh filename="no.stl"/>'), tmp_path)
    assert "guessed" in robot.soles["left"].origin
    (warning,) = (text for text in robot.warnings if "soles are guessed" in text)
    assert "left foot 'left_foot' and right foot 'right_foot'" in warning
    assert "[soles.left]" in warning


@given(
    shaped=st.sets(st.sampled_from(["hip_pitch", "knee", "ankle_pitch"])),
    foot=st.sampled_from([BOX, ""]),
    reach=st.floats(0.05, 1.5),
)
def test_sole_is_never_on_shin_or_thigh(
    tmp_path_factory: pytest.TempPathFactory, shaped: set[str], foot: str, reach: float
) -> None:
    """Whatever links above have shapes, even below the ground, the foot has it."""
    text = Biped(foot=foot).urdf()
    box = (
        f'<collision><origin xyz="0 0 {-reach / 2}"/><geometry>'
        f'<box size="0.3 0.3 {reach}"/></geometry></collision>'
    )
    for word in shaped:
        for side in ("left", "right"):
            start = f'<link name="{side}_{word}_link">'
            assert start in text
            text = text.replace(start, start + box)
    robot = load_text(text, tmp_path_factory.mktemp("sole"))
    for side, sole in robot.soles.items():
        assert sole.link == f"{side}_ankle_roll_link"
        assert ("guessed" in sole.origin) == (not foot)
        if foot:
            assert sole.size == pytest.approx((0.2, 0.1), abs=1e-9)


def test_foot_without_geometry_before_toes_is_estimated_on_the_foot(
    tmp_path: Path,
) -> None:
    """The sole goes to the foot rather than to toes that have no geometry either."""
    toe = (
        JOINT.format("{side}_toe", "{side}_foot", "{side}_toes", "0.13 0 0", "0 0 0")
        + f'<link name="{{side}}_toes">{INERTIAL.format(0.1)}</link>'
    )
    robot = load_text(biped("", toe=toe), tmp_path)
    assert robot.soles["left"].link == "left_foot"
    robot = load_text(biped(BOX, toe=toe), tmp_path)
    assert robot.soles["left"].size == pytest.approx((0.2, 0.1))


def test_toes_below_a_high_ankle_do_not_become_the_foot(tmp_path: Path) -> None:
    """Toes on the ground beside the foot are toes, even if farther down than ahead."""
    toe = (
        JOINT.format("{side}_toe", "{side}_foot", "{side}_toes", "0.1 0 -0.14", "0 0 0")
        + f'<link name="{{side}}_toes">{INERTIAL.format(0.1)}<collision>'
        '<origin xyz="0.03 0 -0.01"/><geometry><box size="0.06 0.1 0.02"/></geometry>'
        "</collision></link>"
    )
    robot = load_text(biped(BOX, xyz="0 0 -0.15", toe=toe), tmp_path)
    for side, sole in robot.soles.items():
        assert sole.link == f"{side}_foot"
        assert sole.size == pytest.approx((0.2, 0.1), abs=1e-9)


def rolling_foot(xyz: str) -> str:
    """Return a roll joint on the foot, with a link that has no geometry."""
    joint = JOINT.format("{side}_roll", "{side}_foot", "{side}_end", xyz, "0 0 0")
    link = f'<link name="{{side}}_end">{INERTIAL.format(0.1)}</link>'
    return joint.replace('axis xyz="0 1 0"', 'axis xyz="1 0 0"') + link


def test_second_ankle_joint_is_not_a_toe(tmp_path: Path) -> None:
    """A joint ahead of the ankle that does not pitch keeps its foot, without shapes."""
    robot = load_text(biped("", toe=rolling_foot("0.1 0 0")), tmp_path)
    for side, leg in robot.legs.items():
        assert leg.joints[-1] == f"{side}_roll"
        assert robot.soles[side].link == f"{side}_end"


def test_pitch_ahead_of_the_only_roll_is_not_a_toe(tmp_path: Path) -> None:
    """What pitches ahead of an ankle that does not is the ankle, not the toes."""
    toe = JOINT.format("{side}_d", "{side}_foot", "{side}_end", "0.1 0 0", "0 0 0")
    toe += f'<link name="{{side}}_end">{INERTIAL.format(0.1)}</link>'
    text = biped("", toe=toe)
    for side in ("left", "right"):
        start, end = text.split(f'name="{side}_c"')
        rolls = end.replace('axis xyz="0 1 0"', 'axis xyz="1 0 0"', 1)
        text = f'{start}name="{side}_c"{rolls}'
    robot = load_text(text, tmp_path)
    for side, leg in robot.legs.items():
        assert leg.joints[-1] == f"{side}_d"
        assert robot.soles[side].link == f"{side}_end"


def test_estimated_sole_is_below_all_of_the_ankle(tmp_path: Path) -> None:
    """No joint of the ankle and no shape there is below a guessed sole."""
    for foot, lowest in (("", -0.05), (BOX, -0.05 - 0.06)):
        robot = load_text(biped(foot, toe=rolling_foot("0.1 0 0.05")), tmp_path)
        for sole in robot.soles.values():
            assert "guessed" in sole.origin
            assert sole.transform_sole_to_link[2, 3] <= lowest + 1e-9
