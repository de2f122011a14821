"""Colours of what is drawn in space; points and paths have those of the plots."""

from __future__ import annotations

from equipoise.robot.description import Colour
from equipoise.show.palette import LIGHT


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
