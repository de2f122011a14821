"""Plans for every robot: defaults that fit, legs that reach, errors that say why."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest

import equipoise as eq
from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.gait.com_plan import headroom, leg_reaches
from equipoise.gait.footsteps import Footstep, Footsteps
from equipoise.gait.gait import Gait
from equipoise.gait.plan import plan_walk
from equipoise.gait.walks import standing_feet
from equipoise.kinematics.stance import find_stance
from equipoise.kinematics.terrain import Slope, Stairs, rough


def worst_stance(robot: eq.Robot, gait: Gait, count: int = 25) -> float:
    """Return how far off the nearest posture is, at its worst [m or rad]."""
    legs = [name for leg in robot.legs.values() for name in leg.joints]
    table = gait.at(np.linspace(0.0, gait.duration, count))
    q: Array = np.array(robot.standing)
    worst = 0.0
    for k in range(count):
        soles = {side: table.soles[side][k] for side in table.soles}
        found = find_stance(robot, q, soles, table.com[k], legs)
        q, worst = found.q, max(worst, found.error)
    return worst


def test_every_robot_gets_a_plan(robot: eq.Robot) -> None:
    """Six steps, at rest at both ends, feet together, ZMP well inside the soles."""
    gait = plan_walk(robot)
    numbers = gait.parameters
    assert len(gait.footsteps.steps) == numbers.steps == 6
    ends = gait.footsteps.feet_at_end
    assert ends["left"].x - ends["right"].x == pytest.approx(0.0, abs=1e-3)
    assert ends["left"].x == pytest.approx(5 * numbers.length, abs=1e-3)
    table = gait.at(np.linspace(0.0, gait.duration, 500))
    np.testing.assert_allclose(table.com_velocity[[0, -1]], 0.0, atol=1e-12)
    soles = [sole.polygon_in_sole for sole in robot.soles.values()]
    if min(len(sole) for sole in soles) > 2:
        smallest = min(min(sole.size) for sole in robot.soles.values())
        margin = gait.zmp_margin(table.time)
        assert margin.min() > 0.35 * smallest


def test_legs_reach_all_of_a_default_walk(robot: eq.Robot) -> None:
    """A posture within joint limits exists at every time, where legs have 6 joints."""
    if min(len(leg.joints) for leg in robot.legs.values()) < 6:
        pytest.skip("its legs cannot hold a sole's pose")
    assert worst_stance(robot, plan_walk(robot)) < 1e-9
    assert worst_stance(robot, plan_walk(robot, 3, length=0.0, turn=0.2)) < 1e-9


def test_defaults_of_the_g1(g1_urdf: str) -> None:
    """A G1 steps by 0.15 m in 0.8 s, with bent knees."""
    robot = eq.load(g1_urdf)
    gait = plan_walk(robot)
    assert gait.parameters.length == pytest.approx(0.15, abs=0.01)
    assert gait.parameters.step_time == pytest.approx(0.8, abs=0.02)
    standing = float(eq.com(robot, robot.standing)[2])
    assert 0.9 * standing < gait.parameters.com_height < standing
    room, _ = headroom(gait, leg_reaches(robot), 0.97)
    assert 0.0 <= room < 0.002


@pytest.mark.parametrize("method", ["lipm", "preview"])
@pytest.mark.parametrize(
    "walk",
    [
        {"length": -0.1},
        {"length": 0.0, "sideways": 0.08},
        {"turn": 0.25, "first": "left"},
        {"length": 0.05, "sideways": -0.05, "turn": -0.1},
        {"height": 0.03},
        {"ground": Slope(0.08, -0.05)},
        {"ground": rough(0.02, 3)},
        {"double_support": 0.05, "hold": 0.0},
    ],
    ids=str,
)
def test_other_walks(walk: dict[str, object], method: str) -> None:
    """Backward, sideways, turning, rising, sloping and rough: within reach too."""
    robot = eq.load("mahru-1")
    gait = plan_walk(robot, 5, method=method, **walk)  # type: ignore[arg-type]
    assert gait.zmp_margin(np.linspace(0.0, gait.duration, 300)).min() > 0.05
    assert worst_stance(robot, gait, 15) < 1e-9


@pytest.mark.parametrize("rise", [0.08, -0.08])
def test_stairs(rise: float) -> None:
    """Up and down stairs: soles on treads, swing feet never inside a step."""
    robot = eq.load("mahru-1")
    ground = Stairs(rise, 0.32, 3, 0.4)
    gait = plan_walk(robot, ground=ground)
    assert gait.footsteps.feet_at_end["left"].z == pytest.approx(3 * rise)
    assert worst_stance(robot, gait) < 1e-9
    table = gait.at(np.linspace(0.0, gait.duration, 2000))
    for side, polygon in gait.polygons.items():
        flat = np.hstack([polygon, np.zeros((4, 1)), np.ones((4, 1))])
        corners = flat @ np.swapaxes(table.soles[side], 1, 2)
        gaps = corners[..., 2] - ground.height(corners[..., 0], corners[..., 1])
        assert gaps.min() > -1e-9


def test_the_papers_walk() -> None:
    """ITU Biped, six steps of 0.3 m, 0.075 m high: Table 4 of [Sanliturk2024]."""
    robot = eq.load("itu-biped")
    gait = plan_walk(robot, 6, length=0.3, clearance=0.075, com_height=0.45)
    assert gait.parameters.com_height == 0.45
    assert worst_stance(robot, gait) < 1e-9
    feet = [gait.footsteps.strides[0].support, *gait.footsteps.steps]
    np.testing.assert_allclose(np.diff([foot.x for foot in feet])[:5], 0.3)


def test_plans_are_repeatable() -> None:
    """The same input gives the same bytes, also through pickle and copy."""
    robot = eq.load("humanoid")
    times = np.linspace(-1.0, 10.0, 333)
    first = plan_walk(robot, turn=0.1)
    tables = [
        gait.at(times)
        for gait in (
            first,
            plan_walk(robot, turn=0.1),
            pickle.loads(pickle.dumps(first)),
            copy.deepcopy(first),
        )
    ]
    for table in tables[1:]:
        assert table.com.tobytes() == tables[0].com.tobytes()
        assert table.soles["left"].tobytes() == tables[0].soles["left"].tobytes()


def test_parameters_print_with_their_origins() -> None:
    """Every number has a unit and says where it came from."""
    text = str(plan_walk(eq.load("itu-biped"), step_time=0.9).parameters)
    assert "length              0.179 m     0.2 of the leg length, 0.897 m" in text
    assert "step_time             0.9 s     given" in text
    assert "com_height" in text


@pytest.mark.parametrize(
    ("wishes", "message"),
    [
        ({"length": 1.0}, r"step \d .*longer than the legs of itu-biped allow"),
        ({"length": 5.0}, r"step \d .*seen from above, hip and ankle"),
        ({"height": 0.5}, r"step \d .*m high\) is longer than the legs"),
        ({"com_height": 0.9}, r"com_height is 0.9 m, above .*step \d .*at most 0\.\d"),
        ({"com_height": 0.0}, "com_height is 0 m; it must be more than"),
        ({"step_time": 0.0}, "step_time is 0 s"),
        ({"step_time": -0.5}, "step_time is -0.5 s"),
        ({"double_support": 1.2}, "double_support is 1.2"),
        ({"clearance": -0.1}, "clearance is -0.1 m"),
        ({"length": math.nan}, "length is nan"),
        ({"turn": math.inf}, "turn is inf"),
        ({"length": "far"}, "length is 'far'; it must be a number"),
        ({"steps": 0}, "a walk of 0 steps"),
        ({"width": 0.065}, r"step 1: the right foot would come onto the other one"),
        ({"turn": 1.5}, r"step \d: the \w+ foot would come onto the other"),
        ({"first": "middle"}, "unknown foot 'middle'"),
        ({"method": "lipn"}, r"unknown method 'lipn' \(did you mean 'lipm'\?\)"),
        ({"zmp_inward": 0.1}, "zmp_inward is 0.1 m, which is 0.040 m outside"),
        ({"method": "preview", "double_support": 0.0}, "double_support is too short"),
        ({"start_time": 0.1}, "the ZMP would be .* outside of the soles"),
        ({"ground": Stairs(0.05, 5.0, 1, 0.4).height}, r"step 2 \(left foot\).*edge"),
    ],
    ids=str,
)
def test_bad_input_is_named(wishes: dict[str, object], message: str) -> None:
    """One line names the step or the figure, and the limit."""
    with pytest.raises(EquipoiseError, match=message) as caught:
        plan_walk(eq.load("itu-biped"), **wishes)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_crossing_feet_are_refused() -> None:
    """A left foot put down to the right of the right one."""
    robot = eq.load("itu-biped")
    feet = standing_feet(robot)
    steps = (Footstep("left", 0.5, -0.14),)
    crossed = Footsteps(feet["left"], feet["right"], steps)
    with pytest.raises(EquipoiseError, match=r"step 1: the feet would cross"):
        plan_walk(robot, footsteps=crossed)


def test_a_robot_without_soles_is_refused() -> None:
    """Planning needs soles."""
    robot = eq.load("itu-biped")
    bare = copy.copy(robot)
    object.__setattr__(bare, "soles", {})
    with pytest.raises(EquipoiseError, match="has no sole 'left'"):
        plan_walk(bare)
