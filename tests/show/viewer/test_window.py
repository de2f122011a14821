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
from equipoise.show.viewer.page import PageServer
from equipoise.show.viewer.poser import ROOT, Poser
from equipoise.show.viewer.run_replay import Replay
from equipoise.show.viewer.window import distinct_names

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


class ListedServer(PageServer):
    """A page whose texts and plots can be read again.

    Attributes:
        texts: What was added as HTML.
        plots: What was added as plots.
    """

    def __init__(self):
        super().__init__("test", port=PORT)
        self.texts, self.plots = [], []
        for kind, added in (("add_html", self.texts), ("add_uplot", self.plots)):
            setattr(self.gui, kind, listed(getattr(self.gui, kind), added))

    def text(self):
        """Return all texts of the page."""
        return "\n".join(handle.content for handle in self.texts)

    def node(self, name):
        """Return a node of the scene."""
        return self.scene.get_handle_by_name(name)


def listed(add, added):
    """Return a function that adds something to a page, and keeps what it added."""

    def keep(*args, **options):
        added.append(add(*args, **options))
        return added[-1]

    return keep


@pytest.fixture
def page():
    """A page, empty at first."""
    server = ListedServer()
    yield server
    server.stop()


@pytest.fixture
def replay(page, run):
    """The run's replay on the page."""
    replay = Replay(page, {"run": run})
    yield replay
    replay.stop()


@pytest.fixture
def poser(page):
    """A robot to pose, on the page."""
    return Poser(page, eq.load("humanoid"))


def test_nodes_of_a_run(page, replay):
    """Robot, CoM, its projection, ZMP, support, forces and paths are in the scene."""
    root = "/world/run-1"
    for node in (
        "robot/1",
        "points/com",
        "points/com-on-ground",
        "points/zmp",
        "points/com-on-ground/plumb",
        "support/fill",
        "forces/arrows",
        "paths/0",
        "footprints",
        "labels/CoM",
    ):
        assert page.node(f"{root}/{node}") is not None
    assert page.node("/world/grid/fine") is not None


def wait_for(condition):
    """Wait until the player's thread has come to something, however slowly."""
    end = time.monotonic() + 60.0
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError("the player did not come to it")
        time.sleep(0.01)


def test_marks_are_where_the_run_says(replay, run):
    """At any time the mark of the CoM is at the CoM of the nearest row."""
    stage = replay.stages[0]
    for wanted in (0.0, 0.733, 2.0):
        replay.player.seek(wanted)
        com = run.com[stage.scene.row_at(wanted)]
        wait_for(lambda com=com: np.allclose(stage.marks.com_position, com))


def test_nothing_is_sent_where_no_row_changes(replay, run):
    """Within a row the stage has nothing to do."""
    stage = replay.stages[0]
    com = run.com[stage.scene.row_at(0.73)]
    replay.player.seek(0.73)
    wait_for(lambda: np.allclose(stage.marks.com_position, com))
    assert stage.show(0.731) is None


def test_plots_are_small_and_span_their_page(page):
    """However long a run, a plot has few points, from one end to the other."""
    replay = Replay(page, {"run": swaying(seconds=200.0)})
    try:
        assert page.plots
        for plot in page.plots:
            times, *lines = plot.data
            assert len(times) < 500 * len(lines)
            assert np.all(np.diff(times) > 0.0)
            assert times[[0, -1]] == pytest.approx([0.0, 200.0], abs=1e-6)
    finally:
        replay.stop()


def test_poser_follows_its_sliders(page, poser):
    """CoM, support and numbers are those of the posture that the sliders show."""
    robot = eq.load("humanoid")
    assert poser.marks.com_position == pytest.approx(com(robot, robot.standing))
    assert "inside" in page.text()
    poser.sliders[0].value = poser.sliders[0].max
    poser.update()
    assert poser.marks.com_position == pytest.approx(com(robot, poser.q))
    poser.take("standing")
    assert poser.marks.com_position == pytest.approx(
        com(robot, robot.standing), abs=1e-6
    )


def test_poser_says_when_the_robot_would_fall(page, poser):
    """Leaning far over the fixed foot, the CoM is outside, and said to be."""
    for slider in poser.sliders:
        slider.value = slider.min
    poser.update()
    assert "outside" in page.text() or "no sole" in page.text()


def test_two_runs_are_apart_and_have_names(page, run):
    """Side by side under one clock; equal names get numbers."""
    names = distinct_names([run, run])
    assert names == ["humanoid (1)", "humanoid (2)"]
    replay = Replay(page, dict.fromkeys(names, run))
    try:
        roots = ["/world/run-1", "/world/run-2"]
        left, right = (page.node(root).position[1] for root in roots)
        assert left - right > run.robot.longest_limb
        assert [page.node(f"{root}/name").text for root in roots] == names
    finally:
        replay.stop()


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


def test_numbers_of_a_recording_without_wrenches(page):
    """Where nobody knows what carries the robot, it is not said to fly."""
    Replay(page, {"run": joints_only(seconds=0.2)}).stop()
    assert "no ZMP" in page.text()


def test_all_of_a_short_way_is_seen(page):
    """The camera looks at the middle of the way, from farther than at a robot."""
    camera = page.initial_camera
    run = swaying(seconds=1.0)
    Replay(page, {"run": run}).stop()
    near = np.linalg.norm(camera.position[:2])
    com = run.com + np.linspace([-0.4, 0, 0], [0.4, 0, 0], len(run.time))
    Replay(page, {"run": swaying(seconds=1.0, com=com)}).stop()
    far = np.linalg.norm(camera.position[:2])
    assert camera.look_at[0] == pytest.approx(np.mean([com[0, 0], com[-1, 0]]), abs=0.1)
    assert far > near + 0.2


def test_a_robot_without_soles_is_not_off_balance(page, tmp_path):
    """An arm on the page: its CoM is not red, and nothing is said to lift off."""
    urdf = tmp_path / "arm.urdf"
    urdf.write_text(ARM, encoding="utf-8")
    Poser(page, eq.load(urdf))
    assert "no sole is known" in page.text()
    assert tuple(page.node(f"{ROOT}/points/com/colour").color) == COM
