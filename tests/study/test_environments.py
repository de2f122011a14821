"""Gymnasium environments over fleets, and a policy that learns in one."""

from __future__ import annotations

import subprocess
import sys
import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
import warp as wp
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers.vector import NormalizeObservation, RecordEpisodeStatistics

import equipoise as eq
from benchmarks.ppo import Network, train
from benchmarks.train_policy import falls
from equipoise.errors import EquipoiseError, NameNotFoundError
from equipoise.kinematics.stance import sole_pose
from equipoise.simulation.push import theoretical_limit
from equipoise.study.environments import (
    ID,
    BalanceEnv,
    FleetEnv,
    ObservationNoise,
    Randomisation,
)

ROBOT = "itu-biped"
# Three sets of lanes, the last one not full.
COUNT = 9


def make(**options: Any) -> FleetEnv:
    """Return a small environment of pushes that are hard to survive."""
    return FleetEnv(
        ROBOT, **{"num_envs": COUNT, "dt": 2e-3, "impulse": (0.6, 0.9), **options}
    )


def zeros(env: FleetEnv) -> Any:
    """Return actions of servos alone."""
    return np.zeros(env.action_space.shape, np.float32)


def test_gymnasium_accepts_the_environment() -> None:
    """Gymnasium's own checker passes without a warning, made by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gymnasium.make(ID, robot=ROBOT, dt=2e-3)
        assert isinstance(env.unwrapped, BalanceEnv)
        check_env(env.unwrapped)
        env.close()


def test_fleets_are_made_by_name() -> None:
    """``make_vec`` makes one fleet, not many environments, and says how it resets."""
    env = gymnasium.make_vec(ID, num_envs=3, robot=ROBOT, dt=2e-3)
    assert isinstance(env, FleetEnv)
    assert env.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    assert env.observation_space.shape == (3, 6 + 2 * 12 + 2 + 12)
    assert env.action_space.shape == (3, 12)
    env.reset()
    env.close()
    with pytest.raises(EquipoiseError, match="closed"):
        env.step(zeros(env))


def roll(env: FleetEnv, seed: int, periods: int) -> list[Any]:
    """Return all that random actions bring, for the same seed the same."""
    first, _ = env.reset(seed=seed)
    env.action_space.seed(seed)
    found = [first]
    for _ in range(periods):
        observation, reward, fell, late, info = env.step(env.action_space.sample())
        assert observation in env.observation_space
        final = info.get("final_obs", np.zeros(0))
        found += [observation, reward, fell, late, [x for x in final if x is not None]]
    return found


def test_seeds_repeat_everything() -> None:
    """The same seed brings the same bits, with noise and robots that differ."""
    options = {"randomisation": Randomisation(), "noise": ObservationNoise()}
    env = make(seconds=1.0, **options)
    once, again, other = (roll(env, seed, 60) for seed in (7, 7, 8))
    for left, right in zip(once, again, strict=True):
        assert np.array_equal(np.array(left), np.array(right))
    assert not np.array_equal(once[0], other[0])
    anew = roll(make(seconds=1.0, **options), 7, 60)
    assert np.array_equal(once[-5], anew[-5])


def test_episodes_end_by_falls_and_by_time() -> None:
    """Who falls is terminated, whose time is over truncated; both begin anew at once.

    ``final_obs`` is the end of the episode, the observation the start of the next.
    """
    env = make(seconds=2.0)
    first, _ = env.reset(seed=3)
    fell_ever, late_ever = np.zeros(COUNT, bool), np.zeros(COUNT, bool)
    for _ in range(100):
        observation, reward, fell, late, info = env.step(zeros(env))
        assert not (fell & late).any()
        assert (reward[fell] == 0.0).all()
        ended = fell | late
        if not ended.any():
            assert info == {}
            continue
        assert (info["_final_obs"] == ended).all()
        for robot in np.flatnonzero(ended):
            assert np.abs(info["final_obs"][robot] - observation[robot]).max() > 0.01
            assert np.array_equal(observation[robot], first[robot])
        assert (env.device_state.steps.numpy()[ended] == 0).all()
        fell_ever |= fell
        late_ever |= late
    assert fell_ever.any()
    assert late_ever.any()


def test_episodes_begin_instead_of_the_next_step() -> None:
    """``NEXT_STEP``: the same episodes as ``SAME_STEP``, with a step between them.

    In that step nothing is rewarded, and the observation is the first of the next.
    """
    at_once = make(seconds=1.0)
    later = make(seconds=1.0, autoreset=AutoresetMode.NEXT_STEP)
    episodes: list[list[list[Any]]] = []
    for env in (at_once, later):
        first, _ = env.reset(seed=3)
        running, done = [[] for _ in range(COUNT)], [[] for _ in range(COUNT)]
        begins = np.zeros(COUNT, bool)
        for _ in range(120):
            seen, reward, fell, late, _ = env.step(zeros(env))
            for robot in range(COUNT):
                if env is later and begins[robot]:
                    assert np.array_equal(seen[robot], first[robot])
                    assert reward[robot] == 0.0
                    assert not (fell | late)[robot]
                    continue
                running[robot].append((reward[robot], fell[robot], late[robot]))
                if (fell | late)[robot]:
                    if env is later:
                        assert np.abs(seen[robot] - first[robot]).max() > 0.01
                    done[robot].append(running[robot])
                    running[robot] = []
            begins = (fell | late) & ~begins
        episodes.append(done)
    for here, there in zip(*episodes, strict=True):
        assert len(there) >= 2
        assert here[: len(there)] == there[: len(here)]


def test_gymnasiums_wrappers_take_the_fleet() -> None:
    """Those of observations, and statistics of episodes."""
    env = make(seconds=1.0, autoreset=AutoresetMode.NEXT_STEP)
    wrapped = NormalizeObservation(RecordEpisodeStatistics(env))
    wrapped.reset(seed=0)
    lengths = [
        wrapped.step(zeros(env))[4].get("episode", {"l": np.zeros(1)})["l"].max()
        for _ in range(51)
    ]
    assert max(lengths) == 50


def test_reset_of_some_leaves_the_others() -> None:
    """With a mask the others go on, and their episodes end when they would have."""
    env = make(pushes=0)
    env.reset(seed=0)
    for _ in range(5):
        env.step(env.action_space.sample())
    before = env.device_state.q.numpy().copy()
    mask = np.arange(COUNT) % 2 == 0
    env.reset(options={"reset_mask": mask})
    after = env.device_state.q.numpy()
    assert (after[~mask] == before[~mask]).all()
    assert (after[mask] != before[mask]).any(axis=1).all()
    steps = env.device_state.steps.numpy()
    assert (steps == np.where(mask, 0, 50)).all()
    with pytest.raises(EquipoiseError, match="reset_mask has shape"):
        env.reset(options={"reset_mask": mask[:2]})


def test_observation_is_what_the_robot_knows() -> None:
    """Each number against the state, the forces and the action it is made of."""
    env = make(seconds=1.0)
    env.reset(seed=1)
    action = 0.3 * env.action_space.sample()
    for _ in range(20):
        seen, *_ = env.step(action)
    state, task = env.device_state, env.task
    robot = task.world.robot
    by_name = dict(zip(env.observation_names, seen[4], strict=True))
    q, v = state.q.numpy()[4], state.v.numpy()[4]
    down = -np.asarray(eq.frame_pose(robot, q, robot.description.root))[2, :3]
    assert [by_name[f"gravity_{a}"] for a in "xyz"] == pytest.approx(down, abs=1e-6)
    assert [by_name[f"gyro_{a}"] for a in "xyz"] == pytest.approx(v[3:6], rel=1e-5)
    moved = eq.joint_positions(robot, q) - task.posture
    assert by_name["left_knee.position"] == pytest.approx(moved[3], rel=1e-4, abs=1e-6)
    assert by_name["left_knee.velocity"] == pytest.approx(v[9], rel=1e-4, abs=1e-6)
    force = state.contact_force.numpy()[4, :, 2]
    left = [point.side == "left" for point in task.world.contacts]
    load = force[left].sum() / (robot.mass * task.world.gravity)
    assert by_name["left_load"] == pytest.approx(load, rel=1e-5)
    assert seen[4, -12:] == pytest.approx(action[4])


def test_robots_begin_at_rest_on_loaded_feet() -> None:
    """They have settled: no speed, the weight on both feet."""
    env = make()
    seen, _ = env.reset(seed=0)
    names = list(env.observation_names)
    loads = seen[:, names.index("left_load")] + seen[:, names.index("right_load")]
    assert loads == pytest.approx(1.0, abs=0.01)
    assert np.abs(env.device_state.v.numpy()).max() < 0.01


def test_pushes_are_fractions_of_the_pendulums_limit() -> None:
    """Impulses are within the range of J* in their direction, drawn anew at a reset.

    They come in the first half of their part of the episode, from all around.
    """
    env = make(impulse=(0.2, 0.4), seconds=4.0, pushes=2, num_envs=6)
    drawn = []
    for _ in range(20):
        env.reset()
        force, window, copies = env.task.fleet.push_arrays
        # [block, push × robots side by side + lane, 0] becomes [robot, push]
        rows = [
            np.swapaxes(own.numpy().reshape(-1, 2, copies, 3), 1, 2).reshape(-1, 2, 3)
            for own in (force, window)
        ]
        drawn.append(np.concatenate(rows, axis=2)[:6])
    pushes = np.array(drawn)
    x, y, z, start, end, _ = np.moveaxis(pushes, -1, 0)
    angle = np.arctan2(y, x)
    limit = np.vectorize(
        lambda at: theoretical_limit(env.task.world, at, 0.1, env.task.stance)
    )(angle)
    fraction = 0.1 * np.hypot(x, y) / limit
    assert fraction.min() == pytest.approx(0.2, abs=0.01)
    assert fraction.max() == pytest.approx(0.4, abs=0.01)
    assert (z == 0.0).all()
    assert end - start == pytest.approx(0.1)
    for part in (0, 1):
        assert (start[..., part] >= 2.0 * part).all()
        assert (start[..., part] <= 2.0 * part + 1.0).all()
    eighths = np.floor(angle / (0.25 * np.pi)) % 8
    assert len(np.unique(eighths)) == 8
    assert len(np.unique(fraction)) > 200


def test_base_actions_leave_the_soles_in_place() -> None:
    """Six actions move the base; the soles stay, to second order of the action."""
    env = make(actions="base", pushes=0)
    robot, task = env.task.world.robot, env.task
    offset = task.learners.struct.offset.numpy()
    assert env.action_names[:3] == ("base_x", "base_y", "base_z")
    for row in 0.01 * offset:
        q = task.stance.copy()
        q[7:] += row
        between = [
            np.linalg.inv(sole_pose(robot, at, "left")) @ sole_pose(robot, at, "right")
            for at in (task.stance, q)
        ]
        assert np.abs(between[1] - between[0]).max() < 1e-3 * np.abs(row).max()


def test_an_action_of_one_is_a_servos_largest_torque() -> None:
    """At rest, the offset times the stiffness is the limit of the torque."""
    env = make(pushes=0)
    world = env.task.world
    offset = env.task.learners.struct.offset.numpy()
    joints = np.argmax(offset, axis=1)
    torque = offset.max(axis=1) * world.actuation.stiffness[joints]
    assert torque == pytest.approx(world.actuation.torque_limit[joints])


def test_steps_on_the_device_are_those_of_the_host() -> None:
    """Arrays with ``__dlpack__`` in and out, the same bits, falls and resets too."""
    hosted, other = make(seconds=1.0), make(seconds=1.0)
    for env in (hosted, other):
        env.reset(seed=2)
    rng, ended = np.random.default_rng(0), 0
    for _ in range(60):
        actions = rng.uniform(-1, 1, hosted.action_space.shape).astype(np.float32)
        seen, reward, fell, late, _ = hosted.step(actions)
        on_device = wp.array(actions, dtype=wp.float32, device="cpu")
        told = other.step_on_device(on_device)
        assert (np.from_dlpack(told.observation) == seen).all()
        assert (np.from_dlpack(told.reward) == reward.astype(np.float32)).all()
        assert (told.terminated.numpy() == fell).all()
        assert (told.truncated.numpy() == late).all()
        ended += int((fell | late).sum())
    assert ended > COUNT // 2
    with pytest.raises(EquipoiseError, match="float32"):
        other.step_on_device(wp.zeros((COUNT, 3), dtype=wp.float32, device="cpu"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"impulse": (0.8, 0.5)}, "impulse is from 0.8 to 0.5"),
        ({"pushes": -1}, "-1 pushes"),
        ({"seconds": 0.1}, "episodes of 0.1 s"),
        ({"action_scale": 0.0}, "action_scale is 0"),
        ({"actions": []}, "none is given"),
        ({"num_envs": 0}, "at least one"),
        ({"control_period": 0.0011}, "control period"),
    ],
)
def test_bad_options_are_named(options: dict[str, Any], message: str) -> None:
    """One clear line says what is wrong."""
    with pytest.raises(EquipoiseError, match=message):
        make(**options)


def test_robots_that_do_not_stand_are_refused() -> None:
    """Soft servos of robots heavier than modelled give way before any push."""
    differ = Randomisation(mass=0.3)
    with pytest.raises(EquipoiseError, match="robots do not stand still before they"):
        FleetEnv("humanoid", 8, bandwidth=0.4, randomisation=differ, dt=2e-3)


def test_bad_joints_and_actions_are_named() -> None:
    """Unknown joints, and actions that are none."""
    with pytest.raises(NameNotFoundError, match="left_knee"):
        make(actions=["left_kne"])
    env = make(actions=["left_knee", "right_knee"])
    with pytest.raises(EquipoiseError, match="reset the environment"):
        env.step(zeros(env))
    env.reset()
    with pytest.raises(EquipoiseError, match="actions have shape"):
        env.step(np.zeros((COUNT, 3)))
    with pytest.raises(EquipoiseError, match="NaN"):
        env.step(np.full((COUNT, 2), np.nan))


def test_without_gymnasium_a_line_says_what_to_install() -> None:
    """The module cannot be imported, and says why."""
    program = (
        "import sys; sys.modules['gymnasium'] = None\n"
        "from equipoise.errors import EquipoiseError\n"
        "try:\n"
        "    import equipoise.study.environments\n"
        "except EquipoiseError as error:\n"
        "    print(error)\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert "pip install 'equipoise[train]'" in found.stdout


def test_gradient_of_the_network() -> None:
    """As by finite differences."""
    rng = np.random.default_rng(0)
    network = Network((3, 5, 4, 2), rng)
    network.parameters = [rng.standard_normal(own.shape) for own in network.parameters]
    rows, weights = rng.standard_normal((6, 3)), rng.standard_normal((6, 2))
    found = network.gradient(network.layers(rows), weights)
    for own, gradient in zip(network.parameters, found, strict=True):
        at = tuple(size // 2 for size in own.shape)
        losses = []
        for step in (1e-6, -2e-6):
            own[at] += step
            losses.append((weights * network.layers(rows)[-1]).sum())
        own[at] += 1e-6
        assert gradient[at] == pytest.approx((losses[0] - losses[1]) / 2e-6, rel=1e-6)


def test_a_policy_learns_to_stand() -> None:
    """Twelve iterations spare a quarter of the falls, under pushes that it never saw.

    Servos so soft let more than half of the robots fall; benchmarks.train_policy goes
    on from here.
    """
    soft = {"bandwidth": 0.45, "impulse": (0.3, 0.4), "action_scale": 0.5}
    env = make(num_envs=192, seconds=2.0, **soft)
    policy = train(env, 12, seed=0)
    held_out = make(num_envs=128, seconds=3.0, **soft)
    alone = falls(held_out, None, seed=9).sum()
    trained = falls(held_out, policy, seed=9).sum()
    assert alone > 64
    assert trained < 0.75 * alone
