"""Contact of points with ground, walls and boxes, linearly implicit.

A point in the ground is held by a spring and a damper in three directions, Eq.
(46–48) of [Sariyildiz2015], from an anchor that stays where the point first touched.
Forces are those at the end of the step: force = explicit - implicit × acceleration of
the point; the implicit part is added to the inertia of the body like a mass. If the
tangential force would leave the friction cone, it is scaled back to it, Eq. (49–50)
corrected: friction opposes the slip and is the same in all directions, and the anchor
slips along.

A step *predicts* how each point touches and the explicit force, *resolves* the forces
once the accelerations are known, and *commits* them when no contact pulls.
"""

# Kernel bodies are in Warp's own language, which mypy misreads.
# mypy: disable-error-code="arg-type, attr-defined, untyped-decorator"

from types import SimpleNamespace
from typing import Any

import warp as wp

from equipoise.kernels.actuators import RETURNS
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

# What is known of a point during a step: (contact mode, whether it is released, -);
# position in the world, and from the base; unit normal; explicit force; (implicit part
# along the surface, that along the normal less it, -); velocity over the surface, and
# of the surface; acceleration that velocities alone cause; the resulting force; (normal
# force if it touches, its implicit part, for which part of the step it touches).
(
    STATUS,
    PLACE,
    ARM,
    NORMAL,
    EXPLICIT,
    IMPLICIT,
    RELATIVE_VELOCITY,
    SURFACE_VELOCITY,
    DRIFT,
    RESULT,
    NORMAL_FORCE,
) = range(11)
WORK = 11

# What is kept of a point from step to step: (contact mode, -, -); its anchor; its
# tangential velocity; the force on it.
CONTACT_MODE, ANCHOR, LAST_VELOCITY, CONTACT_FORCE = range(4)
STATE = 4

# Contact modes.
OPEN, STICKING, SLIPPING = 0.0, 1.0, 2.0

# Columns of the integers of a point, and of its parameters: place in the body;
# (stiffness, damping, -); (static friction, dynamic friction, -).
GROUP, LANE, ROOT_GROUP, ROOT_LANE, SURFACE = range(5)
LOCAL, SPRING, FRICTION = range(3)
# Columns of the integers of a block (its group is -1 if it is fixed), and of its
# parameters: centre, half of the edges, (cosine and sine of its yaw, whether it can be
# touched from below).
BLOCK_GROUP, BLOCK_LANE = range(2)
CENTRE, HALF, YAW = range(3)

GROUND = -1
# A point that is masked touches nothing.
NOTHING = -2


@once
def make_contact(scalar: Any, width: int) -> SimpleNamespace:
    """Return the struct ``Points`` and what is done with points in a step.

    - ``predict(points, k, ground, terrain, dt, again, block, raw, work, t)``: find out
      how point k touches, and add it to the inertia and force of its body; nothing
      is kept yet, so that a step can be tried ``again``
    - ``resolve(points, k, again, raw, work, t)``: the resulting force; true if it
      pulls, in which case the point is released when the step is tried again, or if
      the point was released and should not have been
    - ``commit(points, k, dt, block, work, t)``: keep the result for the next step
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
    is_open, sticking, slipping = scalar(OPEN), scalar(STICKING), scalar(SLIPPING)

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
        """Return mode deep a point, given in axes of a block, is in it.

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
    def predict(
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
        if against == NOTHING:
            work[k, STATUS, t] = vec3(is_open, zero, zero)
            return
        surface_velocity = vec3()
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
                surface_velocity = get(raw, bg, VELOCITY, bl, t) + wp.cross(
                    get(raw, bg, OMEGA, bl, t), d
                )
        omega = get(raw, g, OMEGA, lane, t)
        velocity = get(raw, g, VELOCITY, lane, t) + wp.cross(omega, arm)
        drift = wp.cross(omega, velocity)
        normal = touch.normal
        relative = velocity - surface_velocity
        closing = wp.dot(normal, relative)
        # for which part of the step it touches: a point that met the ground without
        # resistance would find a spring there, bent by nobody's work
        part = one
        if touch.depth <= zero:
            depth = touch.depth - dt * closing
            if against != GROUND or depth <= zero:
                work[k, STATUS, t] = vec3(is_open, zero, zero)
                return
            part = depth / (depth - touch.depth)
        mode = points.state[block, k, CONTACT_MODE][0]
        stretch = vec3()
        if mode != is_open:
            stretch = points.state[block, k, ANCHOR] - place
        spring = points.figure[p, k, SPRING]
        friction = points.figure[p, k, FRICTION]
        # explicit in position and implicit in velocity adds no damping of its own;
        # damping of dt × stiffness at least keeps it stable for any mass
        least = dt * spring[0]
        damping = least + part * wp.max(spring[1] - least, zero)
        # Eq. (48): the ground pushes and never pulls, at the end of the step
        normal_force = spring[0] * touch.depth - damping * closing
        released = wp.where(normal_force > zero, zero, one)
        if again > 0:
            released = work[k, STATUS, t][1]
        work[k, NORMAL_FORCE, t] = vec3(normal_force, dt * damping, part)
        carried = normal_force
        if carried <= zero:
            carried = wp.max(
                wp.dot(normal, points.state[block, k, CONTACT_FORCE]), zero
            )
        if released > zero:
            normal_force = zero
            carried = zero
        sliding = relative - closing * normal
        stretch = spring[0] * (stretch - wp.dot(normal, stretch) * normal)
        held = part * wp.max(spring[1], least)
        tangential_force = stretch - held * sliding
        # Eq. (46–47), as they would be at the end of the step
        trial = stretch - part * (spring[1] + least) * sliding
        size = wp.length(trial)
        slip_limit = friction[1] * carried
        stick_limit = wp.where(mode == slipping, slip_limit, friction[0] * carried)
        stiff = wp.where(released > zero, zero, dt * damping)
        along = wp.where(released > zero, zero, dt * held)
        if size >= stick_limit:  # Eq. (49–50): slip
            share = slip_limit / wp.max(size, tiny)
            along = share * along
            tangential_force = share * trial
            if mode == slipping:
                # a point that gathers velocity is held no more than one that does not
                gained = sliding - points.state[block, k, LAST_VELOCITY]
                gained = gained - wp.dot(normal, gained) * normal
                fast = wp.length(sliding)
                steady = wp.max(one - wp.length(gained) / wp.max(fast, tiny), zero)
                tangential_force = tangential_force + (steady * along / dt) * gained
            mode = slipping
        else:
            mode = sticking
        beyond = stiff - along
        push = normal_force * normal + tangential_force
        push = push - along * drift - beyond * wp.dot(normal, drift) * normal
        pull(raw, g, lane, t, arm, push)
        add_mass(raw, g, lane, t, along, beyond, arm, normal)
        work[k, STATUS, t] = vec3(mode, released, zero)
        work[k, PLACE, t] = place
        work[k, ARM, t] = arm
        work[k, NORMAL, t] = normal
        work[k, EXPLICIT, t] = push
        work[k, IMPLICIT, t] = vec3(along, beyond, zero)
        work[k, RELATIVE_VELOCITY, t] = relative
        work[k, SURFACE_VELOCITY, t] = surface_velocity
        work[k, DRIFT, t] = drift

    @wp.func
    def resolve(
        points: Points,
        k: int,
        again: int,
        raw: wp.array3d[scalar],
        work: wp.array3d[vec3],
        t: int,
    ) -> int:
        status = work[k, STATUS, t]
        if status[0] == is_open:
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
            work[k, EXPLICIT, t]
            - implicit[0] * gained
            - implicit[1] * wp.dot(normal, gained) * normal
        )
        work[k, RESULT, t] = force
        if status[1] == zero:
            if wp.dot(normal, force) < zero:
                work[k, STATUS, t] = vec3(status[0], one, zero)
                return 1
        elif again < RETURNS:
            predicted = work[k, NORMAL_FORCE, t]
            if predicted[0] > predicted[1] * wp.dot(normal, work[k, DRIFT, t]):
                work[k, STATUS, t] = vec3(status[0], zero, zero)
                return 1
        return 0

    @wp.func
    def react(
        points: Points, k: int, raw: wp.array3d[scalar], work: wp.array3d[vec3], t: int
    ) -> None:
        against = points.number[k, SURFACE]
        if against < 0:
            return
        bg = points.block_number[against, BLOCK_GROUP]
        if bg < 0 or work[k, STATUS, t][0] == is_open:
            return
        bl = points.block_number[against, BLOCK_LANE]
        force = work[k, RESULT, t]
        d = work[k, PLACE, t] - get(raw, bg, POSITION, bl, t)
        pull(raw, bg, bl, t, d, -force)

    @wp.func
    def commit(
        points: Points, k: int, dt: scalar, block: int, work: wp.array3d[vec3], t: int
    ) -> None:
        mode = work[k, STATUS, t][0]
        force = work[k, RESULT, t]
        part = work[k, NORMAL_FORCE, t][2]
        if part < one and work[k, STATUS, t][1] > zero:
            mode = is_open  # it has not come as far as the ground
        before = points.state[block, k, CONTACT_MODE][0]
        points.state[block, k, CONTACT_MODE] = vec3(mode, zero, zero)
        points.state[block, k, CONTACT_FORCE] = force
        if mode == is_open:
            return
        normal = work[k, NORMAL, t]
        relative = work[k, RELATIVE_VELOCITY, t]
        surface_velocity = work[k, SURFACE_VELOCITY, t]
        place = work[k, PLACE, t]
        if mode == slipping:
            # the anchor goes along, as far behind as the force bends the spring
            p = wp.min(block, points.figure.shape[0] - 1)
            spring = points.figure[p, k, SPRING]
            after = relative + dt * work[k, DRIFT, t]
            tangential_force = force + spring[1] * after
            tangential_force = (
                tangential_force - wp.dot(normal, tangential_force) * normal
            )
            place = (
                place + dt * (after + surface_velocity) + tangential_force / spring[0]
            )
            points.state[block, k, ANCHOR] = place
        elif before == is_open:
            # where it touches first
            missed = (one - part) * (relative - wp.dot(normal, relative) * normal)
            points.state[block, k, ANCHOR] = place + dt * (surface_velocity + missed)
        else:
            # stays where it is, on a box that may move
            anchor = points.state[block, k, ANCHOR]
            points.state[block, k, ANCHOR] = anchor + dt * surface_velocity
        points.state[block, k, LAST_VELOCITY] = (
            relative - wp.dot(normal, relative) * normal
        )

    return SimpleNamespace(
        Points=Points,
        predict=predict,
        resolve=resolve,
        react=react,
        commit=commit,
        arm_of=arm_of,
        pull=pull,
        get=get,
    )
