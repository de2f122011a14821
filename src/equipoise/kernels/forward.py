"""Forward dynamics of many configurations."""

# Kernel bodies are in Warp's own language, which mypy misreads.
# mypy: disable-error-code="arg-type, attr-defined, untyped-decorator"

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import warp as wp

from equipoise.kernels.articulated import (
    FORCE,
    JOINT,
    MOMENT,
    P_GAIN,
    SOLUTION,
    X,
    Y,
    Z,
    make_articulated,
)
from equipoise.kernels.bodies import FLOATING
from equipoise.kernels.lane_state import make_lane_state, state_in_lanes
from equipoise.kernels.lanes import make_lane_matrices, make_lanes
from equipoise.kernels.once import lock, once
from equipoise.kernels.program import Floats, LaneProgram, by_block, working_memory
from equipoise.kernels.runtime import MODULE_OPTIONS, launch, thread_count


def forward_dynamics(
    program: LaneProgram, q: Floats, v: Floats, effort: Floats, gravity: float
) -> Floats:
    """Return accelerations, shape (n, nv).

    Args:
        program: The tree in lanes, rotors included.
        q: Configurations, shape (n, nq).
        v: Velocities, shape (n, nv).
        effort: Generalised forces, shape (n, nv).
        gravity: Downwards [m/s²].
    """
    prepared = prepare(program, q, v, effort, gravity)
    prepared.run()
    result: Floats = prepared.acceleration.numpy()[0]
    return result


class Prepared(NamedTuple):
    """A launch that is ready.

    Attributes:
        run: Does it.
        acceleration: Where results will be, shape (1, n, nv).
    """

    run: Callable[[], None]
    acceleration: wp.array[Any]


def prepare(
    program: LaneProgram, q: Floats, v: Floats, effort: Floats, gravity: float
) -> Prepared:
    """Lay out everything for :func:`forward_dynamics` on the device."""
    tree, device, scalar = program.tree, program.device, program.scalar
    width = program.width
    blocks = program.blocks(len(q))
    lanes = make_lanes(scalar, width)
    kernel = _make_kernel(scalar, width)
    given = np.zeros((len(q), len(tree.parent), 6))
    given[:, 1] = effort[:, :6]
    hinges = np.flatnonzero(tree.kind != FLOATING)
    given[:, hinges, 0] = effort[:, tree.idx_v[hinges]]
    threads = thread_count(device, blocks)
    with lock:
        acceleration = wp.zeros((1, *v.shape), dtype=scalar, device=device)
        scratch, raw = working_memory(program, threads)
        inputs = [
            program.struct,
            gravity,
            by_block(state_in_lanes(program, q, v, 0.0), lanes.Lanes3, device),
            by_block(program.in_lanes(given), lanes.Lanes3, device),
            scratch,
            raw,
            acceleration,
        ]
    return Prepared(lambda: launch(kernel, threads, inputs, device), acceleration)


@once
def _make_kernel(scalar: Any, width: int) -> wp.Kernel:
    lanes = make_lanes(scalar, width)
    Lanes, Lanes3 = lanes.Lanes, lanes.Lanes3
    times = make_lane_matrices(scalar, width).times
    tree = make_articulated(scalar, width)
    Program, place, weigh, handle = tree.Program, tree.place, tree.weigh, tree.handle
    load_of, hand_down = tree.load_of, tree.hand_down
    solve_free, accelerate = tree.solve_free, tree.accelerate
    states = make_lane_state(scalar, width)
    load_state, write_acceleration = states.load_state, states.write_acceleration
    robot_of, Mask = states.robot_of, states.Mask
    one = scalar(1.0)

    @wp.kernel(module="unique", module_options=MODULE_OPTIONS)
    def fall(
        program: Program,
        gravity: scalar,
        state: wp.array3d[Lanes3],
        efforts: wp.array3d[Lanes3],
        scratch: wp.array3d[Lanes3],
        raw: wp.array3d[scalar],
        acceleration: wp.array3d[scalar],
    ) -> None:
        """Forward dynamics alone, of many configurations; base forces in its axes."""
        t = wp.tid()
        for block in range(t, state.shape[0], scratch.shape[2]):
            for g in range(program.groups):
                load_state(program, state, block, g, scratch, t)
                place(program, g, scalar(0.0), scratch, raw, t)
                weigh(program, g, 0, gravity, scratch, t)
            x = scratch[0, X, t]
            y = scratch[0, Y, t]
            z = scratch[0, Z, t]
            push = times(x, y, z, efforts[block, 0, 0])
            turn = times(x, y, z, efforts[block, 0, 1])
            scratch[0, FORCE, t] = scratch[0, FORCE, t] - push
            scratch[0, MOMENT, t] = scratch[0, MOMENT, t] - turn
            for back in range(1, program.groups):
                g = program.groups - back
                inertia = handle(g, scratch, t) + program.actuator[0, g, P_GAIN][2]
                force = efforts[block, g, 0][0] - load_of(g, scratch, t)
                scratch[g, SOLUTION, t] = wp.matrix_from_rows(
                    wp.cw_div(Lanes(one), inertia), force, Lanes()
                )
                hand_down(program, g, scratch, raw, t)
            solve_free(0, scratch, t)
            for g in range(1, program.groups):
                rate = accelerate(program, g, scratch, raw, t)
                scratch[g, JOINT, t] = wp.matrix_from_rows(rate, rate, rate)
            written = Mask()
            for i in range(width):
                if robot_of(program, block, i) < acceleration.shape[1]:
                    written[i] = 1
            for g in range(program.groups):
                write_acceleration(
                    program, g, acceleration, 0, block, written, scratch, t
                )

    return fall
