"""Actuators in one step: servo, friction, limits and stops, linearly implicit.

The second line of Eq. (1) of [Sariyildiz2015], J q̈ + friction + disturbance = torque. A
torque that depends on the joint's position and velocity is evaluated at the end of the
step: torque = explicit - implicit × acceleration. The implicit part adds to the inertia
of the joint, so that no gain is too stiff for the time step.
"""

# Kernel bodies are in Warp's own language, which mypy misreads.
# mypy: disable-error-code="arg-type, attr-defined, untyped-decorator"

from types import SimpleNamespace
from typing import Any

import warp as wp

from equipoise.kernels.articulated import (
    ANCHOR,
    COMMAND,
    FORCED,
    JOINT,
    P_BRISTLE,
    P_FRICTION,
    P_GAIN,
    P_LIMIT,
    P_MODE,
    P_STOP,
    SLIP,
    SOLUTION,
    TORQUES,
    make_articulated,
)
from equipoise.kernels.lanes import make_lanes
from equipoise.kernels.once import once

# Joint stops give way with this time constant [s].
STOP_TIME = 0.005
# Bristles of dry friction are damped by this share of critical.
BRISTLE_DAMPING = 0.7
# A joint that moves less than this does not move at all [kg m² or kg].
LEAST_INERTIA = 1e-10
# In so many tries of a step what was decided wrongly is taken back (an actuator at its
# limit that would give less, a point let go that would be pressed); in those after them
# nothing is, so that an end is found.
RETURNS = 3
# A torque this much above its limit is rounding.
SLACK = 1e-9


@once
def make_actuators(scalar: Any, width: int) -> SimpleNamespace:
    """Return what is done with a group of joints in a step.

    - ``lead(program, g, b, dt, scratch, t)``: put prescribed joints where they are
      midway through the step, as all others are, by ``half_way(…)``
    - ``actuate(program, g, b, inertia, load, extra, command, dt, again, scratch, t)``:
      find the torques, and keep what ``hand_down`` of the tree needs
    - ``check_limits(program, g, b, rate, dt, again, scratch, t)``: how many actuators
      would go beyond their limits, or are held at them and should not be, and how many
      stops pull or are missed; corrected when the step is tried ``again``
    - ``integrate_joints(program, g, b, rate, carried, dt, scratch, t)``: position and
      velocity at the end of the step
    """
    lanes = make_lanes(scalar, width)
    Lanes, Lanes3 = lanes.Lanes, lanes.Lanes3
    Program = make_articulated(scalar, width).Program
    zero = scalar(0.0)
    half = scalar(0.5)
    one = scalar(1.0)
    two = scalar(2.0)
    tiny = scalar(1e-30)
    stop_rate = scalar(1.0 / STOP_TIME)
    bristle_damping = scalar(2.0 * BRISTLE_DAMPING)
    least_inertia = scalar(LEAST_INERTIA)
    slack = scalar(1.0 + SLACK)

    @wp.func
    def stop_way(position: scalar, lower: scalar, upper: scalar) -> scalar:
        """Return 1 if the upper stop is nearer, -1 if the lower one is."""
        return wp.where(position - lower > upper - position, one, -one)

    @wp.func
    def lead(
        program: Program,
        g: int,
        b: int,
        dt: scalar,
        scratch: wp.array3d[Lanes3],
        t: int,
    ) -> None:
        joint = scratch[g, JOINT, t]
        joint[0] = joint[0] + half_way(program, g, b, dt, scratch, t)
        scratch[g, JOINT, t] = joint

    @wp.func
    def half_way(
        program: Program,
        g: int,
        b: int,
        dt: scalar,
        scratch: wp.array3d[Lanes3],
        t: int,
    ) -> Lanes:
        """Return half of the way that joints are prescribed for a step."""
        mode = program.actuator[b, g, P_MODE]
        command = scratch[g, COMMAND, t]
        way = wp.cw_mul(mode[0], command[0] - scratch[g, JOINT, t][0])
        return half * (way + dt * wp.cw_mul(mode[1], command[1]))

    @wp.func
    def actuate(
        program: Program,
        g: int,
        b: int,
        inertia: Lanes,
        load: Lanes,
        extra: Lanes,
        command: Lanes3,
        dt: scalar,
        again: int,
        scratch: wp.array3d[Lanes3],
        t: int,
    ) -> None:
        joint = scratch[g, JOINT, t]
        position = joint[0]
        velocity = joint[1]
        gain = program.actuator[b, g, P_GAIN]
        friction = program.actuator[b, g, P_FRICTION]
        bristle = program.actuator[b, g, P_BRISTLE]
        limit = program.actuator[b, g, P_LIMIT]
        stop = program.actuator[b, g, P_STOP]
        mode = program.actuator[b, g, P_MODE]
        ahead = position + dt * velocity
        own = inertia + gain[2]

        # dry friction: bristles that give way at the Stribeck limit; and stops, a
        # critically damped spring on the inertia that meets them
        fade = Lanes(one) + wp.cw_mul(wp.cw_mul(velocity, velocity), bristle[0])
        most = friction[1] + wp.cw_div(friction[2], fade)
        bend = wp.cw_mul(bristle[1], scratch[g, ANCHOR, t][0] - position)
        slip = Lanes()
        slip_implicit = Lanes()
        slides = Lanes()
        stopped = scratch[g, ANCHOR, t][1]
        stopping = Lanes()
        stopping_implicit = Lanes()
        for i in range(width):
            stiff = dt * bristle[1, i]
            damping = bristle_damping * wp.sqrt(bristle[1, i] * wp.max(own[i], zero))
            catch = wp.max(damping, stiff)
            trial = bend[i] - (damping + stiff) * velocity[i]
            size = wp.abs(trial)
            gives = size > most[i]
            share = wp.where(gives, most[i] / wp.max(size, tiny), one)
            slip_implicit[i] = share * dt * catch
            steady = wp.max(
                one - dt * wp.abs(joint[2, i]) / wp.max(wp.abs(velocity[i]), tiny), zero
            )
            slip[i] = wp.where(
                gives,
                share * trial + steady * slip_implicit[i] * joint[2, i],
                bend[i] - catch * velocity[i],
            )
            slides[i] = wp.where(gives, damping, -one)
            way = stop_way(position[i], stop[0, i], stop[1, i])
            past = ahead[i] - wp.where(way > zero, stop[1, i], stop[0, i])
            push = past * stop_rate * stop_rate + two * stop_rate * velocity[i]
            # at first a guess: nothing accelerates
            guess = wp.where(wp.min(way * past, way * push) > zero, one, zero)
            stopped[i] = wp.where(again == 0, guess, stopped[i])
            hit = stopped[i] * own[i]
            stopping[i] = -hit * push
            stopping_implicit[i] = hit * dt * stop_rate * (two + dt * stop_rate)
        others = slip - wp.cw_mul(friction[0], velocity) + limit[2] + stopping + extra
        others_implicit = dt * friction[0] + slip_implicit + stopping_implicit

        # the servo: explicit in position and implicit in velocity adds no
        # damping of its own; dt × stiffness at least keeps it stable for any inertia
        servo_damping = wp.max(gain[1], dt * gain[0])
        torque = (
            command[2]
            + wp.cw_mul(gain[0], command[0] - position)
            + wp.cw_mul(gain[1], command[1])
            - wp.cw_mul(servo_damping, velocity)
        )
        implicit = dt * servo_damping
        total = own + others_implicit + implicit
        per = Lanes()
        wanted_torque = torque
        forced = Lanes()
        if again > 0:
            forced = scratch[g, FORCED, t][0]
        for i in range(width):
            most_up = wp.where(velocity[i] < limit[1, i], limit[0, i], zero)
            most_down = wp.where(velocity[i] > -limit[1, i], -limit[0, i], zero)
            # at first a guess: the joint yields, what it hangs on does not
            rate = (torque[i] + others[i] - load[i]) / wp.max(total[i], least_inertia)
            guess = torque[i] - implicit[i] * rate
            beyond = wp.where(guess < most_down, -one, zero)
            beyond = wp.where(guess > most_up, one, beyond)
            forced[i] = wp.where(again == 0, beyond, forced[i])
            within = wp.where(forced[i] > zero, most_up, most_down)
            held = forced[i] == zero
            # no limit may hide a command that is no number
            torque[i] = wp.where(held, torque[i], within + (torque[i] - torque[i]))
            implicit[i] = wp.where(held, implicit[i], zero)
            all_in = own[i] + others_implicit[i] + implicit[i]
            # what has no inertia has no acceleration of its own
            per[i] = wp.where(all_in > least_inertia, mode[2, i] / all_in, zero)

        # from midway through the step to its end
        wanted = two * (command[0] - position) / dt - velocity
        wanted = wp.cw_mul(mode[0], wanted) + wp.cw_mul(mode[1], command[1] - velocity)
        wanted = wanted / dt
        scratch[g, SOLUTION, t] = wp.matrix_from_rows(
            per, torque + others - load, wanted
        )
        scratch[g, TORQUES, t] = wp.matrix_from_rows(torque, implicit, others)
        scratch[g, FORCED, t] = wp.matrix_from_rows(forced, others_implicit, slides)
        scratch[g, SLIP, t] = wp.matrix_from_rows(slip, slip_implicit, wanted_torque)
        anchor = scratch[g, ANCHOR, t]
        anchor[1] = stopped
        scratch[g, ANCHOR, t] = anchor

    @wp.func
    def check_limits(
        program: Program,
        g: int,
        b: int,
        rate: Lanes,
        dt: scalar,
        again: int,
        scratch: wp.array3d[Lanes3],
        t: int,
    ) -> int:
        gain = program.actuator[b, g, P_GAIN]
        limit = program.actuator[b, g, P_LIMIT]
        mode = program.actuator[b, g, P_MODE]
        stop = program.actuator[b, g, P_STOP]
        joint = scratch[g, JOINT, t]
        velocity = joint[1]
        forced = scratch[g, FORCED, t]
        anchor = scratch[g, ANCHOR, t]
        # what the actuator would give without limits, at the end of the step
        damping = wp.max(gain[1], dt * gain[0])
        given = scratch[g, SLIP, t][2] - dt * wp.cw_mul(damping, rate)
        # mostly nothing is at a limit, and nothing needs a closer look
        after = velocity + dt * rate
        there = joint[0] + dt * after
        near = wp.max(there - stop[1], stop[0] - there)
        near = wp.max(near, wp.abs(velocity) - limit[1])
        near = wp.max(near, wp.abs(given) - slack * limit[0])
        if wp.max(near) < zero and wp.max(wp.abs(forced[0]) + anchor[1]) == zero:
            return 0
        beyond = int(0)
        worst = Lanes()
        missed = Lanes()
        for i in range(width):
            # stops, too, push at the end of the step, and never pull
            way = stop_way(joint[0, i], stop[0, i], stop[1, i])
            past = way * (there[i] - wp.where(way > zero, stop[1, i], stop[0, i]))
            push = past * stop_rate * stop_rate + two * stop_rate * way * after[i]
            if anchor[1, i] > zero:
                missed[i] = -mode[2, i] * push
            elif again < RETURNS:
                missed[i] = mode[2, i] * wp.min(push, past)
            most_up = wp.where(velocity[i] < limit[1, i], limit[0, i], zero)
            most_down = wp.where(velocity[i] > -limit[1, i], -limit[0, i], zero)
            if forced[0, i] == zero:
                worst[i] = wp.max(
                    given[i] - slack * most_up, slack * most_down - given[i]
                )
            elif again < RETURNS:
                worst[i] = wp.where(
                    forced[0, i] > zero, most_up - given[i], given[i] - most_down
                )
            worst[i] = mode[2, i] * worst[i]
        # a lane that is no number may come out as the largest: it hides no other
        if not (wp.max(worst) <= zero):
            for i in range(width):
                if worst[i] > zero:
                    forced[0, i] = wp.where(
                        forced[0, i] == zero, wp.sign(given[i]), zero
                    )
                    beyond = beyond + 1
            scratch[g, FORCED, t] = forced
        if not (wp.max(missed) <= zero):
            for i in range(width):
                if missed[i] > zero:
                    anchor[1, i] = one - anchor[1, i]
                    beyond = beyond + 1
            scratch[g, ANCHOR, t] = anchor
        return beyond

    @wp.func
    def integrate_joints(
        program: Program,
        g: int,
        b: int,
        rate: Lanes,
        carried: Lanes,
        dt: scalar,
        scratch: wp.array3d[Lanes3],
        t: int,
    ) -> None:
        joint = scratch[g, JOINT, t]
        rotor = program.actuator[b, g, P_GAIN][2]
        bristle = program.actuator[b, g, P_BRISTLE]
        free = program.actuator[b, g, P_MODE][2]
        torque = scratch[g, TORQUES, t]
        forced = scratch[g, FORCED, t]
        slip = scratch[g, SLIP, t]
        velocity = joint[1] + dt * rate
        position = joint[0] + half * dt * wp.cw_mul(Lanes(one) + free, velocity)
        others = torque[2] - wp.cw_mul(forced[1], rate)
        servo = torque[0] - wp.cw_mul(torque[1], rate)
        # what a prescribed motion takes: all that the joint carries, rotor included
        needed = carried + wp.cw_mul(rotor, rate) - others
        given = wp.cw_mul(free, servo) + wp.cw_mul(Lanes(one) - free, needed)
        anchor = scratch[g, ANCHOR, t][0]
        rubbed = slip[0] - wp.cw_mul(slip[1], rate)
        for i in range(width):
            # bristles that gave way are bent as far as the friction bends them
            bent = position[i] + bristle[2, i] * (
                rubbed[i] + forced[2, i] * velocity[i]
            )
            anchor[i] = wp.where(forced[2, i] >= zero, bent, anchor[i])
        scratch[g, JOINT, t] = wp.matrix_from_rows(position, velocity, rate)
        scratch[g, TORQUES, t] = wp.matrix_from_rows(given, others, carried)
        scratch[g, ANCHOR, t] = wp.matrix_from_rows(anchor, Lanes(), Lanes())

    return SimpleNamespace(
        lead=lead,
        half_way=half_way,
        actuate=actuate,
        check_limits=check_limits,
        integrate_joints=integrate_joints,
    )
