"""What a motion wants at one time: every field, between points and outside."""

from __future__ import annotations

from dataclasses import fields
from functools import cache

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from hypothesis import strategies as st

import equipoise as eq
from equipoise.arrays import Array
from equipoise.control.signals import Target
from equipoise.gait.fit import fit_walk
from equipoise.gait.lipm import LipmMotion
from equipoise.gait.motion import Motion, solve
from equipoise.gait.parameters import SUPPORTS
from equipoise.kinematics.terrain import Slope
from equipoise.robot.joint_coordinates import joint_positions

SIDES = ("left", "right")
RATES = ("velocity", "com_velocity", "com_acceleration")
SOLE_RATES = ("sole_twists", "sole_accelerations")


@cache
def turning(*, filtered: bool = True, method: str = "lipm", dt: float = 1e-3) -> Motion:
    """Return a turning walk on a slope: both soles yaw, pitch and roll."""
    robot = eq.load("mahru-1")
    ground = Slope(0.05, 0.03)
    gait = fit_walk(robot, 3, length=0.05, turn=0.2, ground=ground, method=method)
    return solve(robot, gait, dt=dt, dynamics_filter=filtered)


@pytest.fixture(
    params=[(True, "lipm"), (False, "lipm"), (True, "preview")],
    ids=["filtered", "plain", "preview"],
)
def motion(request: pytest.FixtureRequest) -> Motion:
    """The walk with and without the dynamics filter, and by preview control."""
    filtered, method = request.param
    return turning(filtered=filtered, method=method)


def arrays(target: Target) -> dict[str, Array]:
    """Return every array of a target by name, those of sides apart."""
    found = {}
    for field in fields(target):
        value = getattr(target, field.name)
        if isinstance(value, np.ndarray):
            found[field.name] = value
        elif not isinstance(value, str):
            found.update({f"{field.name} {side}": value[side] for side in SIDES})
    return found


def sampled(motion: Motion) -> dict[str, Array]:
    """Return every field at every point but the first and the last."""
    rows = [arrays(motion.sample(float(time))) for time in motion.time[1:-1]]
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def test_points_are_those_of_gait_and_joints(motion: Motion) -> None:
    """At a point every field is, exactly, what gait and solution have there."""
    table, samples = motion.gait.at(motion.time), sampled(motion)
    assert len(samples) == 15
    joints = joint_positions(motion.robot, motion.q)
    dcm = table.com + table.com_velocity / motion.gait.parameters.omega
    expected = {
        "position": joints,
        "velocity": motion.v[:, 6:],
        "torque": motion.joint_torque,
        "com": motion.com,
        "com_velocity": table.com_velocity,
        "com_acceleration": table.com_acceleration,
        "dcm": dcm,
        "zmp": table.zmp,
        "torso": table.torso,
        **{f"soles {side}": table.soles[side] for side in SIDES},
        **{f"sole_twists {side}": table.sole_twists[side] for side in SIDES},
        **{
            f"sole_accelerations {side}": table.sole_accelerations[side]
            for side in SIDES
        },
    }
    assert samples.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_array_equal(samples[name], values[1:-1], err_msg=name)
    np.testing.assert_array_equal(samples["zmp"][:, :2], motion.zmp_planned[1:-1])


@given(st.floats(0.0, 1.0), st.sampled_from([1e-3, 0.02]))
def test_between_points_it_is_linear(share: float, dt: float) -> None:
    """All but rotations; these are between their neighbours and orthonormal."""
    motion = turning(filtered=False, dt=dt)
    time = dt + share * (motion.duration - 2.0 * dt)
    k = int(time / dt)
    low, high, now = (arrays(motion.sample(at)) for at in (k * dt, (k + 1) * dt, time))
    weight = time / dt - k
    for name, values in now.items():
        mixed = (1.0 - weight) * low[name] + weight * high[name]
        if name == "torso" or name.startswith("soles"):
            turn = values[:3, :3]
            np.testing.assert_allclose(turn @ turn.T, np.eye(3), atol=1e-12)
            assert np.linalg.det(turn) > 0.0
            near = max(np.abs(high[name] - low[name]).max() ** 2, 1e-12)
            np.testing.assert_allclose(turn, mixed[:3, :3], atol=near)
            if name != "torso":
                np.testing.assert_allclose(values[:3, 3], mixed[:3, 3], atol=1e-12)
                np.testing.assert_array_equal(values[3], [0.0, 0.0, 0.0, 1.0])
        else:
            np.testing.assert_allclose(values, mixed, atol=1e-12, err_msg=name)


def test_rates_are_derivatives(motion: Motion) -> None:
    """Central differences of positions, velocities, poses and twists."""
    samples, dt = sampled(motion), motion.dt

    def slope(name: str) -> Array:
        return np.asarray((samples[name][2:] - samples[name][:-2]) / (2.0 * dt))

    def agree(name: str, differences: Array, columns: slice = slice(None)) -> None:
        values = samples[name][1:-1, columns]
        # where the next derivative jumps, by no more than the change from point to
        # point
        change = np.abs(np.diff(samples[name][:, columns], axis=0)).max()
        np.testing.assert_allclose(
            values, differences, atol=change + 1e-9, err_msg=name
        )
        spread = np.sqrt(np.mean((values - differences) ** 2))
        assert spread < 5e-3 * np.sqrt(np.mean(values**2)), name

    agree("velocity", slope("position"))
    agree("com_velocity", slope("com"))
    agree("com_acceleration", slope("com_velocity"))
    for side in SIDES:
        poses = samples[f"soles {side}"]
        turns = [
            pin.log3(last[:3, :3] @ first[:3, :3].T)
            for first, last in zip(poses[:-2], poses[2:], strict=True)
        ]
        linear = slope(f"soles {side}")[:, :3, 3]
        agree(f"sole_twists {side}", linear, slice(0, 3))
        agree(f"sole_twists {side}", np.array(turns) / (2.0 * dt), slice(3, 6))
        accelerations = slope(f"sole_twists {side}")
        agree(f"sole_accelerations {side}", accelerations[:, :3], slice(0, 3))
        agree(f"sole_accelerations {side}", accelerations[:, 3:], slice(3, 6))


def test_the_dcm_diverges_from_the_vrp() -> None:
    """Of a pendulum: ξ = c + ċ/ω and ξ̇ = ω (ξ − v), the VRP v g/ω² above the ZMP."""
    motion = turning(filtered=False)
    samples, planned = sampled(motion), motion.gait.motion
    assert isinstance(planned, LipmMotion)
    omega, height = motion.gait.parameters.omega, motion.gait.parameters.com_height
    identity = samples["com"] + samples["com_velocity"] / omega
    np.testing.assert_allclose(samples["dcm"], identity, atol=1e-15)
    vrp = samples["zmp"] + np.array([0.0, 0.0, height])
    rates = samples["com_velocity"] + samples["com_acceleration"] / omega
    np.testing.assert_allclose(rates, omega * (samples["dcm"] - vrp), atol=1e-12)
    # away from knots of the ZMP, where the second derivative of the DCM jumps
    time = motion.time[2:-2]
    smooth = np.abs(time[:, None] - planned.times).min(axis=1) > 1.1 * motion.dt
    slope = (samples["dcm"][2:] - samples["dcm"][:-2]) / (2.0 * motion.dt)
    expected = omega * (samples["dcm"] - vrp)[1:-1]
    np.testing.assert_allclose(slope[smooth], expected[smooth], atol=2e-5)


def test_the_support_is_that_of_the_phase(motion: Motion) -> None:
    """At points, between them, and just before and after each change."""
    codes = motion.gait.at(motion.time).support
    for time, code in zip(motion.time, codes, strict=True):
        assert motion.sample(float(time)).support == SUPPORTS[code]
    for phase in motion.gait.phases:
        assert motion.sample(phase.start).support == phase.support
        middle = (phase.start + phase.end) / 2.0
        assert motion.sample(middle).support == phase.support
        assert motion.sample(phase.end - 1e-9).support == phase.support


def test_outside_it_is_at_rest(motion: Motion) -> None:
    """Before and after: poses of the ends, no rates, the DCM at the CoM."""
    table = motion.gait.at(motion.time)
    for time, row in ((-1.0, 0), (0.0, 0), (motion.duration, -1), (np.inf, -1)):
        target = motion.sample(time)
        np.testing.assert_array_equal(target.position, motion.joint_position[row])
        np.testing.assert_array_equal(target.com, table.com[row])
        np.testing.assert_array_equal(target.dcm, target.com)
        np.testing.assert_array_equal(target.zmp, table.zmp[row])
        np.testing.assert_array_equal(target.torso, table.torso[row])
        assert target.support == "both"
        for name in RATES:
            assert not getattr(target, name).any()
        for side in SIDES:
            assert target.soles is not None
            np.testing.assert_array_equal(target.soles[side], table.soles[side][row])
            for name in SOLE_RATES:
                assert not getattr(target, name)[side].any()
    with pytest.raises(ValueError, match="NaN"):
        motion.sample(np.nan)


def test_targets_cannot_be_changed() -> None:
    """No array can be written to, nor does a changed mapping change the motion."""
    motion = turning()
    for time in (-1.0, 0.5, 0.5003, 1e3):
        target = motion.sample(time)
        before = {name: values.copy() for name, values in arrays(target).items()}
        for values in arrays(target).values():
            with pytest.raises(ValueError, match="read-only"):
                values[0] = 1.0
        target.soles["left"] = target.soles["right"]  # type: ignore[index]
        for name, values in arrays(motion.sample(time)).items():
            np.testing.assert_array_equal(values, before[name])


@pytest.mark.parametrize("step", [1e-4, 2e-4, 2.5e-4, 5e-4, 1e-3])
def test_time_steps_of_a_plant_meet_the_points(step: float) -> None:
    """Multiples of a plant's time step are points in spite of rounding."""
    motion = turning(filtered=False)
    every = round(motion.dt / step)
    for k in range(1, len(motion.time) - 1):
        com = motion.sample(every * k * step).com
        np.testing.assert_array_equal(com, motion.com[k])
