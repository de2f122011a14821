"""Some robots begin anew on the device, while the others go on."""

# Kernel bodies are in Warp's own language, which mypy misreads.
# mypy: disable-error-code="arg-type, attr-defined, untyped-decorator"

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import warp as wp
from numpy.typing import NDArray

from equipoise.errors import ShapeError
from equipoise.kernels.contact import STATE
from equipoise.kernels.lane_state import STATES
from equipoise.kernels.lanes import make_lanes
from equipoise.kernels.monitor import MARGIN_MIN, RESULTS, make_monitor
from equipoise.kernels.once import lock, once
from equipoise.kernels.program import Floats, LaneProgram, zeros_by_block
from equipoise.kernels.rows import OUTPUTS, Rows
from equipoise.kernels.runtime import MODULE_OPTIONS, launch
from equipoise.kernels.watch import Watch


class Start(NamedTuple):
    """Where robots begin, as arrays on the device, one row or lane each.

    Attributes:
        state: States in lanes, indexed [block, group, STATES].
        contact: States of contact points, indexed [block, point, STATE].
        command: What actuators are told until the next command, shape (n, 3 joints):
            positions, velocities, torques.
        upright: What a fall is measured against, shape (n, 4).
    """

    state: Any
    contact: Any
    command: Any
    upright: Any


@once
def make_restart(scalar: Any, width: int) -> SimpleNamespace:
    """Return two kernels, of one thread a robot.

    Both are told by ``source`` which robots begin anew, and as which row of what they
    are given: -1 for a robot that goes on.

    - ``begin(copies, groups, points, source, new …, state …)``: puts states, contacts
      and commands in place, and sets clock, status and results to zero
    - ``copy_rows(source, kept, outputs)``: copies what was known then
    """
    Lanes3 = make_lanes(scalar, width).Lanes3
    vec3 = wp.types.vector(length=3, dtype=scalar)
    watch = make_monitor(scalar, width)
    Monitor, Outputs = watch.Monitor, watch.Outputs

    @wp.kernel(module="unique", module_options=MODULE_OPTIONS)
    def begin(
        copies: int,
        groups: int,
        points: int,
        source: wp.array[int],
        new_state: wp.array3d[Lanes3],
        new_contact: wp.array3d[vec3],
        new_command: wp.array2d[scalar],
        new_upright: wp.array2d[scalar],
        state: wp.array3d[Lanes3],
        contact: wp.array3d[vec3],
        position: wp.array3d[scalar],
        velocity: wp.array3d[scalar],
        torque: wp.array3d[scalar],
        monitor: Monitor,
    ) -> None:
        robot = wp.tid()
        row = source[robot]
        if row < 0:
            return
        block = robot / copies
        lane = robot - block * copies
        new_block = row / copies
        new_lane = row - new_block * copies
        for g in range(groups):
            for s in range(STATES):
                mixed = state[block, g, s]
                new = new_state[new_block, g, s]
                for axis in range(3):
                    if copies == 1:
                        for i in range(width):
                            mixed[axis, i] = new[axis, i]
                    else:
                        mixed[axis, lane] = new[axis, new_lane]
                state[block, g, s] = mixed
        for k in range(points):
            for s in range(STATE):
                contact[block, k * copies + lane, s] = new_contact[
                    new_block, k * copies + new_lane, s
                ]
        joints = position.shape[2]
        for before in range(position.shape[0]):
            for joint in range(joints):
                position[before, robot, joint] = new_command[row, joint]
                velocity[before, robot, joint] = new_command[row, joints + joint]
                torque[before, robot, joint] = new_command[row, 2 * joints + joint]
        monitor.clock[robot] = 0
        for column in range(3):
            monitor.status[robot, column] = 0
        for column in range(4):
            monitor.upright[robot, column] = new_upright[row, column]
        for column in range(RESULTS):
            monitor.result[robot, column] = scalar(0.0)
        monitor.result[robot, MARGIN_MIN] = scalar(wp.inf)

    @wp.kernel(module="unique", module_options=MODULE_OPTIONS)
    def copy_rows(source: wp.array[int], kept: Outputs, outputs: Outputs) -> None:
        robot = wp.tid()
        row = source[robot]
        if row < 0:
            return
        for k in range(outputs.q.shape[2]):
            outputs.q[0, robot, k] = kept.q[0, row, k]
        for k in range(outputs.v.shape[2]):
            outputs.v[0, robot, k] = kept.v[0, row, k]
            outputs.a[0, robot, k] = kept.a[0, row, k]
        for k in range(outputs.torque.shape[2]):
            outputs.torque[0, robot, k] = kept.torque[0, row, k]
        for k in range(outputs.force.shape[2]):
            outputs.position[0, robot, k] = kept.position[0, row, k]
            outputs.force[0, robot, k] = kept.force[0, row, k]
        outputs.com[0, robot] = kept.com[0, row]
        outputs.com_velocity[0, robot] = kept.com_velocity[0, row]

    return SimpleNamespace(begin=begin, copy_rows=copy_rows)


class Starts:
    """Lets some robots begin anew: where they are put, or where a start was kept."""

    def __init__(
        self,
        program: LaneProgram,
        points: Any,
        state: wp.array[Any],
        command: tuple[wp.array[Any], ...],
        rows: Rows,
        watch: Watch,
        lay: Callable[[Floats, Floats], wp.array[Any]],
    ) -> None:
        """Know the arrays of the robots.

        Args:
            program: Their tree in lanes.
            points: Struct of what can touch.
            state: Their states.
            command: What actuators are told, shape (rows, n, joints) each.
            rows: What is known of them.
            watch: Who watches them.
            lay: Lays out states of configurations (k, nq) and velocities (k, nv).
        """
        self._program, self._points, self._state = program, points, state
        self._command, self._rows, self._watch, self._lay = command, rows, watch, lay
        self._robots, self._joints = command[0].shape[1:]
        self._kernels = make_restart(program.scalar, program.width)
        self._outputs = make_monitor(program.scalar, program.width).Outputs
        self._kept: tuple[Start, Any] | None = None

    def put(
        self,
        which: NDArray[np.int32],
        q: Floats,
        v: Floats,
        held: Floats,
        upright: Floats,
    ) -> None:
        """Put k robots somewhere, at time zero; the others go on.

        Args:
            which: Which robots, each once, shape (k,).
            q: Their configurations, shape (k, nq).
            v: Their velocities, shape (k, nv).
            held: Positions that their actuators hold until they are told, (k, joints).
            upright: What their falls are measured against, shape (k, 4); see
                :meth:`~equipoise.kernels.watch.Watch.look_for_falls`.
        """
        program, points = self._program, self._points
        source = np.full(self._robots, -1, np.int32)
        source[which] = np.arange(len(which))
        told = np.zeros((len(which), 3 * self._joints))
        told[:, : held.shape[1]] = held
        blocks, vector = program.blocks(len(which)), points.state.dtype
        with lock:
            start = Start(
                self._lay(q, v),
                zeros_by_block(
                    blocks, points.state.shape[1], STATE, vector, program.device
                ),
                wp.array(told, dtype=program.scalar, device=program.device),
                wp.array(upright, dtype=program.scalar, device=program.device),
            )
            order: Any = wp.array(source, dtype=wp.int32, device=program.device)
        self._begin(order, start)

    def keep(self, newest: int) -> None:
        """Keep where all robots are now, for :meth:`restart`.

        Args:
            newest: Which row of the commands holds.
        """
        program = self._program
        told = np.hstack([array[newest].numpy() for array in self._command])
        with lock:
            start = Start(
                wp.clone(self._state),
                wp.clone(self._points.state),
                wp.array(told, dtype=program.scalar, device=program.device),
                wp.clone(self._watch.struct.upright),
            )
            known = self._outputs()
            for name in OUTPUTS:
                setattr(known, name, wp.clone(getattr(self._rows, name)))
        self._kept = start, known

    def restart(self, source: Any) -> None:
        """Put robots where they, or others, were kept, at time zero.

        Args:
            source: As which kept robot each begins anew, -1 for one that goes on,
                ``int32`` of shape (n,), on the host or by DLPack.
        """
        if self._kept is None:
            raise ShapeError("restart: no start was kept")
        start, known = self._kept
        device = self._program.device
        if isinstance(source, np.ndarray):
            source = wp.array(source, device=device)
        elif not isinstance(source, wp.array):
            source = wp.from_dlpack(source)
        if source.shape != (self._robots,) or source.dtype is not wp.int32:
            raise ShapeError(
                f"restart: shape {tuple(source.shape)} and type "
                f"{source.dtype.__name__}; ({self._robots},) and int32 are needed"
            )
        self._begin(source, start)
        with lock:
            rows = self._outputs()
            for name in OUTPUTS:
                setattr(rows, name, getattr(self._rows, name))
        inputs = [source, known, rows]
        launch(self._kernels.copy_rows, self._robots, inputs, device)

    def _begin(self, source: wp.array[Any], start: Start) -> None:
        schedule, points = self._program.schedule, self._points
        inputs = [
            schedule.robots,
            schedule.groups,
            points.count // schedule.robots,
            source,
            *start,
            self._state,
            points.state,
            *self._command,
            self._watch.struct,
        ]
        launch(self._kernels.begin, self._robots, inputs, self._program.device)
