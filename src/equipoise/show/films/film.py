"""A run as pictures: frames of a film, or one of them; no display is needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError, NameNotFoundError
from equipoise.robot.description import Colour
from equipoise.show.films.camera import Camera
from equipoise.show.films.caption import Caption
from equipoise.show.films.drawing import Arrow, Line, Marker
from equipoise.show.films.render import LIGHT, Renderer
from equipoise.show.films.surface import Item
from equipoise.show.space import scene_colours as colours
from equipoise.show.space.primitives import box
from equipoise.show.space.scene import Moment, RunScene

# Ways that the camera looks, seen from a robot that faces x.
VIEWS: Mapping[str, tuple[float, float, float]] = MappingProxyType(
    {
        "corner": (-0.80, -0.52, -0.28),
        "side": (0.0, 1.0, -0.12),
        "front": (-1.0, 0.0, -0.12),
        "back": (1.0, 0.0, -0.12),
        "top": (0.0, 0.0, -1.0),
    }
)
# The camera follows the centre of mass, without its sway: over this long [s].
SMOOTHING_S = 1.2
# Sizes of what is drawn over the robot, as shares of the picture's height.
COM_SHARE, ZMP_SHARE, LINE_SHARE = 0.014, 0.009, 0.0032
# Radius of forces' arrows, as a share of the longest limb.
ARROW_SHARE = 0.012
# Lines lie this share of a limb above the ground, which would hide half of them.
LIFT = 0.002


@dataclass(frozen=True)
class FilmStyle:
    """How a run is filmed.

    Attributes:
        width: Of pictures [px].
        height: Of pictures [px].
        view: Where from: a name in :data:`VIEWS`.
        follow: Whether the camera goes along with the robot; else it sees all.
        see_through: Whether the robot is translucent.
        title: Of the caption; the run's sentence if None.
    """

    width: int = 960
    height: int = 540
    view: str = "corner"
    follow: bool = True
    see_through: bool = False
    title: str | None = None

    def __post_init__(self) -> None:
        """Refuse views that there are not."""
        if self.view not in VIEWS:
            raise NameNotFoundError("view", self.view, VIEWS, "film")


class Film:
    """Takes pictures of a run at any time."""

    def __init__(self, scene: RunScene, style: FilmStyle) -> None:
        """Prepare meshes and cameras.

        Args:
            scene: The run.
            style: How it is filmed.
        """
        self.scene, self.style = scene, style
        around = scene.surroundings
        opacity = 0.45 if style.see_through else 1.0
        items = [Item(body.mesh, body.colour, opacity) for body in scene.bodies]
        # older logs tell where boxes were, and not how large
        blocks = around.boxes[: scene.run.boxes.shape[1]]
        self._boxes = len(blocks)
        items += [Item(box(block.size), colours.BOX) for block in blocks]
        items += [Item(box(block.size), colours.WALL) for block in around.walls]
        self._walls = np.array([block.pose for block in around.walls]).reshape(-1, 7)
        ground = None if around.ground is None else Item(around.ground, colours.GROUND)
        # the light comes from the camera's side of the robot
        away = VIEWS[style.view][1] > 0.0
        self._renderer = Renderer(
            items,
            width=style.width,
            height=style.height,
            ground=ground,
            light=LIGHT * [1.0, -1.0, 1.0] if away else LIGHT,
        )
        figures = scene.run.summary
        title = figures.get("sentence", "") if style.title is None else style.title
        self._caption = Caption(title=str(title), legend=_legend(scene))
        self._limb = scene.run.robot.longest_limb
        self._path = _smoothed(scene.run.time, scene.run.com)
        self._camera = self._fitted()

    def picture(self, time: float) -> NDArray[np.uint8]:
        """Return the picture at a time [s], shape (height, width, 3)."""
        row = self.scene.row_at(time)
        moment = self.scene.moment(row)
        poses = [moment.joint_poses[body.joint] for body in self.scene.bodies]
        poses += [*moment.boxes[: self._boxes], *self._walls]
        picture = self._renderer.picture(
            self._camera_at(row),
            np.array(poses).reshape(-1, 7),
            lines=self._lines(moment),
            markers=self._markers(moment),
            arrows=[
                Arrow(
                    _triple(arrow.start),
                    _triple(arrow.end),
                    colours.FORCE,
                    ARROW_SHARE * self._limb,
                )
                for arrow in moment.forces
            ],
        )
        return self._caption.on(picture, moment.time)

    def pictures(
        self, fps: float, speed: float, begin: float, end: float
    ) -> Iterator[NDArray[np.uint8]]:
        """Go through the pictures of a film.

        Args:
            fps: Pictures a second.
            speed: Seconds of the run in a second of the film.
            begin: Where in the run it begins [s].
            end: Where it ends [s].
        """
        for time in picture_times(self.scene, fps, speed, begin, end):
            yield self.picture(time)

    def _lines(self, moment: Moment) -> list[Line]:
        width = max(1.5, LINE_SHARE * self.style.height)
        up = np.array([0.0, 0.0, LIFT * self._limb])
        lines = [
            Line(
                _closed(print_.polygon_in_world) + up,
                colours.SIDES[print_.side],
                width,
                opacity=0.55,
            )
            for print_ in self.scene.footprints
            if print_.start_s <= moment.time
        ]
        if len(moment.support) > 1:
            lines.append(Line(_closed(moment.support) + up, colours.SUPPORT, width))
        for path in self.scene.paths:
            shown = path.points + up
            if not path.planned:
                shown = shown[self.scene.run.time <= moment.time]
            faint = 0.45 if path.planned else 0.9
            lines.append(Line(shown, path.colour, width, path.planned, faint))
        drop = np.array([moment.com, moment.com_on_ground + up])
        lines.append(Line(drop, colours.COM, width, dashed=True, through=0.5))
        return lines

    def _markers(self, moment: Moment) -> list[Marker]:
        height = self.style.height
        ground = Marker(
            _triple(moment.com_on_ground), colours.COM, ZMP_SHARE * height, through=0.5
        )
        markers = [ground]
        if moment.zmp is not None:
            size = ZMP_SHARE * height
            markers.append(Marker(_triple(moment.zmp), colours.ZMP, size, through=0.5))
        centre = _triple(moment.com)
        size = COM_SHARE * height
        markers.append(Marker(centre, colours.COM, size, quartered=True))
        return markers

    def _fitted(self) -> Camera:
        """Return the camera that sees the robot at the start, or all of its way."""
        rows = np.linspace(0, len(self.scene.run.time) - 1, 7).astype(int)
        if self.style.follow:
            rows = rows[:1]
        clouds = [self._extent(int(row)) for row in rows]
        aspect = self.style.width / self.style.height
        way = VIEWS[self.style.view]
        return Camera.fit(np.concatenate(clouds), way, aspect, margin=0.12)

    def _extent(self, row: int) -> Array:
        """Return points around the robot at a row [m], shape (n, 3)."""
        poses = self.scene.moment(row).joint_poses
        corners = []
        for body in self.scene.bodies:
            pose = pin.XYZQUATToSE3(poses[body.joint]).homogeneous
            corners.append(body.mesh.moved(np.array(pose)).vertices)
        points = np.concatenate(corners)
        low, high = points.min(axis=0), points.max(axis=0)
        # room for steps: a robot in motion is wider than one that stands
        reach = 0.25 * self._limb
        low[:2] -= reach
        high[:2] += reach
        grid = np.meshgrid(*np.stack([low, high], axis=1))
        return np.stack([axis.ravel() for axis in grid], axis=1).astype(np.float64)

    def _camera_at(self, row: int) -> Camera:
        if not self.style.follow:
            return self._camera
        shift = self._path[row] - self._path[0]
        return Camera(
            _triple(self._camera.position + shift),
            _triple(self._camera.target + shift),
            self._camera.up,
            self._camera.field_of_view,
        )


def picture_times(
    scene: RunScene, fps: float, speed: float, begin: float, end: float
) -> Array:
    """Return the times in the run at which a film's pictures are taken [s].

    Raises:
        EquipoiseError: If nothing of the run is between begin and end.
    """
    for name, value in (("fps", fps), ("speed", speed)):
        if not (np.isfinite(value) and value > 0.0):
            raise EquipoiseError(f"{name} is {value:g}; it must be above zero")
    first, last = _ends(scene)
    low, high = max(begin, first), min(end, last)
    if not low <= high:
        raise EquipoiseError(
            f"nothing to film from {begin:g} s to {end:g} s: the run goes from "
            f"{first:g} s to {last:g} s"
        )
    count = max(int((high - low) * fps / speed + 1e-9) + 1, 1)
    return np.asarray(low + np.arange(count) * speed / fps)


def picture_time(scene: RunScene, at: float | None) -> float:
    """Return when a single picture is taken [s]: as asked, else in the middle.

    Raises:
        EquipoiseError: If the run does not go there.
    """
    first, last = _ends(scene)
    if at is None:
        return 0.5 * (first + last)
    if not min(first, 0.0) <= at <= last:
        raise EquipoiseError(
            f"no picture at {at:g} s: the run goes from {first:g} s to {last:g} s"
        )
    return at


def _legend(scene: RunScene) -> tuple[tuple[str, Colour], ...]:
    """Return what the marks are, of those that there are."""
    marks = [("CoM", colours.COM, True)]
    marks += [("ZMP", colours.ZMP, bool(scene.run.supported.any()))]
    marks += [("support, forces", colours.SUPPORT, scene.touches)]
    return tuple((words, colour) for words, colour, there in marks if there)


def _ends(scene: RunScene) -> tuple[float, float]:
    return float(scene.run.time[0]), float(scene.run.time[-1])


def _smoothed(time: Array, com: Array) -> Array:
    """Return the way of the camera: the CoM's, averaged over a while, level."""
    path = com.copy()
    if len(time) > 1:
        for axis in range(3):
            total = np.concatenate(
                [
                    [0.0],
                    np.cumsum(0.5 * (com[1:, axis] + com[:-1, axis]) * np.diff(time)),
                ]
            )
            low = np.maximum(time - 0.5 * SMOOTHING_S, time[0])
            high = np.minimum(time + 0.5 * SMOOTHING_S, time[-1])
            area = np.interp(high, time, total) - np.interp(low, time, total)
            path[:, axis] = area / np.maximum(high - low, 1e-9)
    return path


def _closed(polygon: Array) -> Array:
    return np.concatenate([polygon, polygon[:1]])


def _triple(values: Array) -> tuple[float, float, float]:
    x, y, z = values.tolist()
    return x, y, z
