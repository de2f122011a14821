"""New masses in a user's file: the inertial entries change, no other byte does."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.arrays import Array, frozen_array
from equipoise.errors import EquipoiseError, NameNotFoundError, RobotFileError
from equipoise.robot.description import Description
from equipoise.robot.formats.mjcf import read_mjcf
from equipoise.robot.formats.rewrite import rewrite_mjcf, rewrite_urdf
from equipoise.robot.formats.urdf import read_urdf
from equipoise.robot.formats.write import write_mjcf, write_urdf
from equipoise.robot.formats.xml_file import parse_xml, read_bytes
from equipoise.robot.inertias import Inertial
from equipoise.robot.load import load
from equipoise.rotations import rotation_from_rpy

PATH = Path("text.mjcf")

# Tags in comments, CDATA and attribute values, single quotes, ">" in a value, an
# attribute that looks like another, a rotated origin, and links without inertial.
URDF = """<?xml version='1.0' encoding="UTF-8"?>
<!-- <link name="a"><inertial><mass value="9"/></inertial></link> -->
<robot name="r"  >
\t<link   name='a' note="x > y; mass='7'" >
\t\t<![CDATA[<inertial><mass value="8"/></inertial>]]>
\t\t<inertial>
\t\t\t<origin rpy = '0.1 0.2 0.3'
\t\t\t        xyz = "1 2 3" /> <!-- kept -->
\t\t\t<mass   value='1.50' unit="value='3'"/>
\t\t\t<inertia ixx="1.0" ixy='0.10' ixz="0" iyy="1.2"
\t\t\t\tiyz="0" izz="1.30" />
\t\t</inertial>
\t\t<visual><geometry><box size="1 1 1"/></geometry></visual>
\t</link>
\t<link name="b"/>
\t<link name="µ"><visual><geometry><sphere radius="1"/></geometry></visual></link>
\t<link name="d"><inertial><mass value="1"/></inertial></link>
\t<joint name="j" type="fixed"><parent link="a"/><child link="b"/></joint>
\t<joint name="k" type="fixed"><parent link="a"/><child link="µ"/></joint>
\t<joint name="l" type="fixed"><parent link="a"/><child link="d"/></joint>
</robot>
<!-- the end -->
"""

MJCF = """<!-- <body name="a"><inertial mass="9"/></body> -->
<mujoco model='m'>
  <compiler angle="degree"/>
  <worldbody>
    <body name="a">  <freejoint/>
      <inertial  euler='10 20 30'   pos = "0 0 .10" mass='2.0' diaginertia="1 1.5 2"/>
      <body>
        <joint name="x>y"/>
        <geom size=".1"/> <!-- <inertial mass="3"/> -->
        <body name="c" pos='1 0 0'
              ><joint/><geom size=".1"/></body>
      </body>
      <body name="w"/>
    </body>
  </worldbody>
</mujoco>
"""


def urdf(content: bytes) -> Description:
    """Read URDF bytes."""
    return read_urdf(parse_xml(content, PATH), PATH)


def mjcf(content: bytes) -> Description:
    """Read MJCF bytes."""
    return read_mjcf(parse_xml(content, PATH), PATH)


def inertials_of(description: Description) -> dict[str, Inertial]:
    """Return the masses that a robot has."""
    return {
        link.name: link.inertial
        for link in description.links
        if link.inertial is not None
    }


def body(mass: float, com: Array, second_moments: Array, rpy: Array) -> Inertial:
    """Return a body that can exist."""
    rotation = rotation_from_rpy(rpy.tolist())
    moments = second_moments.sum() - second_moments
    turned = rotation @ np.diag(moments) @ rotation.T
    return Inertial(mass, frozen_array(com), frozen_array(0.5 * (turned + turned.T)))


def vectors(low: float, high: float) -> st.SearchStrategy[Array]:
    """Draw three numbers."""
    number = st.floats(low, high, allow_subnormal=False)
    return st.lists(number, min_size=3, max_size=3).map(np.array)


inertials = st.builds(
    body,
    st.floats(1e-3, 1e3),
    vectors(-2.0, 2.0),
    vectors(1e-3, 2.0),
    vectors(-3.0, 3.0),
)


def assert_holds(found: Inertial | None, wanted: Inertial) -> None:
    """Compare mass distributions: mass and CoM exactly, inertia to rounding."""
    assert found is not None
    assert found.mass == wanted.mass
    np.testing.assert_array_equal(found.com_in_link, wanted.com_in_link)
    scale = np.abs(wanted.inertia_in_link).max()
    np.testing.assert_allclose(
        found.inertia_in_link, wanted.inertia_in_link, atol=1e-12 * scale
    )


def outside_inertials(content: bytes) -> bytes:
    """Return a file without comments, CDATA, inertial elements and white space."""
    content = re.sub(rb"<!--.*?-->|<!\[CDATA\[.*?\]\]>", b"", content, flags=re.S)
    content = re.sub(rb"<inertial\b[^>]*/>", b"", content)
    content = re.sub(rb"<inertial\b.*?</inertial>", b"", content, flags=re.S)
    content = re.sub(rb"\s+", b"", content)
    return re.sub(rb"<(link|body)([^<>]*[^<>/])></\1>", rb"<\1\2/>", content)


def changed_lines(before: bytes, after: bytes) -> list[str]:
    """Return the lines that differ, without their white space."""
    lines = difflib.ndiff(before.decode().split("\n"), after.decode().split("\n"))
    return [line[0] + line[2:].strip() for line in lines if line[0] in "+-"]


variants = pytest.mark.parametrize(
    "variant",
    [
        lambda text: text.encode(),
        lambda text: b"\xef\xbb\xbf" + text.encode(),
        lambda text: text.replace("\n", "\r\n").encode(),
    ],
    ids=["plain", "byte order mark", "CRLF"],
)


@variants
def test_own_inertials_change_nothing_in_urdf(variant: Callable[[str], bytes]) -> None:
    """Rewriting with the file's own inertials returns identical bytes."""
    original = variant(URDF)
    assert rewrite_urdf(original, inertials_of(urdf(original))) == original


@variants
def test_own_inertials_change_nothing_in_mjcf(variant: Callable[[str], bytes]) -> None:
    """Inertias that MuJoCo infers from geoms need no entry while they are the same."""
    original = variant(MJCF)
    assert rewrite_mjcf(original, inertials_of(mjcf(original))) == original


def test_own_inertials_change_nothing_in_humanoids(humanoid_urdf: Path) -> None:
    """Released files come out of a rewriting byte for byte."""
    original = read_bytes(humanoid_urdf)
    own = inertials_of(read_urdf(parse_xml(original, humanoid_urdf), humanoid_urdf))
    assert rewrite_urdf(original, own, humanoid_urdf) == original


def test_one_mass_changes_one_value() -> None:
    """A new mass is one new value between the same quotes."""
    own = inertials_of(urdf(URDF.encode()))
    new = rewrite_urdf(URDF.encode(), {"a": replace(own["a"], mass=2.25)})
    assert new == URDF.replace("'1.50'", "'2.25'").encode()
    own = inertials_of(mjcf(MJCF.encode()))
    new = rewrite_mjcf(MJCF.encode(), {"a": replace(own["a"], mass=2.25)})
    assert new == MJCF.replace("'2.0'", "'2.25'").encode()


def test_one_com_changes_one_value() -> None:
    """A new centre of mass leaves the rotation of the origin as it is."""
    com = frozen_array([0.5, -1.0, 1e-7])
    own = inertials_of(urdf(URDF.encode()))
    new = rewrite_urdf(URDF.encode(), {"a": replace(own["a"], com_in_link=com)})
    assert new == URDF.replace('"1 2 3"', '"0.5 -1.0 1e-07"').encode()
    own = inertials_of(mjcf(MJCF.encode()))
    new = rewrite_mjcf(MJCF.encode(), {"a": replace(own["a"], com_in_link=com)})
    assert new == MJCF.replace('"0 0 .10"', '"0.5 -1.0 1e-07"').encode()


def test_unrotated_entries_keep_their_text() -> None:
    """Only the entries of the inertia that change are written."""
    original = URDF.replace("0.1 0.2 0.3", "0 0 0").encode()
    own = inertials_of(urdf(original))["a"]
    inertia = np.array(own.inertia_in_link)
    inertia[1, 1] = 1.25
    new = rewrite_urdf(original, {"a": replace(own, inertia_in_link=inertia)})
    assert new == original.replace(b'iyy="1.2"', b'iyy="1.25"')


def test_humanoid_with_one_new_link_differs_in_its_lines(g1_urdf: Path) -> None:
    """Changing a link of the G1 changes no line outside of its inertial."""
    original = read_bytes(g1_urdf)
    own = inertials_of(read_urdf(parse_xml(original, g1_urdf), g1_urdf))
    wanted = body(3.0, np.ones(3), np.ones(3), np.ones(3))
    new = rewrite_urdf(original, {**own, "left_knee_link": wanted}, g1_urdf)
    found = inertials_of(urdf(new))
    assert_holds(found["left_knee_link"], wanted)
    changed = changed_lines(original, new)
    assert 0 < len(changed) <= 16
    assert all(re.match(r"[+-](<origin|<mass|<inertia|i..=)", line) for line in changed)


@given(st.dictionaries(st.sampled_from(["a", "b", "µ", "d"]), inertials), st.booleans())
def test_any_inertials_into_urdf(wanted: dict[str, Inertial], windows: bool) -> None:
    """Every mass is read back, and all but the inertials stays as it was."""
    original = URDF.replace("\n", "\r\n" if windows else "\n").encode()
    new = rewrite_urdf(original, wanted)
    found = inertials_of(urdf(new))
    for name, inertial in wanted.items():
        assert_holds(found[name], inertial)
    assert outside_inertials(new) == outside_inertials(original)
    for comment in re.findall(rb"<!.*?>", original):
        assert comment in new
    if windows:
        assert new.count(b"\n") == new.count(b"\r\n")
    assert rewrite_urdf(new, found) == new


@given(st.dictionaries(st.sampled_from(["a", "body_2", "c", "w"]), inertials))
def test_any_inertials_into_mjcf(wanted: dict[str, Inertial]) -> None:
    """MuJoCo reads every new mass, and all but the inertials stays as it was."""
    original = MJCF.encode()
    new = rewrite_mjcf(original, wanted)
    found = inertials_of(mjcf(new))
    for name, inertial in wanted.items():
        assert_holds(found[name], inertial)
    assert outside_inertials(new) == outside_inertials(original)
    assert rewrite_mjcf(new, found) == new


def test_inserted_elements_are_indented_like_their_siblings() -> None:
    """New elements follow the file's own indentation and line ends."""
    wanted = body(2.0, np.zeros(3), np.ones(3), np.zeros(3))
    new = rewrite_urdf(URDF.encode(), {"b": wanted}).decode()
    assert (
        '\t<link name="b">\n\t\t<inertial>\n'
        '\t\t\t<origin xyz="0.0 0.0 0.0" rpy="0 0 0"/>\n\t\t\t<mass value="2.0"/>\n'
    ) in new
    assert "\n\t\t</inertial>\n\t</link>\n" in new
    new = rewrite_mjcf(MJCF.encode(), {"body_2": wanted}).decode()
    assert (
        '      <body>\n        <inertial pos="0.0 0.0 0.0" mass="2.0" '
        'fullinertia="2.0 2.0 2.0 0.0 0.0 0.0"/>\n        <joint'
    ) in new


def test_new_inertia_replaces_old_orientation() -> None:
    """MuJoCo allows no orientation beside ``fullinertia``: it goes, the rest stays."""
    own = inertials_of(mjcf(MJCF.encode()))["a"]
    wanted = replace(own, inertia_in_link=frozen_array(np.diag([1.0, 1.1, 1.2])))
    new = rewrite_mjcf(MJCF.encode(), {"a": wanted}).decode()
    assert (
        "<inertial   pos = \"0 0 .10\" mass='2.0' "
        'fullinertia="1.0 1.1 1.2 0.0 0.0 0.0"/>'
    ) in new


def test_inertials_in_frames_and_without_mass() -> None:
    """An entry of no mass is filled in; one inside of a frame is refused by name."""
    entry = '<inertial pos="0 0 0" mass="0" diaginertia="0 0 0"/>'
    wanted = body(1.0, np.zeros(3), np.ones(3), np.zeros(3))
    text = MJCF.replace('<body name="w"/>', f'<body name="w">{entry}</body>')
    new = rewrite_mjcf(text.encode(), {"w": wanted})
    assert_holds(inertials_of(mjcf(new))["w"], wanted)
    assert new.count(b"<inertial ") == text.count("<inertial ")
    entry = '<frame><inertial pos="1 1 1" mass="1" diaginertia="1 1 1"/></frame>'
    text = MJCF.replace('<body name="w"/>', f'<body name="w">{entry}</body>')
    with pytest.raises(RobotFileError, match="body 'w' has its <inertial> inside"):
        rewrite_mjcf(text.encode(), {"w": wanted})


def test_flat_plates_are_written() -> None:
    """A flat body, whose inertia MuJoCo cannot diagonalise safely, is written too."""
    plate = body(1.0, np.zeros(3), np.array([1.0, 2.0, 0.0]), np.ones(3))
    found = inertials_of(mjcf(rewrite_mjcf(MJCF.encode(), {"a": plate})))
    assert_holds(found["a"], plate)


def test_unknown_links_are_named() -> None:
    """A name that does not exist gives the names that do."""
    wanted = body(1.0, np.zeros(3), np.ones(3), np.zeros(3))
    with pytest.raises(NameNotFoundError, match=r"no link 'z'.*a, b, µ"):
        rewrite_urdf(URDF.encode(), {"z": wanted})
    with pytest.raises(NameNotFoundError, match=r"no link 'z'.*a, body_2"):
        rewrite_mjcf(MJCF.encode(), {"z": wanted})


def test_bodies_of_included_files_are_refused(tmp_path: Path) -> None:
    """A body from an included file cannot be changed in the including one."""
    (tmp_path / "part.xml").write_text(
        '<x><body name="a"><freejoint/><geom size=".1"/></body></x>'
    )
    main = b'<mujoco><worldbody><include file="part.xml"/></worldbody></mujoco>'
    wanted = body(1.0, np.zeros(3), np.ones(3), np.zeros(3))
    with pytest.raises(RobotFileError, match="link 'a' is not written in this file"):
        rewrite_mjcf(main, {"a": wanted}, tmp_path / "main.xml")


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ('settotalmass="9"', "does not read back"),
        ('inertiafromgeom="true"', "does not read back"),
        ('boundmass="5"', "does not read back"),
    ],
)
def test_settings_that_would_undo_the_change_are_noticed(
    setting: str, words: str
) -> None:
    """A file that MuJoCo would compile to other masses is not returned."""
    text = MJCF.replace('angle="degree"', setting).replace(
        '<body name="w"/>', '<geom size=".1"/>'
    )
    wanted = body(1.0, np.zeros(3), np.ones(3), np.zeros(3))
    with pytest.raises(EquipoiseError, match=words):
        rewrite_mjcf(text.encode(), {"a": wanted})


@pytest.mark.parametrize(
    "content",
    [
        URDF.replace("UTF-8", "ISO-8859-1").encode("latin-1"),
        URDF.replace("UTF-8", "UTF-16").encode("utf-16"),
        URDF.encode("utf-8").replace("µ".encode(), b"\xb5"),
    ],
    ids=["latin-1", "UTF-16", "wrong bytes"],
)
def test_other_encodings_are_refused(content: bytes) -> None:
    """Only UTF-8 is edited in place; anything else gives one clear line."""
    wanted = body(1.0, np.zeros(3), np.ones(3), np.zeros(3))
    with pytest.raises(RobotFileError) as caught:
        rewrite_urdf(content, {"a": wanted})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "bad",
    [
        Inertial(np.nan, np.zeros(3), np.eye(3)),
        Inertial(-1.0, np.zeros(3), np.eye(3)),
        Inertial(1.0, np.full(3, np.inf), np.eye(3)),
        Inertial(1.0, np.zeros(3), -np.eye(3)),
    ],
)
def test_impossible_masses_are_refused(
    bad: Inertial, g1_urdf: Path, tmp_path: Path
) -> None:
    """NaN, negative mass and negative inertia are never written."""
    for rewrite, text in ((rewrite_urdf, URDF), (rewrite_mjcf, MJCF)):
        with pytest.raises(RobotFileError, match="link 'a'"):
            rewrite(text.encode(), {"a": bad})
    robot = load(g1_urdf)
    for write in (write_urdf, write_mjcf):
        with pytest.raises(RobotFileError, match="link 'pelvis'"):
            write(robot, tmp_path / "out", inertials={"pelvis": bad})
    assert list(tmp_path.iterdir()) == []


def test_write_keeps_the_users_file(g1_urdf: Path, tmp_path: Path) -> None:
    """A robot from a URDF is written as that URDF; as MJCF it is a new document."""
    robot = load(g1_urdf)
    write_urdf(robot, tmp_path / "same.urdf")
    assert (tmp_path / "same.urdf").read_bytes() == g1_urdf.read_bytes()
    pelvis = robot.description.link_by_name["pelvis"].inertial
    assert pelvis is not None
    heavier = {"pelvis": replace(pelvis, mass=pelvis.mass + 1.0)}
    write_urdf(robot, tmp_path / "heavy.urdf", inertials=heavier)
    write_mjcf(robot, tmp_path / "heavy.xml", inertials=heavier)
    for name in ("heavy.urdf", "heavy.xml"):
        assert load(tmp_path / name).mass == pytest.approx(robot.mass + 1.0)
    with pytest.raises(NameNotFoundError, match="no link 'nose'"):
        write_urdf(robot, tmp_path / "x.urdf", inertials={"nose": pelvis})
    with pytest.raises(RobotFileError, match="root <mujoco>"):
        write_mjcf(robot, tmp_path / "x.xml", source=g1_urdf)
    write_mjcf(robot, tmp_path / "again.xml", source=tmp_path / "heavy.xml")
    assert load(tmp_path / "again.xml").mass == pytest.approx(robot.mass)
