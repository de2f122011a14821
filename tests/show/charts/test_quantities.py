from __future__ import annotations

import numpy as np
import pytest
from runs import GRAVITY, joints_only, swaying

from equipoise.errors import EquipoiseError, NameNotFoundError
from equipoise.kinematics.stance import sole_pose
from equipoise.robot.load import load
from equipoise.show.charts.chart import MOST_RUNS, compare
from equipoise.show.charts.quantities import WHAT, Chart, available, charts
from equipoise.show.palette import DARK, LIGHT, LINES, line_colour
from equipoise.show.space.footprints import centre_of_pressure_in_sole
from equipoise.simulation.trials import stand


@pytest.fixture(scope="module")
def run():
    """A second of swaying at 100 Hz."""
    return swaying()


@pytest.fixture(scope="module")
def stood():
    """A robot that settles on its feet."""
    return stand(load("humanoid"), seconds=0.6)


def lines(chart: Chart) -> dict[str, np.ndarray]:
    """Return the values of a chart by label."""
    return {line.label: line.values for line in chart.series}


def test_every_name_has_charts_of_the_same_length(run):
    """All names but the ground give charts with a value for each time and a unit."""
    assert set(available(run)) == set(WHAT)
    for name in WHAT:
        for chart in charts(run, [name]):
            assert chart.key.startswith(name)
            assert chart.unit
            assert all(len(line.values) == len(run.time) for line in chart.series)
    keys = [chart.key for chart in charts(run, tuple(WHAT))]
    assert len(set(keys)) == len(keys)
    assert all(WHAT.values())


def test_numbers_are_those_of_the_run(run):
    """CoM, its error in millimetres, ZMP, margin, weight, as computed by hand."""
    found = {chart.key: lines(chart) for chart in charts(run, tuple(WHAT))}
    wanted = run.references["com"]
    for axis, name in enumerate("xyz"):
        assert np.array_equal(found[f"com-{name}"]["CoM"], run.com[:, axis])
        assert np.array_equal(found[f"com-{name}"]["reference"], wanted[:, axis])
    off = found["com-error"]
    squares = off["x"] ** 2 + off["y"] ** 2 + off["z"] ** 2
    assert np.allclose(off["distance"] ** 2, squares)
    assert np.allclose(off["y"], 1e3 * (run.com[:, 1] - wanted[:, 1]))
    assert np.isnan(found["zmp-x"]["ZMP"]).tolist() == (~run.supported).tolist()
    assert np.nanmin(found["zmp-margin"]["ZMP"]) == pytest.approx(
        1e3 * np.nanmin(run.zmp_margin)
    )
    assert found["forces"]["weight"][0] == pytest.approx(run.robot.mass * GRAVITY)


def test_pressure_in_the_sole_is_that_of_the_contacts(stood):
    """From the wrench of a foot as from its contact forces, weighted by hand."""
    robot = stood.robot
    for side in robot.soles:
        own = [
            n for n, name in enumerate(stood.contact_names) if f"{side}_sole" in name
        ]
        push = stood.contact_force[:, own, 2]
        world = np.einsum("nk,nki->ni", push, stood.contact_position[:, own])
        world /= push.sum(axis=1, keepdims=True)
        pose = sole_pose(robot, stood.q, side)
        expected = np.einsum("nji,nj->ni", pose[:, :3, :3], world - pose[:, :3, 3])
        pressed = centre_of_pressure_in_sole(stood, side)
        assert np.isfinite(pressed).all()
        assert np.abs(pressed - expected[:, :2]).max() < 2e-4
        corners = robot.soles[side].polygon_in_sole
        assert (pressed >= corners.min(axis=0) - 1e-3).all()
        assert (pressed <= corners.max(axis=0) + 1e-3).all()


def test_a_foot_in_the_air_is_not_pressed(run):
    """Gaps where the foot carries nothing; edges go through."""
    for chart in charts(run, ["sole"]):
        found = lines(chart)
        assert np.isnan(found["left sole"][~run.supported]).all()
        assert np.isfinite(found["edges"]).all()


def test_the_largest_joints_or_those_named(run):
    """Torques: the six largest first; any joints by name, six in a chart."""
    (torques,) = charts(run, ["torques"])
    assert torques.title == "Joint torques (the 6 largest of 29)"
    peaks = sorted(np.abs(run.torque).max(axis=0))[-6:]
    drawn = sorted(np.abs(line.values).max() for line in torques.series)
    assert drawn == pytest.approx(peaks)
    (knees,) = charts(run, ["joints"], ["left_knee", "right_knee"])
    assert set(lines(knees)) == {
        "left_knee",
        "right_knee",
        "left_knee, reference",
        "right_knee, reference",
    }
    limbs = run.robot.limbs
    many = [*limbs["left_leg"].joints, *limbs["right_leg"].joints]
    assert [chart.key for chart in charts(run, ["velocity"], many)] == [
        "velocity-1",
        "velocity-2",
    ]


@pytest.mark.parametrize(
    ("what", "changes", "why"),
    [
        ("com-error", {"references": {}}, "no reference of the CoM"),
        ("sole", {"foot_wrench": {}}, "no wrenches"),
        ("zmp", {"supported": np.zeros(101, dtype=bool)}, "nothing ever carried"),
    ],
)
def test_what_a_run_lacks_is_said(what, changes, why):
    """Asked for by name it is refused with the reason; else it is left out."""
    run = swaying(**changes)
    assert what not in available(run)
    with pytest.raises(EquipoiseError, match=f"'{what}': .*{why}"):
        charts(run, [what])
    assert charts(run, available(run))


def test_wrong_names_are_told(run):
    """A chart or a joint that there is not: what is near, and what there is."""
    with pytest.raises(NameNotFoundError, match=r"'cmo' \(did you mean 'com'\?\).*zmp"):
        charts(run, ["cmo"])
    with pytest.raises(NameNotFoundError, match="left_knee"):
        charts(run, ["joints"], ["left_kne"])


def test_a_part_of_a_chart(run):
    """Between two times, rows and events; nothing is refused."""
    (chart,) = charts(run, ["forces"])
    part = chart.within(0.2, 0.6)
    assert (part.time[0], part.time[-1]) == (0.2, 0.6)
    assert all(len(line.values) == len(part.time) for line in part.series)
    assert [event.text for event in part.events] == ["left the ground"]
    with pytest.raises(EquipoiseError, match="the run is from 0 to 1 s"):
        chart.within(5.0, 6.0)


def test_runs_are_compared_one_quantity_a_chart(run):
    """A line for each run on a common time; references once if they are the same."""
    wanted = np.tile(run.com[0], (36, 1))
    short = swaying(seconds=0.5, rate=70.0, references={"com": wanted})
    what = ["com", "forces"]
    made = compare({"long": charts(run, what), "short": charts(short, what)})
    assert [chart.key for chart in made][:3] == ["com-x:CoM", "com-y:CoM", "com-z:CoM"]
    assert len(made) == 3 + 3
    for chart in made:
        found = lines(chart)
        assert set(found) == {"long", "short", "reference"}
        assert np.isnan(found["short"][chart.time > 0.5]).all()
    values = lines(made[0])
    rows = np.isin(made[0].time, run.time)
    assert np.array_equal(values["long"][rows], run.com[:, 0])
    with pytest.raises(EquipoiseError, match=f"at most {MOST_RUNS}"):
        compare({str(n): charts(run, what) for n in range(MOST_RUNS + 1)})


def test_references_that_differ_are_all_compared(run):
    """Each in the colour of its run; a run may have none."""
    moved = swaying(references={"com": run.com + 1.0})
    none = swaying(references={})
    named = {"a": run, "b": moved, "c": none}
    made = compare({name: charts(one, ["com"]) for name, one in named.items()})
    styles = {line.label: line.style for line in made[0].series}
    assert styles == {
        "a, reference": "c0 dashed",
        "b, reference": "c1 dashed",
        "a": "c0",
        "b": "c1",
        "c": "c2",
    }


# Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB.
SEEN_BY = {
    "all": np.eye(3),
    "deuteranopes": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "protanopes": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "tritanopes": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
TO_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)


def cielab(colour: str, seen: np.ndarray) -> np.ndarray:
    """Return a colour as somebody sees it, in CIELAB (D65)."""
    srgb = np.array([int(colour[n : n + 2], 16) for n in (1, 3, 5)]) / 255.0
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    xyz = TO_XYZ @ np.clip(seen @ linear, 0.0, 1.0) / [0.95047, 1.0, 1.08883]
    root = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16.0 / 116.0)
    return np.array(
        [116 * root[1] - 16, 500 * (root[0] - root[1]), 200 * (root[1] - root[2])]
    )


@pytest.mark.parametrize("colours", [LIGHT, DARK])
@pytest.mark.parametrize("reader", SEEN_BY)
def test_lines_differ_for_all_readers(colours, reader):
    """Any two colours of lines are well apart, however many colours one sees."""
    seen = [cielab(line_colour(name, colours), SEEN_BY[reader]) for name in LINES]
    apart = [
        np.linalg.norm(one - other) for n, one in enumerate(seen) for other in seen[:n]
    ]
    assert min(apart) > 13.0
    assert set(LIGHT) == set(DARK)


def test_what_a_recording_lacks_is_told() -> None:
    """A log without efforts and wrenches has no torques and no ZMP, and says why."""
    bare = joints_only(torque=np.zeros_like(swaying().torque))
    assert {"zmp", "zmp-margin", "sole", "forces", "torques"}.isdisjoint(
        available(bare)
    )
    for name, reason in (
        ("zmp", "it needs the wrenches of both feet"),
        ("torques", "no torques of actuators"),
    ):
        with pytest.raises(EquipoiseError, match=reason):
            charts(bare, [name])
