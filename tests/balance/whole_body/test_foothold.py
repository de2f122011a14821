"""Where and when a foot comes down, from the DCM."""

from __future__ import annotations

import math

import numpy as np
import pytest

from equipoise.balance.whole_body.foothold import Step, StepGains, choose_foothold
from equipoise.balance.whole_body.swing_path import least_times

LENGTH, OMEGA = 0.9, 3.3
RATE = math.sqrt(9.81 / LENGTH)
FOOT_SPEED = 2.4
GAINS = StepGains()


def a_step(dcm_error: tuple[float, float] = (0.0, 0.0), **changes: object) -> Step:
    """Return a step in place of the left foot whose DCM is off its plan now."""
    zmp, planned, offset = np.zeros(2), np.array([0.0, 0.2]), np.array([0.0, -0.04])
    left = 0.35
    wanted = zmp + (planned + offset - zmp) * math.exp(-OMEGA * left)
    com = np.array([0.0, 0.06])
    velocity = OMEGA * (wanted + np.asarray(dcm_error) - com)
    step = Step(
        side=1.0,
        omega=OMEGA,
        com=com,
        com_velocity=velocity,
        zmp=zmp,
        foot=np.array([0.0, 0.2]),
        foot_velocity=np.zeros(2),
        planned=planned,
        dcm_from_foothold=offset,
        time_left=left,
        swung=0.1,
        sole_middle=np.zeros(2),
        sole_half=np.array([0.1, 0.05]),
        hip_from_com=np.array([0.0, 0.1]),
        hip_height=0.75,
        leg=0.85,
    )
    return step._replace(**changes)  # type: ignore[arg-type]


def choose(step: Step, gains: StepGains = GAINS) -> tuple[np.ndarray, float]:
    """Return place and time of the foothold that is chosen."""
    found = choose_foothold(step, gains, LENGTH, RATE, FOOT_SPEED)
    return found.place, found.time


def test_a_step_on_its_plan_is_left_as_planned() -> None:
    """Without an error of the DCM, foothold and time are the planned ones."""
    step = a_step()
    place, time = choose(step)
    np.testing.assert_allclose(place, step.planned, atol=5e-3)
    assert time == pytest.approx(step.time_left, abs=0.02)


def test_small_errors_are_left_to_the_zmp() -> None:
    """An error that the ZMP takes back within the sole does not move the foothold."""
    place, _ = choose(a_step((0.03, 0.0)))
    assert place[0] == pytest.approx(0.0, abs=1e-9)


def test_the_foothold_is_where_the_dcm_will_be() -> None:
    """What the pendulum makes of an error is the foothold's shift.

    The DCM is integrated with the ZMP at the edge of the sole, step by step.
    """
    step = a_step((0.16, 0.0))
    found = choose_foothold(step, GAINS, LENGTH, RATE, FOOT_SPEED)
    dcm = step.com + step.com_velocity / OMEGA
    dt = 1e-5
    edge = np.array([GAINS.sole * step.sole_half[0], 0.0])
    for _ in range(round(found.time / dt)):
        dcm = dcm + dt * OMEGA * (dcm - edge)
    assert found.place[0] == pytest.approx(dcm[0], abs=2e-3)


def test_large_errors_make_steps_faster() -> None:
    """A step that is pushed hard ends before its time."""
    _, calm = choose(a_step())
    _, hasty = choose(a_step((0.2, 0.0)))
    assert hasty < calm


@pytest.mark.parametrize("direction", np.linspace(0.0, 2.0 * np.pi, 12))
@pytest.mark.parametrize("size", [0.1, 0.3, 1.0])
def test_feet_stay_within_reach_and_apart(direction: float, size: float) -> None:
    """Whatever the error, legs do not cross, feet do not meet, legs are long enough."""
    step = a_step((size * math.cos(direction), size * math.sin(direction)))
    found = choose_foothold(step, GAINS, LENGTH, RATE, FOOT_SPEED)
    x, y = found.place
    assert y >= 2.0 * step.sole_half[1] + GAINS.gap * LENGTH - 1e-9
    assert y <= GAINS.outward * LENGTH + 1e-9
    assert -GAINS.backward * LENGTH - 1e-9 <= x <= GAINS.forward * LENGTH + 1e-9
    assert 0.0 <= found.lower <= GAINS.lower * LENGTH
    assert found.time >= GAINS.shortest / RATE - step.swung - 1e-9


def test_left_and_right_are_mirror_images() -> None:
    """A step of the right foot is the mirrored one of the left."""
    step = a_step((0.1, 0.12))
    mirror = np.array([1.0, -1.0])
    names = (
        "com",
        "com_velocity",
        "zmp",
        "foot",
        "planned",
        "dcm_from_foothold",
        "sole_middle",
        "hip_from_com",
    )
    other = step._replace(
        side=-1.0, **{name: mirror * getattr(step, name) for name in names}
    )
    place, time = choose(step)
    mirrored, same = choose(other)
    np.testing.assert_allclose(mirrored, mirror * place, atol=1e-12)
    assert same == pytest.approx(time)


def test_a_foot_that_is_needed_at_once_does_not_go_ahead() -> None:
    """Pushed towards the stance foot, a foot that is behind comes down earlier.

    It would need longer to its planned foothold ahead than the DCM leaves.
    """
    behind, ahead = np.array([-0.25, 0.2]), np.array([0.2, 0.2])
    step = a_step((0.05, -0.16), foot=behind, planned=ahead)
    place, time = choose(step)
    least = least_times(
        np.array([place - behind, [ahead[0] - behind[0], place[1] - behind[1]]]),
        np.zeros(2),
        np.full(2, time),
        FOOT_SPEED,
        GAINS.acceleration * RATE**2 * LENGTH,
    )
    assert place[0] < ahead[0] - 0.1
    assert least[0] < 1.2 * time < least[1]
