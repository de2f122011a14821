"""The walk of the three-link biped, played in its report: markup, script and data."""

from __future__ import annotations

import json
from string import Template

import numpy as np

from equipoise.arrays import Array
from equipoise.planar.hybrid import Walk
from equipoise.show.pages.markup import element, resource, text
from equipoise.show.space.stick_figure import StickWalk

SCRIPTS = ("playback.js", "stick_replay.js")
STYLES = ("replay.css", "stick_replay.css")
# The eye wants no more [Hz]; long walks get less, to stay small.
FASTEST, MOST_FRAMES = 30.0, 1200
# Size of the picture, margin above the head, and height of the ground in it [px].
WIDTH, HEIGHT, MARGIN, FLOOR = 960.0, 380.0, 24.0, 90.0
# Marks on the ground are so far apart, in leg lengths.
NOTCHES = 0.25
# A force of the biped's weight is so long, in leg lengths.
WEIGHT_ARROW = 0.25
ARROW_HEAD = element(
    "marker",
    element("path", d="M0,0L8,4L0,8Z", class_="head c2"),
    id="arrow-head",
    viewBox="0 0 8 8",
    refX="7",
    refY="4",
    markerWidth="5",
    markerHeight="5",
    orient="auto",
)
LEGEND = (
    ("c0", "first leg"),
    ("c1", "second leg"),
    ("c3", "torso"),
    ("point c4", "CoM"),
    ("c2", "ground force"),
)


def stick_replay(walk: Walk) -> str:
    """Return the markup of a walk that is played, with its data.

    It is hidden, and a sentence stands in its place, until :func:`stick_script` shows
    it.

    Args:
        walk: The walk, of one step at least.
    """
    samples = [
        element("span", element("i", class_=style), text(words))
        for style, words in LEGEND
    ]
    return Template(resource("stick_replay.html")).substitute(
        label=text(f"{len(walk.steps)} steps of the three-link biped, played"),
        legend="".join(samples),
        width=f"{WIDTH:g}",
        height=f"{HEIGHT:g}",
        ground=_ground(walk),
        figure=_figure(),
        controls=resource("playback.html"),
        data=json.dumps(frames(walk), separators=(",", ":")),
    )


def stick_script() -> str:
    """Return the program that plays walks; it is the same for all of them."""
    return "\n".join(resource(name) for name in SCRIPTS)


def stick_style() -> str:
    """Return the style sheet of walks that are played."""
    return "\n".join(resource(name) for name in STYLES)


def frames(walk: Walk) -> dict[str, list[float] | list[list[float]]]:
    """Return times [s], and of each a row of places in the picture [px].

    Both feet, hip, torso and both legs' masses, then the CoM, and both ends of the
    ground's force, x and y of each.
    """
    figures = StickWalk(walk)
    end = float(figures.time[-1])
    count = int(min(end * FASTEST + 1e-6, MOST_FRAMES - 2)) + 2
    times = np.linspace(0.0, end, count)
    rows = figures.rows_at(times)
    p = walk.model.parameters
    longest = WEIGHT_ARROW * p.leg_length / (p.total_mass * p.gravity)
    foot = walk.stance_foot[rows]
    arrow = np.stack([foot - longest * walk.force[rows], foot], axis=1)
    points = np.concatenate(
        [figures.sampled(times), figures.com[rows][:, None], arrow], axis=1
    )
    places = np.round(_placed(points, walk), 1).reshape(count, -1)
    return {"time": np.round(times, 4).tolist(), "rows": places.tolist()}


def _scale(walk: Walk) -> float:
    """Return how many pixels a metre has."""
    p = walk.model.parameters
    return (HEIGHT - MARGIN - FLOOR) / (p.leg_length + p.torso_length)


def _placed(points: Array, walk: Walk) -> Array:
    """Return points of the world [m] in the picture [px]."""
    scale = _scale(walk)
    x, z = points[..., 0], points[..., 1]
    return np.stack([scale * x, HEIGHT - FLOOR - scale * z], axis=-1)


def _ground(walk: Walk) -> str:
    """Return the ground with marks, wide enough for all of the walk."""
    scale, p = _scale(walk), walk.model.parameters
    begin, end = -WIDTH / scale, float(walk.stance_foot[-1, 0]) + 2.0 * WIDTH / scale
    apart = NOTCHES * p.leg_length
    notches = []
    top, bottom = HEIGHT - FLOOR, HEIGHT - FLOOR + 10.0
    for k in range(int(begin // apart), int(end // apart) + 1):
        x = scale * k * apart
        notches.append(f"M{x:.1f},{top:.1f}l-8,{bottom - top:.1f}")
    line = f"M{scale * begin:.1f},{top:.1f}L{scale * end:.1f},{top:.1f}"
    return element("path", d="".join(notches), class_="notch") + element(
        "path", d=line, class_="floor"
    )


def _figure() -> str:
    """Return the parts that the script moves."""
    lines = (
        ("force", "arrow c2"),
        ("second", "limb c1"),
        ("first", "limb c0"),
        ("torso", "limb c3"),
    )
    discs = (
        ("secondMass", "c1", 7),
        ("firstMass", "c0", 7),
        ("hip", "reference", 9),
        ("head", "c3", 9),
        ("com", "c4", 6),
    )
    parts = [ARROW_HEAD]
    parts += [element("path", data_part=name, class_=style) for name, style in lines]
    parts += [
        element("circle", r=f"{radius:g}", data_part=name, class_=f"mass {colour}")
        for name, colour, radius in discs
    ]
    return "".join(parts)
