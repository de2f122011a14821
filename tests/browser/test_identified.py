from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from identification.true_robots import (
    NOISE,
    PRIOR,
    measure,
    random_poses,
    random_truth,
)

from equipoise.identification.identify import identify_poses
from equipoise.robot.load import load
from equipoise.show.pages.identified_report import identified_report


@pytest.fixture(scope="module")
def report_file(tmp_path_factory) -> Path:
    """The report of a humanoid in 12 poses."""
    rng = np.random.default_rng(4)
    model = load("humanoid")
    poses = measure(random_truth(model, rng), random_poses(model, 12, rng), rng)
    found = identify_poses(poses, noise=NOISE, prior=PRIOR)
    page = identified_report(
        found.summary(),
        found.original,
        found.robot,
        (found.held_out.original.pressure, found.held_out.file.pressure),
        "identify humanoid",
        "equipoise identify humanoid log.csv",
    )
    path = tmp_path_factory.mktemp("identified") / "report.html"
    path.write_text(page, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("width", "scheme"), [(1280, "light"), (390, "dark"), (320, "light")]
)
def test_report_opens_from_disk_at_any_width(browser_page, report_file, width, scheme):
    """Offline, without scripts, without errors, and nothing is wider than the page."""
    page = browser_page(
        report_file.as_uri(),
        width=width,
        height=844,
        offline=True,
        color_scheme=scheme,
    )
    wide, inner = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide <= inner
    drawings = page.locator("svg").all()
    assert len(drawings) == 6
    for drawing in drawings:
        box = drawing.bounding_box()
        assert box["x"] >= 0.0
        assert box["x"] + box["width"] <= width
        assert box["height"] > 100.0
    clipped = page.evaluate("""() => [...document.querySelectorAll("svg")].flatMap(
      (svg) => {
        const frame = svg.getBoundingClientRect();
        return [...svg.querySelectorAll("text")].filter((words) => {
          const box = words.getBoundingClientRect();
          return box.left < frame.left - 1 || box.right > frame.right + 1;
        }).map((words) => words.textContent);
      })""")
    assert not clipped
    details = page.locator("details").last
    assert details.get_attribute("open") is None
    details.locator("summary").click()
    assert details.locator("li").first.is_visible()
