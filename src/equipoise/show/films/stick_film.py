"""A walk of the three-link biped as pictures, seen from its side."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from PIL import Image, ImageDraw

from equipoise.arrays import Array
from equipoise.planar.hybrid import Walk
from equipoise.show import palette as colours
from equipoise.show.films.encode import Picture
from equipoise.show.films.film import captioned
from equipoise.show.space.stick_figure import FEET, HIP, TORSO, StickWalk

WIDTH, HEIGHT, FPS = 720, 405, 25.0
# Pictures are drawn larger and made smaller, which smooths lines.
FINER = 2
# The ground is so high in the picture; the tallest figure takes so much of it.
GROUND, TALL = 0.16, 0.62
# Width of limbs, radius of masses, and of the ground's line, in heights.
LIMB, MASS, LINE = 0.014, 0.020, 0.004
# Marks on the ground are so far apart, in leg lengths.
NOTCHES = 0.25
LEGS, TRUNK = ("c0", "c1"), "c3"
LEGEND = (("first leg", "c0"), ("second leg", "c1"), ("torso", "c3"), ("CoM", "c4"))


def picture_count(walk: Walk) -> int:
    """Return of how many pictures a film of a walk in real time is made."""
    return int(FPS * float(walk.time[-1])) + 1


def stick_pictures(walk: Walk, title: str) -> Iterator[Picture]:
    """Yield pictures of a walk in real time; the camera follows the hip.

    Args:
        walk: The walk, of one step at least.
        title: Words above it.
    """
    figures = StickWalk(walk)
    times = np.arange(picture_count(walk)) / FPS
    points, com = figures.sampled(times), figures.com[figures.rows_at(times)]
    p = walk.model.parameters
    scale = FINER * TALL * HEIGHT / (p.leg_length + p.torso_length)
    legend = [(words, colours.rgb(colour)) for words, colour in LEGEND]
    for time, pose, centre in zip(times, points, com, strict=True):
        picture = _picture(pose, centre, scale, NOTCHES * p.leg_length)
        yield captioned(picture, title, legend, float(time))


def _picture(pose: Array, com: Array, scale: float, notches: float) -> Picture:
    """Draw one figure, shape (6, 2) [m], with its centre of mass."""
    width, height = FINER * WIDTH, FINER * HEIGHT
    image = Image.new("RGB", (width, height), colours.rgb("paper"))
    draw = ImageDraw.Draw(image)
    hip = pose[HIP]
    floor = (1.0 - GROUND) * height

    def place(point: Array) -> tuple[float, float]:
        x, z = (point - [hip[0], 0.0]) * scale
        return 0.5 * width + x, floor - z

    line = round(LINE * height)
    soft = colours.rgb("soft")
    draw.line([(0, floor), (width, floor)], soft, line)
    first = int((hip[0] - 0.5 * width / scale) // notches)
    for k in range(first, first + int(width / scale / notches) + 3):
        x, y = place(np.array([k * notches, 0.0]))
        draw.line([(x, y), (x - 6.0 * line, y + 9.0 * line)], colours.rgb("rule"), line)

    def disc(point: Array, radius: float, colour: str) -> None:
        x, y = place(point)
        r = radius * height
        draw.ellipse((x - r, y - r, x + r, y + r), colours.rgb(colour))

    limbs = (
        (pose[FEET[1]], LEGS[1]),
        (pose[FEET[0]], LEGS[0]),
        (pose[TORSO], TRUNK),
    )
    for end, colour in limbs:
        draw.line([place(hip), place(end)], colours.rgb(colour), round(LIMB * height))
        disc(end, 0.5 * LIMB, colour)
    for mass, colour in zip(pose[[5, 4]], reversed(LEGS), strict=True):
        disc(mass, 0.8 * MASS, colour)
    disc(hip, MASS, "soft")
    disc(pose[TORSO], MASS, TRUNK)
    disc(com, 0.7 * MASS, "c4")
    return np.asarray(image.resize((WIDTH, HEIGHT), Image.Resampling.LANCZOS))
