from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page, expect
from runs import swaying

from equipoise.show.pages.report import report

DESKTOP, PHONE = (1280, 720), (390, 844)
SECONDS = 2.0
COUNT_PICTURES = """
const draw = WebGL2RenderingContext.prototype.clearColor;
window.pictures = 0;
WebGL2RenderingContext.prototype.clearColor = function (...colour) {
  window.pictures += 1;
  return draw.apply(this, colour);
};"""
NO_WEBGL = "HTMLCanvasElement.prototype.getContext = () => null;"

# Pictures are computed on the processor, which others may be using.
expect.set_options(timeout=30_000)

Open = Callable[..., Page]


@pytest.fixture(scope="module")
def report_file(tmp_path_factory) -> Path:
    """The report of two seconds of swaying."""
    path = tmp_path_factory.mktemp("run") / "report.html"
    page = report(swaying(seconds=SECONDS), "humanoid stands", "equipoise stand")
    path.write_text(page, encoding="utf-8")
    return path


@pytest.fixture
def open_report(browser, report_file) -> Iterator[Open]:
    """Open it from disk, offline; it must ask for nothing and complain of nothing."""
    faults: list[str] = []
    contexts = []

    def opened(size=DESKTOP, script: str = "", **options) -> Page:
        width, height = size
        context = browser.new_context(
            viewport={"width": width, "height": height}, **options
        )
        contexts.append(context)
        context.set_offline(True)
        page = context.new_page()
        own = report_file.as_uri()
        page.on("request", lambda r: r.url == own or faults.append(r.url))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on(
            "console",
            lambda m: faults.append(m.text) if m.type in ("error", "warning") else None,
        )
        if script:
            page.add_init_script(script)
        page.goto(own)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert not faults


def picture(page: Page) -> np.ndarray:
    """Return what the canvas shows, shape (height, width, 3)."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => done()))")
    shot = page.locator(".replay canvas").screenshot()
    return np.asarray(Image.open(io.BytesIO(shot)).convert("RGB"), dtype=float)


def cursors(page: Page) -> list[float]:
    """Return the times at which plots show their cursors [s]; none if hidden."""
    return page.evaluate("""() =>
      [...document.querySelectorAll("svg[data-begin]")].flatMap((svg) => {
        const cursor = svg.querySelector(".cursor");
        if (cursor.getAttribute("visibility") !== "visible") return [];
        const { begin, end, left, right } = svg.dataset;
        const x = cursor.transform.baseVal.consolidate().matrix.e;
        return [Number(begin) + (x / (right - left)) * (end - begin)];
      })""")


def clock(page: Page) -> float:
    """Return the time under the canvas [s]."""
    return float(page.locator(".clock").inner_text().split()[0])


def until(page: Page, condition: Callable[[], bool]) -> None:
    """Wait; the page's policy forbids Playwright's own way, which evaluates texts."""
    for _ in range(500):
        if condition():
            return
        page.wait_for_timeout(20)
    pytest.fail("it did not happen")


@pytest.mark.parametrize(("size", "scheme"), [(DESKTOP, "light"), (PHONE, "dark")])
def test_robot_is_seen_at_any_width(open_report, size, scheme):
    """The canvas shows more than paper, and all fits into the width."""
    page = open_report(size, color_scheme=scheme)
    expect(page.locator(".replay canvas")).to_be_visible()
    expect(page.locator("#replay-none")).to_be_hidden()
    expect(page.locator(".clock")).to_contain_text("0.00 s of 2.00 s")
    seen = picture(page)
    paper = seen[8, 12]
    assert (paper.mean() < 60) == (scheme == "dark")
    height, width, _ = seen.shape
    middle = seen[height // 8 : -height // 8, width // 3 : -width // 3]
    different = (np.abs(middle - paper).max(axis=2) > 24).mean()
    assert different > 0.1
    wide, inner = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide <= inner
    for control in (".play", ".scrub", ".speed", "[name=xray]", "[data-view]"):
        expect(page.locator(f".replay {control}").first).to_be_visible()


def test_play_moves_robot_and_cursors_and_then_rests(open_report):
    """Nothing plays by itself; playing changes the picture, and ends at the end."""
    page = open_report(script=COUNT_PICTURES)
    expect(page.locator(".clock")).to_contain_text("0.00 s of")
    before = picture(page)
    assert clock(page) == 0.0
    page.locator(".speed").select_option("0.5")
    play = page.locator(".play")
    play.click()
    expect(play).to_have_attribute("aria-label", "Pause")
    until(page, lambda: 0.0 < clock(page) < SECONDS)
    page.locator(".speed").select_option("2")
    expect(play).to_have_attribute("aria-label", "Play", timeout=10_000)
    assert clock(page) == SECONDS
    page.locator(".scrub").fill("0.4")
    assert np.abs(picture(page) - before).max() > 40
    page.wait_for_timeout(50)
    count = page.evaluate("window.pictures")
    page.wait_for_timeout(250)
    assert page.evaluate("window.pictures") == count


def test_replay_and_plots_share_their_time(open_report):
    """Scrubbing moves every plot's cursor; a click or a drag in a plot seeks."""
    page = open_report()
    expect(page.locator(".clock")).to_contain_text("0.00 s of")
    page.locator(".scrub").fill("1.25")
    expect(page.locator(".clock")).to_contain_text("1.25 s")
    marked = cursors(page)
    assert len(marked) > 5
    assert np.abs(np.array(marked) - 1.25).max() < 0.01
    plot = page.locator("svg[data-begin]").first
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    fraction = 0.5 * (62.0 + 468.0) / 480.0
    x, y = box["x"] + fraction * box["width"], box["y"] + 0.5 * box["height"]
    page.mouse.click(x, y)
    expect(page.locator(".clock")).to_contain_text("1.0")
    assert abs(clock(page) - 1.0) < 0.02
    page.mouse.down()
    page.mouse.move(x + 0.2 * box["width"], y, steps=4)
    page.mouse.up()
    wanted = 1.0 + 0.2 * 480.0 / 406.0 * SECONDS
    until(page, lambda: abs(clock(page) - wanted) < 0.02)
    assert abs(cursors(page)[-1] - wanted) < 0.02


def test_keys_pointer_and_options(open_report):
    """Keys play and step; dragging turns; the page scrolls until one clicks; X-ray."""
    page = open_report()
    canvas = page.locator(".replay canvas")
    expect(page.locator(".clock")).to_contain_text("0.00 s of")
    box = canvas.bounding_box()
    x, y = box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"]
    page.mouse.move(x, y)
    page.mouse.wheel(0, 60)
    until(page, lambda: page.evaluate("window.scrollY") > 0)
    page.evaluate("window.scrollTo(0, 0)")
    seen = [picture(page)]
    page.mouse.down()
    page.mouse.move(x + 120, y, steps=3)
    page.mouse.up()
    seen.append(picture(page))
    page.mouse.wheel(0, 200)
    seen.append(picture(page))
    assert page.evaluate("window.scrollY") == 0
    page.locator("[data-view]", has_text="Front").click()
    seen.append(picture(page))
    page.locator("[name=xray]").click()
    seen.append(picture(page))
    for one, other in pairwise(seen):
        assert (np.abs(one - other).max(axis=2) > 24).mean() > 0.005
    canvas.focus()
    canvas.press("ArrowRight")
    expect(page.locator(".clock")).to_contain_text("0.02 s")
    canvas.press("Space")
    expect(page.locator(".play")).to_have_attribute("aria-label", "Pause")
    canvas.press("Space")
    expect(page.locator(".play")).to_have_attribute("aria-label", "Play")


@pytest.mark.parametrize("without", ["scripts", "webgl"])
def test_report_can_be_read_without(open_report, without):
    """Without scripts or WebGL 2 a sentence stands in; all else is there."""
    if without == "scripts":
        page = open_report(PHONE, java_script_enabled=False)
        expect(page.locator("#replay-none")).to_contain_text(
            "needs a browser with scripts"
        )
    else:
        page = open_report(script=NO_WEBGL)
        expect(page.locator("#replay-none")).to_contain_text("There is no replay")
    expect(page.locator("#replay-none")).to_be_visible()
    expect(page.locator("#replay")).to_be_hidden()
    expect(page.get_by_text("humanoid stood for 2 s.")).to_be_visible()
    assert page.locator("svg").count() > 5
