"""Robots by the names of the package robot_descriptions, which is pretended here."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest
from bipeds import Biped

import equipoise as eq
from equipoise.cli.main import run
from equipoise.errors import UnknownRobotError

PACKAGE = "robot_descriptions"
MJCF = (
    '<mujoco model="drawn"><worldbody><body name="a"><freejoint/><geom size=".1"/>'
    "</body></worldbody></mujoco>"
)


def pretend(
    monkeypatch: pytest.MonkeyPatch, name: str, **paths: str | Path
) -> ModuleType:
    """Put a module into the package, and the package into Python."""
    package = ModuleType(PACKAGE)
    package.__dict__["DESCRIPTIONS"] = {"g1_description": None, "h1_description": None}
    module = ModuleType(f"{PACKAGE}.{name}")
    module.__dict__.update(paths)
    monkeypatch.setitem(sys.modules, PACKAGE, package)
    monkeypatch.setitem(sys.modules, f"{PACKAGE}.{name}", module)
    return module


@pytest.mark.parametrize("as_text", [True, False])
def test_urdf_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, as_text: bool
) -> None:
    """The robot is that of the file which the module names."""
    path = tmp_path / "robot.urdf"
    path.write_text(Biped().urdf(), encoding="utf-8")
    pretend(monkeypatch, "g1_description", URDF_PATH=str(path) if as_text else path)
    assert eq.load("g1_description").source == path


def test_mjcf_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module without URDF_PATH is read by its MJCF_PATH."""
    path = tmp_path / "robot.xml"
    path.write_text(MJCF, encoding="utf-8")
    pretend(monkeypatch, "g1_mj_description", MJCF_PATH=str(path))
    assert eq.load("g1_mj_description").source == path


def test_info_by_name_in_a_folder_of_that_name(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A folder of a workspace does not hide the description; a file does."""
    path = tmp_path / "robot.urdf"
    path.write_text(Biped().urdf(), encoding="utf-8")
    pretend(monkeypatch, "g1_description", URDF_PATH=str(path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "g1_description").mkdir()
    assert run(["info", "g1_description"]) == 0
    assert "drawn" in capsys.readouterr().out
    (tmp_path / "g1_description").rmdir()
    other = Biped(arm_length=0.2).urdf()
    (tmp_path / "g1_description").write_text(other, encoding="utf-8")
    assert eq.load("g1_description").source == Path("g1_description")


def test_package_that_is_not_installed_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line says what to install; the exit status is that of bad input."""
    monkeypatch.setitem(sys.modules, PACKAGE, None)
    monkeypatch.delitem(sys.modules, f"{PACKAGE}.g1_description", raising=False)
    assert run(["info", "g1_description"]) == 2
    said = capsys.readouterr().err
    assert "pip install 'equipoise[descriptions]'" in said
    assert said.count("\n") == 1


def test_unknown_description_suggests_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that the package does not have is refused with the nearest one."""
    pretend(monkeypatch, "g1_description")
    with pytest.raises(UnknownRobotError, match=r"did you mean 'h1_description'\?"):
        eq.load("h1x_description")


def test_description_without_a_robot_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module with another format alone is refused by what it lacks."""
    pretend(monkeypatch, "g1_description", XACRO_PATH="robot.xacro")
    with pytest.raises(UnknownRobotError, match="neither URDF_PATH nor MJCF_PATH"):
        eq.load("g1_description")


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("raise OSError('no\\nnetwork')", "could not be had .*: no network"),
        ("import no_such_git", "No module named 'no_such_git'"),
    ],
)
def test_description_that_cannot_be_downloaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, message: str
) -> None:
    """Errors of the download are one line, whatever raised them."""
    folder = tmp_path / PACKAGE
    folder.mkdir()
    (folder / "__init__.py").write_text("DESCRIPTIONS = {}", encoding="utf-8")
    (folder / "bad_description.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, PACKAGE, raising=False)
    with pytest.raises(UnknownRobotError, match=message) as caught:
        eq.load("bad_description")
    assert "\n" not in str(caught.value)
    monkeypatch.delitem(sys.modules, PACKAGE, raising=False)


@pytest.mark.parametrize(
    "name", ["../x_description", "a.b_description", "_description"]
)
def test_names_that_are_not_modules_are_not_imported(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Only plain names reach Python's import."""
    monkeypatch.setitem(sys.modules, PACKAGE, None)
    with pytest.raises(eq.EquipoiseError) as caught:
        eq.load(name)
    assert "descriptions]" not in str(caught.value)
