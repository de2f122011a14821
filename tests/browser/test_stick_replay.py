"""The walk of the three-link biped, played in a real browser."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from equipoise.planar.classic import classic_gait
from equipoise.planar.virtual_constraints import PD
from equipoise.show.charts.planar_walk import walk_charts
from equipoise.show.pages.markup import page
from equipoise.show.pages.stick_replay import stick_replay, stick_script, stick_style
from equipoise.show.pages.svg_plots import time_plot


def place(opened, part: str) -> float:
    """Return how far right a part of the picture is moved [px]."""
    moved = opened.locator(f"[data-part={part}][transform]").get_attribute("transform")
    return float(re.findall(r"-?[\d.]+", moved)[0])


def later_than(opened, before: float) -> float:
    """Wait until the hip is further right than before, and return where it is [px]."""
    for _ in range(500):
        now = place(opened, "hip")
        if now > before + 30.0:
            return now
        opened.wait_for_timeout(20)
    return pytest.fail("the biped does not walk")


def test_the_biped_walks(browser_page, tmp_path: Path) -> None:
    """Seeking and playing move figure and cursors of plots; the camera follows."""
    walk = classic_gait("constant-torso", PD(0.1)).walk(2, tolerance=1e-6)
    body = stick_replay(walk) + time_plot(walk_charts(walk)[0])
    file = tmp_path / "walk.html"
    shown = page("walk", body, style=stick_style(), script=stick_script())
    file.write_text(shown, encoding="utf-8")
    opened = browser_page(file.as_uri())
    assert opened.locator("#sticks-none").is_hidden()
    start = place(opened, "hip")
    opened.locator(".scrub").fill("0.6")
    there = later_than(opened, start)
    assert place(opened, "world") + there == pytest.approx(480.0, abs=0.2)
    cursor = opened.locator("svg[data-begin] .cursor")
    assert cursor.get_attribute("visibility") == "visible"
    opened.locator(".play").click()
    later_than(opened, there)
