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

# What is known of a point during a step: (how it touches, whether it lets go, -); place
# in the world, and from the base; unit normal; explicit force; (implicit along the
# surface, implicit along the normal minus that, -); velocity over the surface, and of
# the surface; acceleration that speeds alone cause; the force that comes out.
STATUS, PLACE, ARM, NORMAL, PUSH, IMPLICIT, SPEED, CARRIED, DRIFT, RESULT = range(10)
WORK = 10

# What is kept of a point from step to step: (how it touches, -, -); where it is held;
# velocity along the surface; the force on it.
HOW, ANCHOR, BEFORE, PRESSURE = range(4)
STATE = 4

# How a point touches: not at all, or it rests or slides on its surface.
AWAY, STICKS, SLIDES = 0.0, 1.0, 2.0

# Columns of the numbers of a point, and of its figures: place in the body; (stiffness,
# damping, -); (static friction, dynamic friction, -).
GROUP, LANE, ROOT_GROUP, ROOT_LANE, SURFACE = range(5)
LOCAL, SPRING, FRICTION = range(3)
# Columns of the numbers of a block (its group is -1 if it is fixed), and of its
# figures: centre, half of the edges, (cosine and sine of its yaw, whether it can be
# touched from below).
BLOCK_GROUP, BLOCK_LANE = range(2)
CENTRE, HALF, YAW = range(3)

GROUND = -1


@once
def make_touch(scalar: Any, width: int) -> SimpleNamespace:
    """Return the struct ``Points`` and what is done with points in a step.

    - ``press(points, k, ground, terrain, dt, again, block, raw, work, t)``: find out
      how point k touches, and add it to the inertia and force of its body; nothing
      is kept yet, so that a step can be tried ``again``
    - ``feel(points, k, raw, work, t)``: the force that comes out; true if it pulls, in
      which case the point lets go when the step is tried again
    - ``settle(points, k, dt, block, work, t)``: keep what came out
    - ``react(points, k, raw, work, t)``: hand the force to the box that is touched
    - ``arm_of(raw, g, lane, t, local)``: where a point of a body is, from the base
    - ``pull(raw, g, lane, t, arm, force)``: let a force act on such a point
    - ``get(raw, g, slot, lane, t)``: a vector of working memory
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
        figure: wp.array3d[vec3]
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
    def arm_of(raw: wp.array3d[scalar], g: int, lane: int, t: int, local: vec3) -> vec3:
        """Return where a point of a body is, from the base's origin."""
        return (
            get(raw, g, ORIGIN, lane, t)
            + local[0] * get(raw, g, X, lane, t)
            + local[1] * get(raw, g, Y, lane, t)
            + local[2] * get(raw, g, Z, lane, t)
        )

    @wp.func
    def pull(
        raw: wp.array3d[scalar], g: int, lane: int, t: int, arm: vec3, force: vec3
    ) -> None:
        """Let a force act on a point of a body."""
        add(raw, g, FORCE, lane, t, -force)
        add(raw, g, MOMENT, lane, t, -wp.cross(arm, force))

    @wp.func
    def in_block(at: vec3, half: vec3, below: scalar) -> Touch:
        """Return how deep a point, given in axes of a block, is in it.

        A block that stands on the ground cannot be touched from below: soles that sink
        into the ground are still beside it.
        """
        touch = Touch()
        touch.depth = half[0] - wp.abs(at[0])
        touch.normal = vec3(wp.sign(at[0]), zero, zero)
        depth = half[1] - wp.abs(at[1])
        if depth < touch.depth:
            touch.depth = depth
            touch.normal = vec3(zero, wp.sign(at[1]), zero)
        depth = half[2] - at[2]
        if depth < touch.depth:
            touch.depth = depth
            touch.normal = vec3(zero, zero, one)
        depth = half[2] + at[2]
        if below > zero and depth < touch.depth:
            touch.depth = depth
            touch.normal = vec3(zero, zero, -one)
        return touch

    @wp.func
    def on_wall(centre: vec3, half: vec3, yaw: vec3, place: vec3) -> Touch:
        d = place - centre
        at = vec3(yaw[0] * d[0] + yaw[1] * d[1], yaw[0] * d[1] - yaw[1] * d[0], d[2])
        touch = in_block(at, half, yaw[2])
        n = touch.normal
        touch.normal = vec3(
            yaw[0] * n[0] - yaw[1] * n[1], yaw[1] * n[0] + yaw[0] * n[1], n[2]
        )
        return touch

    @wp.func
    def add_mass(
        raw: wp.array3d[scalar],
        g: int,
        lane: int,
        t: int,
        along: scalar,
        beyond: scalar,
        arm: vec3,
        normal: vec3,
    ) -> None:
        """Add a mass at a point: ``along`` in all directions, ``beyond`` in one."""
        w = wp.cross(arm, normal)
        bn = beyond * normal
        bw = beyond * w
        am = along * arm
        square = wp.dot(am, arm)
        add(raw, g, MASS, lane, t, vec3(along, along, along) + wp.cw_mul(bn, normal))
        mass_off = vec3(bn[1] * normal[2], bn[0] * normal[2], bn[0] * normal[1])
        add(raw, g, MASS_OFF, lane, t, mass_off)
        add(raw, g, MIXED_X, lane, t, vec3(zero, am[2], -am[1]) + bn[0] * w)
        add(raw, g, MIXED_Y, lane, t, vec3(-am[2], zero, am[0]) + bn[1] * w)
        add(raw, g, MIXED_Z, lane, t, vec3(am[1], -am[0], zero) + bn[2] * w)
        inertia = vec3(square, square, square) - wp.cw_mul(am, arm) + wp.cw_mul(bw, w)
        add(raw, g, INERTIA, lane, t, inertia)
        inertia_off = vec3(
            bw[1] * w[2] - am[1] * arm[2],
            bw[0] * w[2] - am[0] * arm[2],
            bw[0] * w[1] - am[0] * arm[1],
        )
        add(raw, g, INERTIA_OFF, lane, t, inertia_off)

    @wp.func
    def press(
        points: Points,
        k: int,
        ground: Ground,
        terrain: int,
        dt: scalar,
        again: int,
        block: int,
        raw: wp.array3d[scalar],
        work: wp.array3d[vec3],
        t: int,
    ) -> None:
        g = points.number[k, GROUP]
        lane = points.number[k, LANE]
        p = wp.min(block, points.figure.shape[0] - 1)
        arm = arm_of(raw, g, lane, t, points.figure[p, k, LOCAL])
        root_lane = points.number[k, ROOT_LANE]
        place = arm + get(raw, points.number[k, ROOT_GROUP], POSITION, root_lane, t)
        touch = Touch()
        against = points.number[k, SURFACE]
        moving = vec3()
        if against == GROUND:
            touch = surface(ground, terrain, place)
        else:
            half = points.block_figure[against, HALF]
            bg = points.block_number[against, BLOCK_GROUP]
            if bg < 0:
                yaw = points.block_figure[against, YAW]
                touch = on_wall(points.block_figure[against, CENTRE], half, yaw, place)
            else:
                bl = points.block_number[against, BLOCK_LANE]
                d = place - get(raw, bg, POSITION, bl, t)
                x = get(raw, bg, X, bl, t)
                y = get(raw, bg, Y, bl, t)
                z = get(raw, bg, Z, bl, t)
                at = vec3(wp.dot(x, d), wp.dot(y, d), wp.dot(z, d))
                touch = in_block(at, half, zero)
                n = touch.normal
                touch.normal = n[0] * x + n[1] * y + n[2] * z
                moving = get(raw, bg, VELOCITY, bl, t) + wp.cross(
                    get(raw, bg, OMEGA, bl, t), d
                )
        if touch.depth <= zero:
            work[k, STATUS, t] = vec3(away, zero, zero)
            return
        lets_go = zero
        if again > 0:
            lets_go = work[k, STATUS, t][1]
        omega = get(raw, g, OMEGA, lane, t)
        speed = get(raw, g, VELOCITY, lane, t) + wp.cross(omega, arm)
        drift = wp.cross(omega, speed)
        normal = touch.normal
        how = points.state[block, k, HOW][0]
        stretch = vec3()
        if how != away:
            stretch = points.state[block, k, ANCHOR] - place
        spring = points.figure[p, k, SPRING]
        friction = points.figure[p, k, FRICTION]
        # explicit in position and implicit in velocity adds no damping of its own;
        # damping of dt × stiffness at least keeps it stable for any mass
        grip = wp.max(spring[1], dt * spring[0])
        relative = speed - moving
        closing = wp.dot(normal, relative)
        lift = wp.max(spring[0] * touch.depth - grip * closing, zero)
        if lets_go > zero:
            lift = zero
        sliding = relative - closing * normal
        stretch = spring[0] * (stretch - wp.dot(normal, stretch) * normal)
        drag = stretch - grip * sliding
        trial = stretch - (spring[1] + dt * spring[0]) * sliding
        size = wp.length(trial)
        most = friction[1] * lift
        holds = wp.where(how == slides, most, friction[0] * lift)
        stiff = wp.where(lift > zero, dt * grip, zero)
        along = stiff
        if size >= holds:
            share = most / wp.max(size, tiny)
            along = share * stiff
            drag = share * trial
            if how == slides:
                # a point that gathers speed is held no more than one that does not
                gained = sliding - points.state[block, k, BEFORE]
                gained = gained - wp.dot(normal, gained) * normal
                fast = wp.length(sliding)
                steady = wp.max(one - wp.length(gained) / wp.max(fast, tiny), zero)
                drag = drag + (steady * along / dt) * gained
            how = slides
        else:
            how = sticks
        beyond = stiff - along
        push = lift * normal + drag
        push = push - along * drift - beyond * wp.dot(normal, drift) * normal
        pull(raw, g, lane, t, arm, push)
        add_mass(raw, g, lane, t, along, beyond, arm, normal)
        work[k, STATUS, t] = vec3(how, lets_go, zero)
        work[k, PLACE, t] = place
        work[k, ARM, t] = arm
        work[k, NORMAL, t] = normal
        work[k, PUSH, t] = push
        work[k, IMPLICIT, t] = vec3(along, beyond, zero)
        work[k, SPEED, t] = relative
        work[k, CARRIED, t] = moving
        work[k, DRIFT, t] = drift

    @wp.func
    def feel(
        points: Points,
        k: int,
        raw: wp.array3d[scalar],
        work: wp.array3d[vec3],
        t: int,
    ) -> int:
        status = work[k, STATUS, t]
        if status[0] == away:
            work[k, RESULT, t] = vec3()
            return 0
        g = points.number[k, GROUP]
        lane = points.number[k, LANE]
        normal = work[k, NORMAL, t]
        implicit = work[k, IMPLICIT, t]
        gained = get(raw, g, ACCELERATION, lane, t) + wp.cross(
            get(raw, g, SPIN, lane, t), work[k, ARM, t]
        )
        # from here on the acceleration of the point itself
        work[k, DRIFT, t] = work[k, DRIFT, t] + gained
        force = (
            work[k, PUSH, t]
            - implicit[0] * gained
            - implicit[1] * wp.dot(normal, gained) * normal
        )
        work[k, RESULT, t] = force
        if wp.dot(normal, force) < zero and status[1] == zero:
            work[k, STATUS, t] = vec3(status[0], one, zero)
            return 1
        return 0

    @wp.func
    def react(
        points: Points,
        k: int,
        raw: wp.array3d[scalar],
        work: wp.array3d[vec3],
        t: int,
    ) -> None:
        against = points.number[k, SURFACE]
        if against == GROUND:
            return
        bg = points.block_number[against, BLOCK_GROUP]
        if bg < 0 or work[k, STATUS, t][0] == away:
            return
        bl = points.block_number[against, BLOCK_LANE]
        force = work[k, RESULT, t]
        d = work[k, PLACE, t] - get(raw, bg, POSITION, bl, t)
        pull(raw, bg, bl, t, d, -force)

    @wp.func
    def settle(
        points: Points, k: int, dt: scalar, block: int, work: wp.array3d[vec3], t: int
    ) -> None:
        how = work[k, STATUS, t][0]
        force = work[k, RESULT, t]
        before = points.state[block, k, HOW][0]
        points.state[block, k, HOW] = vec3(how, zero, zero)
        points.state[block, k, PRESSURE] = force
        if how == away:
            return
        normal = work[k, NORMAL, t]
        relative = work[k, SPEED, t]
        moving = work[k, CARRIED, t]
        place = work[k, PLACE, t]
        if how == slides:
            # the anchor goes along, as far behind as the force bends the spring
            p = wp.min(block, points.figure.shape[0] - 1)
            spring = points.figure[p, k, SPRING]
            after = relative + dt * work[k, DRIFT, t]
            drag = force + spring[1] * after
            drag = drag - wp.dot(normal, drag) * normal
            place = place + dt * (after + moving) + drag / spring[0]
            points.state[block, k, ANCHOR] = place
        elif before == away:
            points.state[block, k, ANCHOR] = place + dt * moving
        else:
            # stays where it is, on a box that may move
            anchor = points.state[block, k, ANCHOR]
            points.state[block, k, ANCHOR] = anchor + dt * moving
        points.state[block, k, BEFORE] = relative - wp.dot(normal, relative) * normal

    return SimpleNamespace(
        Points=Points,
        press=press,
        feel=feel,
        react=react,
        settle=settle,
        arm_of=arm_of,
        pull=pull,
        get=get,
    )
