"""Colours of everything that is drawn of a run, on light and on dark paper.

``c0`` to ``c5`` are for lines, and differ for readers who see fewer colours, too: seen
as by deuteranopes, protanopes and tritanopes (Machado, Oliveira and Fernandes, 2009)
any two are at least 13 apart in CIELAB. Points and paths in space have the colours that
they have in plots.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from equipoise.robot.description import Colour

LINES = ("c0", "c1", "c2", "c3", "c4", "c5")
LIGHT: Mapping[str, str] = MappingProxyType(
    {
        "paper": "#fdfdfc",
        "ink": "#1d2126",
        "soft": "#5c6670",
        "rule": "#dfe3e6",
        "fill": "#eef1f3",
        "good": "#1a7f4b",
        "bad": "#b3261e",
        "c0": "#1f6fd0",
        "c1": "#d9541e",
        "c2": "#2a9d6f",
        "c3": "#7a2f8f",
        "c4": "#cc9a00",
        "c5": "#de79ac",
    }
)
DARK: Mapping[str, str] = MappingProxyType(
    {
        "paper": "#15181b",
        "ink": "#e6e9ec",
        "soft": "#9aa5af",
        "rule": "#2f363c",
        "fill": "#21262b",
        "good": "#5ac48d",
        "bad": "#ff8a80",
        "c0": "#5aa5ff",
        "c1": "#ff8350",
        "c2": "#3fc79a",
        "c3": "#9a62cf",
        "c4": "#f0d060",
        "c5": "#ffb3da",
    }
)


def is_dashed(style: str) -> bool:
    """Return whether a line's style is dashed: a reference, or a bound."""
    return style == "reference" or style.endswith(" dashed")


def line_colour(style: str, colours: Mapping[str, str] = LIGHT) -> str:
    """Return the colour of a line's style, as ``"#rrggbb"``."""
    name = style.split()[0]
    return colours[name if name in LINES else "soft"]


def style_sheet_colours(colours: Mapping[str, str]) -> str:
    """Return colours as variables of a style sheet: ``--ink:#1d2126;…``."""
    return ";".join(f"--{name}:{value}" for name, value in colours.items())


def rgb(name: str) -> Colour:
    """Return a colour of the palette as red, green, blue from 0 to 255."""
    red, green, blue = bytes.fromhex(LIGHT[name].removeprefix("#"))
    return red, green, blue


BODY: Colour = (196, 203, 210)
FOOT: Colour = (120, 130, 140)
GROUND: Colour = (238, 240, 242)
BOX: Colour = (214, 190, 150)
WALL: Colour = (170, 176, 184)
COM, ZMP, SUPPORT, FORCE = rgb("c0"), rgb("c1"), rgb("c2"), rgb("c2")
SIDES = {"left": rgb("c3"), "right": rgb("c4")}
