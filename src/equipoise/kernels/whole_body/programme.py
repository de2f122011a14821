"""Matrices for the solver, and torques and forces from its solution."""

# Kernel bodies are in Warp's own language, which mypy misreads.
# mypy: disable-error-code="arg-type, attr-defined, untyped-decorator"

from types import SimpleNamespace
from typing import Any

import warp as wp

from equipoise.kernels.once import once
from equipoise.kernels.runtime import MODULE_OPTIONS
from equipoise.kernels.whole_body.parts import make_parts
from equipoise.kernels.whole_body.types import (
    ACCELERATION,
    BLOCK,
    BRAKING,
    COUNTED,
    DAMPING,
    FINITE,
    FREE,
    POSITION,
    SPEED,
    STIFFNESS,
    STOP_ABOVE,
    STOP_BELOW,
    UNKNOWNS,
    VELOCITY,
    VIOLATED,
    WEIGHT,
    make_types,
)


@once
def make_programme(scalar: Any) -> SimpleNamespace:
    """Return the kernels of a tick.

    - ``assemble(body, layout, given, parts, programme)``: the programme, with the
      limits that count
    - ``answer(body, layout, given, parts, programme, answer)``: what follows from its
      solution; limits that it violates count from then on
    """
    types, steps = make_types(scalar), make_parts(scalar)
    vec6, block = types.vec6, types.block
    Body, Layout, Given, Parts = types.Body, types.Layout, types.Given, types.Parts
    Programme, Answer = types.Programme, types.Answer
    turned, base_at = types.turned, steps.base_at
    zero, half, one, two = scalar(0.0), scalar(0.5), scalar(1.0), scalar(2.0)
    yes, no = wp.uint8(1), wp.uint8(0)

    @wp.func
    def count_unknowns(body: Body, layout: Layout, programme: Programme) -> None:
        """Count limits, and forces that make no wrench of contacts that have some."""
        free = int(0)
        counted = int(0)
        for limit in range(body.joints):
            if programme.working[limit] == yes:
                counted = counted + 1
        first = body.joints
        for contact in range(layout.contacts):
            cones = layout.cones[contact]
            before = counted
            for limit in range(first, first + cones):
                if programme.working[limit] == yes:
                    counted = counted + 1
            if counted > before:
                free = free + 3 * layout.points[contact] - layout.rank[contact]
            first = first + cones
        programme.answers[FREE] = free
        programme.answers[UNKNOWNS] = free + layout.others + body.joints
        programme.answers[COUNTED] = counted

    @wp.func
    def put_product(
        programme: Programme,
        free: int,
        every: int,
        i: int,
        j: int,
        count: int,
        sums: block,
    ) -> None:
        """Put the product of columns i and j of the cost where it belongs."""
        if j < count:
            total = (sums[0] + sums[1]) + (sums[2] + sums[3])
            if free + i < every:
                programme.matrix[(free + i) * every + free + j] = total
                programme.matrix[(free + j) * every + free + i] = total
            else:
                programme.vector[free + j] = -total

    @wp.func
    def fill_matrix(
        body: Body, layout: Layout, given: Given, parts: Parts, programme: Programme
    ) -> None:
        free = programme.answers[FREE]
        every = programme.answers[UNKNOWNS]
        size = every - free
        blocks = (layout.task_row[layout.tasks] + 12 + BLOCK - 1) // BLOCK
        for i in range(free):
            for j in range(every):
                programme.matrix[i * every + j] = zero
                programme.matrix[j * every + i] = zero
            programme.matrix[i * every + i] = layout.force_cost
            programme.vector[i] = zero
        costs = parts.cost_blocks
        for i in range(size + 1):
            mine = i * blocks
            count = wp.min(i + 1, size)
            j = int(0)
            # four columns at a time: what is loaded of one serves four
            while j < count:
                first = j * blocks
                second = wp.min(j + 1, size) * blocks
                third = wp.min(j + 2, size) * blocks
                fourth = wp.min(j + 3, size) * blocks
                a = block()
                b = block()
                c = block()
                d = block()
                for k in range(blocks):
                    own = costs[mine + k]
                    a = a + wp.cw_mul(own, costs[first + k])
                    b = b + wp.cw_mul(own, costs[second + k])
                    c = c + wp.cw_mul(own, costs[third + k])
                    d = d + wp.cw_mul(own, costs[fourth + k])
                put_product(programme, free, every, i, j, count, a)
                put_product(programme, free, every, i, j + 1, count, b)
                put_product(programme, free, every, i, j + 2, count, c)
                put_product(programme, free, every, i, j + 3, count, d)
                j = j + 4
        for j in range(layout.others):
            at = (free + j) * (every + 1)
            programme.matrix[at] = programme.matrix[at] + layout.force_cost
        for j in range(body.joints):
            weight = layout.acceleration_cost
            goal = scalar(0.0)
            for task in range(layout.postures):
                posture = given.posture[task]
                asked = posture[STIFFNESS, j] * (
                    posture[POSITION, j] - given.position[j]
                )
                asked = asked + posture[DAMPING, j] * (
                    posture[VELOCITY, j] - given.velocity[6 + j]
                )
                asked = asked + posture[ACCELERATION, j]
                weight = weight + posture[WEIGHT, j]
                goal = goal + posture[WEIGHT, j] * asked
            at = free + layout.others + j
            square = at * (every + 1)
            programme.matrix[square] = programme.matrix[square] + weight
            programme.vector[at] = programme.vector[at] - goal

    @wp.func
    def most_towards(
        distance: scalar, speed: scalar, most: scalar, braking: scalar, time: scalar
    ) -> scalar:
        """Return the largest acceleration towards a stop, see ``limits``."""
        rate = one / time
        near = braking * time * time
        allowed = wp.sqrt(two * braking * wp.max(distance - half * near, half * near))
        allowed = allowed + rate * wp.min(distance - near, zero)
        slope = braking / wp.max(allowed, braking * time)
        bound = rate * allowed - (rate + slope) * speed
        bound = wp.min(bound, rate * (most - speed))
        return wp.max(bound, -two * braking)

    @wp.func
    def bound_accelerations(body: Body, given: Given) -> None:
        """Find bounds of accelerations, where they follow from where joints are."""
        time = given.range_time[0]
        if time > zero:
            for j in range(body.joints):
                at = given.position[j]
                speed = given.velocity[6 + j]
                fastest = given.range[SPEED, j]
                braking = given.range[BRAKING, j]
                above = given.range[STOP_ABOVE, j] - at
                below = at - given.range[STOP_BELOW, j]
                most = most_towards(above, speed, fastest, braking, time)
                least = -most_towards(below, -speed, fastest, braking, time)
                given.most[j] = most
                given.least[j] = wp.min(least, most)

    @wp.func
    def fill_contacts(
        body: Body, layout: Layout, given: Given, parts: Parts, programme: Programme
    ) -> int:
        """Fill bounds, and rows by which the other contacts stay; return how many."""
        free = programme.answers[FREE]
        every = programme.answers[UNKNOWNS]
        first = free + layout.others
        for i in range(first):
            programme.lower[i] = -layout.unlimited
            programme.upper[i] = layout.unlimited
        for j in range(body.joints):
            programme.lower[first + j] = given.least[j]
            programme.upper[first + j] = given.most[j]
        row = int(0)
        for contact in range(layout.contacts):
            if contact != layout.main:
                frame = layout.contact_frame[contact]
                own = wp.transpose(parts.rotation[frame])
                place = parts.place[frame]
                for i in range(6):
                    for j in range(first):
                        programme.rows[(row + i) * every + j] = zero
                for j in range(body.joints + 1):
                    held = turned(own, base_at(body, parts.base[j], place))
                    if j < body.joints:
                        held = held + parts.jacobian[contact, 6 + j]
                        for i in range(6):
                            programme.rows[(row + i) * every + first + j] = held[i]
                    else:
                        held = held + parts.contact_goal[contact]
                        for i in range(6):
                            programme.lower[every + row + i] = held[i]
                            programme.upper[every + row + i] = held[i]
                row = row + 6
        return row

    @wp.func
    def fill_torque(
        body: Body,
        layout: Layout,
        given: Given,
        parts: Parts,
        programme: Programme,
        joint: int,
        row: int,
    ) -> None:
        free = programme.answers[FREE]
        every = programme.answers[UNKNOWNS]
        at = row * every
        weight = body.mass * body.gravity
        lever = weight * parts.jacobian[layout.main, 6 + joint]
        for j in range(free):
            programme.rows[at + j] = zero
        for j in range(layout.others):
            programme.rows[at + free + j] = -wp.dot(lever, parts.wrench[j])
        for contact in range(layout.contacts):
            if contact != layout.main:
                own = weight * parts.jacobian[contact, 6 + joint]
                column = at + free + layout.contact_column[contact]
                for k in range(layout.rank[contact]):
                    total = scalar(0.0)
                    for i in range(6):
                        total = total + own[i] * layout.wrench[contact, i, k]
                    programme.rows[column + k] = programme.rows[column + k] - total
        inertia = body.mass_matrix[6 + joint]
        for j in range(body.joints + 1):
            total = -given.bias[6 + joint]
            if j < body.joints:
                total = inertia[6 + j]
            base = parts.base[j]
            for i in range(6):
                total = total + inertia[i] * base[i]
            total = total - wp.dot(lever, parts.wrench[layout.others + j])
            if j < body.joints:
                programme.rows[at + free + layout.others + j] = total
            else:
                programme.lower[every + row] = total - given.torque[joint]
                programme.upper[every + row] = total + given.torque[joint]

    @wp.func
    def fill_cone(
        body: Body,
        layout: Layout,
        given: Given,
        parts: Parts,
        programme: Programme,
        contact: int,
        cone: int,
        begin: int,
        row: int,
    ) -> None:
        free = programme.answers[FREE]
        every = programme.answers[UNKNOWNS]
        at = row * every
        for j in range(every):
            programme.rows[at + j] = zero
        idle = 3 * layout.points[contact] - layout.rank[contact]
        for k in range(idle):
            programme.rows[at + begin + k] = layout.cone_free[contact, cone, k]
        most = scalar(0.0)
        if cone == layout.cones[contact] - 1:
            most = given.most_force[contact] / (body.mass * body.gravity)
        if contact == layout.main:
            size = layout.others + body.joints
            for j in range(size + 1):
                force = parts.force[j]
                total = scalar(0.0)
                for k in range(6):
                    total = total + layout.cone_active[contact, cone, k] * force[k]
                if j < size:
                    programme.rows[at + free + j] = total
                else:
                    most = most + total
        else:
            column = at + free + layout.contact_column[contact]
            for k in range(layout.rank[contact]):
                programme.rows[column + k] = layout.cone_active[contact, cone, k]
        programme.lower[every + row] = -layout.unlimited
        programme.upper[every + row] = most

    @wp.func
    def fill_limits(
        body: Body,
        layout: Layout,
        given: Given,
        parts: Parts,
        programme: Programme,
        start: int,
    ) -> None:
        row = int(0)
        row = start
        for limit in range(body.joints):
            if programme.working[limit] == yes:
                fill_torque(body, layout, given, parts, programme, limit, row)
                row = row + 1
        first = body.joints
        begin = int(0)
        for contact in range(layout.contacts):
            cones = layout.cones[contact]
            before = row
            for cone in range(cones):
                if programme.working[first + cone] == yes:
                    fill_cone(
                        body, layout, given, parts, programme, contact, cone, begin, row
                    )
                    row = row + 1
            if row > before:
                begin = begin + 3 * layout.points[contact] - layout.rank[contact]
            first = first + cones

    @wp.kernel(module="unique", module_options=MODULE_OPTIONS)
    def assemble(
        body: Body, layout: Layout, given: Given, parts: Parts, programme: Programme
    ) -> None:
        steps.place_frames(body, layout, given, parts)
        steps.hold_contacts(body, layout, given, parts)
        steps.eliminate(body, layout, given, parts)
        steps.ask_tasks(body, layout, given, parts)
        steps.fill_costs(body, layout, given, parts)
        count_unknowns(body, layout, programme)
        fill_matrix(body, layout, given, parts, programme)
        bound_accelerations(body, given)
        held = fill_contacts(body, layout, given, parts, programme)
        fill_limits(body, layout, given, parts, programme, held)

    @wp.func
    def note_limit(
        layout: Layout,
        programme: Programme,
        answer: Answer,
        limit: int,
        left: scalar,
        scale: scalar,
        counted: bool,
    ) -> None:
        answer.near[limit] = no
        if left < layout.near * scale:
            answer.near[limit] = yes
        if left < -layout.violated * scale and not counted:
            programme.working[limit] = yes
            programme.answers[VIOLATED] = programme.answers[VIOLATED] + 1

    @wp.kernel(module="unique", module_options=MODULE_OPTIONS)
    def answer_of(
        body: Body,
        layout: Layout,
        given: Given,
        parts: Parts,
        programme: Programme,
        answer: Answer,
    ) -> None:
        joints = body.joints
        free = programme.answers[FREE]
        first = free + layout.others
        weight = body.mass * body.gravity
        programme.answers[VIOLATED] = 0
        base = -parts.base[joints]
        main = -parts.force[layout.others + joints]
        for j in range(joints):
            own = answer.unknowns[first + j]
            answer.acceleration[6 + j] = own
            base = base + own * parts.base[j]
        for j in range(layout.others + joints):
            main = main + answer.unknowns[free + j] * parts.force[j]
        finite = scalar(0.0)
        for i in range(6):
            answer.acceleration[i] = base[i]
            finite = finite + base[i]
        for j in range(joints):
            row = body.mass_matrix[6 + j]
            total = given.bias[6 + j]
            for i in range(joints + 6):
                total = total + row[i] * answer.acceleration[i]
            answer.torque[j] = total
        limit = int(0)
        limit = joints
        begin = int(0)
        for contact in range(layout.contacts):
            rank = layout.rank[contact]
            points = layout.points[contact]
            idle = 3 * points - rank
            cones = layout.cones[contact]
            counts = int(0)
            for cone in range(cones):
                if programme.working[limit + cone] == yes:
                    counts = 1
            active = weight * main
            if contact != layout.main:
                for k in range(rank):
                    active[k] = (
                        weight
                        * (answer.unknowns[free + layout.contact_column[contact] + k])
                    )
            answer.rotations[contact] = parts.rotation[layout.contact_frame[contact]]
            wrench = vec6()
            for i in range(6):
                for k in range(rank):
                    wrench[i] = wrench[i] + layout.wrench[contact, i, k] * active[k]
            for j in range(joints):
                pulled = wp.dot(parts.jacobian[contact, 6 + j], wrench)
                answer.torque[j] = answer.torque[j] - pulled
            for i in range(3 * points):
                force = scalar(0.0)
                for k in range(rank):
                    force = force + layout.active[contact, i, k] * active[k]
                if counts == 1:
                    for k in range(idle):
                        force = force + layout.free[contact, i, k] * (
                            weight * answer.unknowns[begin + k]
                        )
                answer.forces[contact, i] = force
            for cone in range(cones):
                pressed = scalar(0.0)
                for k in range(rank):
                    pressed = pressed + layout.cone_active[contact, cone, k] * active[k]
                if counts == 1:
                    for k in range(idle):
                        pressed = pressed + layout.cone_free[contact, cone, k] * (
                            weight * answer.unknowns[begin + k]
                        )
                if cone == cones - 1:
                    pressed = pressed - given.most_force[contact]
                counted = programme.working[limit + cone] == yes
                note_limit(
                    layout,
                    programme,
                    answer,
                    limit + cone,
                    -pressed / weight,
                    one,
                    counted,
                )
            if counts == 1:
                begin = begin + idle
            limit = limit + cones
        for j in range(joints):
            torque = answer.torque[j]
            finite = finite + torque + answer.acceleration[6 + j]
            counted = programme.working[j] == yes
            left = given.torque[j] - wp.abs(torque)
            note_limit(layout, programme, answer, j, left, given.torque[j], counted)
        programme.answers[FINITE] = 0
        if wp.isfinite(finite):
            programme.answers[FINITE] = 1

    return SimpleNamespace(assemble=assemble, answer=answer_of)
