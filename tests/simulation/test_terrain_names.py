from __future__ import annotations

import math

import numpy as np
import pytest

import equipoise as eq
from equipoise.errors import EquipoiseError
from equipoise.kinematics.blocks import Blocks
from equipoise.kinematics.support import support_polygon
from equipoise.kinematics.terrain import Flat, HeightField, Slope, Stairs
from equipoise.simulation.terrain_names import terrain_named


@pytest.fixture(scope="module")
def humanoid() -> eq.Robot:
    """A robot of human size."""
    return eq.load("humanoid")


def test_words_with_numbers(humanoid):
    """Figures are read in the order of the help text."""
    assert terrain_named("flat", humanoid) == Flat()
    slope = terrain_named(" slope:5,-2 ", humanoid)
    assert slope == Slope(math.radians(5), math.radians(-2))
    stairs = terrain_named("stairs:-0.1,0.3,5,0.4", humanoid)
    assert stairs == Stairs(-0.1, 0.3, 5, 0.4)
    ground = terrain_named("rough:0.02,0.5", humanoid, seed=3)
    assert isinstance(ground, HeightField)
    assert np.abs(ground.heights).max() == pytest.approx(0.02)
    assert "seed 3" in ground.describe()
    tiles = terrain_named("blocks:0.02,4,0.5", humanoid, seed=3)
    assert isinstance(tiles, Blocks)
    assert tiles.size == 0.5
    assert tiles.describe() == "blocks of 0.5 m, ±0.02 m, ±4°, seed 3"


def test_defaults_suit_every_robot(robot):
    """Under the soles of the standing robot the ground is at z = 0, in all defaults."""
    for text in ("flat", "stairs", "rough", "blocks", "stairs:-0.05"):
        terrain = terrain_named(text, robot, seed=1)
        if robot.soles:
            x, y = support_polygon(robot, robot.standing, tuple(robot.soles)).T
            np.testing.assert_allclose(terrain.height(x, y), 0.0, atol=1e-12)
        assert terrain.height(4.0, 0.3) != 0.0 or text == "flat"
    assert terrain_named("slope", robot) == Slope(math.radians(5))
    stairs = terrain_named("stairs", robot)
    assert isinstance(stairs, Stairs)
    for sole in robot.soles.values():
        assert stairs.tread > sole.size[0]


def test_files(humanoid, tmp_path):
    """Heights in NumPy and CSV files are centred on the origin, rows along y."""
    heights = np.arange(6.0).reshape(2, 3)
    np.save(tmp_path / "a.npy", heights)
    np.savetxt(tmp_path / "a,b.csv", heights, delimiter=",")
    for text in (f"field:{tmp_path}/a.npy,0.1", f"field:{tmp_path}/a,b.csv,0.1"):
        terrain = terrain_named(text, humanoid)
        np.testing.assert_allclose(terrain.height([-0.1, 0.1], [-0.05, 0.05]), [0, 5])
    for text in (f"{tmp_path}/a.npy", f"field:{tmp_path}/a,b.csv"):
        terrain = terrain_named(text, humanoid)
        assert isinstance(terrain, HeightField)
        assert terrain.cell == 0.05


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "mud",
            r"no terrain 'mud'; the choices are: flat; slope:.*for example slope:5",
        ),
        ("slop:3", "did you mean 'slope'"),
        ("", "no terrain ''"),
        ("flat:", "numbers are missing: flat"),
        ("field:", "numbers are missing: field:FILE"),
        ("flat:1", "too many numbers"),
        ("slope:x", "'x' must be numbers"),
        ("slope:nan", "must be finite"),
        ("slope:60", "less than 60°"),
        ("stairs:0.1,0,5", "tread of 0 m"),
        ("stairs:0.1,0.3,2.5", "2.5 steps"),
        ("rough:-1", "0 or more"),
        ("missing.npy", "no such file"),
        ("field:ground.png,0.1", "must be a .npy or a .csv file"),
        ("field:bad.csv,0.1", "no heights can be read"),
        ("field:empty.csv", "no heights can be read"),
        ("field:empty.npy", "no heights can be read"),
        ("field:complex.npy", "no heights can be read"),
        ("field:row.npy", r"shape \(3,\)"),
        ("field:row.npy,cell", "'cell' must be numbers"),
        ("field:square.npy,0", "cell is 0 m"),
    ],
)
def test_bad_words_are_refused(humanoid, tmp_path, monkeypatch, text, message):
    """The error is one line that names what is wrong and what is possible."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.csv").write_text("1,2\n3,x\n")
    (tmp_path / "empty.csv").touch()
    (tmp_path / "empty.npy").touch()
    np.save("complex.npy", np.ones((2, 2), dtype=complex))
    np.save("row.npy", np.zeros(3))
    np.save("square.npy", np.zeros((3, 3)))
    with pytest.raises(EquipoiseError, match=message) as error:
        terrain_named(text, humanoid)
    assert "\n" not in str(error.value)
