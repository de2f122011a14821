"""Contact of points with ground, walls and boxes, linearly implicit.

A point in the ground is held by a spring and a damper in three directions, Eq.
(46–48) of [Sariyildiz2015], from an anchor that stays where the point first touched.
Forces are those at the end of the step: force = explicit - implicit × acceleration of
the point; the implicit part is added to the inertia of the body like a mass. If the
tangential force would leave the friction cone, it is scaled back to it, which opposes
the motion and is the same in all directions, and the anchor is dragged along.
"""

# Kernel bodies are in Warp's own language, which mypy misreads.
# mypy: disable-error-code="arg-type, attr-defined, untyped-decorator"

from types import SimpleNamespace
from typing import Any

import warp as wp

from equipoise.kernels.articulated import (
    ACCELERATION,
    FORCE,
    INERTIA,
    INERTIA_OFF,
    MASS,
    MASS_OFF,
    MIXED_X,
    MIXED_Y,
    MIXED_Z,
    MOMENT,
    OMEGA,
    ORIGIN,
    POSITION,
    SLOTS,
    SPIN,
    VELOCITY,
    X,
    Y,
    Z,
)
from equipoise.kernels.ground import make_ground
from equipoise.kernels.once import once

# What is kept of a point during a step: place from the base; unit normal; explicit
# force; (implicit along the surface, implicit along the normal minus that, -); its
# velocity over the surface; acceleration that speeds alone cause; velocity of the
# surface.
ARM, NORMAL, PUSH, IMPLICIT, SPEED, DRIFT, CARRIED = range(7)
WORK = 7

# What is kept of a point from step to step: (how it touches, -, -); where it is held;
# velocity over the surface; where it was; the force on it.
HOW, ANCHOR, BEFORE, PLACE, PRESSURE = range(5)
STATE = 5

# How a point touches: not at all, or it rests or slides on its surface.
AWAY, STICKS, SLIDES = 0.0, 1.0, 2.0

# Columns of the numbers of a point, and of its figures: place in the body; (stiffness,
# damping, -); (static friction, dynamic friction, -).
GROUP, LANE, ROOT_GROUP, ROOT_LANE, SURFACE = range(5)
LOCAL, SPRING, FRICTION = range(3)
# Columns of the numbers of a block (its group is -1 if it is fixed), and of its
# figures: centre, half of the edges, (cosine, sine, -) of its yaw.
BLOCK_GROUP, BLOCK_LANE = range(2)
CENTRE, HALF, YAW = range(3)

GROUND = -1


@once
def make_touch(scalar: Any, width: int) -> SimpleNamespace:
    """Return the struct ``Points`` and the functions ``press`` and ``settle``.

    - ``press(points, k, ground, dt, block, raw, work, t)``: find out how point k
      touches, and add it to the inertia and force of its body
    - ``settle(points, k, dt, block, raw, work, t)``: the force that came out, the
      anchor, the reaction on a box
    """
    ground_types = make_ground(scalar)
    Ground, Touch = ground_types.Ground, ground_types.Touch
    surface = ground_types.surface
    vec3 = wp.types.vector(length=3, dtype=scalar)
    zero = scalar(0.0)
    one = scalar(1.0)
    tiny = scalar(1e-30)
    away, sticks, slides = scalar(AWAY), scalar(STICKS), scalar(SLIDES)

    @wp.struct
    class Points:
        count: int
        number: wp.array2d[int]
        figure: wp.array2d[vec3]
        block_number: wp.array2d[int]
        block_figure: wp.array2d[vec3]
        state: wp.array3d[vec3]

    @wp.func
    def get(raw: wp.array3d[scalar], g: int, slot: int, lane: int, t: int) -> vec3:
        row = g * SLOTS + slot
        return vec3(
            raw[row, t, lane], raw[row, t, width + lane], raw[row, t, 2 * width + lane]
        )

    @wp.func
    def add(
        raw: wp.array3d[scalar], g: int, slot: int, lane: int, t: int, value: vec3
    ) -> None:
        row = g * SLOTS + slot
        for i in range(3):
            raw[row, t, i * width + lane] = raw[row, t, i * width + lane] + value[i]

    @wp.func
    def in_block(at: vec3, half: vec3) -> Touch:
        """Return how deep a point, given in axes of a block, is in it."""
        touch = Touch()
        touch.depth = half[0] - wp.abs(at[0])
        touch.normal = vec3(wp.sign(at[0]), zero, zero)
        depth = half[1] - wp.abs(at[1])
        if depth < touch.depth:
            touch.depth = depth
            touch.normal = vec3(zero, wp.sign(at[1]), zero)
        depth = half[2] - wp.abs(at[2])
        if depth < touch.depth:
            touch.depth = depth
            touch.normal = vec3(zero, zero, wp.sign(at[2]))
        return touch

    @wp.func
    def press(
        points: Points,
        k: int,
        ground: Ground,
        dt: scalar,
        block: int,
        raw: wp.array3d[scalar],
        work: wp.array3d[vec3],
        t: int,
    ) -> None:
        g = points.number[k, GROUP]
        lane = points.number[k, LANE]
        local = points.figure[k, LOCAL]
        arm = (
            get(raw, g, ORIGIN, lane, t)
            + local[0] * get(raw, g, X, lane, t)
            + local[1] * get(raw, g, Y, lane, t)
            + local[2] * get(raw, g, Z, lane, t)
        )
        place = arm + get(
            raw, points.number[k, ROOT_GROUP], POSITION, points.number[k, ROOT_LANE], t
        )
        points.state[block, k, PLACE] = place
        touch = Touch()
        against = points.number[k, SURFACE]
        moving = vec3()
        if against == GROUND:
            touch = surface(ground, place)
        else:
            half = points.block_figure[against, HALF]
            bg = points.block_number[against, BLOCK_GROUP]
            if bg < 0:
                yaw = points.block_figure[against, YAW]
                d = place - points.block_figure[against, CENTRE]
                at = vec3(
                    yaw[0] * d[0] + yaw[1] * d[1], yaw[0] * d[1] - yaw[1] * d[0], d[2]
                )
                touch = in_block(at, half)
                n = touch.normal
                touch.normal = vec3(
                    yaw[0] * n[0] - yaw[1] * n[1], yaw[1] * n[0] + yaw[0] * n[1], n[2]
                )
            else:
                bl = points.block_number[against, BLOCK_LANE]
                d = place - get(raw, bg, POSITION, bl, t)
                x = get(raw, bg, X, bl, t)
                y = get(raw, bg, Y, bl, t)
                z = get(raw, bg, Z, bl, t)
                touch = in_block(vec3(wp.dot(x, d), wp.dot(y, d), wp.dot(z, d)), half)
                n = touch.normal
                touch.normal = n[0] * x + n[1] * y + n[2] * z
                moving = get(raw, bg, VELOCITY, bl, t) + wp.cross(
                    get(raw, bg, OMEGA, bl, t), d
                )
        if touch.depth <= zero:
            points.state[block, k, HOW] = vec3(away, zero, zero)
            return
        omega = get(raw, g, OMEGA, lane, t)
        speed = get(raw, g, VELOCITY, lane, t) + wp.cross(omega, arm)
        drift = wp.cross(omega, speed)
        normal = touch.normal
        how = points.state[block, k, HOW][0]
        anchor = points.state[block, k, ANCHOR]
        if how == away:
            anchor = place
            points.state[block, k, ANCHOR] = place
        spring = points.figure[k, SPRING]
        friction = points.figure[k, FRICTION]
        # explicit in position and implicit in velocity adds no damping of its own,
        # and is stable if the damping is at least half of dt × stiffness
        grip = wp.max(spring[1], dt * spring[0])
        relative = speed - moving
        closing = wp.dot(normal, relative)
        lift = wp.max(spring[0] * touch.depth - grip * closing, zero)
        sliding = relative - closing * normal
        stretch = anchor - place
        stretch = spring[0] * (stretch - wp.dot(normal, stretch) * normal)
        if against != GROUND:
            # the anchor goes along with the box
            points.state[block, k, ANCHOR] = anchor + dt * moving
        drag = stretch - grip * sliding
        trial = stretch - (spring[1] + dt * spring[0]) * sliding
        size = wp.length(trial)
        most = friction[1] * lift
        slid = how == slides
        holds = wp.where(slid, most, friction[0] * lift)
        stiff = wp.where(lift > zero, dt * grip, zero)
        along = stiff
        if size > holds:
            share = most / wp.max(size, tiny)
            along = share * stiff
            drag = share * trial
            if slid:
                # a point that gathers speed is held no more than one that does not
                gained = sliding - points.state[block, k, BEFORE]
                gained = gained - wp.dot(normal, gained) * normal
                fast = wp.length(sliding)
                steady = wp.max(one - wp.length(gained) / wp.max(fast, tiny), zero)
                drag = drag + (steady * along / dt) * gained
            how = slides
        else:
            how = sticks
        points.state[block, k, HOW] = vec3(how, zero, zero)
        points.state[block, k, BEFORE] = sliding
        beyond = stiff - along
        push = lift * normal + drag
        push = push - along * drift - beyond * wp.dot(normal, drift) * normal

        add(raw, g, FORCE, lane, t, -push)
        add(raw, g, MOMENT, lane, t, -wp.cross(arm, push))
        w = wp.cross(arm, normal)
        bn = beyond * normal
        bw = beyond * w
        am = along * arm
        square = wp.dot(am, arm)
        add(raw, g, MASS, lane, t, vec3(along, along, along) + wp.cw_mul(bn, normal))
        add(
            raw,
            g,
            MASS_OFF,
            lane,
            t,
            vec3(bn[1] * normal[2], bn[0] * normal[2], bn[0] * normal[1]),
        )
        add(raw, g, MIXED_X, lane, t, vec3(zero, am[2], -am[1]) + bn[0] * w)
        add(raw, g, MIXED_Y, lane, t, vec3(-am[2], zero, am[0]) + bn[1] * w)
        add(raw, g, MIXED_Z, lane, t, vec3(am[1], -am[0], zero) + bn[2] * w)
        add(
            raw,
            g,
            INERTIA,
            lane,
            t,
            vec3(square, square, square) - wp.cw_mul(am, arm) + wp.cw_mul(bw, w),
        )
        add(
            raw,
            g,
            INERTIA_OFF,
            lane,
            t,
            vec3(
                bw[1] * w[2] - am[1] * arm[2],
                bw[0] * w[2] - am[0] * arm[2],
                bw[0] * w[1] - am[0] * arm[1],
            ),
        )
        work[k, ARM, t] = arm
        work[k, NORMAL, t] = normal
        work[k, PUSH, t] = push
        work[k, IMPLICIT, t] = vec3(along, beyond, zero)
        work[k, SPEED, t] = relative
        work[k, CARRIED, t] = moving
        work[k, DRIFT, t] = drift

    @wp.func
    def settle(
        points: Points,
        k: int,
        dt: scalar,
        block: int,
        raw: wp.array3d[scalar],
        work: wp.array3d[vec3],
        t: int,
    ) -> None:
        how = points.state[block, k, HOW][0]
        if how == away:
            points.state[block, k, PRESSURE] = vec3()
            return
        g = points.number[k, GROUP]
        lane = points.number[k, LANE]
        arm = work[k, ARM, t]
        normal = work[k, NORMAL, t]
        implicit = work[k, IMPLICIT, t]
        gained = get(raw, g, ACCELERATION, lane, t) + wp.cross(
            get(raw, g, SPIN, lane, t), arm
        )
        force = (
            work[k, PUSH, t]
            - implicit[0] * gained
            - implicit[1] * wp.dot(normal, gained) * normal
        )
        points.state[block, k, PRESSURE] = force
        against = points.number[k, SURFACE]
        if how == slides:
            spring = points.figure[k, SPRING]
            speed = work[k, SPEED, t] + dt * (gained + work[k, DRIFT, t])
            place = points.state[block, k, PLACE] + dt * (speed + work[k, CARRIED, t])
            drag = force + spring[1] * speed
            drag = drag - wp.dot(normal, drag) * normal
            points.state[block, k, ANCHOR] = place + drag / spring[0]
        if against != GROUND:
            bg = points.block_number[against, BLOCK_GROUP]
            if bg >= 0:
                bl = points.block_number[against, BLOCK_LANE]
                d = points.state[block, k, PLACE] - get(raw, bg, POSITION, bl, t)
                add(raw, bg, FORCE, bl, t, force)
                add(raw, bg, MOMENT, bl, t, wp.cross(d, force))

    return SimpleNamespace(Points=Points, press=press, settle=settle)
