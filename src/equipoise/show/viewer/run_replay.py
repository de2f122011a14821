"""Runs on the page: the scene, the plots and the player that moves both."""

from __future__ import annotations

import html
import threading
from collections.abc import Mapping
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from equipoise.arrays import Array
from equipoise.log.run import Run
from equipoise.show.palette import LIGHT
from equipoise.show.space.scene import Moment, RunScene, smoothed
from equipoise.show.viewer.chart_panel import ChartPanel
from equipoise.show.viewer.ground_nodes import (
    GridNodes,
    GroundNodes,
    add_footprints,
    add_paths,
    flat_level,
)
from equipoise.show.viewer.page import add_toggles, look_at
from equipoise.show.viewer.player import WALL_CLOCK, Player, WallClock
from equipoise.show.viewer.scene_nodes import MarkerNodes, RobotNodes

if TYPE_CHECKING:
    import viser

# A name stands this many limbs above the centre of mass.
NAME_HEIGHT = 1.1
UP = np.array([0.0, 0.0, 1.0])
WORLD = "/world"
# Robots beside each other are this many limbs apart.
APART = 2.0
# Robots that go further than this many limbs are followed.
FOLLOWED = 1.5
# The whole robot is about this many times as high as its centre of mass.
HEIGHT_OF_COM = 1.85
# Numbers need not be rewritten as often as the scene [s].
NUMBERS_SECONDS = 0.2
MM = 1e3


class Stage:
    """One run in the scene, below a node: its robot, marks, paths and ground.

    It is shown row by row, at a place on the y-axis [m], with a name above the robot.
    """

    def __init__(
        self,
        server: viser.ViserServer,
        root: str,
        scene: RunScene,
        name: str | None = None,
        left: float = 0.0,
    ) -> None:
        self._server, self.scene = server, scene
        run = scene.run
        size = run.robot.longest_limb
        self._size = size
        self.root = server.scene.add_frame(
            root, show_axes=False, position=(0.0, left, 0.0)
        )
        corners = sum(len(sole.polygon_in_sole) for sole in run.robot.soles.values())
        self.robot = RobotNodes(server, root, scene.bodies)
        self.marks = MarkerNodes(
            server, root, size, max(corners, len(run.contact_names))
        )
        self.ground = GroundNodes(server, root, scene.run.surroundings)
        self.paths = add_paths(server, root, scene.paths, size)
        self.footprints = server.scene.add_frame(f"{root}/footprints", show_axes=False)
        self._name = (
            server.scene.add_label(f"{root}/name", name, anchor="bottom-center")
            if name
            else None
        )
        self._path = smoothed(run.time, run.com[:, :2])
        self._row: int | None = None

    def show(self, time: float) -> Moment | None:
        """Show the row nearest to a time [s]; None if that is shown already."""
        row = self.scene.row_at(time)
        if row == self._row:
            return None
        self._row = row
        moment = self.scene.moment(row)
        self.robot.place(moment.joint_poses)
        self.marks.place(moment)
        self.ground.place(moment.boxes)
        if self._name is not None:
            self._name.position = moment.com + NAME_HEIGHT * self._size * UP
        return moment

    def add_footprints(self) -> None:
        """Add where feet stood, which takes a while to find in a long run."""
        add_footprints(
            self._server, self.footprints.name, self.scene.footprints, self._size
        )

    def path_at(self, time: float) -> Array:
        """Return where the robot is on its smoothed path [m], shape (2,)."""
        times = self.scene.run.time
        return np.array([np.interp(time, times, self._path[:, n]) for n in (0, 1)])

    @property
    def middle(self) -> Array:
        """Middle of the places that the robot goes to [m], shape (2,)."""
        places = self.scene.run.com[:, :2]
        return np.asarray(0.5 * (places.min(axis=0) + places.max(axis=0)))

    @property
    def travel(self) -> float:
        """How far apart the places are that the robot goes to [m]."""
        return float(np.ptp(self.scene.run.com[:, :2], axis=0).max())


class Replay:
    """One run, or several beside each other, the first on the left.

    All keep pace with the same wall clock.
    """

    def __init__(
        self,
        server: viser.ViserServer,
        runs: Mapping[str, Run],
        wall: WallClock = WALL_CLOCK,
    ) -> None:
        self._server, self._runs, self._wall = server, runs, wall
        self._world = server.scene.add_frame(WORLD, show_axes=False)
        size = max(run.robot.longest_limb for run in runs.values())
        apart = APART * size + max(float(np.ptp(r.com[:, 1])) for r in runs.values())
        middle = 0.5 * (len(runs) - 1)
        self.stages = [
            Stage(
                server,
                f"{WORLD}/run-{number + 1}",
                RunScene(run),
                name if len(runs) > 1 else None,
                (middle - number) * apart if len(runs) > 1 else 0.0,
            )
            for number, (name, run) in enumerate(runs.items())
        ]
        levels = [flat_level(run.surroundings) for run in runs.values()]
        flat = next((level for level in levels if level is not None), None)
        self._grid = (
            None if flat is None else GridNodes(server, f"{WORLD}/grid", flat, size)
        )
        self._stopped = False
        self._numbers_at = 0.0
        self._head = server.gui.add_html(_sentence(runs))
        rows = reduce(np.union1d, [run.time for run in runs.values()])
        events = [event for run in runs.values() for event in run.events]
        self.player = Player(
            server,
            rows.tolist(),
            sorted(events, key=lambda event: event.time),
            self._show,
            wall,
        )
        self._numbers = server.gui.add_html("")
        self._add_switches()
        server.gui.main_panel.dock_right()
        server.gui.main_panel.set_width(400)
        self.charts = ChartPanel(server, runs)
        self._look(apart, size)
        self._show(self.player.clock.start)
        self.player.start()
        self._late = threading.Thread(target=self._add_late, daemon=True)
        self._late.start()

    def stop(self) -> None:
        """End the replay."""
        self._stopped = True
        self.player.stop()
        self._late.join()

    def _add_late(self) -> None:
        """Add what the page need not wait for."""
        for stage in self.stages:
            if not self._stopped:
                stage.add_footprints()

    def _add_switches(self) -> None:
        stages = self.stages
        folder = add_toggles(
            self._server,
            [stage.robot for stage in stages],
            {
                "CoM and ZMP": [stage.marks.points for stage in stages],
                "Support polygon": [stage.marks.support for stage in stages],
                "Forces": [stage.marks.forces for stage in stages],
                "Paths": [stage.paths for stage in stages],
                "Footprints": [stage.footprints for stage in stages],
                "Labels": [stage.marks.labels for stage in stages],
            },
        )
        far = any(s.travel > FOLLOWED * s.scene.run.robot.longest_limb for s in stages)
        with folder:
            self._follow = self._server.gui.add_checkbox("Follow the robot", far)
        self._follow.on_update(lambda _: self._move_world(self.player.time))

    def _look(self, apart: float, size: float) -> None:
        height = HEIGHT_OF_COM * max(float(r.com[0, 2]) for r in self._runs.values())
        reach = (len(self.stages) - 1) * apart * 1.6
        middle, depth = np.zeros(2), 0.0
        if not self._follow.value:  # all of the way is seen, its near end as well
            middle = np.mean([stage.middle for stage in self.stages], axis=0)
            depth = 0.5 * max(stage.travel for stage in self.stages)
            reach += 2.0 * depth
        look_at(self._server, middle, reach, max(height, size), depth)

    def _show(self, at: float) -> None:
        now = self._wall.now()
        due = now - self._numbers_at > NUMBERS_SECONDS or not self.player.clock.playing
        with self._server.atomic():
            moved = [stage.show(at) for stage in self.stages]
            if not any(moment is not None for moment in moved):
                return
            self._move_world(at)
            self.charts.follow(at)
            if due:
                self._numbers_at = now
                self._numbers.content = _numbers(self._runs, self.stages, at)
                self.charts.write_values(at)
        self._server.flush()

    def _move_world(self, at: float) -> None:
        """Let the ground pass below the robot, so that the camera stays free."""
        place = np.mean([stage.path_at(at) for stage in self.stages], axis=0)
        if self._grid is not None:
            self._grid.follow(place)
        x, y = place if self._follow.value else (0.0, 0.0)
        self._world.position = (-float(x), -float(y), 0.0)


def _sentence(runs: Mapping[str, Run]) -> str:
    parts = []
    for name, run in runs.items():
        said = str(run.summary.get("sentence") or run.robot.name)
        before = f"<b>{html.escape(name)}</b>: " if len(runs) > 1 else ""
        parts.append(f"<div>{before}{html.escape(said)}</div>")
        parts += [
            f'<div style="color:{LIGHT["bad"]}">{html.escape(str(notice))}</div>'
            for notice in run.summary.get("notices", ())
        ]
    return f'<div style="padding:.3em .9em .6em;font-size:.8em">{"".join(parts)}</div>'


def _numbers(runs: Mapping[str, Run], stages: list[Stage], at: float) -> str:
    """Return CoM, ZMP margin and the last event of each run as markup."""
    lines = []
    for (name, run), stage in zip(runs.items(), stages, strict=True):
        row = stage.scene.row_at(at)
        x, y, z = run.com[row]
        margin = MM * run.zmp_margin[row]
        # without contacts and both feet's wrenches nobody knows
        nothing = "in the air" if run.contact_names or run.supported.any() else "no ZMP"
        zmp = f"ZMP {margin:.0f} mm inside" if np.isfinite(margin) else nothing
        if margin < 0.0:
            zmp = f'<b style="color:{LIGHT["bad"]}">ZMP {-margin:.0f} mm outside</b>'
        past = [event.text for event in run.events if event.time <= at]
        last = f" · {html.escape(past[-1])}" if past else ""
        before = f"<b>{html.escape(name)}</b> " if len(runs) > 1 else ""
        lines.append(f"{before}CoM ({x:.3f}, {y:.3f}, {z:.3f}) m · {zmp}{last}")
    return (
        '<div style="padding:.2em .9em .6em;font-size:.8em;'
        f'font-variant-numeric:tabular-nums">{"<br>".join(lines)}</div>'
    )
