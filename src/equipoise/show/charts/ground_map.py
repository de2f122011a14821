"""The ground from above as plain data: where feet stood, and paths over it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equipoise.arrays import Array
from equipoise.log.run import Run
from equipoise.show.charts.chart import rows_within
from equipoise.show.space.footprints import Footprint, footprints
from equipoise.show.space.scene import Path, trajectories


@dataclass(frozen=True, eq=False)
class GroundMap:
    """Footprints and paths, seen from above.

    Attributes:
        time: Times [s], shape (n,).
        paths: Paths of ZMP and CoM, the planned ones first.
        footprints: Footprints of both feet.
    """

    time: Array
    paths: tuple[Path, ...]
    footprints: tuple[Footprint, ...]

    def within(self, begin: float, end: float) -> GroundMap:
        """Return the part in the :func:`~.chart.rows_within` two times [s]."""
        rows = rows_within(self.time, begin, end)
        paths = tuple(path._replace(points=path.points[rows]) for path in self.paths)
        prints = tuple(
            print_
            for print_ in self.footprints
            if print_.start_s <= end and print_.end_s >= begin
        )
        return GroundMap(self.time[rows], paths, prints)

    def bounds(self) -> tuple[Array, Array]:
        """Return least and greatest x and y of all there is [m], shape (2,) each."""
        points = np.concatenate(
            [path.points[:, :2] for path in self.paths]
            + [print_.polygon_in_world[:, :2] for print_ in self.footprints]
        )
        points = points[np.isfinite(points).all(axis=1)]
        return points.min(axis=0), points.max(axis=0)


def ground_map(run: Run) -> GroundMap:
    """Return footprints and the paths of ZMP and CoM, planned ones where there are."""
    return GroundMap(run.time, trajectories(run), footprints(run))
