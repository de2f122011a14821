"""Which body is worked on when, and in which lane.

A CPU core works on four float64 numbers at once. Lanes hold either bodies of one
robot (its limbs, side by side) or the same body of several robots. Either way, bodies
come in *groups*: one body a lane, all of whose parents are in earlier groups.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]

EMPTY = 0  # the body of a lane that has nothing to do: the world


@dataclass(frozen=True, eq=False)
class Schedule:
    """Bodies in groups of lanes.

    Attributes:
        width: How many lanes there are.
        robots: How many robots a set of lanes holds: one, or one a lane.
        body: In each lane, :data:`EMPTY` if none, shape (groups, width).
        robot: Whose body it is, shape (groups, width).
        parent_group: Group of its parent, -1 for the world, shape (groups, width).
        parent_lane: Lane of its parent, shape (groups, width).
    """

    width: int
    robots: int
    body: Ints
    robot: Ints
    parent_group: Ints
    parent_lane: Ints

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return len(self.body)

    @property
    def aligned(self) -> NDArray[np.bool_]:
        """Whether all parents of a group are in one group and in the same lanes."""
        lanes = np.arange(self.width)
        busy = self.body != EMPTY
        same_lane = (self.parent_lane == lanes) | ~busy
        first = np.max(np.where(busy, self.parent_group, -1), axis=1, keepdims=True)
        same_group = (self.parent_group == first) | ~busy
        return (same_lane & same_group).all(axis=1)

    def place_of(self, body: int, robot: int) -> tuple[int, int]:
        """Return group and lane of a body."""
        group, lane = np.argwhere((self.body == body) & (self.robot == robot))[0]
        return int(group), int(lane)


def robots_side_by_side(parent: Ints, width: int) -> Schedule:
    """Return a schedule that works on the same body of ``width`` robots at once."""
    count = len(parent) - 1
    lanes = np.arange(width, dtype=np.int32)
    return Schedule(
        width,
        width,
        np.repeat(np.arange(1, count + 1, dtype=np.int32)[:, None], width, axis=1),
        np.tile(lanes, (count, 1)),
        np.repeat(parent[1:, None].astype(np.int32) - 1, width, axis=1),
        np.tile(lanes, (count, 1)),
    )


def limbs_side_by_side(parent: Ints, alone: NDArray[np.bool_], width: int) -> Schedule:
    """Return a schedule that works on several limbs of one robot at once.

    Bodies whose longest chain of descendants is longest go first; a body stays in its
    parent's lane where that is free, so that what it needs from there is in place.

    Args:
        parent: Body that each body hangs on, world first, shape (nbodies,).
        alone: Bodies that share no group with others, shape (nbodies,).
        width: How many lanes there are.
    """
    count = len(parent)
    height = np.zeros(count, dtype=int)
    for body in range(count - 1, 0, -1):
        height[parent[body]] = max(height[parent[body]], height[body] + 1)
    # bodies that float beside the robot come last
    for body in range(2, count):
        if parent[body] == 0:
            height[body] = -1
    place = {0: (-1, 0)}
    waiting = list(range(1, count))
    groups: list[list[int]] = []
    while waiting:
        ready = [body for body in waiting if int(parent[body]) in place]
        ready.sort(key=lambda body: (-height[body], body))
        chosen = [body for body in ready if not alone[body]][:width]
        if alone[ready[0]] or not chosen:
            chosen = [next(body for body in ready if alone[body])]
        lanes = [EMPTY] * width
        # the body that continues a lane keeps it; its siblings take what is left
        for body in sorted(chosen, key=lambda body: (-height[body], body)):
            lane = place[int(parent[body])][1]
            if lanes[lane] == EMPTY:
                lanes[lane] = body
        for body in chosen:
            if body not in lanes:
                lanes[lanes.index(EMPTY)] = body
        for lane, body in enumerate(lanes):
            if body != EMPTY:
                place[body] = (len(groups), lane)
        groups.append(lanes)
        waiting = [body for body in waiting if body not in chosen]
    bodies = np.array(groups, dtype=np.int32)
    above = np.array([[place[int(parent[b])] for b in lanes] for lanes in groups])
    return Schedule(
        width,
        1,
        bodies,
        np.zeros_like(bodies),
        above[:, :, 0].astype(np.int32),
        above[:, :, 1].astype(np.int32),
    )
