"""Small marks of SVG drawings: rings, arrows, and the sign of a centre of mass."""

from __future__ import annotations

import numpy as np

from equipoise.arrays import Array
from equipoise.show.pages.markup import element, path

# Shorter arrows are not seen; the head takes this share, up to this length [px].
SHORTEST, HEAD_SHARE, LONGEST_HEAD = 0.8, 0.5, 6.0
# Points along a quarter of a circle.
QUARTER = 9


def ring(place: Array, radius: float, style: str) -> str:
    """Return a circle around a place of the picture [px], shape (2,)."""
    x, y = np.round(place, 1).tolist()
    return element("circle", cx=f"{x:g}", cy=f"{y:g}", r=f"{radius:g}", class_=style)


def arrow(start: Array, end: Array, style: str) -> str:
    """Return an arrow between places of the picture [px]; nothing if too short."""
    along = end - start
    length = float(np.linalg.norm(along))
    if length < SHORTEST:
        return ""
    ahead = along / length
    aside = np.array([-ahead[1], ahead[0]])
    size = min(HEAD_SHARE * length, LONGEST_HEAD)
    neck = end - size * ahead
    tip = np.array([end, neck + 0.4 * size * aside, neck - 0.4 * size * aside])
    return element(
        "path", d=path(np.array([start, neck])), class_=f"shaft {style}"
    ) + element("path", d=f"{path(tip)}Z", class_=f"head {style}")


def quartered(place: Array, radius: float, style: str) -> list[str]:
    """Return the sign of a centre of mass: a disc of which two quarters are filled.

    Args:
        place: Where [px], shape (2,).
        radius: [px].
        style: Class with the colour.
    """
    filled = ""
    for first in (0.0, np.pi):
        angle = first + 0.5 * np.pi * np.arange(QUARTER) / (QUARTER - 1)
        arc = place + radius * np.stack([np.cos(angle), -np.sin(angle)], axis=1)
        filled += f"{path(np.concatenate([[place], arc]))}Z"
    return [
        ring(place, radius, f"disc {style}"),
        element("path", d=filled, class_=f"quarters {style}"),
    ]
