"""Footsteps up and down stairs."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from equipoise.errors import EquipoiseError
from equipoise.gait.figures import check_figure
from equipoise.gait.footsteps import Footstep, Footsteps
from equipoise.gait.walks import Move, route
from equipoise.robot.parts import Side


def stairs(
    feet: Mapping[Side, Footstep],
    *,
    rise: float,
    tread: float,
    count: int,
    start: float,
    longest: float,
    sole_middle: float = 0.0,
    first: str = "right",
    together: bool = True,
) -> Footsteps:
    """Return the footsteps up or down stairs that go along +x.

    The walk goes up to the stairs with equal steps, then puts soles on the middle of
    the treads.

    Args:
        feet: Where they stand at the start, heading along +x.
        rise: Height of a stair [m]; negative goes down.
        tread: Depth of a stair [m].
        count: How many stairs; the landing counts as the last.
        start: Where the first riser is, along x [m].
        longest: Longest step on the way to the stairs [m].
        sole_middle: How far the middle of a sole is ahead of its frame [m].
        first: The foot that swings first.
        together: Whether both feet stand on each stair; else each foot goes on to
            the stair after the other's.

    Raises:
        EquipoiseError: If the stairs begin behind the feet, or for bad figures.
    """
    check_figure("tread", tread, "m", above=0.0)
    check_figure("longest", longest, "m", above=0.0)
    x = float(np.mean([foot.x for foot in feet.values()]))
    way = start - tread / 2.0 - sole_middle - x
    if way < -1e-9:
        raise EquipoiseError(
            f"stairs that begin at x = {start:g} m are too near: feet in the middle of "
            f"a tread before them would stand {-way:.3f} m behind the start"
        )
    approach = math.ceil(way / longest - 1e-9)
    moves = [Move(length=way / approach)] * approach
    stair = Move(length=tread, rise=rise)
    if together:
        beside = Move()
        moves += [beside] * (approach > 0) + [stair, beside] * count
        return route(feet, moves, first, close=False)
    return route(feet, moves + [stair] * count, first)
