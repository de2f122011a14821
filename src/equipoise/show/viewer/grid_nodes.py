"""Flat ground: a grid of lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equipoise.arrays import Array
from equipoise.robot.description import Colour

if TYPE_CHECKING:
    import viser

# Edge of a cell and radius of the grid, as shares of the longest limb.
CELL, REACH = 0.25, 5.0
# Cells of a section.
SECTION = 5
FADING = 2.0
FINE: Colour = (222, 227, 232)
COARSE: Colour = (190, 199, 208)


class GridNodes:
    """A subtle grid about the robot, without an end that one could see.

    It fades into the page's white, and goes along by whole sections. Lines cost a
    fraction of viser's own grid, whose every pixel is computed.
    """

    def __init__(
        self, server: viser.ViserServer, name: str, level: float, size: float
    ) -> None:
        """Add the grid.

        Args:
            server: The page's.
            name: Of the node.
            level: Height [m].
            size: Length of the robot's longest limb [m].
        """
        cell = _round_length(CELL * size)
        self._section, self._level = SECTION * cell, level
        reach = SECTION * cell * np.ceil(REACH * size / (SECTION * cell))
        fine, coarse = _grid_lines(cell, float(reach))
        for lines, colour, kind in (
            (fine, FINE, "fine"),
            (coarse, COARSE, "coarse"),
        ):
            far = np.linalg.norm(lines, axis=2) / reach
            share = (np.clip(1.0 - far, 0.0, 1.0) ** FADING)[..., None]
            shade = 255.0 - share * (255.0 - np.array(colour))
            server.scene.add_line_segments(
                f"{name}/{kind}",
                lines,
                shade.astype(np.uint8),
                thickness=1.0,
                thickness_units="screen",
            )
        self._node = server.scene.add_frame(
            name, show_axes=False, position=(0.0, 0.0, level)
        )

    def follow(self, place: Array) -> None:
        """Go along with the robot, which is at a place [m], shape (2,)."""
        x, y = self._section * np.round(place / self._section)
        self._node.position = (float(x), float(y), self._level)


def _round_length(length: float) -> float:
    """Return the nearest of 1, 2 and 5 times a power of ten."""
    power = 10.0 ** np.floor(np.log10(length))
    steps = power * np.array([1.0, 2.0, 5.0, 10.0])
    return float(steps[np.argmin(np.abs(np.log(steps / length)))])


def _grid_lines(cell: float, reach: float) -> tuple[Array, Array]:
    """Return pieces of the lines within a circle, of cells and of sections."""
    at = np.arange(-round(reach / cell), round(reach / cell) + 1)
    stops = cell * at[::SECTION]
    across = np.repeat(at, len(stops) - 1)
    begin, end = np.tile(stops[:-1], len(at)), np.tile(stops[1:], len(at))
    flat = np.zeros(len(across))
    along_y = np.stack(
        [
            np.stack([cell * across, begin, flat], axis=1),
            np.stack([cell * across, end, flat], axis=1),
        ],
        axis=1,
    )
    lines = np.concatenate([along_y, along_y[:, :, [1, 0, 2]]])
    whole = np.tile(across % SECTION == 0, 2)
    near = np.linalg.norm(lines, axis=2).min(axis=1) < reach
    return lines[near & ~whole], lines[near & whole]
