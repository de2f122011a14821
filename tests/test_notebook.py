"""What notebooks and consoles show: one line, or a small table."""

from __future__ import annotations

import pytest
from runs import swaying

import equipoise as eq
from equipoise.notebook import html_table


def test_texts_are_escaped() -> None:
    """A name from a file cannot bring markup along."""
    shown = html_table("<b>", {"<script>": "a & b"})
    assert "<script>" not in shown
    assert "&lt;b&gt;" in shown
    assert "a &amp; b" in shown


@pytest.mark.parametrize("kind", ["robot", "gait", "run"])
def test_objects_are_shown_in_a_line_and_in_a_table(kind: str) -> None:
    """A short line in a console, a table in a notebook, both with the robot's name."""
    robot = eq.load("humanoid")
    item = {
        "robot": lambda: robot,
        "gait": lambda: eq.fit_walk(robot, steps=2),
        "run": swaying,
    }[kind]()
    line, table = repr(item), item._repr_html_()
    assert len(line) < 150
    assert "\n" not in line
    assert table.startswith("<b>")
    assert table.count("<tr>") >= 4
    name = item.robot.name if kind == "run" else robot.name
    assert name in line
