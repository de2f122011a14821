"""Mesh files: where they are looked for, and what is said of those not found."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import trimesh
from bipeds import Biped
from hypothesis import given
from hypothesis import strategies as st

import equipoise as eq
from equipoise.errors import RobotFileError
from equipoise.robot.mesh_files import MeshFiles, in_any_case

MJCF = """<mujoco><compiler meshdir="assets" strippath="{strip}"/>
<asset><mesh name="m" file="{file}"/></asset><worldbody>
<body name="a"><freejoint/>{inertial}<geom type="mesh" mesh="m"/>
{visual}</body></worldbody></mujoco>"""
INERTIAL = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'


@pytest.fixture(autouse=True)
def no_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the packages of this machine's ROS, if any."""
    for name in ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH"):
        monkeypatch.delenv(name, raising=False)


def write_box(path: Path, size: tuple[float, float, float] = (0.2, 0.1, 0.02)) -> Path:
    """Write a box as a mesh file, with the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    trimesh.creation.box(size).export(path, file_type="stl")
    return path


def package(folder: Path, name: str) -> None:
    """Make a folder a package of that name."""
    folder.mkdir(parents=True, exist_ok=True)
    text = f"<package><name> {name} </name></package>"
    (folder / "package.xml").write_text(text, encoding="utf-8")


def robot_warnings(text: str, path: Path) -> str:
    """Return the warnings of a robot file with this text, joined."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return "\n".join(eq.load(path).warnings)


@pytest.mark.parametrize("where", ["above", "beside", "variable", "inside_variable"])
def test_package_is_known_by_its_package_xml(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """A folder that is called otherwise is the package that its package.xml names."""
    robot_file = tmp_path / "one" / "urdf" / "robot.urdf"
    folder = tmp_path / {"above": "one", "beside": "two"}.get(where, "away/three")
    package(folder, "named")
    mesh = write_box(folder / "meshes" / "foot.stl")
    if "variable" in where:
        place = folder if where == "inside_variable" else folder.parent
        monkeypatch.setenv("ROS_PACKAGE_PATH", f"/nowhere{os.pathsep}{place}")
    files = MeshFiles(robot_file)
    assert files.find("package://named/meshes/foot.stl") == mesh
    assert files.find("package://named/meshes/hand.stl") is None
    (notice,) = files.notices()
    assert notice.startswith("1 mesh file was not found: package://named/meshes/hand")
    assert str(folder) in notice


def test_robot_file_behind_a_symbolic_link(tmp_path: Path) -> None:
    """Folders above the target of a link count, for plain names and packages."""
    there = tmp_path / "there" / "pack"
    mesh = write_box(there / "foot.stl")
    (there / "robot.urdf").write_text("", encoding="utf-8")
    (tmp_path / "here").mkdir()
    link = tmp_path / "here" / "robot.urdf"
    link.symlink_to(there / "robot.urdf")
    files = MeshFiles(link)
    for name in ("foot.stl", "package://pack/foot.stl"):
        found = files.find(name)
        assert found is not None
        assert found.samefile(mesh)
    assert files.notices() == []


def test_linked_folders_are_followed_and_broken_links_are_missing(
    tmp_path: Path,
) -> None:
    """A linked mesh folder is as good as a folder; a link to nowhere is not a file."""
    write_box(tmp_path / "store" / "foot.stl")
    (tmp_path / "meshes").symlink_to(tmp_path / "store")
    (tmp_path / "gone.stl").symlink_to(tmp_path / "nowhere.stl")
    files = MeshFiles(tmp_path / "robot.urdf")
    assert files.find("meshes/foot.stl") == tmp_path / "meshes" / "foot.stl"
    assert files.find("gone.stl") is None


def test_exact_name_comes_before_another_letter_case(tmp_path: Path) -> None:
    """A file of other letter case is taken where no other is, and said."""
    write_box(tmp_path / "Meshes" / "Foot.STL")
    files = MeshFiles(tmp_path / "robot.urdf")
    assert files.find("meshes/foot.stl") == tmp_path / "Meshes" / "Foot.STL"
    (notice,) = files.notices()
    found = tmp_path / "Meshes" / "Foot.STL"
    assert f"ignoring letter case: meshes/foot.stl as {found}" in notice
    exact = write_box(tmp_path / "meshes" / "foot.stl")
    files = MeshFiles(tmp_path / "robot.urdf")
    assert files.find("meshes/foot.stl") == exact
    assert files.notices() == []


@given(st.text("aBc", min_size=1, max_size=5), st.data())
def test_any_change_of_case_finds_the_file(
    tmp_path_factory: pytest.TempPathFactory, name: str, data: st.DataObject
) -> None:
    """Whatever letters change case on the way, the one file there is found."""
    folder = tmp_path_factory.mktemp("case")
    (folder / name).mkdir()
    (folder / name / f"{name}.stl").write_bytes(b"")
    swaps = data.draw(st.lists(st.booleans(), min_size=len(name), max_size=len(name)))
    other = "".join(c.swapcase() if s else c for c, s in zip(name, swaps, strict=True))
    found = in_any_case(folder, f"{other}/{name}.stl")
    assert found == folder / name / f"{name}.stl"
    assert in_any_case(folder, f"{other}x/{name}.stl") is None


def test_missing_files_are_counted_and_named_once(tmp_path: Path) -> None:
    """One line: how many, the first few, how many more, and where was looked."""
    files = MeshFiles(tmp_path / "robot.urdf")
    for index in (*range(7), *range(7)):
        assert files.find(f"package://pack/m{index}.stl") is None
    assert files.find("http://a.stl") is None
    (notice,) = files.notices()
    assert notice.startswith("8 mesh files were not found: package://pack/m0.stl, ")
    assert "m3.stl and 4 more; looked for package 'pack' above" in notice
    assert "ROS_PACKAGE_PATH (not set) and AMENT_PREFIX_PATH (not set)" in notice
    assert "http:// is not supported" in notice
    assert "\n" not in notice


def test_names_that_cannot_be_files(tmp_path: Path) -> None:
    """Names too long or with a NUL are missing files, not errors."""
    files = MeshFiles(tmp_path / "robot.urdf")
    for name in ("x" * 5000, "a\0b.stl", "a\nb.stl", "package://", "package://p"):
        assert files.find(name) is None
    (notice,) = files.notices()
    assert "\n" not in notice
    assert len(notice) < 1000
    with pytest.raises(RobotFileError, match="climbs out of its package"):
        files.find("package://p/../../x.stl")


@pytest.mark.parametrize("content", ["", "<package>", "<package/>", "\0"])
def test_senseless_package_xml_is_no_package(tmp_path: Path, content: str) -> None:
    """A package.xml that cannot be read names nothing."""
    (tmp_path / "package.xml").write_text(content, encoding="utf-8")
    write_box(tmp_path / "foot.stl")
    assert MeshFiles(tmp_path / "r.urdf").find("package://p/foot.stl") is None


@pytest.fixture
def denied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that may not be entered; root may, so rights are pretended."""
    folder = tmp_path / "assets"
    folder.mkdir()
    true_stat = Path.stat

    def stat(path: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        if folder in path.parents:
            raise PermissionError(13, "Permission denied", str(path))
        return true_stat(path, follow_symlinks=follow_symlinks)

    monkeypatch.setattr(Path, "stat", stat)
    return folder


def test_denied_folder_is_one_clear_line_in_urdf(tmp_path: Path, denied: Path) -> None:
    """A folder without rights costs its meshes and is said."""
    foot = f'<mesh filename="{denied.name}/foot.stl"/>'
    warnings = robot_warnings(Biped(foot=foot).urdf(), tmp_path / "robot.urdf")
    assert "1 mesh file cannot be read (permission denied): assets/foot" in warnings


def test_denied_folder_is_one_clear_line_in_mjcf(tmp_path: Path, denied: Path) -> None:
    """Likewise for MJCF; where the mesh decides an inertia it is an error."""
    path = tmp_path / "robot.xml"
    text = MJCF.format(strip="false", file="foot.stl", inertial=INERTIAL, visual="")
    assert "cannot be read (permission denied): foot.stl" in robot_warnings(text, path)
    text = MJCF.format(strip="false", file="foot.stl", inertial="", visual="")
    with pytest.raises(RobotFileError, match=r"foot\.stl.*body 'a' depends on it"):
        robot_warnings(text, path)
    path.write_text(f'<mujoco><include file="{denied.name}/a.xml"/></mujoco>')
    with pytest.raises(RobotFileError, match=r"a\.xml'.*permission denied"):
        eq.load(path)


@pytest.mark.parametrize("strip", ["true", "false"])
@pytest.mark.parametrize("inertial", ["", INERTIAL])
def test_letter_case_in_mjcf(tmp_path: Path, strip: str, inertial: str) -> None:
    """Folders and files of other letter case are found, for inertias as well."""
    mesh = write_box(tmp_path / "Assets" / "Foot.STL", (0.2, 0.1, 0.1))
    text = MJCF.format(strip=strip, file="foot.stl", inertial=inertial, visual="")
    path = tmp_path / "robot.xml"
    assert f"ignoring letter case: foot.stl as {mesh}" in robot_warnings(text, path)
    robot = eq.load(path)
    assert robot.description.link_by_name["a"].collisions[0].mesh == mesh
    if not inertial:
        assert robot.mass == pytest.approx(2.0, rel=1e-5)  # 1000 kg/m³


def test_missing_mjcf_mesh_says_where_it_was_looked_for(tmp_path: Path) -> None:
    """The folder is named, and that visual geometry stands in."""
    visual = '<geom type="box" size=".1 .1 .1" contype="0" conaffinity="0"/>'
    text = MJCF.format(strip="false", file="no.stl", inertial=INERTIAL, visual=visual)
    warnings = robot_warnings(text, tmp_path / "robot.xml")
    assert "1 mesh file was not found: no.stl; looked in" in warnings
    assert str(tmp_path / "assets") in warnings
    assert "visual geometry stands in for missing collision meshes (1: a)" in warnings


def test_visual_mesh_stands_in_for_a_missing_collision_mesh(tmp_path: Path) -> None:
    """The sole is that of the visual mesh, and both places say so."""
    write_box(tmp_path / "foot.stl")
    foot = '<mesh filename="coarse.stl"/>'
    text = Biped(foot=foot).urdf()
    visual = '<visual><origin xyz="0.04 0 -0.06"/><geometry><mesh filename="foot.stl"/>'
    text = text.replace(
        f"{foot}</geometry></collision>",
        f"{foot}</geometry></collision>{visual}</geometry></visual>",
    )
    warnings = robot_warnings(text, tmp_path / "robot.urdf")
    robot = eq.load(tmp_path / "robot.urdf")
    assert "1 mesh file was not found: coarse.stl; looked from" in warnings
    assert "visual geometry stands in for missing collision meshes (2: left" in warnings
    for sole in robot.soles.values():
        assert sole.origin == "visual geometry (collision meshes missing)"
        assert sole.size == pytest.approx((0.2, 0.1), abs=1e-6)


def test_file_without_a_mesh_is_named(tmp_path: Path) -> None:
    """A file that is there but holds no mesh, such as a pointer of Git LFS, is said."""
    (tmp_path / "foot.stl").write_text("version https://git-lfs", encoding="utf-8")
    text = Biped(foot='<mesh filename="foot.stl"/>').urdf()
    warnings = robot_warnings(text, tmp_path / "robot.urdf")
    assert "files that hold no mesh that can be read (1: foot.stl)" in warnings


def test_links_do_not_lead_out_of_a_package(tmp_path: Path) -> None:
    """A link in a package to a file elsewhere is left out, with a warning."""
    robot_file = tmp_path / "ws" / "named" / "urdf" / "robot.urdf"
    robot_file.parent.mkdir(parents=True)
    secret = write_box(tmp_path / "elsewhere" / "deep" / "box.stl")
    link = tmp_path / "ws" / "named" / "meshes" / "box.stl"
    link.parent.mkdir()
    link.symlink_to(secret)
    meshes = MeshFiles(robot_file)
    assert meshes.find("package://named/meshes/box.stl") is None
    assert "a link leads out of the package" in meshes.notices()[0]


@pytest.mark.parametrize("where", ["beside", "same_package", "variable", "installed"])
def test_links_that_packages_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """Installed links to sources, annexed files and other packages are followed."""
    robot_file = tmp_path / "ws" / "share" / "named" / "urdf" / "robot.urdf"
    robot_file.parent.mkdir(parents=True)
    folder = {
        "beside": tmp_path / "ws" / "share" / ".annex",
        "same_package": tmp_path / "source" / "other_name",
        "variable": tmp_path / "packages" / "other",
        "installed": tmp_path / "source" / "named",
    }[where]
    if where == "same_package":
        package(folder, "named")
    if where == "variable":
        monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path / "packages"))
    if where == "installed":
        (folder / "urdf").mkdir(parents=True)
        (folder / "urdf" / "robot.urdf").touch()
        robot_file.symlink_to(folder / "urdf" / "robot.urdf")
    real = write_box(folder / "meshes" / "box.stl")
    link = tmp_path / "ws" / "share" / "named" / "meshes" / "box.stl"
    link.parent.mkdir()
    link.symlink_to(real)
    assert MeshFiles(robot_file).find("package://named/meshes/box.stl") == link


@pytest.mark.parametrize(
    "name", ["package://./etc/hostname", "package://.ssh/id", "model:///../x"]
)
def test_packages_that_are_no_names(tmp_path: Path, name: str) -> None:
    """A package is not this folder, the one above or a hidden one."""
    with pytest.raises(RobotFileError, match="climbs out of its package"):
        MeshFiles(tmp_path / "robot.urdf").find(name)


def test_the_folders_of_the_system_are_no_packages(tmp_path: Path) -> None:
    """/etc lies above every robot file, but has no package.xml."""
    meshes = MeshFiles(tmp_path / "robot.urdf")
    assert meshes.find("package://etc/hostname") is None
    assert "etc/hostname" in meshes.notices()[0]
