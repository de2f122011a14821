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

# How a point touches: not at all, or it rests or slides on its surface.
AWAY, STICKS, SLIDES = range(3)

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
    vec4 = wp.types.vector(length=4, dtype=scalar)
    zero = scalar(0.0)
    one = scalar(1.0)
    tiny = scalar(1e-30)

    @wp.struct
    class Points:
        count: int
        group: wp.array[int]
        lane: wp.array[int]
        root_group: wp.array[int]
        root_lane: wp.array[int]
        position: wp.array[vec3]
        material: wp.array[vec4]
        surface: wp.array[int]
        box_group: wp.array[int]
        box_lane: wp.array[int]
        # of surfaces: centre, half of the edges, (cosine, sine, -) of the yaw
        centre: wp.array[vec3]
        half: wp.array[vec3]
        yaw: wp.array[vec3]
        # state and results, one for each point of each block
        touching: wp.array2d[int]
        anchor: wp.array2d[vec3]
        force: wp.array2d[vec3]
        place: wp.array2d[vec3]
        before: wp.array2d[vec3]

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
        g = points.group[k]
        lane = points.lane[k]
        local = points.position[k]
        arm = (
            get(raw, g, ORIGIN, lane, t)
            + local[0] * get(raw, g, X, lane, t)
            + local[1] * get(raw, g, Y, lane, t)
            + local[2] * get(raw, g, Z, lane, t)
        )
        place = arm + get(raw, points.root_group[k], POSITION, points.root_lane[k], t)
        points.place[block, k] = place
        touch = Touch()
        against = points.surface[k]
        moving = vec3()
        if against == GROUND:
            touch = surface(ground, place)
        else:
            half = points.half[against]
            bg = points.box_group[against]
            if bg < 0:
                yaw = points.yaw[against]
                d = place - points.centre[against]
                at = vec3(
                    yaw[0] * d[0] + yaw[1] * d[1], yaw[0] * d[1] - yaw[1] * d[0], d[2]
                )
                touch = in_block(at, half)
                n = touch.normal
                touch.normal = vec3(
                    yaw[0] * n[0] - yaw[1] * n[1], yaw[1] * n[0] + yaw[0] * n[1], n[2]
                )
            else:
                bl = points.box_lane[against]
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
            points.touching[block, k] = AWAY
            return
        omega = get(raw, g, OMEGA, lane, t)
        speed = get(raw, g, VELOCITY, lane, t) + wp.cross(omega, arm)
        drift = wp.cross(omega, speed)
        normal = touch.normal
        if points.touching[block, k] == AWAY:
            points.anchor[block, k] = place
            points.touching[block, k] = STICKS
        figures = points.material[k]
        # explicit in position and implicit in velocity adds no damping of its own,
        # and is stable if the damping is at least half of dt × stiffness
        grip = wp.max(figures[1], dt * figures[0])
        relative = speed - moving
        closing = wp.dot(normal, relative)
        lift = wp.max(figures[0] * touch.depth - grip * closing, zero)
        sliding = relative - closing * normal
        stretch = points.anchor[block, k] - place
        stretch = figures[0] * (stretch - wp.dot(normal, stretch) * normal)
        if against != GROUND:
            # the anchor goes along with the box
            points.anchor[block, k] = points.anchor[block, k] + dt * moving
        drag = stretch - grip * sliding
        trial = stretch - (figures[1] + dt * figures[0]) * sliding
        size = wp.length(trial)
        most = figures[3] * lift
        slid = points.touching[block, k] == SLIDES
        holds = wp.where(slid, most, figures[2] * lift)
        stiff = wp.where(lift > zero, dt * grip, zero)
        along = stiff
        if size > holds:
            share = most / wp.max(size, tiny)
            along = share * stiff
            drag = share * trial
            if slid:
                # a point that gathers speed is held no more than one that does not
                gained = sliding - points.before[block, k]
                gained = gained - wp.dot(normal, gained) * normal
                fast = wp.length(sliding)
                steady = wp.max(one - wp.length(gained) / wp.max(fast, tiny), zero)
                drag = drag + (steady * along / dt) * gained
            points.touching[block, k] = SLIDES
        else:
            points.touching[block, k] = STICKS
        points.before[block, k] = sliding
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
        if points.touching[block, k] == AWAY:
            points.force[block, k] = vec3()
            return
        g = points.group[k]
        lane = points.lane[k]
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
        points.force[block, k] = force
        against = points.surface[k]
        if points.touching[block, k] == SLIDES:
            figures = points.material[k]
            speed = work[k, SPEED, t] + dt * (gained + work[k, DRIFT, t])
            place = points.place[block, k] + dt * (speed + work[k, CARRIED, t])
            drag = force + figures[1] * speed
            drag = drag - wp.dot(normal, drag) * normal
            points.anchor[block, k] = place + drag / figures[0]
        if against != GROUND:
            bg = points.box_group[against]
            if bg >= 0:
                bl = points.box_lane[against]
                d = points.place[block, k] - get(raw, bg, POSITION, bl, t)
                add(raw, bg, FORCE, bl, t, force)
                add(raw, bg, MOMENT, bl, t, wp.cross(d, force))

    return SimpleNamespace(
        Points=Points, press=press, settle=settle, vec3=vec3, vec4=vec4
    )
