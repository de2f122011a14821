"""Commanded velocities: tables, files, functions, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from equipoise.errors import EquipoiseError
from equipoise.gait.velocity_command import (
    Velocity,
    VelocityTable,
    read_velocities,
    velocity_function,
)

JUMPS = "time,vx,vy,yaw_rate\n# comment\n1,0,0,0\n2,0.2,0,0.1\n\n3,0.2,0,0.1\n3,0,0,0\n"


def test_a_table_is_linear_with_jumps(tmp_path: Path) -> None:
    """Linear between rows, constant outside; twice the same time is a jump."""
    file = tmp_path / "command.csv"
    file.write_text(JUMPS)
    table = read_velocities(file)
    assert table(0.0) == table(1.0) == Velocity(0.0, 0.0, 0.0)
    assert table(1.5) == pytest.approx((0.1, 0.0, 0.05))
    assert table(2.999) == pytest.approx((0.2, 0.0, 0.1))
    assert table(3.0) == table(100.0) == Velocity(0.0, 0.0, 0.0)


def test_columns_come_in_any_order(tmp_path: Path) -> None:
    """The header says which column is which."""
    file = tmp_path / "command.csv"
    file.write_text("vy,yaw_rate,time,vx\n0.1,0.2,0,0.3\n")
    assert read_velocities(file)(5.0) == Velocity(0.3, 0.1, 0.2)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "must name the columns"),
        ("time,vx\n0,1\n", "must name the columns"),
        ("time,vx,vy,yaw_rate\n", "holds 0 velocities"),
        ("time,vx,vy,yaw_rate\n0,1,0\n", "line 2"),
        ("time,vx,vy,yaw_rate\n0,nan,0,0\n", "line 2"),
        ("time,vx,vy,yaw_rate\n0,fast,0,0\n", "line 2"),
        ("time,vx,vy,yaw_rate\n1,0,0,0\n0,0,0,0\n", "line 3"),
        ('time,vx,vy,yaw_rate\n"0,0,0,0\n', "is not CSV"),
    ],
)
def test_bad_files_name_their_line(tmp_path: Path, text: str, words: str) -> None:
    """A file that cannot be read says where it is wrong, in one line."""
    file = tmp_path / "command.csv"
    file.write_text(text)
    with pytest.raises(EquipoiseError, match=words) as refused:
        read_velocities(file)
    assert "\n" not in str(refused.value)


def test_functions_and_constants_are_checked() -> None:
    """Three numbers, or a function that returns them; others are refused."""
    assert velocity_function((0.1, 0, 0))(7.0) == Velocity(0.1, 0.0, 0.0)
    assert velocity_function(lambda time: (time, 0.0, 0.0))(2.0).x == 2.0
    with pytest.raises(EquipoiseError, match="three finite numbers"):
        velocity_function((0.1, 0.2))
    with pytest.raises(EquipoiseError, match=r"at 3 s is \[nan, 0, 0\]"):
        velocity_function(lambda time: [float("nan"), 0, 0])(3.0)
    with pytest.raises(EquipoiseError, match="three finite numbers"):
        velocity_function(0.1)  # type: ignore[arg-type]


def test_tables_must_be_in_order() -> None:
    """Times go forward, and there is a velocity for each."""
    with pytest.raises(EquipoiseError, match="must be in order"):
        VelocityTable((1.0, 0.0), (Velocity(), Velocity()))
    with pytest.raises(EquipoiseError, match="equally many"):
        VelocityTable((1.0,), ())
