"""The viewer without a browser: what is put on the page, and how it moves."""

from __future__ import annotations

import time

import numpy as np
import pytest
from runs import joints_only, swaying

import equipoise as eq
from equipoise.errors import EquipoiseError
from equipoise.kinematics.com import com
from equipoise.show.palette import COM
from equipoise.show.viewer import view
from equipoise.show.viewer.chart_panel import Page, page_data
from equipoise.show.viewer.poser import Poser
from equipoise.show.viewer.run_replay import Replay

PORT = 8660
INERTIAL = (
    '<inertial><origin xyz="0 0 0.2"/><mass value="2"/><inertia ixx="0.1" ixy="0" '
    'ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial>'
)
ARM = (
    f'<robot name="arm"><link name="base">{INERTIAL}</link><link name="tip">{INERTIAL}'
    '</link><joint name="lift" type="revolute"><parent link="base"/><child link="tip"/>'
    '<origin xyz="0 0 0.4"/><axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="9" '
    'velocity="9"/></joint></robot>'
)


@pytest.fixture(scope="module")
def run():
    """Two seconds of swaying."""
    return swaying(seconds=2.0)


@pytest.fixture
def replay(run):
    """Its replay on a page."""
    window = view(run, port=PORT, block=False)
    yield window.content
    window.stop()


@pytest.fixture
def poser():
    """A robot to pose, on a page."""
    window = view("humanoid", port=PORT, block=False)
    yield window.content
    window.stop()


def test_nodes_of_a_run(replay):
    """Marks, support, forces, labels, paths and footprints are below the run's node."""
    assert isinstance(replay, Replay)
    (stage,) = replay.stages
    marks = stage.marks
    groups = (marks.points, marks.support, marks.forces, marks.labels)
    assert [node.name for node in (*groups, stage.paths, stage.footprints)] == [
        f"/world/run-1/{name}"
        for name in ("points", "support", "forces", "labels", "paths", "footprints")
    ]


def wait_for(condition):
    """Wait until the player's thread has come to something, however slowly."""
    for _ in range(6000):
        if condition():
            return
        time.sleep(0.01)
    pytest.fail("the player did not come to it")


def test_marks_are_where_the_run_says(replay, run):
    """At any time the mark of the CoM is at the CoM of the nearest row."""
    stage = replay.stages[0]
    for wanted in (0.0, 0.733, 2.0):
        replay.player.seek(wanted)
        com = run.com[stage.scene.row_at(wanted)]
        wait_for(lambda com=com: np.allclose(stage.marks.com_position, com))


def test_nothing_is_sent_where_no_row_changes(replay):
    """Within a row the stage has nothing to do."""
    replay.player.seek(1.0)
    wait_for(lambda: replay.player._shown == 1.0)
    assert replay.stages[0].show(1.001) is None


def test_plots_are_small_and_span_their_page():
    """However long a run, a plot has few points, from one end to the other."""
    long = swaying(seconds=200.0)
    window = view(long, port=PORT + 5, block=False)
    try:
        chart = window.content.charts._plots[0].chart
        data = page_data(chart, Page(0.0, 200.0))
        assert len(data[0]) < 500 * len(chart.series)
        assert np.all(np.diff(data[0]) > 0.0)
        assert data[0][[0, -1]] == pytest.approx([0.0, 200.0], abs=1e-6)
    finally:
        window.stop()


def test_poser_follows_its_sliders(poser):
    """CoM, support and numbers are those of the posture that the sliders show."""
    assert isinstance(poser, Poser)
    robot = eq.load("humanoid")
    assert poser.marks.com_position == pytest.approx(com(robot, robot.standing))
    assert "inside" in poser._numbers.content
    poser.sliders[0].value = poser.sliders[0].max
    poser.update()
    assert poser.marks.com_position == pytest.approx(com(robot, poser.q))
    poser.take("standing")
    assert poser.marks.com_position == pytest.approx(
        com(robot, robot.standing), abs=1e-6
    )


def test_poser_says_when_the_robot_would_fall(poser):
    """Leaning far over the fixed foot, the CoM is outside, and said to be."""
    for slider in poser.sliders:
        slider.value = slider.min
    poser.update()
    outside = "outside" in poser._numbers.content
    assert outside or "no sole" in poser._numbers.content


def test_two_runs_are_apart_and_have_names(run):
    """Side by side under one clock; equal names get numbers."""
    window = view(run, run, port=PORT, block=False)
    try:
        places = [stage.root.position[1] for stage in window.content.stages]
        assert places[0] - places[1] > run.robot.longest_limb
        assert list(window.content._runs) == ["humanoid (1)", "humanoid (2)"]
    finally:
        window.stop()


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ((), "nothing to look at"),
        (("humanoid", "humanoid"), "one robot, or up to 4 runs"),
        (("no-such-thing",), "neither a file nor in the catalogue"),
    ],
)
def test_what_cannot_be_shown_is_refused(what, said):
    """Before anything is served, in one line."""
    with pytest.raises(EquipoiseError, match=said):
        view(*what, block=False)


def test_folder_that_is_no_run_is_refused(tmp_path):
    """The message names the folder."""
    with pytest.raises(EquipoiseError, match=f"{tmp_path}.*is not the folder of a run"):
        view(tmp_path, block=False)


def test_every_robot_can_be_posed(robot):
    """Robots of any kind, with meshes or without, come to the page."""
    window = view(robot, port=PORT, block=False)
    try:
        assert np.isfinite(window.content.marks.com_position).all()
    finally:
        window.stop()


def test_numbers_of_a_recording_without_wrenches():
    """Where nobody knows what carries the robot, it is not said to fly."""
    bare = joints_only(seconds=0.2)
    with view(bare, port=PORT, block=False) as window:
        assert "no ZMP" in window.content._numbers.content


def test_all_of_a_short_way_is_seen():
    """The camera looks at the middle of the way, from farther than at a robot."""
    run = swaying(seconds=1.0)
    com = run.com + np.linspace([-0.4, 0, 0], [0.4, 0, 0], len(run.time))
    with view(swaying(seconds=1.0, com=com), port=PORT, block=False) as window:
        near = np.linalg.norm(window._server.initial_camera.position[:2])
        middle = window._server.initial_camera.look_at
    with view(run, port=PORT, block=False) as window:
        before = np.linalg.norm(window._server.initial_camera.position[:2])
    assert middle[0] == pytest.approx(np.mean([com[0, 0], com[-1, 0]]), abs=0.1)
    assert near > before + 0.2


def test_a_robot_without_soles_is_not_off_balance(tmp_path):
    """An arm on the page: its CoM is not red, and nothing is said to lift off."""
    urdf = tmp_path / "arm.urdf"
    urdf.write_text(ARM, encoding="utf-8")
    with view(eq.load(urdf), port=PORT, block=False) as window:
        content = window.content
        assert isinstance(content, Poser)
        assert "no sole is known" in content._numbers.content
        assert tuple(content.marks._coloured[0].color) == COM
