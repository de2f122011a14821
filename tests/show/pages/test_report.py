from __future__ import annotations

import dataclasses
import re
from html.parser import HTMLParser
from xml.etree.ElementTree import Element, fromstring

import numpy as np
import pytest
from runs import joints_only, swaying

from equipoise.log.run import Event, Run
from equipoise.robot.load import load
from equipoise.show.pages.report import report

COMMAND = "equipoise stand humanoid --seconds 1 --out out"
LARGEST_BYTES = 700_000
# CoM along three axes and its error, ground, ZMP margin, two of the soles, forces,
# torques, two legs.
PLOTS = 12
VOID = ("meta", "input")


class Page(HTMLParser):
    """Collects elements, words and attributes, and checks that all are closed."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.words: list[str] = []
        self.feed(source)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        """Note an element."""
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        """Check that it is the last one opened."""
        assert self.open.pop() == tag

    def handle_data(self, data):
        """Note words."""
        self.words.append(data)


@pytest.fixture(scope="module")
def run() -> Run:
    """A second of swaying at 100 Hz."""
    return swaying()


@pytest.fixture(scope="module")
def source(run) -> str:
    """Its report."""
    return report(run, "humanoid stands", COMMAND)


def read_page(source: str) -> Page:
    """Read a report but for its own two scripts, of which it needs both."""
    rest, count = re.subn(r"<script type=.*?</script>", "", source, flags=re.DOTALL)
    assert count == 2
    return Page(rest)


def drawings(source: str) -> list[Element]:
    """Return the SVG drawings of a report; they are XML."""
    return [fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", source, re.DOTALL)]


def test_report_describes_the_run(run, source):
    """The sentence, results with units, limits, events, assumptions, the command."""
    words = "|".join(read_page(source).words)
    for part in (
        "humanoid stood for 1 s.",
        "Achieved.",
        "|CoM error, max|2.9 mm|",
        "|time step|1 ms|",
        "|fell at|–|",
        "|CoM error|2.9 mm|5 mm|within|",
        "|vertical force|0.04|0.03|beyond|",
        "0.500 s: left the ground",
        "the first step took long",
        run.robot.assumptions[0].split("[")[0],
        COMMAND,
        "equipoise 0.1.0, numpy 2.4",
        "Seed 0.",
        "Joint torques (the 6 largest of 29)",
    ):
        assert part in words, part


def test_long_lists_are_folded():
    """A few events are a list; many are folded below their number."""
    few, many = (
        report(
            swaying(events=[Event(0.01 * k, f"event {k}") for k in range(count)]),
            "",
            "",
        )
        for count in (3, 30)
    )
    assert "30 events</summary>" in many
    assert "events</summary>" not in few
    assert "<li>0.020 s: event 2</li>" in few


def test_report_stands_alone(source):
    """Nothing is fetched: no address, no other script, no source, no link."""
    page = read_page(source)
    assert "script" not in page.tags
    assert not {"src", "href", "srcset", "xlink:href"} & {
        name for _, name, _ in page.attributes
    }
    rest = re.sub(r'id="replay-data">[^<]*<', "<", source).replace("</", "<")
    for address in ("http:", "https:", "//", "url(", "@import"):
        assert address not in rest
    assert "default-src 'none'" in source


def test_report_can_be_read_by_all(source):
    """Language, title, width of a phone, dark, and a label for each drawing."""
    assert '<html lang="en">' in source
    assert "<title>humanoid stands</title>" in source
    assert 'name="viewport"' in source
    assert "prefers-color-scheme:dark" in source
    for drawing in drawings(source):
        assert drawing.get("role") == "img"
        assert drawing.get("aria-label")


def test_every_name_is_escaped():
    """Names and texts from files and users cannot become markup."""
    bad = "<script>alert('x')</script>&\"\x1b[31m"
    robot = dataclasses.replace(
        load("humanoid"), name=bad, assumptions=(bad,), warnings=(bad,)
    )
    results = {
        "sentence": bad,
        bad: {bad: bad},
        "checks": [{"name": bad, "value": bad, "limit": None, "unit": bad}],
        "versions": {bad: bad},
        "warnings": [bad],
        "seed": bad,
    }
    run = swaying(robot, summary=results, events=(Event(0.1, bad),))
    source = report(run, bad, bad)
    assert source.count("<script") == 2
    assert "\x1b" not in source
    page = read_page(source)
    assert "script" not in page.tags
    assert "".join(page.words).count("<script>alert('x')") > 10


def test_drawings_have_finite_coordinates_inside(source):
    """Every coordinate is a number within its drawing."""
    found = drawings(source)
    assert len(found) == PLOTS
    for drawing in found:
        _, _, width, height = map(float, drawing.get("viewBox", "").split())
        lines = [line.get("d", "") for line in drawing.iter("path")]
        assert any(len(line) > 100 for line in lines)
        for line in lines:
            assert re.fullmatch(r"([ML]-?[\d.]+,-?[\d.]+)*Z?", line), line
            points = np.array(re.findall(r"(-?[\d.]+),(-?[\d.]+)", line), dtype=float)
            assert (points >= 0.0).all()
            assert (points <= [width, height]).all()


def test_time_plots_have_a_cursor(run, source):
    """Times, where they are, and a hidden line from the bottom to the top there."""
    timed = [drawing for drawing in drawings(source) if drawing.get("data-begin")]
    assert len(timed) == PLOTS - 1  # the ground has no time
    for drawing in timed:
        assert float(drawing.get("data-begin", "")) == run.time[0]
        assert float(drawing.get("data-end", "")) == run.time[-1]
        left, right = (float(drawing.get(f"data-{s}", "")) for s in ("left", "right"))
        assert 0.0 < left < right
        (cursor,) = [p for p in drawing.iter("path") if p.get("class") == "cursor"]
        assert cursor.get("visibility") == "hidden"
        assert cursor.get("d", "").startswith(f"M{left:.1f},")


def test_every_robot_and_the_shortest_run(robot):
    """All robots have a report, and so has a run of one row."""
    for seconds in (0.05, 0.0):
        run = swaying(robot, seconds)
        wanted = PLOTS if run.torque.any() else PLOTS - 1  # no torques, no plot of them
        assert read_page(report(run, robot.name, "")).tags.count("svg") == wanted


def test_run_of_nothing():
    """Without support, references, contacts and results there still is a report."""
    run = joints_only(references={}, torque=np.zeros((101, 29)), events=(), summary={})
    source = report(run, "nothing", "")
    page = read_page(source)
    assert page.tags.count("svg") == 3 + 1 + 2  # CoM, ground, legs
    assert "nan" not in "".join(value for *_, value in page.attributes)
    assert "nan" not in "".join(page.words).partition("Replay")[2]


def test_ten_noisy_seconds_at_1_khz_stay_small():
    """The report stays small, and keeps every peak."""
    rng = np.random.default_rng(3)
    quiet = swaying(seconds=10.0, rate=1000.0)
    shape = quiet.com.shape
    run = swaying(
        seconds=10.0,
        rate=1000.0,
        com=quiet.com + 0.01 * rng.standard_normal(shape),
        zmp=quiet.com + 0.05 * rng.standard_normal(shape),
        torque=quiet.torque + rng.standard_normal(quiet.torque.shape),
    )
    assert len(report(run, "noise", "").encode()) < LARGEST_BYTES


def test_methods_of_a_paper_are_a_table():
    """What a paper compares stands side by side, its assumptions with the others."""
    method = {
        "method": "CCG <1>",
        "com_error_m": {"mean": 0.0034, "max": 0.0088, "min": 0.0003},
        "zmp_inside_fraction": 0.36,
        "time_a_point_s": 0.0008,
        "steps_done": 3,
        "fell_at_s": 6.94,
    }
    printed = {"com_error_m": {"mean": 0.02}, "time_a_point_s": 0.0004}
    paper = {"ccg": method, "printed": printed, "assumptions": ["feet apart"]}
    page = report(swaying(summary={"paper": paper}), "walk", "equipoise walk")
    rows = re.findall(r"<tr>(.*?)</tr>", page)
    (own,) = [row for row in rows if "CCG &lt;1&gt;" in row]
    cells = re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", own)
    assert cells[1:] == [
        "3.4 mm",
        "8.8 mm",
        "0.3 mm",
        "36 %",
        "0.8 ms",
        "falls at 6.94 s, 3 steps",
    ]
    (first,) = [row for row in rows if "as printed in the paper" in row]
    assert "stays up" in first
    assert rows.index(first) < rows.index(own)
    assert "<li>feet apart</li>" in page
