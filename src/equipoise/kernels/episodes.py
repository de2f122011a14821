"""Episodes of robots that learn: actions, observations, rewards, pushes, on the device.

One thread a robot. Where a robot begins anew, ``source`` holds its number, and -1 where
it goes on, as in ``restart``.
"""

# Kernel bodies are in Warp's own language, which mypy misreads.
# mypy: disable-error-code="arg-type, attr-defined, call-overload, untyped-decorator"

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import warp as wp
from numpy.typing import NDArray

from equipoise.errors import ShapeError
from equipoise.kernels.monitor import RUNNING, WHY
from equipoise.kernels.once import lock, once
from equipoise.kernels.program import Floats
from equipoise.kernels.runtime import MODULE_OPTIONS, Recorded, launch, record

# What every observation begins with: gravity in the base, angular velocity.
GRAVITY, GYRO, JOINTS = 0, 3, 6
# Loads of the left and the right foot.
FEET = 2
# When robots whose episode ended begin anew: at once, instead of their next step, or
# when they are told to.
SAME_STEP, NEXT_STEP, WHEN_TOLD = range(3)


@once
def make_episodes(scalar: Any) -> SimpleNamespace:
    """Return the struct ``Episodes`` and the kernels that use it.

    - ``seed(episodes, number)``: begins the random numbers of each robot
    - ``act(episodes, actions, position)``: actions become positions of joints
    - ``assess(episodes, q, v, force, com, clock, status)``: observation, reward, and
      whether the episode is over
    - ``observe(episodes, q, v, force)``: observation of robots that began anew
    - ``draw_pushes(episodes, force, window)``: new pushes of robots that begin anew
    """
    vec3 = wp.types.vector(length=3, dtype=scalar)
    vec2 = wp.types.vector(length=2, dtype=scalar)

    @wp.struct
    class Episodes:
        # of joints: where they are in q, whether they turn without end, their posture
        # and what an action of one adds to it
        q_at: wp.array[int]
        endless: wp.array[int]
        posture: wp.array[scalar]
        offset: wp.array2d[scalar]
        # of contact points: 0 left, 1 right foot, -1 neither
        foot: wp.array[int]
        weight: scalar
        # of numbers observed: bounds, and standard deviation of noise
        low: wp.array[float]
        high: wp.array[float]
        deviation: wp.array[float]
        # reward: where the CoM was at the start, how far it may go, cost of actions
        com: wp.array[vec3]
        reach: scalar
        action_cost: scalar
        # time steps of an episode
        steps: int
        # pushes: how many, impulse limits J* by direction, fractions of these, how
        # long they last, and the slot of time that each has [s]
        pushes: int
        limit: wp.array[vec2]
        least: scalar
        most: scalar
        duration: scalar
        slot: scalar
        # robots side by side in the layout of pushes
        copies: int
        # when robots begin anew, and who does in the next step
        autoreset: int
        pending: wp.array[wp.bool]
        # what changes
        random: wp.array[wp.uint32]
        source: wp.array[int]
        action: wp.array2d[float]
        observation: wp.array2d[float]
        reward: wp.array[float]
        terminated: wp.array[wp.bool]
        truncated: wp.array[wp.bool]

    @wp.kernel(module="unique", module_options=MODULE_OPTIONS)
    def seed(episodes: Episodes, number: int) -> None:
        robot = wp.tid()
        episodes.random[robot] = wp.rand_init(number, robot)

    @wp.kernel(module="unique", module_options=MODULE_OPTIONS)
    def act(
        episodes: Episodes, actions: wp.array2d[float], position: wp.array2d[scalar]
    ) -> None:
        robot = wp.tid()
        for k in range(episodes.action.shape[1]):
            bounded = wp.clamp(actions[robot, k], -1.0, 1.0)
            episodes.action[robot, k] = bounded
        for joint in range(episodes.posture.shape[0]):
            total = episodes.posture[joint]
            for k in range(episodes.action.shape[1]):
                part = episodes.offset[k, joint]
                total = total + part * scalar(episodes.action[robot, k])
            position[robot, joint] = total

    @wp.func
    def note(episodes: Episodes, robot: int, at: int, value: float) -> None:
        """Write one number of an observation, with noise, within its bounds."""
        noisy = value
        if episodes.deviation[at] > 0.0:
            state = episodes.random[robot]
            noisy = value + episodes.deviation[at] * wp.randn(state)
            episodes.random[robot] = state
        bounded = wp.clamp(noisy, episodes.low[at], episodes.high[at])
        episodes.observation[robot, at] = bounded

    @wp.func
    def note_all(
        episodes: Episodes,
        robot: int,
        q: wp.array2d[scalar],
        v: wp.array2d[scalar],
        force: wp.array2d[vec3],
    ) -> None:
        x = q[robot, 3]
        y = q[robot, 4]
        z = q[robot, 5]
        w = q[robot, 6]
        two = scalar(2.0)
        note(episodes, robot, GRAVITY, float(two * (y * w - x * z)))
        note(episodes, robot, GRAVITY + 1, float(-two * (y * z + x * w)))
        down = two * (x * x + y * y) - scalar(1.0)
        note(episodes, robot, GRAVITY + 2, float(down))
        for axis in range(3):
            note(episodes, robot, GYRO + axis, float(v[robot, 3 + axis]))
        joints = episodes.posture.shape[0]
        for joint in range(joints):
            at = episodes.q_at[joint]
            angle = q[robot, at]
            if episodes.endless[joint] == 1:
                angle = wp.atan2(q[robot, at + 1], q[robot, at])
            moved = angle - episodes.posture[joint]
            note(episodes, robot, JOINTS + joint, float(moved))
            speed = v[robot, 6 + joint]
            note(episodes, robot, JOINTS + joints + joint, float(speed))
        for side in range(FEET):
            load = scalar(0.0)
            for k in range(force.shape[1]):
                if episodes.foot[k] == side:
                    load = load + force[robot, k][2]
            at = JOINTS + 2 * joints + side
            note(episodes, robot, at, float(load / episodes.weight))
        for k in range(episodes.action.shape[1]):
            at = JOINTS + 2 * joints + FEET + k
            note(episodes, robot, at, episodes.action[robot, k])

    @wp.kernel(module="unique", module_options=MODULE_OPTIONS)
    def assess(
        episodes: Episodes,
        q: wp.array2d[scalar],
        v: wp.array2d[scalar],
        force: wp.array2d[vec3],
        com: wp.array[vec3],
        clock: wp.array[int],
        status: wp.array2d[int],
    ) -> None:
        robot = wp.tid()
        note_all(episodes, robot, q, v, force)
        fell = status[robot, WHY] != RUNNING
        over = clock[robot] >= episodes.steps
        away = com[robot] - episodes.com[robot]
        distance = wp.sqrt(away[0] * away[0] + away[1] * away[1])
        used = scalar(0.0)
        count = episodes.action.shape[1]
        for k in range(count):
            action = scalar(episodes.action[robot, k])
            used = used + action * action / scalar(count)
        reward = scalar(1.0) - wp.min(distance / episodes.reach, scalar(1.0))
        reward = reward - episodes.action_cost * used
        if fell:
            reward = scalar(0.0)
        ended = fell or over
        begins = episodes.autoreset == SAME_STEP and ended
        if episodes.autoreset == NEXT_STEP:
            if episodes.pending[robot]:
                begins = True
                ended = False
                reward = scalar(0.0)
                fell = False
                over = False
            episodes.pending[robot] = ended
        episodes.source[robot] = wp.where(begins, robot, -1)
        episodes.reward[robot] = float(reward)
        episodes.terminated[robot] = fell
        episodes.truncated[robot] = over and not fell

    @wp.kernel(module="unique", module_options=MODULE_OPTIONS)
    def observe(
        episodes: Episodes,
        q: wp.array2d[scalar],
        v: wp.array2d[scalar],
        force: wp.array2d[vec3],
    ) -> None:
        robot = wp.tid()
        if episodes.source[robot] < 0:
            return
        episodes.pending[robot] = False
        for k in range(episodes.action.shape[1]):
            episodes.action[robot, k] = 0.0
        note_all(episodes, robot, q, v, force)

    @wp.kernel(module="unique", module_options=MODULE_OPTIONS)
    def draw_pushes(
        episodes: Episodes, force: wp.array3d[vec3], window: wp.array3d[vec3]
    ) -> None:
        robot = wp.tid()
        if episodes.source[robot] < 0:
            return
        block = robot / episodes.copies
        lane = robot - block * episodes.copies
        state = episodes.random[robot]
        zero = scalar(0.0)
        for k in range(episodes.pushes):
            directions = episodes.limit.shape[0]
            which = wp.randi(state, 0, directions)
            spread = episodes.most - episodes.least
            fraction = episodes.least + spread * scalar(wp.randf(state))
            size = fraction / episodes.duration
            within = scalar(0.5) * scalar(wp.randf(state))
            start = episodes.slot * (scalar(k) + within)
            limit = episodes.limit[which]
            at = k * episodes.copies + lane
            force[block, at, 0] = vec3(size * limit[0], size * limit[1], zero)
            window[block, at, 0] = vec3(start, start + episodes.duration, zero)
        episodes.random[robot] = state

    return SimpleNamespace(
        Episodes=Episodes,
        seed=seed,
        act=act,
        assess=assess,
        observe=observe,
        draw_pushes=draw_pushes,
    )


@dataclass(frozen=True, eq=False)
class EpisodeArrays:
    """What episodes of n robots are like.

    Attributes:
        q_at: Where each joint is in q, shape (joints,).
        endless: Whether it turns without end, shape (joints,).
        posture: Positions that an action of zero holds, shape (joints,).
        offset: What an action of one adds to them, shape (actions, joints).
        foot: Of contact points: 0 left, 1 right foot, -1 neither, shape (contacts,).
        weight: Of the robot [N].
        low: Lower bounds of an observation, shape (numbers,).
        high: Upper bounds, likewise.
        deviation: Standard deviations of its noise, likewise.
        reach: Distance of the CoM from its start at which nothing is rewarded [m].
        action_cost: What an action of one costs.
        steps: Time steps of an episode.
        pushes: How many pushes an episode has.
        limit: Impulses that fractions are of, horizontally, in directions of which one
            is drawn [N s], shape (directions, 2).
        fractions: The least and the largest.
        duration: How long a push lasts [s].
        slot: Each push begins in the first half of its own slot of time [s].
        autoreset: When robots begin anew: ``SAME_STEP``, ``NEXT_STEP``, ``WHEN_TOLD``.
    """

    q_at: NDArray[np.int32]
    endless: NDArray[np.int32]
    posture: Floats
    offset: Floats
    foot: NDArray[np.int32]
    weight: float
    low: Floats
    high: Floats
    deviation: Floats
    reach: float
    action_cost: float
    steps: int
    pushes: int
    limit: Floats
    fractions: tuple[float, float]
    duration: float
    slot: float
    autoreset: int


class Learners:
    """Robots of a fleet that learn in episodes.

    Attributes:
        struct: What kernels get: ``observation``, ``reward``, ``terminated`` and
            ``truncated`` are those of the last :meth:`assess`; ``source`` says which
            robots are to begin anew.
    """

    def __init__(self, given: EpisodeArrays, state: Any, pushes: Any) -> None:
        """Lay episodes out on the device of a fleet.

        Args:
            given: What they are like.
            state: States of the robots, arrays on a device, with ``q``, ``v``,
                ``contact_force``, ``com``, ``steps`` and ``status``; where their CoM is
                now, it is rewarded to be.
            pushes: Forces and windows of pushes, and robots side by side, as
                :attr:`~equipoise.kernels.rollout.Rollout.push_arrays`.
        """
        self._state, self._robots = state, state.q.shape[0]
        self._force, self._window, copies = pushes
        self._device, scalar = state.q.device, state.q.dtype
        self._kernels = make_episodes(scalar)
        actions, numbers = len(given.offset), len(given.low)

        def array(values: Any, dtype: Any) -> Any:
            return wp.array(np.asarray(values), dtype=dtype, device=self._device)

        def zeros(dtype: Any, *more: int) -> Any:
            return wp.zeros((self._robots, *more), dtype=dtype, device=self._device)

        with lock:
            self.struct = struct = self._kernels.Episodes()
            struct.q_at = array(given.q_at, wp.int32)
            struct.endless = array(given.endless, wp.int32)
            struct.posture = array(given.posture, scalar)
            struct.offset = array(given.offset, scalar)
            struct.foot = array(given.foot, wp.int32)
            for name in ("low", "high", "deviation"):
                setattr(struct, name, array(getattr(given, name), wp.float32))
            vec2 = wp.types.vector(length=2, dtype=scalar)
            struct.limit = array(given.limit, vec2)
            struct.com = wp.clone(state.com)
            for name in ("weight", "reach", "action_cost", "duration", "slot"):
                setattr(struct, name, getattr(given, name))
            struct.least, struct.most = given.fractions
            for name in ("steps", "pushes", "autoreset"):
                setattr(struct, name, getattr(given, name))
            struct.copies, struct.pending = copies, zeros(wp.bool)
            struct.random, struct.source = zeros(wp.uint32), zeros(wp.int32)
            struct.action = zeros(wp.float32, actions)
            struct.observation = zeros(wp.float32, numbers)
            struct.reward = zeros(wp.float32)
            struct.terminated, struct.truncated = zeros(wp.bool), zeros(wp.bool)
            self._actions = zeros(wp.float32, actions)
            self.final_observation = zeros(wp.float32, numbers)
        self._recorded: dict[str, Recorded] = {}

    def seed(self, number: int) -> None:
        """Begin the random numbers of all robots anew."""
        launch(self._kernels.seed, self._robots, [self.struct, number], self._device)

    def act(self, actions: Any, position: wp.array[Any]) -> None:
        """Turn actions into positions of joints.

        Args:
            actions: ``float32`` of shape (n, actions): NumPy's, or by DLPack.
            position: Where to, shape (n, joints).
        """
        source: Any = actions
        if isinstance(actions, np.ndarray):
            source = wp.array(actions, dtype=wp.float32, device=self._device)
        elif not isinstance(actions, wp.array):
            source = wp.from_dlpack(actions)
        if source.shape != self._actions.shape or source.dtype is not wp.float32:
            raise ShapeError(
                f"actions have shape {tuple(source.shape)} and type "
                f"{source.dtype.__name__}; {tuple(self._actions.shape)} and float32 "
                "are needed"
            )
        wp.copy(self._actions, source)
        self._run(f"act {position.ptr}", "act", [self._actions, position])

    def assess(self) -> None:
        """Observe all robots, reward them, and say whose episode is over."""
        now = self._state
        rows = [now.q, now.v, now.contact_force, now.com, now.steps, now.status]
        self._run("assess", "assess", rows)

    def draw_pushes(self) -> None:
        """Draw new pushes for robots that begin anew."""
        self._run("draw", "draw_pushes", [self._force, self._window])

    def observe_anew(self) -> None:
        """Observe robots that began anew; what was observed last of all is kept."""
        wp.copy(self.final_observation, self.struct.observation)
        now = self._state
        self._run("observe", "observe", [now.q, now.v, now.contact_force])

    def _run(self, name: str, kernel: str, inputs: list[Any]) -> None:
        if name not in self._recorded:
            self._recorded[name] = record(
                getattr(self._kernels, kernel),
                self._robots,
                [self.struct, *inputs],
                self._device,
            )
        self._recorded[name].run()
