from __future__ import annotations

import copy
import re
from typing import Any, NamedTuple
from xml.etree.ElementTree import fromstring

import numpy as np
import pytest
from identification.true_robots import (
    NOISE,
    PRIOR,
    measure,
    random_poses,
    random_truth,
)
from show.pages.test_report import Page

import equipoise as eq
from equipoise.identification.identify import identify_poses
from equipoise.kinematics.support import polygon_margin
from equipoise.robot.load import load
from equipoise.show.pages import identified_robot
from equipoise.show.pages.identified_report import identified_report
from equipoise.show.pages.identified_robot import ellipse_95
from equipoise.show.pages.silhouette import silhouettes
from equipoise.show.space.solids import joint_poses, pose_matrix, robot_bodies

COMMAND = "equipoise identify humanoid log.csv --out out"
LARGEST_BYTES = 1_000_000
BAD = "<script>alert('x')</script>&\"\x1b[31m"


class Asked(NamedTuple):
    """What a report is made from."""

    results: dict[str, Any]
    original: eq.Robot
    corrected: eq.Robot
    cop_errors: tuple[np.ndarray, np.ndarray]

    def report(self, **changes: Any) -> str:
        """Return the report, with some results changed."""
        return identified_report(
            {**self.results, **changes}, *self[1:], "identify humanoid", COMMAND
        )


@pytest.fixture(scope="module")
def asked() -> Asked:
    """A humanoid with true parameters of its own, in 20 poses."""
    rng = np.random.default_rng(4)
    model = load("humanoid")
    truth = random_truth(model, rng, offsets=False)
    poses = measure(truth, random_poses(model, 20, rng), rng)
    found = identify_poses(poses, noise=NOISE, prior=PRIOR, zeroed=True)
    plain = {
        **found.summary(),
        "seed": 0,
        "versions": {"equipoise": "0.1.0", "numpy": "2.4"},
        "command": COMMAND,
        "standing_com_covariance_m2": np.diag([1e-6, 4e-6, 9e-6]).tolist(),
    }
    errors = (found.held_out.original.pressure, found.held_out.file.pressure)
    return Asked(plain, model, found.robot, errors)


@pytest.fixture(scope="module")
def source(asked) -> str:
    """Its report."""
    return asked.report()


def read_table_row(source: str, name: str) -> str:
    """Return the words of the table's row that a name begins."""
    (row,) = re.findall(rf"<tr><th[^>]*>(?:<span[^>]*>)?{name}<.*?</tr>", source)
    return re.sub(r"<[^>]*>", "|", row)


def place_all_at(name: str, asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let any link be where a known one is, whatever its name."""
    pose = eq.frame_pose(asked.original, asked.original.standing, name)
    monkeypatch.setattr(identified_robot, "frame_pose", lambda *_: pose)


def test_report_shows_what_was_found(asked, source):
    """Verdict, results with intervals, offsets, combinations, command, versions."""
    words = "|".join(Page(source).words)
    plain = asked.results
    held = plain["held_out"]
    for part in (
        "Confirmed.",
        plain["sentence"],
        f"{plain['mass_kg']['after']:.2f} ± {plain['mass_kg']['interval_95']:.2f} kg",
        f"|reduction|{100 * held['reduction']['fraction']:.1f} %|",
        f"|poses|{plain['poses']}|",
        f"|unknowns of the links|{plain['identifiable']['unknowns']}|",
        "residuals against noise, lateral forces",
        "Offsets of the sensors",
        f"{plain['identifiable']['rank']} combinations",
        "± 2.0, 3.9, 5.9 mm (95 %)",  # 1.96 standard deviations
        COMMAND,
        "equipoise 0.1.0, numpy 2.4",
        "Seed 0.",
    ):
        assert part in words, part


def test_every_link_has_its_row(asked, source):
    """Masses and coordinates before and after, in kg and mm, in the right table."""
    seen, _, unseen = source.partition("Stays at the model&#x27;s value (the data")
    assert unseen
    assert any(link["seen"] for link in asked.results["links"].values())
    for name, link in asked.results["links"].items():
        row = read_table_row(seen if link["seen"] else unseen, name)
        assert f"|{link['mass_before_kg']:.3f}|" in row
        assert f"|{link['mass_kg']:.3f} ± {link['mass_interval_95_kg']:.3f}|" in row
        spread = 1e3 * link["com_interval_95_m"][0]
        assert f" ± {spread:.1f}|" in row


def test_what_held_out_poses_do_not_confirm_is_no_improvement(asked):
    """Without confirmation the page says so, and never the contrary."""
    held = {
        **asked.results["held_out"],
        "confirmed": False,
        "reduction": {"fraction": 0.2, "interval_90": [-0.1, 0.4]},
    }
    words = "|".join(Page(asked.report(held_out=held, sentence="So so.")).words)
    assert "Not confirmed." in words
    assert "this is not called an improvement" in words
    assert "|Confirmed." not in words
    assert "−10.0 % to 40.0 %" in words


def test_report_stands_alone(source):
    """Nothing is fetched and nothing runs; elements are closed, drawings labelled."""
    page = Page(source)
    assert "script" not in page.tags
    assert not {"src", "href", "srcset", "xlink:href"} & {
        name for _, name, _ in page.attributes
    }
    for address in ("http:", "https:", "//", "url(", "@import"):
        assert address not in source.replace("</", "<")
    assert "default-src 'none'" in source
    assert "prefers-color-scheme:dark" in source
    assert source.count("<svg") == source.count('role="img"') == 6


def test_drawings_have_finite_coordinates_inside(source):
    """Every coordinate is a number within its drawing."""
    for svg in re.findall(r"<svg.*?</svg>", source, re.DOTALL):
        drawing = fromstring(svg)
        size = [float(x) for x in drawing.get("viewBox", "").split()[2:]]
        for line in drawing.iter("path"):
            d = line.get("d", "")
            assert re.fullmatch(r"([ML]-?[\d.]+,-?[\d.]+|Z)*", d), d
            points = np.array(re.findall(r"(-?[\d.]+),(-?[\d.]+)", d), dtype=float)
            assert (points >= 0.0).all()
            assert (points <= size).all()
        for circle in drawing.iter("circle"):
            place = np.array([circle.get("cx"), circle.get("cy")], dtype=float)
            assert (place >= 0.0).all()
            assert (place <= size).all()
    words = "".join(Page(source).words)
    assert not re.search(r"\b(nan|inf)\b", words)


def test_same_bytes_twice(asked, source):
    """The report depends on nothing but what it is given."""
    assert asked.report() == source


def test_every_name_is_escaped(asked):
    """Names and texts from files and users cannot become markup."""
    plain = copy.deepcopy(asked.results)
    name = next(iter(plain["links"]))
    plain["identifiable"] |= {"combinations": [BAD], "inseparable_links": [[BAD, BAD]]}
    plain |= {
        "robot": BAD,
        "sentence": BAD,
        "seed": BAD,
        "versions": {BAD: BAD},
        "notices": [BAD],
        "at_bounds": [BAD, name],
        "sensor_offsets": {BAD: plain["sensor_offsets"]["left"]},
        "noise_scale": {BAD: 1.0},
        "level": {"tilt_rad": 0.004, "lateral_force_n": 0.0},
    }
    source = identified_report(plain, *asked[1:], BAD, BAD)
    page = Page(source)
    assert "script" not in page.tags
    assert "\x1b" not in source
    assert "".join(page.words).count("<script>alert('x')") > 10
    assert "at its bound" in source


def test_names_of_links_are_escaped(asked, monkeypatch):
    """A link's own name cannot become markup, nor an attribute's end."""
    name, link = next(iter(asked.results["links"].items()))
    place_all_at(name, asked, monkeypatch)
    page = Page(asked.report(links={BAD: link}))
    assert "script" not in page.tags
    assert "".join(page.words).count("<script>alert('x')") >= 2


def test_little_is_enough(asked):
    """No covariance, no seed, no versions, no notices, one link, one pose, no error."""
    plain = dict(asked.results)
    for key in ("standing_com_covariance_m2", "seed", "versions", "command"):
        del plain[key]
    name, link = next(iter(plain["links"].items()))
    plain |= {"links": {name: link}, "notices": [], "outliers": [0]}
    plain["identifiable"] = {
        **plain["identifiable"],
        "condition": np.inf,
        "combinations": [],
        "inseparable_links": [],
    }
    nothing = np.zeros((1, 2))
    same = identified_report(
        plain, asked.original, asked.original, (nothing, nothing), "", ""
    )
    page = Page(same)
    assert page.tags.count("svg") == 5
    assert "details" not in page.tags
    assert "nan" not in "".join(value for *_, value in page.attributes)


def test_sixty_links_and_long_combinations_stay_small(asked, monkeypatch):
    """A report of many links, poses and terms is below a megabyte."""
    name, link = next(iter(asked.results["links"].items()))
    place_all_at(name, asked, monkeypatch)
    terms = [f"- {k + 1}e-05 m x(the_long_name_of_link_{k})" for k in range(240)]
    groups = {
        **asked.results["identifiable"],
        "combinations": [" ".join(["m(torso)", *terms])] * 160,
    }
    links = {f"the_long_name_of_link_{k}": link for k in range(60)}
    errors = np.random.default_rng(0).standard_normal((2, 400, 2))
    many = asked._replace(cop_errors=(errors[0], errors[1]))
    source = many.report(links=links, identifiable=groups)
    assert "m(torso) \N{MINUS SIGN} 232e-05 m x(the_long_name_of_link_231)" in source
    assert "_link_239), and 231 smaller terms<" in source
    assert len(source.encode()) < LARGEST_BYTES


def test_ellipse_holds_95_percent():
    """95 % of many draws in a plane are inside."""
    rng = np.random.default_rng(1)
    root = np.array([[2.0, 0.3, 0.0], [0.0, 1.0, 0.4], [0.1, 0.0, 0.5]])
    plane = np.eye(3)[[0, 2]]
    outline = ellipse_95(root @ root.T, plane)
    draws = rng.standard_normal((20000, 3)) @ root.T @ plane.T
    inside = polygon_margin(outline, draws) > 0.0
    assert abs(inside.mean() - 0.95) < 0.006


def test_silhouette_covers_what_is_there(asked):
    """Outlines are as large as the robot; a ball's is a circle of its size."""
    robot = asked.original
    plane, looking = np.eye(3)[[1, 2]], np.array([-1.0, 0.0, 0.0])
    (seen,) = silhouettes(robot, robot.standing, ((plane, looking),))
    poses = joint_poses(robot, robot.standing)
    solids = [
        body.mesh.moved(pose_matrix(poses[body.joint])).vertices @ plane.T
        for body in robot_bodies(robot)
    ]
    wanted = np.concatenate(solids)
    cell = np.ptp(wanted, axis=0).max() / 1400
    loops = [loop for solid in seen for loop in solid]
    points = np.concatenate(loops)
    assert np.abs(points.min(axis=0) - wanted.min(axis=0)).max() < 3 * cell
    assert np.abs(points.max(axis=0) - wanted.max(axis=0)).max() < 3 * cell
    head = max(loops, key=lambda loop: loop[:, 1].min())
    middle = 0.5 * (head.min(axis=0) + head.max(axis=0))
    radius = np.linalg.norm(head - middle, axis=1)
    assert np.ptp(radius) < 4 * cell


@pytest.mark.parametrize("case", ["unseen", "seen"])
def test_words_about_what_is_seen(asked, case):
    """None, or all: the page says which, and has no empty table."""
    links = {
        name: {**link, "seen": case == "seen"}
        for name, link in asked.results["links"].items()
    }
    source = asked.report(links=links)
    if case == "seen":
        assert f"The data determine all {len(links)} links." in source
        assert "Stays at the model" not in source
    else:
        assert f"none of the {len(links)} links by itself" in source
        assert "Determined by the data" not in source


@pytest.mark.parametrize(("metres", "certain"), [(1e-7, True), (1.0, False)])
def test_a_shift_within_its_interval_is_called_uncertain(asked, metres, certain):
    """The page says if the model's own CoM is as likely."""
    wide = (metres**2 * np.eye(3)).tolist()
    source = asked.report(standing_com_covariance_m2=wide)
    assert ("its shift alone is not certain" not in source) == certain
