"""A run as pictures with captions: frames of a film, or one of them.

No display is needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError, NameNotFoundError
from equipoise.robot.description import Colour
from equipoise.show import palette as colours
from equipoise.show.films.drawing import Camera, Line, Marker
from equipoise.show.films.render import LIGHT, Item, Renderer
from equipoise.show.space.scene import Moment, RunScene, smoothed
from equipoise.show.space.solids import box, pose_matrix

# Directions of view, for a robot that faces x.
VIEWS: Mapping[str, tuple[float, float, float]] = MappingProxyType(
    {
        "corner": (-0.80, -0.52, -0.28),
        "side": (0.0, 1.0, -0.12),
        "front": (-1.0, 0.0, -0.12),
        "back": (1.0, 0.0, -0.12),
        "top": (0.0, 0.0, -1.0),
    }
)
# Radii of markers and width of lines, as fractions of the picture's height.
COM_SIZE, ZMP_SIZE, LINE_SIZE = 0.014, 0.009, 0.0032
# Radius of forces' arrows, as a fraction of the longest limb.
ARROW_SIZE = 0.012
# Lines are this fraction of a limb above the ground, which would hide half of them.
LIFT = 0.002
# Words and their colours.
Legend = Sequence[tuple[str, Colour]]
INK: Colour = (38, 43, 51)
FAINT: Colour = (107, 114, 125)
# Heights of letters and the free edge, in heights of the picture; the least [px].
TITLE, TEXT, EDGE, LEAST_PX = 0.034, 0.026, 0.035, 11
# The title leaves space for times.
MOST_PICTURES = 1_000_000
LONGEST_TIME = "  t = 9999.99 s"
# Discs of the legend are drawn larger and made smaller, which rounds them.
FINER = 4


@dataclass(frozen=True)
class FilmStyle:
    """How a run is filmed.

    Attributes:
        width: Width of pictures [px].
        height: Height of pictures [px].
        view: Direction of view: a name in :data:`VIEWS`.
        follow: Whether the camera follows the robot; else it sees all.
        see_through: Whether the robot is translucent.
        title: Title of the caption; the run's sentence if None.
    """

    width: int = 960
    height: int = 540
    view: str = "corner"
    follow: bool = True
    see_through: bool = False
    title: str | None = None

    def __post_init__(self) -> None:
        if self.view not in VIEWS:
            raise NameNotFoundError("view", self.view, VIEWS, "film")


def captioned(
    picture: NDArray[np.uint8],
    title: str = "",
    legend: Legend = (),
    time: float | None = None,
) -> NDArray[np.uint8]:
    """Return a copy of a picture (height, width, 3) with words on it.

    Args:
        picture: The picture.
        title: Words at the upper left.
        legend: What colours mean, at the lower left.
        time: Time at the upper right [s].
    """
    image = Image.fromarray(picture)
    draw = ImageDraw.Draw(image)
    height, width = picture.shape[:2]
    edge, text = round(EDGE * height), _font(TEXT, height)
    large = _font(TITLE, height)
    space = width - 2 * edge - (0 if time is None else text.getlength(LONGEST_TIME))
    for row, line in enumerate(_lines(title, large, space)):
        y = edge + 1.45 * row * _size(TITLE, height)
        draw.text((edge, y), line, INK, large, anchor="la")
    if time is not None:
        _write_time(draw, f"{time:.2f}", width - edge, edge, text)
    _write_legend(image, draw, legend, text)
    return np.asarray(image).copy()


def _write_legend(
    image: Image.Image,
    draw: ImageDraw.ImageDraw,
    legend: Legend,
    font: ImageFont.FreeTypeFont,
) -> None:
    width, height = image.size
    edge, size = round(EDGE * height), _size(TEXT, height)
    disc = max(4, round(0.62 * size))
    places, x, row = [], float(edge), 0
    for words, colour in legend:
        across = disc + 0.5 * size + font.getlength(words)
        if x > edge and x + across > width - edge:
            x, row = float(edge), row + 1
        places.append((x, row, words, colour))
        x += across + 1.2 * size
    large = Image.new("L", (FINER * disc, FINER * disc))
    ImageDraw.Draw(large).ellipse((0, 0, FINER * disc - 1, FINER * disc - 1), 255)
    mask = large.resize((disc, disc), Image.Resampling.LANCZOS)
    for x, at, words, colour in places:
        middle = height - edge - round((row - at + 0.5) * 1.5 * size)
        image.paste(colour, (round(x), middle - disc // 2), mask)
        place = (round(x) + disc + 0.5 * size, middle)
        draw.text(place, words, INK, font, anchor="lm")


class Film:
    """Takes pictures of a run at any time; meshes and cameras are prepared once."""

    def __init__(self, scene: RunScene, style: FilmStyle) -> None:
        self.scene, self.style = scene, style
        around = scene.run.surroundings
        opacity = 0.45 if style.see_through else 1.0
        items = [Item(body.mesh, body.colour, opacity) for body in scene.bodies]
        # older logs hold where boxes were, and not how large
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
            arrow_radius=ARROW_SIZE * scene.run.robot.longest_limb,
        )
        sentence = scene.run.summary.get("sentence", "")
        title = sentence if style.title is None else style.title
        self._title, self._legend = str(title), _legend(scene)
        self._limb = scene.run.robot.longest_limb
        self._path = smoothed(scene.run.time, scene.run.com)
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
            arrows=moment.forces,
        )
        return captioned(picture, self._title, self._legend, moment.time)

    def pictures(
        self, fps: float, speed: float, begin: float, end: float
    ) -> Iterator[NDArray[np.uint8]]:
        """Yield the pictures of a film, taken at :func:`picture_times`."""
        for time in picture_times(self.scene, fps, speed, begin, end):
            yield self.picture(time)

    def _lines(self, moment: Moment) -> list[Line]:
        width = max(1.5, LINE_SIZE * self.style.height)
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
        size = ZMP_SIZE * self.style.height
        markers = [Marker(moment.com_on_ground, colours.COM, size, through=0.5)]
        if moment.zmp is not None:
            markers.append(Marker(moment.zmp, colours.ZMP, size, through=0.5))
        size = COM_SIZE * self.style.height
        markers.append(Marker(moment.com, colours.COM, size, quartered=True))
        return markers

    def _fitted(self) -> Camera:
        """Return the camera that sees the robot at the start, or all of its path."""
        rows = np.linspace(0, len(self.scene.run.time) - 1, 7).astype(int)
        if self.style.follow:
            rows = rows[:1]
        clouds = [self._extent(int(row)) for row in rows]
        aspect = self.style.width / self.style.height
        view = VIEWS[self.style.view]
        return Camera.fit(np.concatenate(clouds), view, aspect, margin=0.12)

    def _extent(self, row: int) -> Array:
        """Return points around the robot at a row [m], shape (n, 3)."""
        poses = self.scene.moment(row).joint_poses
        points = np.concatenate(
            [
                body.mesh.moved(pose_matrix(poses[body.joint])).vertices
                for body in self.scene.bodies
            ]
        )
        low, high = points.min(axis=0), points.max(axis=0)
        # space for steps: a robot in motion is wider than one that stands
        reach = 0.25 * self._limb
        low[:2] -= reach
        high[:2] += reach
        grid = np.meshgrid(*np.stack([low, high], axis=1))
        return np.stack([axis.ravel() for axis in grid], axis=1).astype(np.float64)

    def _camera_at(self, row: int) -> Camera:
        if not self.style.follow:
            return self._camera
        shift = self._path[row] - self._path[0]
        return replace(
            self._camera,
            position=self._camera.position + shift,
            target=self._camera.target + shift,
        )


def picture_times(
    scene: RunScene, fps: float, speed: float, begin: float, end: float
) -> Array:
    """Return the times in the run at which a film's pictures are taken [s].

    Args:
        scene: The run.
        fps: Pictures per second.
        speed: Seconds of the run per second of the film.
        begin: Time in the run at which the film begins [s].
        end: Time in the run at which it ends [s].

    Raises:
        EquipoiseError: If nothing of the run is between begin and end.
    """
    for name, value in (("fps", fps), ("speed", speed)):
        if not (np.isfinite(value) and value > 0.0):
            raise EquipoiseError(f"{name} is {value:g}; it must be above zero")
    first, last = (float(end) for end in scene.run.time[[0, -1]])
    low, high = max(begin, first), min(end, last)
    if not low <= high:
        raise EquipoiseError(
            f"nothing to film from {begin:g} s to {end:g} s: the run goes from "
            f"{first:g} s to {last:g} s"
        )
    wanted = (high - low) * fps / speed
    if not wanted < MOST_PICTURES:
        raise EquipoiseError(
            f"a film of {wanted:.3g} pictures; at most {MOST_PICTURES} are drawn"
        )
    count = max(int(wanted + 1e-9) + 1, 1)
    return np.asarray(low + np.arange(count) * speed / fps)


def picture_time(scene: RunScene, at: float | None) -> float:
    """Return when a single picture is taken [s]; by default in the middle.

    Raises:
        EquipoiseError: If the run does not go there.
    """
    first, last = (float(end) for end in scene.run.time[[0, -1]])
    if at is None:
        return 0.5 * (first + last)
    if not min(first, 0.0) <= at <= last:
        raise EquipoiseError(
            f"no picture at {at:g} s: the run goes from {first:g} s to {last:g} s"
        )
    return at


def _legend(scene: RunScene) -> Legend:
    """Return the marks that occur in a run, with their colours."""
    marks = [("CoM", colours.COM, True)]
    marks += [("ZMP", colours.ZMP, bool(scene.run.supported.any()))]
    marks += [("support, forces", colours.SUPPORT, scene.touches)]
    return tuple((words, colour) for words, colour, there in marks if there)


def _closed(polygon: Array) -> Array:
    return np.concatenate([polygon, polygon[:1]])


def _lines(words: str, font: ImageFont.FreeTypeFont, space: float) -> list[str]:
    """Return words in lines that are no longer than the space for them [px]."""
    lines: list[str] = []
    for word in words.split():
        if lines and font.getlength(f"{lines[-1]} {word}") <= space:
            lines[-1] = f"{lines[-1]} {word}"
        else:
            lines.append(word)
    return lines


def _write_time(
    draw: ImageDraw.ImageDraw,
    digits: str,
    right: float,
    top: float,
    font: ImageFont.FreeTypeFont,
) -> None:
    """Write a time flush right, all digits equally wide: it does not jitter."""
    draw.text((right, top), " s", FAINT, font, anchor="ra")
    right -= font.getlength(" s")
    wide = max(font.getlength(digit) for digit in "0123456789")
    for letter in reversed(digits):
        step = wide if letter.isdigit() else font.getlength(letter)
        draw.text((right - 0.5 * step, top), letter, INK, font, anchor="ma")
        right -= step
    draw.text((right, top), "t = ", FAINT, font, anchor="ra")


def _size(part: float, height: int) -> int:
    return max(LEAST_PX, round(part * height))


@lru_cache(maxsize=8)
def _font(part: float, height: int) -> ImageFont.FreeTypeFont:
    font = ImageFont.load_default(_size(part, height))
    assert isinstance(font, ImageFont.FreeTypeFont)  # with a size, it always is
    return font
