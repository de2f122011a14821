from __future__ import annotations

import io
import re
from xml.etree.ElementTree import parse

import matplotlib
import numpy as np
import pytest
from PIL import Image
from runs import swaying

from equipoise.errors import EquipoiseError
from equipoise.log.run import Event
from equipoise.show.charts.chart import compare
from equipoise.show.charts.paper_figures import FORMATS, figure, write_figure
from equipoise.show.charts.quantities import WHAT, charts, ground_map
from equipoise.show.palette import LIGHT

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def run():
    """A second of swaying at 100 Hz."""
    return swaying()


def test_png_is_not_blank(run, tmp_path):
    """As large as asked for, and the colours of the lines are in it."""
    path = write_figure(
        tmp_path / "a.png", charts(run, ["com", "zmp"]), size=(127.0, 254.0), dpi=100
    )
    with Image.open(path) as image:
        assert image.size == (500, 1000)
        dots = np.asarray(image.convert("RGB")).reshape(-1, 3)
    found = {tuple(dot) for dot in np.unique(dots, axis=0).tolist()}
    for style in ("c0", "c1"):
        colour = LIGHT[style]
        assert tuple(int(colour[n : n + 2], 16) for n in (1, 3, 5)) in found
    assert (255, 255, 255) in found


def test_svg_is_xml_with_its_words(run, tmp_path):
    """Titles, names, units and events are text, not outlines."""
    path = write_figure(tmp_path / "a.svg", charts(run, tuple(WHAT)), ground_map(run))
    words = {element.text for element in parse(path).iter(f"{SVG}text")}
    for word in (
        "CoM x, forward",
        "reference",
        "[mm]",
        "time [s]",
        "left foot, normal",
        "left the ground",
        "x, forward [m]",
    ):
        assert word in words, word


def test_pdf_embeds_its_fonts(run, tmp_path):
    """TrueType fonts lie inside, none of Type 3; no date."""
    path = write_figure(tmp_path / "a.pdf", charts(run, ["com"]))
    content = path.read_bytes()
    assert content.startswith(b"%PDF")
    assert re.search(rb"/FontFile2\b", content)
    assert b"/Type3" not in content
    assert b"CreationDate" not in content


@pytest.mark.parametrize("kind", FORMATS)
def test_the_same_run_gives_the_same_bytes(kind, run, tmp_path):
    """Twice the same, however Matplotlib is set."""
    one = write_figure(tmp_path / f"a.{kind}", charts(run, ["com"]), ground_map(run))
    with matplotlib.rc_context({"lines.linewidth": 7.0, "font.size": 30.0}):
        two = write_figure(
            tmp_path / f"b.{kind}", charts(run, ["com"]), ground_map(run)
        )
    assert one.read_bytes() == two.read_bytes()


def test_nothing_global_changes(run):
    """Settings, backend and windows of Matplotlib are as they were."""
    before = dict(matplotlib.rcParams)
    figure(charts(run, ["com"])).savefig(io.BytesIO())
    assert dict(matplotlib.rcParams) == before


def test_panels_share_time_and_hold_their_lines(run):
    """A panel for each chart; same time axis; every value within."""
    made = charts(run, ["com", "forces", "torques"])
    panels = figure(made).axes
    assert len(panels) == len(made)
    assert {panel.get_xlim() for panel in panels} == {(0.0, 1.0)}
    for panel, chart in zip(panels, made, strict=True):
        low, high = panel.get_ylim()
        values = np.concatenate([line.values for line in chart.series])
        assert low < np.nanmin(values)
        assert np.nanmax(values) < high
        assert panel.get_title("left") == chart.title


def test_names_mean_only_themselves(tmp_path):
    """Names with what mathematics or XML would obey are written as they are."""
    bad = "$x_1$ <b>&\x1b"
    run = swaying(events=(Event(0.1, bad),))
    path = write_figure(
        tmp_path / "a.svg",
        [*charts(run, ["com"]), *compare({bad: charts(run, ["com"])})],
    )
    words = [element.text for element in parse(path).iter(f"{SVG}text")]
    assert words.count("$x_1$ <b>& ") == 2


def test_the_shortest_run_is_drawn(tmp_path):
    """One row is enough."""
    run = swaying(seconds=0.0)
    assert write_figure(tmp_path / "a.png", charts(run, ["com"]), ground_map(run))


@pytest.mark.parametrize(
    ("name", "options", "why"),
    [
        ("a.gif", {}, r"\.png, \.svg, \.pdf"),
        ("a", {}, r"\.png, \.svg, \.pdf"),
        ("a.png", {"size": (5.0, 100.0)}, "width of a figure is 5 mm"),
        ("a.png", {"size": (100.0, np.nan)}, "height of a figure is nan mm"),
        ("a.png", {"dpi": 5000.0}, "5000 dots per inch"),
        ("a.png", {"size": (100.0, 1900.0), "dpi": 1100.0}, "at most 65535"),
        ("missing/a.png", {}, "does not exist"),
    ],
)
def test_what_cannot_be_drawn_leaves_nothing(name, options, why, run, tmp_path):
    """One line says why, and no file is left."""
    with pytest.raises(EquipoiseError, match=why):
        write_figure(tmp_path / name, charts(run, ["com"]), **options)
    assert list(tmp_path.iterdir()) == []
