"""Where the panels of a figure are, in millimetres.

Matplotlib's own layouts take minutes for many panels; ours is arithmetic.
"""

from __future__ import annotations

from typing import NamedTuple

from equipoise.errors import EquipoiseError

MM_PER_INCH = 25.4
# A page of two columns in most journals [mm].
WIDTH_MM = 180.0
# Axes as low as can be read well; the map from above [mm].
PANEL_MM, MAP_MM = 25.0, 45.0
# Around the axes: numbers and units at the left, a title above each [mm].
LEFT_MM, TITLE_MM, RIGHT_MM = 16.0, 6.0, 2.0
# Below the last panel, and below the map: numbers and name of an axis [mm].
FOOT_MM = 11.0
# Between axes and legend [mm].
LEGEND_GAP_MM = 2.0
# Lower and narrower axes hold nothing that can be read [mm].
LEAST_MM = 4.0
LEAST_WIDTH_MM = 15.0


class Row(NamedTuple):
    """A panel's place, counted from the bottom of the figure.

    Attributes:
        bottom: Lower end of its axes [mm].
        height: Of its axes [mm].
    """

    bottom: float
    height: float


def default_height(panels: int, with_map: bool) -> float:
    """Return how high a figure of so many panels should be [mm]."""
    return _around(panels, with_map) + panels * PANEL_MM + with_map * MAP_MM


def rows(panels: int, with_map: bool, height: float) -> list[Row]:
    """Return places of panels and map, from top to bottom.

    Args:
        panels: How many share the time axis.
        with_map: Whether a map is below them.
        height: Of the figure [mm].

    Raises:
        EquipoiseError: If they do not fit.
    """
    share = (height - _around(panels, with_map)) / (
        panels * PANEL_MM + with_map * MAP_MM
    )
    if share * PANEL_MM < LEAST_MM:
        raise EquipoiseError(
            f"{panels + with_map} charts do not fit into a height of {height:g} mm; "
            f"{default_height(panels, with_map):g} mm would be good"
        )
    places = []
    top = height
    for _ in range(panels):
        top -= TITLE_MM + share * PANEL_MM
        places.append(Row(top, share * PANEL_MM))
    if with_map:
        top -= (FOOT_MM if panels else 0.0) + TITLE_MM + share * MAP_MM
        places.append(Row(top, share * MAP_MM))
    return places


def axes_width(width: float, legend: float) -> float:
    """Return how wide axes are beside a legend, all in [mm].

    Raises:
        EquipoiseError: If nothing is left for them.
    """
    left = width - LEFT_MM - LEGEND_GAP_MM - legend - RIGHT_MM
    if left < LEAST_WIDTH_MM:
        raise EquipoiseError(
            f"a width of {width:g} mm leaves nothing for the lines beside their names; "
            f"{width - left + 3 * LEAST_WIDTH_MM:.0f} mm would do"
        )
    return left


def _around(panels: int, with_map: bool) -> float:
    """Return the height of all but axes [mm]."""
    return (panels + with_map) * TITLE_MM + ((panels > 0) + with_map) * FOOT_MM
