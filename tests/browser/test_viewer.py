"""The viewer's page in a real Chromium."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from runs import swaying

import equipoise as eq
from equipoise.show.viewer.poser import Poser
from equipoise.show.viewer.run_replay import Replay
from equipoise.show.viewer.window import Window, view

PATIENCE_S = 30.0
SMALL = {"width": 760, "height": 480}
NUMBER = ".mantine-NumberInput-input"
CURSOR = """() => {
    const over = document.querySelector('.u-over');
    return parseFloat(getComputedStyle(over, '::before').left) / over.clientWidth;
}"""


@pytest.fixture(scope="module")
def run() -> eq.Run:
    """Four seconds of swaying."""
    return swaying(seconds=4.0)


@pytest.fixture
def replay(run: eq.Run) -> Iterator[Window]:
    """A page with one run."""
    with view(run, port=8600, block=False) as window:
        yield window


@pytest.fixture
def posed() -> Iterator[Window]:
    """A page with a robot to pose."""
    with view("humanoid", port=8600, block=False) as window:
        yield window


def test_robot_is_seen_without_any_error(browser_page: Any, replay: Window) -> None:
    """The page loads without errors, and the robot covers a good part of it."""
    page = browser_page(replay.url, **SMALL)
    wait_for(page, "/world/run-1/robot")
    with_robot = settled(page)
    content = replay.content
    assert isinstance(content, Replay)
    content.stages[0].robot.set_look("hidden")
    until(lambda: changed_fraction(with_robot, pixels(page)) > 0.01)


def test_playing_moves_the_robot(browser_page: Any, replay: Window) -> None:
    """A click on Play advances the slider and changes the picture."""
    page = browser_page(replay.url, **SMALL)
    wait_for(page, "/world/run-1/robot")
    before = settled(page)
    content = replay.content
    assert isinstance(content, Replay)
    page.get_by_role("button", name="Play").click()
    until(lambda: content.player.time > 0.5)
    page.get_by_role("button", name="Pause").click()
    until(lambda: not content.player.clock.playing)
    stopped = content.player.time
    shown = page.locator(NUMBER).first
    until(lambda: abs(float(shown.input_value()) - stopped) < 0.02)
    until(lambda: changed_fraction(before, pixels(page)) > 0.002)


def test_scrubbing_moves_the_cursor_of_the_plots(
    browser_page: Any, replay: Window
) -> None:
    """A click on the time's track moves the time, and the line in the plots there."""
    page = browser_page(replay.url)
    wait_for(page, "/world/run-1/robot")
    page.wait_for_selector(".u-over")
    content = replay.content
    assert isinstance(content, Replay)
    track = page.locator(".mantine-Slider-trackContainer").first
    box = track.bounding_box()
    page.mouse.click(box["x"] + 0.75 * box["width"], box["y"] + 0.5 * box["height"])
    until(lambda: content.player.time > 2.0)
    fraction = content.player.time / 4.0
    assert fraction == pytest.approx(0.75, abs=0.05)
    until(lambda: abs(page.evaluate(CURSOR) - fraction) < 0.01)
    charts = page.evaluate(
        "() => Object.values(window.__viserTestpoints.uplots)"
        ".map(item => item.chart.data[0].length)"
    )
    assert len(charts) >= 4
    assert max(charts) < 2000


def test_gaps_of_lines_stay_gaps(browser_page: Any, replay: Window) -> None:
    """While a foot is in the air its line ends; nothing is drawn across."""
    page = browser_page(replay.url, **SMALL)
    page.wait_for_function(
        "() => Object.values(window.__viserTestpoints?.uplots ?? {}).some(item =>"
        " item.chart.data.slice(1).some(line => line.slice(1, -1).includes(null)))"
    )
    joined = page.evaluate(
        "() => Object.values(window.__viserTestpoints.uplots).filter(item =>"
        " item.chart.data.slice(1).some(line => line.slice(1, -1).some(Number.isNaN)))"
        ".length"
    )
    assert joined == 0


def test_a_joint_slider_moves_the_com(browser_page: Any, posed: Window) -> None:
    """A number typed for a hip moves the mark of the CoM, there and on the page."""
    page = browser_page(posed.url, **SMALL)
    wait_for(page, "/world/robot/points/com")
    content = posed.content
    assert isinstance(content, Poser)
    before, com = settled(page), content.marks.com_position
    number = page.locator(NUMBER).first
    number.fill("-0.6")
    number.press("Enter")
    until(lambda: np.linalg.norm(content.marks.com_position - com) > 0.01)
    until(lambda: changed_fraction(before, pixels(page)) > 0.01)


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (390, 844)])
def test_controls_are_within_reach(
    browser_page: Any, replay: Window, width: int, height: int
) -> None:
    """On a laptop and on a phone nothing is cut off; robot and controls are seen."""
    page = browser_page(replay.url, width=width, height=height)
    wait_for(page, "/world/run-1/robot")
    button = page.get_by_role("button", name="Play").bounding_box()
    assert button["x"] >= 0.0
    assert button["x"] + button["width"] <= width
    assert button["y"] + button["height"] <= height
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    if width < 600:  # a phone: plots are one tap away
        page.get_by_text("Plots").click()
    page.wait_for_selector(".u-over")
    picture = settled(page)
    assert picture.reshape(-1, 3).std(axis=0).max() > 5.0


def test_two_runs_stand_beside_each_other(browser_page: Any, run: eq.Run) -> None:
    """Both robots are there, named in scene and plots, apart from each other."""
    with Window("both", port=8600) as window:
        window.show({"with": run, "without": run})
        page = browser_page(window.url, **SMALL)
        wait_for(page, "/world/run-1/robot")
        wait_for(page, "/world/run-2/robot")
        page.wait_for_selector(".u-over")
        content = window.content
        assert isinstance(content, Replay)
        text = page.locator("body").inner_text()
        assert "without" in text
        page.get_by_role("button", name="Play").click()
        until(lambda: content.player.time > 0.2)


def pixels(page: Any) -> NDArray[np.int16]:
    """Return what a page shows, shape (height, width, 3)."""
    picture = Image.open(io.BytesIO(page.screenshot()))
    return np.asarray(picture.convert("RGB"), dtype=np.int16)


def changed_fraction(one: NDArray[np.int16], other: NDArray[np.int16]) -> float:
    """Return the fraction of pixels whose colour is clearly another."""
    return float((np.abs(one - other).max(axis=2) > 12).mean())


def wait_for(page: Any, node: str) -> None:
    """Wait until a node of the scene has come to the page."""
    page.wait_for_function(
        "name => window.__viserSceneTree && name in window.__viserSceneTree.getState()",
        arg=node,
    )


def settled(page: Any) -> Any:
    """Return the picture once it stays."""
    last = pixels(page)
    for _ in range(int(PATIENCE_S / 0.4)):
        page.wait_for_timeout(400)
        picture = pixels(page)
        if changed_fraction(last, picture) < 1e-4:
            return picture
        last = picture
    return last


def until(condition: Callable[[], bool]) -> None:
    """Wait for something to become true."""
    for _ in range(int(PATIENCE_S / 0.05)):
        if condition():
            return
        time.sleep(0.05)
    pytest.fail("it did not happen")
