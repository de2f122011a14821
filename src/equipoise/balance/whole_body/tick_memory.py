"""Memory that compiled whole-body torques work in, for one set of tasks and contacts.

Arrays of kernels share memory with NumPy's and Pinocchio's, so that nothing is copied
but what tasks want.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from equipoise.arrays import Array
from equipoise.balance.skeleton import BASE_DOF
from equipoise.balance.whole_body.dynamics import Dynamics
from equipoise.balance.whole_body.inverse_dynamics import Solution
from equipoise.balance.whole_body.limits import JointRange
from equipoise.balance.whole_body.problem import (
    ACCELERATION_COST,
    FORCE_COST,
    UNLIMITED,
    Contact,
    Grasp,
    Limits,
    RangeLimits,
)
from equipoise.balance.whole_body.reduced_problem import EQUALITY, NEAR, VIOLATED
from equipoise.balance.whole_body.tasks import (
    AngularMomentumTask,
    ComTask,
    FrameTask,
    PostureTask,
    Task,
)
from equipoise.robot.description import STANDARD_GRAVITY


class TickMemory:
    """Memory of kernels for one set of tasks and contacts, and their launches.

    Attributes:
        working: Limits that count.
        answers: Integers that kernels return.
        unknowns: The solver's solution.
        assemble: Makes the programme.
        answer: Makes torques and forces of its solution.
    """

    def __init__(
        self,
        dynamics: Dynamics,
        poses: Array,
        tasks: Sequence[Task],
        contacts: Sequence[Contact],
        grasps: list[Grasp],
    ) -> None:
        import warp as wp

        from equipoise.kernels.once import lock
        from equipoise.kernels.runtime import device_named, record
        from equipoise.kernels.whole_body import types as kinds
        from equipoise.kernels.whole_body.programme import make_programme

        device, self._wp = device_named("cpu"), wp
        self._tasks, self._contacts = tuple(tasks), tuple(contacts)
        self._grasps = grasps  # kept alive, as they are known by their address
        with lock:
            self._types = kinds.make_types(wp.float64)
            kernels = make_programme(wp.float64)
            body = self._body(dynamics, poses)
            layout = self._lay_out(dynamics, kinds, grasps)
            given = self._given(dynamics.model.nv)
            parts = self._parts(dynamics.model.nv)
            programme, answer = self._programme(dynamics.model.nv, kinds)
        shared = [body, layout, given, parts, programme]
        self.assemble = record(kernels.assemble, 1, shared, device).run
        self.answer = record(kernels.answer, 1, [*shared, answer], device).run
        self._matrices: dict[tuple[int, int], tuple[Any, ...]] = {}

    def _share(self, values: Any, dtype: Any = None) -> Any:
        """Return a kernel's array over memory of NumPy."""
        scalars = {"d": self._wp.float64, "i": self._wp.int32, "B": self._wp.uint8}
        dtype = dtype or scalars[values.dtype.char]
        return self._wp.array(values, dtype=dtype, device="cpu", copy=False)

    def _body(self, dynamics: Dynamics, poses: Array) -> Any:
        """Return the robot in its state, in Pinocchio's memory."""
        types, data = self._types, dynamics.data
        body = types.Body()
        body.mass_matrix = self._share(data.M.T)
        body.columns = self._share(data.J.T, types.vec6)
        body.poses = self._share(poses)
        body.bias = self._share(data.nle)
        body.joints = dynamics.model.nv - BASE_DOF
        body.mass, body.gravity = dynamics.robot.mass, STANDARD_GRAVITY
        self._data = data
        return body

    def _lay_out(self, dynamics: Dynamics, kinds: Any, grasps: list[Grasp]) -> Any:
        """Return which tasks and contacts there are."""
        types, model = self._types, dynamics.model
        kind_of = {
            ComTask: kinds.COM,
            AngularMomentumTask: kinds.MOMENTUM,
            FrameTask: kinds.FRAME,
        }
        self._postures = [t for t in self._tasks if isinstance(t, PostureTask)]
        self._rowed = [t for t in self._tasks if not isinstance(t, PostureTask)]
        self._framed: list[Contact | FrameTask] = [*self._contacts]
        self._framed += [t for t in self._rowed if type(t) is FrameTask]
        self._frames = [one.frame for one in self._framed]
        frames = [dynamics.frame(contact.frame) for contact in self._contacts]
        kind, frame, starts = [], [], [0]
        directions: list[int] = []
        for task in self._rowed:
            kind.append(kind_of.get(type(task), kinds.OWN))
            rows: Sequence[int] = range(3)
            number = 0
            if kind[-1] == kinds.FRAME:
                assert isinstance(task, FrameTask)
                rows, number = task.directions, dynamics.frame(task.frame)
                if number not in frames:
                    frames.append(number)
                number = frames.index(number)
            elif kind[-1] == kinds.OWN:
                rows = range(len(task.rows(dynamics)[1]))
            frame.append(number)
            directions += rows
            starts.append(len(directions))
        self._starts = starts
        layout = types.Layout()
        layout.frames, layout.tasks = len(frames), len(self._rowed)
        layout.postures, layout.contacts = len(self._postures), len(self._contacts)

        def integers(values: Sequence[int]) -> Any:
            return self._share(np.array([*values, 0], dtype=np.int32))

        own = [model.frames[number] for number in frames]
        layout.frame_body = integers([one.parentJoint for one in own])
        turns = np.array([one.placement.rotation for one in own])
        places = np.array([one.placement.translation for one in own])
        layout.frame_rotation = self._share(turns, types.mat33)
        layout.frame_position = self._share(places, types.vec3)
        chains = [
            [joint for joint in model.supports[one.parentJoint] if joint > 0]
            for one in own
        ]
        every = [joint for chain in chains for joint in chain]
        layout.chain_start = integers(np.cumsum([0, *map(len, chains)]).tolist())
        layout.chain_first = integers([model.idx_vs[joint] for joint in every])
        layout.chain_count = integers([model.nvs[joint] for joint in every])
        layout.task_kind, layout.task_frame = integers(kind), integers(frame)
        layout.task_row, layout.direction = integers(starts), integers(directions)
        self._lay_out_contacts(layout, grasps, integers)
        layout.acceleration_cost, layout.force_cost = ACCELERATION_COST, FORCE_COST
        layout.unlimited, layout.near, layout.violated = UNLIMITED, NEAR, VIOLATED
        return layout

    def _lay_out_contacts(
        self, layout: Any, grasps: list[Grasp], integers: Any
    ) -> None:
        main = next(i for i, grasp in enumerate(grasps) if grasp.whole)
        ranks = [grasp.active.shape[1] for grasp in grasps]
        columns, self._others = [], 0
        for number, rank in enumerate(ranks):
            columns.append(self._others)
            self._others += 0 if number == main else rank
        layout.main, layout.others = main, self._others
        layout.contact_frame = integers(range(len(grasps)))
        layout.contact_column = integers(columns)
        layout.rank = integers(ranks)
        self._points = [grasp.points for grasp in grasps]
        layout.points = integers(self._points)
        cones = [len(grasp.cone) for grasp in grasps]
        layout.cones, self._cones = integers(cones), sum(cones)
        self._free = sum(grasp.free.shape[1] for grasp in grasps)
        layout.inverse = self._types.mat66(*grasps[main].inverse.ravel().tolist())
        for name in ("wrench", "active", "free", "cone_active", "cone_free"):
            matrices = [getattr(grasp, name) for grasp in grasps]
            shape = np.max([matrix.shape for matrix in matrices], axis=0)
            padded = np.zeros((len(grasps), *np.maximum(shape, 1)))
            for number, matrix in enumerate(matrices):
                padded[number, : matrix.shape[0], : matrix.shape[1]] = matrix
            setattr(layout, name, self._share(padded))

    def _given(self, nv: int) -> Any:
        """Return memory of what tasks want in a tick."""
        from equipoise.kernels.whole_body.types import POSTURE, RANGE

        types, joints = self._types, nv - BASE_DOF
        tasks, contacts = len(self._rowed), len(self._contacts)
        rows = self._starts[-1]
        given = types.Given()

        def make(name: str, *shape: int, dtype: Any = None) -> Array:
            values = np.zeros((max(shape[0], 1), *shape[1:]))
            setattr(given, name, self._share(values, dtype))
            return values

        self._velocity, self._bias = make("velocity", nv), make("bias", nv)
        self._position = make("position", joints)
        stiffness, damping = make("stiffness", rows), make("damping", rows)
        root_weight = make("root_weight", rows)
        pose = make("pose", tasks, 16)
        velocity, acceleration, leftover = (
            make(name, tasks, 6, dtype=types.vec6)
            for name in ("wanted_velocity", "wanted_acceleration", "leftover")
        )
        posture = make("posture", len(self._postures), POSTURE, joints)
        own_rows = make("own_rows", rows, nv + 1)
        memories = []
        for number in range(tasks):
            at = slice(self._starts[number], self._starts[number + 1])
            memory = _TaskMemory(
                own_rows[at],
                stiffness[at],
                damping[at],
                root_weight[at],
                pose[number].reshape(4, 4),
                velocity[number],
                acceleration[number],
                leftover[number],
            )
            memories.append(memory)
        writers = {ComTask: _write_com, AngularMomentumTask: _write_momentum}
        writers[FrameTask] = _write_frame
        pairs = list(zip(self._rowed, memories, strict=True))
        self._writes = [
            (writers[type(task)], task, memory)
            for task, memory in pairs
            if type(task) in writers
        ]
        self._rows_of = [pair for pair in pairs if type(pair[0]) not in writers]
        self._posture_writes = [
            (task, tuple(numbers))
            for task, numbers in zip(self._postures, posture, strict=False)
        ]
        self._damping = make("contact_damping", contacts)
        self._most_force = make("most_force", contacts)
        self._leftover = make("contact_leftover", contacts, 6, dtype=types.vec6)
        self._limits = [make(name, joints) for name in ("torque", "least", "most")]
        self._range, self._time = make("range", RANGE, joints), make("range_time", 1)
        self._motion: JointRange | None = None
        return given

    def _parts(self, nv: int) -> Any:
        """Return room for what matrices are made of."""
        from equipoise.kernels.whole_body.types import BLOCK

        types, parts = self._types, self._types.Parts()
        frames = len(self._contacts) + len(self._rowed)
        joints, contacts = nv - BASE_DOF, len(self._contacts)
        size = self._others + joints + 1
        for name, dtype, *shape in (
            ("rotation", types.mat33, frames),
            ("place", types.vec3, frames),
            ("twist", types.vec6, frames),
            ("drift", types.vec6, frames),
            ("jacobian", types.vec6, contacts, nv),
            ("contact_goal", types.vec6, contacts),
            ("base", types.vec6, joints + 1),
            ("inert", types.vec6, joints + 1),
            ("wrench", types.vec6, size),
            ("force", types.vec6, size),
            ("task_goal", types.vec6, len(self._rowed) + 1),
        ):
            setattr(parts, name, self._wp.zeros(tuple(shape), dtype, device="cpu"))
        rows = self._starts[-1] + 2 * BASE_DOF
        costs = np.zeros((size, -(-rows // BLOCK), BLOCK))
        parts.cost_blocks = self._share(costs.reshape(-1, BLOCK), types.block)
        parts.cost = self._share(costs.reshape(size, -1))
        return parts

    def _programme(self, nv: int, kinds: Any) -> tuple[Any, Any]:
        """Return memory of the solver's matrices, and of what follows."""
        types, joints = self._types, nv - BASE_DOF
        self._held = 6 * (len(self._contacts) - 1)
        every = self._free + self._others + joints
        rows = self._held + joints + self._cones
        self.working = np.zeros(joints + self._cones, dtype=np.uint8)
        self.answers = np.zeros(kinds.ANSWERS, dtype=np.int32)
        self.unknowns, self._near = np.zeros(every), np.zeros_like(self.working)
        self._matrix, self._vector = np.zeros(every**2), np.zeros(every)
        self._rows = np.zeros(rows * every)
        self._lower, self._upper = np.zeros(every + rows), np.zeros(every + rows)
        programme, answer = types.Programme(), types.Answer()
        programme.matrix = self._share(self._matrix)
        programme.vector = self._share(self._vector)
        programme.rows = self._share(self._rows)
        programme.lower = self._share(self._lower)
        programme.upper = self._share(self._upper)
        programme.working = self._share(self.working)
        programme.answers = self._share(self.answers)
        contacts, most = len(self._contacts), 3 * max(self._points)
        sizes = np.cumsum([nv, joints, contacts * most, 9 * contacts])
        self._found = np.zeros(sizes[-1])
        acceleration, torque, forces, rotations = np.split(self._found, sizes[:-1])
        one, two, three, end = sizes.tolist()
        self._ends, starts = (one, two), range(two, three, most)
        self._forces = [
            slice(start, start + 3 * points)
            for start, points in zip(starts, self._points, strict=True)
        ]
        self._rotations = [slice(start, start + 9) for start in range(three, end, 9)]
        answer.unknowns = self._share(self.unknowns)
        answer.acceleration = self._share(acceleration)
        answer.torque = self._share(torque)
        answer.forces = self._share(forces.reshape(contacts, most))
        answer.rotations = self._share(rotations.reshape(-1, 3, 3), types.mat33)
        answer.near = self._share(self._near)
        return programme, answer

    def fill(self, dynamics: Dynamics, limits: Limits) -> bool:
        """Write what tasks, contacts and limits want into memory.

        Returns:
            Whether it fits: tasks of one's own may change their number of rows, and
            tasks and contacts their frames.
        """
        if [one.frame for one in self._framed] != self._frames:
            return False
        for own, memory in self._rows_of:
            if not _write_rows(dynamics, own, memory):
                return False
        for write, task, memory in self._writes:
            write(task, memory)
        for posture, numbers in self._posture_writes:
            weight, stiffness, damping, position, velocity, acceleration = numbers
            weight[:] = posture.weight
            if type(posture) is not PostureTask:
                stiffness[:], damping[:] = 0.0, 0.0
                acceleration[:] = posture.joint_acceleration(dynamics)
                continue
            stiffness[:] = posture.stiffness
            damping[:], position[:] = posture.damping, posture.position
            velocity[:], acceleration[:] = posture.velocity, posture.acceleration
        for number, contact in enumerate(self._contacts):
            self._damping[number] = contact.damping
            self._most_force[number] = contact.most_force
            left = contact.leftover
            self._leftover[number] = 0.0 if left is None else left
        self._velocity[:] = dynamics.v
        self._bias[:] = dynamics.bias_force
        self._position[:] = dynamics.joint_positions
        self._fill_limits(limits)
        return True

    def _fill_limits(self, limits: Limits) -> None:
        torque, least, most = self._limits
        torque[:] = limits.torque
        if isinstance(limits, RangeLimits):
            motion, self._time[0] = limits.motion, limits.time
            if motion is not self._motion:
                self._motion = motion
                self._range[:] = (
                    motion.lower,
                    motion.upper,
                    motion.speed,
                    motion.braking,
                )
            return
        self._time[0] = 0.0
        lowest, highest = limits.least_acceleration, limits.most_acceleration
        least[:] = -UNLIMITED if lowest is None else lowest
        most[:] = UNLIMITED if highest is None else highest

    def matrices(self, size: int, counted: int) -> tuple[Any, ...]:
        """Return what DAQP is given, with this many unknowns and limits."""
        found = self._matrices.get((size, counted))
        if found is None:
            rows = self._held + counted
            sense = np.zeros(size + rows, dtype=np.int32)
            sense[size : size + self._held] = EQUALITY
            found = self._matrices[size, counted] = (
                self._matrix[: size * size].reshape(size, size),
                self._vector[:size],
                self._rows[: rows * size].reshape(rows, size),
                self._upper[: size + rows],
                self._lower[: size + rows],
                sense,
            )
        return found

    def solution(self, iterations: int) -> Solution:
        """Return what was found, in memory of its own."""
        found, (one, two) = self._found.copy(), self._ends
        return Solution(
            found[:one],
            found[one:two],
            self._near.astype(bool),
            "",
            0.0,
            iterations,
            tuple([found[part] for part in self._forces]),
            tuple([found[part].reshape(3, 3) for part in self._rotations]),
        )


class _TaskMemory(NamedTuple):
    """Where kernels look for what a task wants: rows of one's own, or the rest."""

    rows: Array
    stiffness: Array
    damping: Array
    root_weight: Array
    pose: Array
    velocity: Array
    acceleration: Array
    leftover: Array


def _write_rows(dynamics: Dynamics, task: Task, memory: _TaskMemory) -> bool:
    """Write rows of a task of one's own, and return whether they fit."""
    jacobian, goal = task.rows(dynamics)
    root, rows = task.root_weight, memory.rows
    if len(goal) != len(rows):
        return False
    np.multiply(jacobian, root[:, None] if root.ndim else root, out=rows[:, :-1])
    np.multiply(goal, root, out=rows[:, -1])
    return True


def _write_frame(task: Any, memory: _TaskMemory) -> None:
    """Write what a task of a frame wants."""
    _, stiffness, damping, root_weight, pose, velocity, acceleration, leftover = memory
    stiffness[:], damping[:] = task.stiffness, task.damping
    root_weight[:], pose[:] = task.root_weight, task.pose
    velocity[:], acceleration[:] = task.velocity, task.acceleration
    leftover[:] = 0.0 if task.leftover is None else task.leftover


def _write_com(task: Any, memory: _TaskMemory) -> None:
    """Write what a task of the CoM wants."""
    _, stiffness, damping, root_weight, pose, velocity, acceleration, _ = memory
    stiffness[:], damping[:] = task.stiffness, task.damping
    root_weight[:], pose[0, :3] = task.root_weight, task.position
    velocity[:3], acceleration[:3] = task.velocity, task.acceleration


def _write_momentum(task: Any, memory: _TaskMemory) -> None:
    """Write what a task of the angular momentum wants."""
    _, stiffness, damping, root_weight, _, velocity, acceleration, _ = memory
    stiffness[:], damping[:] = task.stiffness, task.damping
    root_weight[:] = task.root_weight
    velocity[:3], acceleration[:3] = task.momentum, task.rate
