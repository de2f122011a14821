"""Gymnasium environments: robots that stand, are pushed, and learn to balance.

Importing this module registers ``"equipoise/Balance-v0"``: one robot with
``gymnasium.make``, a fleet of them with ``gymnasium.make_vec``.

An action offsets the targets of the servos by what they can do; zero is the posture
held by servos alone. An observation is what a robot can know, in this order:

1. direction of gravity in the base's axes (3);
2. angular velocity in the base's axes [rad/s] (3);
3. positions of the joints, less their posture [rad or m] (nv - 6);
4. velocities of the joints [rad/s or m/s] (nv - 6);
5. vertical force on the left and the right foot, over the weight (2);
6. the last action.

The reward of a control period is ``1 - min(|c - c₀| / d, 1) - 0.05 · mean(a²)``: c is
the CoM on the ground and c₀ where it was at the start, d the distance from there to the
nearest edge of the support polygon, a the action. A fall is rewarded with 0 and ends
the episode (``terminated``); so does time (``truncated``).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.errors import EquipoiseError, ShapeError
from equipoise.robot.load import load
from equipoise.robot.model import Robot
from equipoise.simulation.fleet_states import FleetState
from equipoise.simulation.variation import Variation
from equipoise.simulation.world import World
from equipoise.study.balance_task import (
    Actions,
    BalanceTask,
    ObservationNoise,
    Randomisation,
)

try:
    import gymnasium
    from gymnasium.spaces import Box
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space
except ImportError as error:
    raise EquipoiseError(
        "environments for training need Gymnasium: pip install 'equipoise[train]'"
    ) from error

ID = "equipoise/Balance-v0"
# As kernels number them.
AUTORESET = (AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP, AutoresetMode.DISABLED)
# Seeds of the device's random numbers.
LARGEST_SEED = 2**31

Floats32 = NDArray[np.float32]
Bools = NDArray[np.bool_]


class DeviceStep(NamedTuple):
    """What a step returns, as arrays on the device, overwritten by the next.

    They are ``warp.array`` and have ``__dlpack__``.

    Attributes:
        observation: ``float32``, shape (n, numbers); where an episode ended, the first
            of the next one.
        reward: ``float32``, shape (n,).
        terminated: Who fell, ``bool``, shape (n,).
        truncated: Whose time was over, ``bool``, shape (n,).
        final_observation: The last of each episode that ended, shape (n, numbers).
    """

    observation: Any
    reward: Any
    terminated: Any
    truncated: Any
    final_observation: Any


class FleetEnv(VectorEnv[Floats32, Floats32, NDArray[Any]]):
    """Many robots that stand, are pushed, and learn to balance.

    Where an episode ends, the robot begins a new one with other pushes: in the same
    step (``AutoresetMode.SAME_STEP``; ``info["final_obs"]`` has the observation that it
    ended with), instead of its next step, or when ``reset`` is called.

    Attributes:
        task: The robots and their episodes.
        observation_names: What each number of an observation is.
        action_names: What each number of an action is.
    """

    def __init__(
        self,
        robot: str | Robot | World = "humanoid",
        num_envs: int = 64,
        *,
        seconds: float = 4.0,
        control_period: float = 0.02,
        actions: Actions = "legs",
        action_scale: float = 1.0,
        bandwidth: float | None = None,
        impulse: tuple[float, float] = (0.5, 0.8),
        pushes: int = 1,
        randomisation: Randomisation | Variation | None = None,
        noise: ObservationNoise | None = None,
        seed: int = 0,
        dt: float = 1e-3,
        device: str = "cpu",
        dtype: Any = np.float64,
        threads: int = 1,
        autoreset: AutoresetMode = AutoresetMode.SAME_STEP,
    ) -> None:
        """Let robots settle on their feet.

        Args:
            robot: Name or file of a biped, or the robot, or the robot in its world.
            num_envs: How many robots.
            seconds: Longest episode [s].
            control_period: For which an action holds [s].
            actions: ``"legs"``: an offset for each joint of the legs; ``"base"``: six
                that move the base against the soles, along x, y, z [m] and about them
                [rad]; or names of joints.
            action_scale: Offset of an action of one, over that at which a servo gives
                its largest torque; never beyond a joint's stops.
            bandwidth: Bandwidth of the legs' servos in stance [Hz], that of
                :func:`~equipoise.simulation.actuation.stance_bandwidth` unless given.
            impulse: Least and largest impulse of a push, over J* of the pendulum in its
                direction (:func:`~equipoise.simulation.push.theoretical_limit`).
            pushes: Pushes of the torso in an episode, each in any direction, for a
                tenth of a second, from a time in the first half of its own part of the
                episode.
            randomisation: How the robots differ from the model: drawn once, here; or a
                variation for so many robots.
            noise: Noise of what is observed, none unless given.
            seed: Of the randomisation.
            dt: Time step [s].
            device: ``"cpu"``, ``"cuda"`` or ``"cuda:1"``.
            dtype: ``float64`` or ``float32``.
            threads: Threads of the CPU.
            autoreset: When robots whose episode ended begin anew. Gymnasium's wrappers
                of observations want ``NEXT_STEP``, which costs a control period.

        Raises:
            EquipoiseError: If the robot does not stand or an argument is impossible.
        """
        loaded = load(robot) if isinstance(robot, str) else robot
        self.task = task = BalanceTask(
            loaded,
            num_envs,
            seconds=seconds,
            control_period=control_period,
            actions=actions,
            action_scale=action_scale,
            bandwidth=bandwidth,
            impulse=impulse,
            pushes=pushes,
            randomisation=randomisation,
            noise=noise,
            seed=seed,
            dt=dt,
            device=device,
            dtype=dtype,
            threads=threads,
            autoreset=AUTORESET.index(autoreset),
        )
        self.num_envs = num_envs
        self.metadata = {
            "autoreset_mode": autoreset,
            "render_modes": [],
            "render_fps": round(1.0 / control_period),
        }
        self.observation_names, self.action_names = task.names, task.actions
        self.single_observation_space = Box(task.low, task.high, dtype=np.float32)
        size = len(task.actions)
        self.single_action_space = Box(-1.0, 1.0, (size,), dtype=np.float32)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._is_reset = False

    @property
    def device_state(self) -> FleetState:
        """States of the robots now, on the device: always the same arrays."""
        return self.task.fleet.state

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Floats32, dict[str, Any]]:
        """Begin new episodes, of all robots or of some.

        Args:
            seed: Of pushes and noise; they go on where they were unless given.
            options: ``{"reset_mask": mask}`` for some robots, ``bool`` of shape (n,).
        """
        super().reset(seed=seed)
        mask = np.ones(self.num_envs, dtype=bool)
        if options and "reset_mask" in options:
            mask = np.asarray(options["reset_mask"])
            if mask.shape != (self.num_envs,) or mask.dtype != np.bool_:
                raise ShapeError(
                    f"reset_mask has shape {mask.shape} and type {mask.dtype}; "
                    f"({self.num_envs},) and bool are needed"
                )
        if seed is not None or not self._is_reset:
            self.task.learners.seed(int(self.np_random.integers(LARGEST_SEED)))
        if not self._is_reset:
            mask = np.ones(self.num_envs, dtype=bool)
        self._is_reset = True
        self.task.begin(mask)
        return self.task.observation(), {}

    def step(
        self, actions: Any
    ) -> tuple[Floats32, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Let actions hold for a control period.

        Args:
            actions: Within [-1, 1], shape (n, actions).
        """
        told = self._step(_checked_actions(actions, self.action_space.shape))
        ended = self.task.beginning()
        info: dict[str, Any] = {}
        at_once = self.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
        if at_once and ended.any():
            final = told.final_observation.numpy()
            last = np.full(self.num_envs, None, dtype=object)
            for robot in np.flatnonzero(ended):
                last[robot] = final[robot].copy()
            info = {"final_obs": last, "_final_obs": ended}
            info |= {"final_info": {}, "_final_info": ended.copy()}
        reward = told.reward.numpy().astype(np.float64)
        terminated, truncated = told.terminated.numpy(), told.truncated.numpy()
        return (
            self.task.observation(),
            reward,
            terminated.astype(bool),
            truncated.astype(bool),
            info,
        )

    def step_on_device(self, actions: Any) -> DeviceStep:
        """Do a step with actions on the device; nothing goes through the host.

        Args:
            actions: ``float32`` of shape (n, actions): Warp's, or anything with
                ``__dlpack__`` on the device of the robots. What is beyond [-1, 1] is
                cut off.
        """
        return self._step(actions)

    def _step(self, actions: Any) -> DeviceStep:
        if not self._is_reset:
            raise EquipoiseError("reset the environment before its first step")
        if self.closed:
            raise EquipoiseError("the environment is closed")
        self.task.step(actions)
        self.task.begin_anew()
        found = self.task.learners.struct
        return DeviceStep(
            found.observation,
            found.reward,
            found.terminated,
            found.truncated,
            self.task.learners.final_observation,
        )


class BalanceEnv(gymnasium.Env[Floats32, Floats32]):
    """One robot that stands, is pushed, and learns to balance: a fleet of one.

    Attributes:
        task: The robot and its episodes.
    """

    def __init__(
        self,
        robot: str | Robot | World = "humanoid",
        render_mode: None = None,
        **options: Any,
    ) -> None:
        """Let the robot settle on its feet.

        Args:
            robot: Name or file of a biped, or the robot, or the robot in its world.
            render_mode: None; films and the viewer show runs.
            options: Further arguments of :class:`FleetEnv`.
        """
        self.render_mode = render_mode
        told = AutoresetMode.DISABLED
        self._fleet = fleet = FleetEnv(robot, 1, autoreset=told, **options)
        self.task = fleet.task
        self.metadata = {
            "render_modes": [],
            "render_fps": fleet.metadata["render_fps"],
        }
        self.observation_space = fleet.single_observation_space
        self.action_space = fleet.single_action_space

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Floats32, dict[str, Any]]:
        """Begin a new episode.

        Args:
            seed: Of pushes and noise; they go on where they were unless given.
            options: None are known.
        """
        super().reset(seed=seed)
        first = int(self.np_random.integers(LARGEST_SEED))
        observation, info = self._fleet.reset(seed=first)
        return observation[0], info

    def step(
        self, action: Floats32
    ) -> tuple[Floats32, float, bool, bool, dict[str, Any]]:
        """Let an action hold for a control period.

        Args:
            action: Within [-1, 1], shape (actions,).
        """
        shape = self.action_space.shape
        self.task.step(_checked_actions(action, shape)[None])
        found = self.task.learners.struct
        return (
            self.task.observation()[0],
            float(found.reward.numpy()[0]),
            bool(found.terminated.numpy()[0]),
            bool(found.truncated.numpy()[0]),
            {},
        )


def _checked_actions(actions: Any, shape: tuple[int, ...] | None) -> Floats32:
    rows = np.ascontiguousarray(actions, dtype=np.float32)
    if rows.shape != shape:
        raise ShapeError(f"actions have shape {rows.shape}; {shape} is needed")
    if not np.isfinite(rows).all():
        raise ShapeError("actions hold NaN or infinity")
    return rows


if ID not in gymnasium.registry:
    gymnasium.register(
        ID,
        entry_point="equipoise.study.environments:BalanceEnv",
        vector_entry_point="equipoise.study.environments:FleetEnv",
    )
