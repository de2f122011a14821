"""The ground from above as plain data: where feet stood, and paths over it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from equipoise.arrays import Array
from equipoise.log.run import Run
from equipoise.show.charts.chart import rows_within
from equipoise.show.palette import is_dashed
from equipoise.show.space.footprints import Footprint, footprints


@dataclass(frozen=True, eq=False)
class GroundPath:
    """A path over the ground.

    Attributes:
        label: What it is.
        points: Coordinates x and y in the world [m], shape (n, 2); NaN rows are gaps.
        style: Style as in :class:`~equipoise.show.charts.chart.Series`.
    """

    label: str
    points: Array
    style: str

    @property
    def dashed(self) -> bool:
        """Whether it was planned."""
        return is_dashed(self.style)


@dataclass(frozen=True, eq=False)
class GroundMap:
    """Footprints and paths, seen from above.

    Attributes:
        time: Times [s], shape (n,).
        paths: Paths, the planned ones first.
        footprints: Footprints of both feet.
    """

    time: Array
    paths: tuple[GroundPath, ...]
    footprints: tuple[Footprint, ...]

    def within(self, begin: float, end: float) -> GroundMap:
        """Return the part in the :func:`~.chart.rows_within` two times [s]."""
        rows = rows_within(self.time, begin, end)
        paths = tuple(replace(path, points=path.points[rows]) for path in self.paths)
        prints = tuple(
            print_
            for print_ in self.footprints
            if print_.start_s <= end and print_.end_s >= begin
        )
        return GroundMap(self.time[rows], paths, prints)

    def bounds(self) -> tuple[Array, Array]:
        """Return least and greatest x and y of all there is [m], shape (2,) each."""
        points = np.concatenate(
            [path.points for path in self.paths]
            + [print_.polygon_in_world[:, :2] for print_ in self.footprints]
        )
        points = points[np.isfinite(points).all(axis=1)]
        return points.min(axis=0), points.max(axis=0)


def ground_map(run: Run) -> GroundMap:
    """Return footprints and the paths of ZMP and CoM, planned ones where there are."""
    paths = [
        GroundPath(f"{label}, planned", run.references[key][:, :2], f"{style} dashed")
        for key, label, style in (("zmp", "ZMP", "c1"), ("com", "CoM", "c0"))
        if key in run.references
    ]
    paths += [
        GroundPath("ZMP", run.zmp[:, :2], "c1"),
        GroundPath("CoM", run.com[:, :2], "c0"),
    ]
    return GroundMap(run.time, tuple(paths), footprints(run))
