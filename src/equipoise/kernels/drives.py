"""What drives do in one step: servo, friction, limits and stops, linearly implicit.

An effort that depends on the joint's position and velocity is evaluated at the end of
the step: effort = explicit - implicit × acceleration. The implicit part adds to the
inertia of the joint, so that no gain is too stiff for the time step.
"""

# Kernel bodies are in Warp's own language, which mypy misreads.
# mypy: disable-error-code="arg-type, attr-defined, untyped-decorator"

from types import SimpleNamespace
from typing import Any

import warp as wp

from equipoise.kernels.articulated import (
    ANCHOR,
    EFFORT,
    JOINT,
    P_BRISTLE,
    P_FRICTION,
    P_GAIN,
    P_LIMIT,
    P_MODE,
    P_STOP,
    SOLUTION,
    make_articulated,
)
from equipoise.kernels.lanes import make_lanes
from equipoise.kernels.once import once

# Joint stops give way with this time constant [s].
STOP_TIME = 0.005


@once
def make_drives(scalar: Any, width: int) -> SimpleNamespace:
    """Return the functions ``drive`` and ``move`` on groups of joints.

    - ``drive(program, g, b, inertia, load, extra, command, dt, scratch, t)``: decide
      on efforts, and keep what :func:`hand_down` of the tree needs
    - ``move(program, g, b, rate, dt, scratch, t)``: integrate the joints over a step
    """
    lanes = make_lanes(scalar, width)
    Lanes, Lanes3 = lanes.Lanes, lanes.Lanes3
    Program = make_articulated(scalar, width).Program
    zero = scalar(0.0)
    one = scalar(1.0)
    two = scalar(2.0)
    tiny = scalar(1e-30)
    stop_rate = scalar(1.0 / STOP_TIME)

    @wp.func
    def drive(
        program: Program,
        g: int,
        b: int,
        inertia: Lanes,
        load: Lanes,
        extra: Lanes,
        command: Lanes3,
        dt: scalar,
        scratch: wp.array3d[Lanes3],
        t: int,
    ) -> None:
        joint = scratch[g, JOINT, t]
        position = joint[0]
        velocity = joint[1]
        gain = program.parameters[b, g, P_GAIN]
        friction = program.parameters[b, g, P_FRICTION]
        bristle = program.parameters[b, g, P_BRISTLE]
        limit = program.parameters[b, g, P_LIMIT]
        stop = program.parameters[b, g, P_STOP]
        mode = program.parameters[b, g, P_MODE]
        ahead = position + dt * velocity
        own = inertia + gain[2]

        # gears: viscous, and bristles that give way at the Stribeck limit
        speed = wp.cw_mul(velocity, velocity)
        fade = Lanes(one) + wp.cw_mul(speed, bristle[0])
        most = friction[1] + wp.cw_div(friction[2], fade)
        trial = wp.cw_mul(bristle[1], scratch[g, ANCHOR, t][0] - ahead)
        share = Lanes()
        stopping = Lanes()
        stopping_implicit = Lanes()
        for i in range(width):
            share[i] = most[i] / wp.max(wp.max(wp.abs(trial[i]), most[i]), tiny)
            # stops: a critically damped spring on the inertia that meets them
            past = wp.max(ahead[i] - stop[1, i], zero) + wp.min(
                ahead[i] - stop[0, i], zero
            )
            push = past * stop_rate * stop_rate + two * stop_rate * velocity[i]
            hit = wp.where(past * push > zero, own[i], zero)
            stopping[i] = -hit * push
            stopping_implicit[i] = hit * dt * stop_rate * (two + dt * stop_rate)
        slip = wp.cw_mul(share, trial)
        slip_implicit = (dt * dt) * wp.cw_mul(share, bristle[1])
        others = slip - wp.cw_mul(friction[0], velocity) + limit[2] + stopping + extra
        others_implicit = dt * friction[0] + slip_implicit + stopping_implicit

        # explicit in position and implicit in velocity adds no damping of its own,
        # and is stable if the damping is at least half of dt × stiffness
        grip = wp.max(gain[1], dt * gain[0])
        # the drive itself, within its limits of effort and speed
        effort = (
            command[2]
            + wp.cw_mul(gain[0], command[0] - position)
            + wp.cw_mul(gain[1], command[1])
            - wp.cw_mul(grip, velocity)
        )
        implicit = dt * grip
        total = own + others_implicit + implicit
        guess = wp.cw_div(effort + others - load, total)
        guess = effort - wp.cw_mul(implicit, guess)
        for i in range(width):
            most_up = wp.where(velocity[i] < limit[1, i], limit[0, i], zero)
            most_down = wp.where(velocity[i] > -limit[1, i], -limit[0, i], zero)
            within = wp.min(wp.max(guess[i], most_down), most_up)
            held = within == guess[i]
            effort[i] = wp.where(held, effort[i], within)
            implicit[i] = wp.where(held, implicit[i], zero)
        total = own + others_implicit + implicit

        wanted = wp.cw_mul(mode[0], command[0] - ahead) / dt
        wanted = (wanted + wp.cw_mul(mode[1], command[1] - velocity)) / dt
        scratch[g, SOLUTION, t] = wp.matrix_from_rows(
            wp.cw_div(mode[2], total), effort + others - load, wanted
        )
        scratch[g, EFFORT, t] = wp.matrix_from_rows(effort, implicit, others)
        scratch[g, ANCHOR, t] = wp.matrix_from_rows(
            slip, slip_implicit, others_implicit
        )

    @wp.func
    def move(
        program: Program,
        g: int,
        b: int,
        rate: Lanes,
        reaction: Lanes,
        dt: scalar,
        scratch: wp.array3d[Lanes3],
        t: int,
    ) -> None:
        joint = scratch[g, JOINT, t]
        gain = program.parameters[b, g, P_GAIN]
        bristle = program.parameters[b, g, P_BRISTLE]
        mode = program.parameters[b, g, P_MODE]
        effort = scratch[g, EFFORT, t]
        anchor = scratch[g, ANCHOR, t]
        velocity = joint[1] + dt * rate
        position = joint[0] + dt * velocity
        slip = anchor[0] - wp.cw_mul(anchor[1], rate)
        others = effort[2] - wp.cw_mul(anchor[2], rate)
        servo = effort[0] - wp.cw_mul(effort[1], rate)
        # what a prescribed motion takes: all that the joint carries, rotor included
        needed = reaction + wp.cw_mul(gain[2], rate) - others
        given = wp.cw_mul(mode[2], servo) + wp.cw_mul(Lanes(one) - mode[2], needed)
        scratch[g, JOINT, t] = wp.matrix_from_rows(position, velocity, rate)
        scratch[g, EFFORT, t] = wp.matrix_from_rows(given, others, reaction)
        scratch[g, ANCHOR, t] = wp.matrix_from_rows(
            position + wp.cw_mul(bristle[2], slip), Lanes(), Lanes()
        )

    return SimpleNamespace(drive=drive, move=move)
