"""Rows of tasks and contacts, and what the base does for joints, column by column."""

# Kernel bodies are in Warp's own language, which mypy misreads.
# mypy: disable-error-code="arg-type, attr-defined, untyped-decorator"

from types import SimpleNamespace
from typing import Any

import warp as wp

from equipoise.kernels.once import once
from equipoise.kernels.skeleton import make_skeleton
from equipoise.kernels.whole_body.types import COM, FRAME, MOMENTUM, OWN, make_types


@once
def make_parts(scalar: Any) -> SimpleNamespace:
    """Return Warp functions that fill ``Parts``, in the order in which they are run.

    - ``place_frames(body, layout, given, parts)``: where frames are, their twists and
      accelerations while a = 0
    - ``hold_contacts(body, layout, given, parts)``: Jacobians of contacts in axes of
      their frames, and the accelerations that these are to have
    - ``eliminate(body, layout, given, parts)``: base accelerations and wrench of the
      main contact, by the unknowns
    - ``ask_tasks(body, layout, given, parts)``: accelerations that tasks ask for
    - ``fill_costs(body, layout, given, parts)``: rows whose squares are the cost
    - ``base_at(body, x, p)``: acceleration of a point that moves with the base, in
      world axes
    """
    types = make_types(scalar)
    vec3, mat33, vec6, mat66 = types.vec3, types.mat33, types.vec6, types.mat66
    Body, Layout, Given, Parts = types.Body, types.Layout, types.Given, types.Parts
    upper, lower, join = types.upper, types.lower, types.join
    turned, at_point = types.turned, types.at_point
    vector_of = make_skeleton(scalar).vector_of
    one = scalar(1.0)

    @wp.func
    def body_rotation(body: Body, number: int) -> mat33:
        p = body.poses[number]
        return mat33(p[0], p[3], p[6], p[1], p[4], p[7], p[2], p[5], p[8])

    @wp.func
    def body_place(body: Body, number: int) -> vec3:
        p = body.poses[number]
        return vec3(p[9], p[10], p[11])

    @wp.func
    def base_at(body: Body, x: vec6, p: vec3) -> vec6:
        moved = turned(body_rotation(body, 1), x)
        return at_point(moved, p - body_place(body, 1))

    @wp.func
    def place_frames(body: Body, layout: Layout, given: Given, parts: Parts) -> None:
        for frame in range(layout.frames):
            number = layout.frame_body[frame]
            rotation = body_rotation(body, number)
            place = body_place(body, number) + rotation @ layout.frame_position[frame]
            parts.rotation[frame] = rotation @ layout.frame_rotation[frame]
            parts.place[frame] = place
            # twists about the world's origin; columns turn with their bodies
            twist = vec6()
            drift = vec6()
            for joint in range(
                layout.chain_start[frame], layout.chain_start[frame + 1]
            ):
                first = layout.chain_first[joint]
                added = vec6()
                for column in range(first, first + layout.chain_count[joint]):
                    added = added + given.velocity[column] * body.columns[column]
                twist = twist + added
                omega = lower(twist)
                drift = drift + join(
                    wp.cross(omega, upper(added))
                    + wp.cross(upper(twist), lower(added)),
                    wp.cross(omega, lower(added)),
                )
            twist = at_point(twist, place)
            drift = at_point(drift, place)
            bend = wp.cross(lower(twist), upper(twist))
            parts.twist[frame] = twist
            parts.drift[frame] = join(upper(drift) + bend, lower(drift))

    @wp.func
    def hold_contacts(body: Body, layout: Layout, given: Given, parts: Parts) -> None:
        for contact in range(layout.contacts):
            frame = layout.contact_frame[contact]
            own = wp.transpose(parts.rotation[frame])
            place = parts.place[frame]
            for column in range(body.joints + 6):
                parts.jacobian[contact, column] = vec6()
            for joint in range(
                layout.chain_start[frame], layout.chain_start[frame + 1]
            ):
                first = layout.chain_first[joint]
                for column in range(first, first + layout.chain_count[joint]):
                    parts.jacobian[contact, column] = turned(
                        own, at_point(body.columns[column], place)
                    )
            wanted = (
                parts.drift[frame] + given.contact_damping[contact] * parts.twist[frame]
            )
            parts.contact_goal[contact] = given.contact_leftover[contact] - turned(
                own, wanted
            )

    @wp.func
    def eliminate(body: Body, layout: Layout, given: Given, parts: Parts) -> None:
        joints = body.joints
        others = layout.others
        per_weight = one / (body.mass * body.gravity)
        # the main contact's frame, as seen from the base
        frame = layout.contact_frame[layout.main]
        to_base = wp.transpose(body_rotation(body, 1))
        rotation = to_base @ parts.rotation[frame]
        place = to_base @ (parts.place[frame] - body_place(body, 1))
        back = wp.transpose(rotation)
        inertia = mat66()
        for i in range(6):
            for j in range(6):
                inertia[i, j] = body.mass_matrix[i, j]
        for j in range(joints + 1):
            held = vec6()
            own = vec6()
            if j < joints:
                held = parts.jacobian[layout.main, 6 + j]
                for i in range(6):
                    own[i] = body.mass_matrix[6 + j, i]
            else:
                held = parts.contact_goal[layout.main]
                for i in range(6):
                    own[i] = -given.bias[i]
            turn = rotation @ lower(held)
            base = -join(rotation @ upper(held) + wp.cross(place, turn), turn)
            inert = inertia @ base + own
            force = upper(inert)
            moment = lower(inert) - wp.cross(place, force)
            wrench = per_weight * join(back @ force, back @ moment)
            parts.base[j] = base
            parts.inert[j] = inert
            parts.wrench[others + j] = wrench
            parts.force[others + j] = layout.inverse @ wrench
        for contact in range(layout.contacts):
            if contact != layout.main:
                column = layout.contact_column[contact]
                for k in range(layout.rank[contact]):
                    carried = vec6()
                    for i in range(6):
                        total = scalar(0.0)
                        for m in range(6):
                            total = total - (
                                parts.jacobian[contact, i][m]
                                * layout.wrench[contact, m, k]
                            )
                        carried[i] = total
                    force = upper(carried)
                    moment = lower(carried) - wp.cross(place, force)
                    wrench = join(back @ force, back @ moment)
                    parts.wrench[column + k] = wrench
                    parts.force[column + k] = layout.inverse @ wrench

    @wp.func
    def ask_tasks(body: Body, layout: Layout, given: Given, parts: Parts) -> None:
        rotation = body_rotation(body, 1)
        matrix = body.mass_matrix
        lever = rotation @ (vec3(matrix[5, 1], matrix[3, 2], matrix[4, 0]) / body.mass)
        momentum = vec6()
        for column in range(body.joints + 6):
            for i in range(6):
                momentum[i] = momentum[i] + matrix[column, i] * given.velocity[column]
        momentum = turned(rotation, momentum)
        bias = vec6()
        for i in range(6):
            bias[i] = body.bias[i]
        bias = turned(rotation, bias)
        for task in range(layout.tasks):
            kind = layout.task_kind[task]
            pose = given.pose[task]
            is_now = vec6()
            drift = vec6()
            error = vec6()
            if kind == COM:
                is_now = momentum / body.mass
                drift = bias / body.mass
                drift[2] = drift[2] - body.gravity
                com = body_place(body, 1) + lever
                error = join(vec3(pose[0], pose[1], pose[2]) - com, vec3())
            elif kind == MOMENTUM:
                turning = lower(momentum) - wp.cross(lever, upper(momentum))
                is_now = join(turning, vec3())
                turning = lower(bias) - wp.cross(lever, upper(bias))
                drift = join(turning, vec3())
            elif kind == FRAME:
                frame = layout.task_frame[task]
                is_now = parts.twist[frame]
                drift = parts.drift[frame]
                wanted = mat33(
                    pose[0],
                    pose[1],
                    pose[2],
                    pose[4],
                    pose[5],
                    pose[6],
                    pose[8],
                    pose[9],
                    pose[10],
                )
                error = join(
                    vec3(pose[3], pose[7], pose[11]) - parts.place[frame],
                    vector_of(wanted @ wp.transpose(parts.rotation[frame])),
                )
            asked = given.wanted_acceleration[task] + given.leftover[task] - drift
            slower = given.wanted_velocity[task] - is_now
            if kind != OWN:
                for row in range(layout.task_row[task], layout.task_row[task + 1]):
                    i = layout.direction[row]
                    asked[i] = (
                        asked[i]
                        + given.damping[row] * slower[i]
                        + given.stiffness[row] * error[i]
                    )
            parts.task_goal[task] = asked

    @wp.func
    def fill_costs(body: Body, layout: Layout, given: Given, parts: Parts) -> None:
        joints = body.joints
        others = layout.others
        rotation = body_rotation(body, 1)
        matrix = body.mass_matrix
        lever = rotation @ (vec3(matrix[5, 1], matrix[3, 2], matrix[4, 0]) / body.mass)
        for task in range(layout.tasks):
            kind = layout.task_kind[task]
            first = layout.task_row[task]
            end = layout.task_row[task + 1]
            frame = layout.task_frame[task]
            if kind == FRAME:
                place = parts.place[frame]
                for j in range(joints + 1):
                    row = base_at(body, parts.base[j], place)
                    if j == joints:
                        row = row + parts.task_goal[task]
                    for r in range(first, end):
                        parts.cost[others + j, r] = (
                            given.root_weight[r] * row[layout.direction[r]]
                        )
                for joint in range(
                    layout.chain_start[frame] + 1, layout.chain_start[frame + 1]
                ):
                    start = layout.chain_first[joint]
                    for column in range(start, start + layout.chain_count[joint]):
                        own = at_point(body.columns[column], place)
                        at = others + column - 6
                        for r in range(first, end):
                            parts.cost[at, r] = parts.cost[at, r] + (
                                given.root_weight[r] * own[layout.direction[r]]
                            )
            elif kind == OWN:
                for r in range(first, end):
                    given_row = given.own_rows[r]
                    for j in range(joints + 1):
                        total = given_row[6 + j]
                        base = parts.base[j]
                        for i in range(6):
                            total = total + given_row[i] * base[i]
                        parts.cost[others + j, r] = total
            else:
                for j in range(joints + 1):
                    inert = parts.inert[j]
                    if j == joints:  # without what forces there are
                        for i in range(6):
                            inert[i] = inert[i] + given.bias[i]
                    row = turned(rotation, inert)
                    if kind == COM:
                        row = row / body.mass
                    else:
                        turning = lower(row) - wp.cross(lever, upper(row))
                        row = join(turning, vec3())
                    if j == joints:
                        row = row + parts.task_goal[task]
                    for r in range(first, end):
                        parts.cost[others + j, r] = (
                            given.root_weight[r] * row[layout.direction[r]]
                        )
        last = layout.task_row[layout.tasks]
        root_acceleration = wp.sqrt(layout.acceleration_cost)
        root_force = wp.sqrt(layout.force_cost)
        for column in range(others + joints + 1):
            force = parts.force[column]
            for i in range(6):
                parts.cost[column, last + 6 + i] = root_force * force[i]
            if column >= others:
                base = parts.base[column - others]
                for i in range(6):
                    parts.cost[column, last + i] = root_acceleration * base[i]

    return SimpleNamespace(
        place_frames=place_frames,
        hold_contacts=hold_contacts,
        eliminate=eliminate,
        ask_tasks=ask_tasks,
        fill_costs=fill_costs,
        base_at=base_at,
    )
