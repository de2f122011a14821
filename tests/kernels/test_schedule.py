from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import equipoise as eq
from equipoise.kernels.schedule import (
    EMPTY,
    Schedule,
    limbs_side_by_side,
    robots_side_by_side,
)
from equipoise.kinematics.batch import tree_arrays


def check(schedule: Schedule, parent: np.ndarray, alone: np.ndarray) -> None:
    """Every body has one place, later than its parent's, which is said rightly."""
    count = len(parent) - 1
    for robot in range(schedule.robots):
        own = (schedule.robot == robot) & (schedule.body != EMPTY)
        assert sorted(schedule.body[own]) == list(range(1, count + 1))
    for group, lane in np.argwhere(schedule.body != EMPTY):
        body, robot = schedule.body[group, lane], schedule.robot[group, lane]
        assert schedule.place_of(body, robot) == (group, lane)
        above = int(parent[body])
        if above == 0:
            assert schedule.parent_group[group, lane] == -1
            continue
        place = schedule.place_of(above, robot)
        assert place == (
            schedule.parent_group[group, lane],
            schedule.parent_lane[group, lane],
        )
        assert place[0] < group
    if schedule.robots == 1:
        for lanes in schedule.body:
            busy = lanes[lanes != EMPTY]
            assert len(busy) > 0
            assert len(busy) == 1 or not alone[busy].any()


@st.composite
def trees(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Draw parents of a robot's bodies and of boxes beside it, and which are free."""
    count = draw(st.integers(1, 30))
    boxes = draw(st.integers(0, 3))
    parent = [0, 0]
    for body in range(2, count + 1):
        parent.append(draw(st.integers(1, body - 1)))
    parent += [0] * boxes
    alone = np.array([True, True] + [False] * (count - 1) + [True] * boxes)
    return np.array(parent, dtype=np.int32), alone


@given(trees(), st.sampled_from([1, 2, 4, 8]))
def test_limbs_have_their_places(tree: tuple, width: int) -> None:
    """Whatever the tree, each body comes once and after its parent."""
    parent, alone = tree
    schedule = limbs_side_by_side(parent, alone, width)
    check(schedule, parent, alone)
    # the base comes first and boxes last
    assert schedule.place_of(1, 0) == (0, 0)
    boxes = [b for b in range(2, len(parent)) if parent[b] == 0]
    last = schedule.groups - len(boxes)
    assert sorted(schedule.body[last:].max(axis=1)) == boxes


@given(trees(), st.sampled_from([1, 2, 4, 8]))
def test_robots_have_their_places(tree: tuple, width: int) -> None:
    """With a robot a lane, parents are always in the same lane."""
    parent, alone = tree
    schedule = robots_side_by_side(parent, width)
    check(schedule, parent, alone)
    assert schedule.aligned.all()


def test_lanes_are_used(robot: eq.Robot) -> None:
    """No more groups than the longest chain and the number of lanes ask for, nearly."""
    parent = np.array(tree_arrays(robot).parent)
    alone = np.arange(len(parent)) <= 1
    depth = np.zeros(len(parent), dtype=int)
    for body in range(1, len(parent)):
        depth[body] = depth[parent[body]] + 1
    for width in (1, 2, 4, 8):
        schedule = limbs_side_by_side(parent, alone, width)
        check(schedule, parent, alone)
        least = max(depth.max(), 1 + -(-(len(parent) - 2) // width))
        print(f"{robot.name}: {schedule.groups} groups of {width}, at least {least}")
        assert schedule.groups <= least + 2


@pytest.mark.parametrize("width", [1, 4])
def test_one_body(width: int) -> None:
    """A robot of one link has one group."""
    schedule = limbs_side_by_side(np.zeros(2, np.int32), np.ones(2, bool), width)
    assert schedule.groups == 1
    assert schedule.aligned.shape == (1,)
