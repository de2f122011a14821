"""One run on the page: its robot, marks, paths and ground, row by row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equipoise.arrays import Array
from equipoise.show.space.scene import Moment, RunScene
from equipoise.show.viewer.ground_nodes import (
    GroundNodes,
    add_footprints,
    add_paths,
)
from equipoise.show.viewer.marker_nodes import MarkerNodes
from equipoise.show.viewer.robot_nodes import RobotNodes

if TYPE_CHECKING:
    import viser

# The robot's way is smoothed over this long, to follow it without swaying [s].
SMOOTH_SECONDS = 1.2
# A name stands this many limbs above the centre of mass.
NAME_HEIGHT = 1.1
UP = np.array([0.0, 0.0, 1.0])


class Stage:
    """A run of the scene."""

    def __init__(
        self,
        server: viser.ViserServer,
        root: str,
        scene: RunScene,
        name: str | None = None,
        aside: float = 0.0,
    ) -> None:
        """Add a run below a node.

        Args:
            server: The page's.
            root: Name of the node.
            scene: What there is to see.
            name: Written above the robot.
            aside: Where it is on the y-axis [m].
        """
        self._server, self.scene = server, scene
        run = scene.run
        size = run.robot.longest_limb
        self._size = size
        server.scene.add_frame(root, show_axes=False, position=(0.0, aside, 0.0))
        corners = sum(len(sole.polygon_in_sole) for sole in run.robot.soles.values())
        self.robot = RobotNodes(server, root, scene.bodies)
        self.marks = MarkerNodes(
            server, root, size, max(corners, len(run.contact_names))
        )
        self.ground = GroundNodes(server, root, scene.surroundings)
        self.paths = add_paths(server, root, scene.paths, size)
        self.footprints = server.scene.add_frame(f"{root}/footprints", show_axes=False)
        self._name = (
            server.scene.add_label(f"{root}/name", name, anchor="bottom-center")
            if name
            else None
        )
        self._way = _smooth(run.time, run.com[:, :2])
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

    def way_at(self, time: float) -> Array:
        """Return where the robot is on its smoothed way [m], shape (2,)."""
        times = self.scene.run.time
        return np.array([np.interp(time, times, self._way[:, n]) for n in (0, 1)])

    @property
    def middle(self) -> Array:
        """Middle of the places that the robot goes to [m], shape (2,)."""
        return np.asarray(0.5 * (self._way.min(axis=0) + self._way.max(axis=0)))

    @property
    def travel(self) -> float:
        """How far apart the places are that the robot goes to [m]."""
        return float(np.ptp(self._way, axis=0).max())


def _smooth(time: Array, way: Array) -> Array:
    """Return a way averaged over a while before and after each row."""
    rows = len(time)
    if rows < 3:
        return way
    half = max(1, round(0.5 * SMOOTH_SECONDS * (rows - 1) / float(time[-1] - time[0])))
    half = min(half, rows // 2)
    longer = np.concatenate(
        [np.repeat(way[:1], half, 0), way, np.repeat(way[-1:], half, 0)]
    )
    sums = np.cumsum(np.insert(longer, 0, 0.0, axis=0), axis=0)
    width = 2 * half + 1
    return np.asarray((sums[width:] - sums[:-width]) / width)
