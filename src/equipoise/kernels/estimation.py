"""One tick of the contact-aided estimator: base, CoM, foot forces, CoM offset.

The base is carried on by gyroscope and accelerometer and drawn back to where the feet
that carry say it is; what is left over tilts the attitude. A foot stays where it came
to the ground, and turns about its centre of pressure if it rocks.
"""

# Kernel bodies are in Warp's own language, which mypy misreads.
# mypy: disable-error-code="arg-type, attr-defined, untyped-decorator"

from types import SimpleNamespace
from typing import Any

import warp as wp

from equipoise.kernels.once import once
from equipoise.kernels.runtime import MODULE_OPTIONS
from equipoise.kernels.skeleton import make_skeleton

# Rows of the estimator's memory: vectors, then rotations.
POSITION, VELOCITY, OFFSET, ANCHORS, VECTORS = 0, 1, 2, 3, 5
BASE, FEET, HEADINGS, ROTATIONS = 0, 1, 3, 5
# What it tells, as vectors: position, velocity of the base and its angular velocity (in
# its own axes); CoM and its velocity; offset of the CoM; for each foot its force, its
# centre of pressure, where its sole is; (left, right foot in contact, mass ratio); ZMP.
(
    TOLD_POSITION,
    TOLD_VELOCITY,
    TOLD_OMEGA,
    TOLD_COM,
    TOLD_COM_VELOCITY,
    TOLD_OFFSET,
    TOLD_FORCE,
) = range(7)
TOLD_PRESSURE, TOLD_SOLE, TOLD_CONTACT, TOLD_ZMP, TOLD = 8, 10, 12, 13, 14
# And as rotations: base, left and right sole.
TOLD_BASE, TOLD_SOLES, TOLD_ROTATIONS = 0, 1, 3


@once
def make_estimation(scalar: Any) -> SimpleNamespace:
    """Return the structs ``Sensing`` and ``Estimation`` and the kernel ``estimate``."""
    types = make_skeleton(scalar)
    Skeleton, vec3, mat33 = types.Skeleton, types.vec3, types.mat33
    rotation_of, place = types.rotation_of, types.place
    zero, half, one = scalar(0.0), scalar(0.5), scalar(1.0)
    damping = scalar(1.4)
    full_load = scalar(0.5)
    pressed = scalar(0.05)

    @wp.struct
    class Sensing:
        period: scalar
        gravity: scalar
        weight: scalar
        # rates at which kinematics correct position, tilt and heading [1/s]
        position_rate: scalar
        tilt_rate: scalar
        heading_rate: scalar
        anchor_rate: scalar
        # rate of the low pass on joint velocities, and on the offset of the CoM [1/s]
        velocity_rate: scalar
        offset_rate: scalar
        # a foot comes into contact above, and loses it below, these fractions
        touch: scalar
        lift: scalar
        at_sole: int
        imu_rotation: mat33
        imu_position: vec3
        foot: wp.array[int]
        sole_rotation: wp.array[mat33]
        sole_position: wp.array[vec3]
        foot_mass: wp.array[scalar]
        foot_com: wp.array[vec3]

    @wp.struct
    class Estimation:
        vectors: wp.array2d[vec3]
        rotations: wp.array2d[mat33]
        contact: wp.array2d[scalar]
        # deviation of joint velocities from those commanded
        deviation: wp.array2d[scalar]
        joint_velocity: wp.array2d[scalar]
        body_rotations: wp.array2d[mat33]
        body_origins: wp.array2d[vec3]
        body_omegas: wp.array2d[vec3]
        body_velocities: wp.array2d[vec3]

    @wp.func
    def read(row: wp.array[scalar], at: int) -> vec3:
        return vec3(row[at], row[at + 1], row[at + 2])

    @wp.func
    def com_velocity(
        skeleton: Skeleton, t: int, omega: vec3, velocity: vec3, own: Estimation
    ) -> vec3:
        """Velocity of the CoM; omega and velocity of the base in the world."""
        own.body_omegas[t, 1] = omega
        own.body_velocities[t, 1] = velocity
        momentum = vec3(zero, zero, zero)
        for body in range(1, skeleton.bodies):
            rotation = own.body_rotations[t, body]
            if body > 1:
                parent = skeleton.parent[body]
                omega_above = own.body_omegas[t, parent]
                arm = own.body_origins[t, body] - own.body_origins[t, parent]
                moved = own.body_velocities[t, parent] + wp.cross(omega_above, arm)
                turns = omega_above
                degree = skeleton.degree[body]
                if degree >= 0:
                    rate = own.joint_velocity[t, degree]
                    axis = rotation @ skeleton.axis[body]
                    if skeleton.slides[body] == 1:
                        moved = moved + rate * axis
                    else:
                        turns = turns + rate * axis
                own.body_omegas[t, body] = turns
                own.body_velocities[t, body] = moved
            lever = rotation @ skeleton.com_in_body[body]
            momentum = momentum + skeleton.mass[body] * (
                own.body_velocities[t, body] + wp.cross(own.body_omegas[t, body], lever)
            )
        return momentum / skeleton.total_mass

    @wp.kernel(module="unique", module_options=MODULE_OPTIONS)
    def estimate(
        skeleton: Skeleton,
        sensing: Sensing,
        measured: wp.array2d[scalar],
        position: wp.array2d[scalar],
        commanded_velocity: wp.array2d[scalar],
        own: Estimation,
        told: wp.array2d[vec3],
        told_rotations: wp.array2d[mat33],
    ) -> None:
        t = wp.tid()
        joints = skeleton.joints
        dt = sensing.period
        up = vec3(zero, zero, one)
        z = measured[t]
        # joint velocities: as commanded, and a smoothed deviation
        for j in range(joints):
            off = z[j] - commanded_velocity[t, j]
            own.deviation[t, j] = own.deviation[t, j] + dt * sensing.velocity_rate * (
                off - own.deviation[t, j]
            )
            own.joint_velocity[t, j] = commanded_velocity[t, j] + own.deviation[t, j]
        # the base, carried on by the IMU
        omega = sensing.imu_rotation @ read(z, joints)
        force = sensing.imu_rotation @ read(z, joints + 3)
        rotation = own.rotations[t, BASE] @ rotation_of(dt * omega)
        swing = wp.cross(omega, wp.cross(omega, sensing.imu_position))
        acceleration = rotation @ (force - swing) - sensing.gravity * up
        velocity = own.vectors[t, VELOCITY]
        place_now = (
            own.vectors[t, POSITION] + dt * velocity + half * dt * dt * acceleration
        )
        velocity = velocity + dt * acceleration
        place(
            skeleton,
            t,
            rotation,
            place_now,
            position,
            own.body_rotations,
            own.body_origins,
        )
        # forces of the ground, and where they press
        total = vec3(zero, zero, zero)
        pressure = vec3(zero, zero, zero)
        load = zero
        for foot in range(2):
            body = sensing.foot[foot]
            turned = own.body_rotations[t, body] @ sensing.sole_rotation[foot]
            ankle = own.body_origins[t, body]
            arm = own.body_rotations[t, body] @ sensing.sole_position[foot]
            at = joints + 6 + 6 * foot
            ground = turned @ read(z, at)
            torque = turned @ read(z, at + 3)
            if sensing.at_sole == 1:
                torque = torque + wp.cross(arm, ground)
            else:
                weight = sensing.foot_mass[foot] * sensing.gravity * up
                lever = own.body_rotations[t, body] @ sensing.foot_com[foot]
                ground = ground + weight
                torque = torque + wp.cross(lever, weight)
            sole = ankle + arm
            told[t, TOLD_SOLE + foot] = sole
            told_rotations[t, TOLD_SOLES + foot] = turned
            told[t, TOLD_FORCE + foot] = ground
            point = sole
            if ground[2] > pressed * sensing.weight:
                x = (arm[2] * ground[0] - torque[1]) / ground[2]
                y = (arm[2] * ground[1] + torque[0]) / ground[2]
                point = vec3(ankle[0] + x, ankle[1] + y, sole[2])
                pressure = pressure + ground[2] * point
                load = load + ground[2]
            told[t, TOLD_PRESSURE + foot] = point
            total = total + ground
        # where the feet that carry say the base is
        error = vec3(zero, zero, zero)
        turn = zero
        both = scalar(1e-9)
        for foot in range(2):
            both = both + wp.max(told[t, TOLD_FORCE + foot][2], zero)
        for foot in range(2):
            own_load = told[t, TOLD_FORCE + foot][2]
            before = own.contact[t, foot]
            touches = zero
            if own_load > sensing.touch * sensing.weight:
                touches = one
            if before > half and own_load > sensing.lift * sensing.weight:
                touches = one
            sole = told[t, TOLD_SOLE + foot]
            turned = told_rotations[t, TOLD_SOLES + foot]
            if touches > half and before > half:
                fraction = wp.max(own_load, zero) / both
                local = wp.transpose(turned) @ (told[t, TOLD_PRESSURE + foot] - sole)
                anchor = own.vectors[t, ANCHORS + foot]
                anchor = anchor - (turned - own.rotations[t, FEET + foot]) @ local
                error = error + fraction * (anchor - sole)
                anchor = anchor + ((one - fraction) * dt * sensing.anchor_rate) * (
                    sole - anchor
                )
                own.vectors[t, ANCHORS + foot] = anchor
                between = own.rotations[t, HEADINGS + foot] @ wp.transpose(turned)
                turn = turn + fraction * wp.atan2(
                    between[1, 0] - between[0, 1], between[0, 0] + between[1, 1]
                )
            else:
                own.vectors[t, ANCHORS + foot] = sole
                own.rotations[t, HEADINGS + foot] = turned
            own.contact[t, foot] = touches
            own.rotations[t, FEET + foot] = turned
        rate = sensing.position_rate
        shift = damping * rate * dt * error
        place_now = place_now + shift
        velocity = velocity + rate * rate * dt * error
        tilt = (sensing.tilt_rate * dt * rate * rate / sensing.gravity) * wp.cross(
            up, error
        )
        tilt[2] = sensing.heading_rate * dt * turn
        rotation = rotation_of(tilt) @ rotation
        own.vectors[t, POSITION] = place_now
        own.vectors[t, VELOCITY] = velocity
        own.rotations[t, BASE] = rotation
        # what the correction moves, it moves rigidly, but for the little tilt
        centre = vec3(zero, zero, zero)
        for body in range(1, skeleton.bodies):
            own.body_origins[t, body] = own.body_origins[t, body] + shift
            lever = own.body_rotations[t, body] @ skeleton.com_in_body[body]
            centre = centre + skeleton.mass[body] * (own.body_origins[t, body] + lever)
        centre = centre / skeleton.total_mass
        moving = com_velocity(skeleton, t, rotation @ omega, velocity, own)
        for foot in range(2):
            told[t, TOLD_SOLE + foot] = told[t, TOLD_SOLE + foot] + shift
            told[t, TOLD_PRESSURE + foot] = told[t, TOLD_PRESSURE + foot] + shift
        # the line of the ground's force passes through the true CoM, on average
        offset = own.vectors[t, OFFSET]
        yaw = wp.atan2(rotation[1, 0], rotation[0, 0])
        c = wp.cos(yaw)
        s = wp.sin(yaw)
        zmp = vec3(centre[0], centre[1], zero)
        if load > full_load * sensing.weight:
            zmp = pressure / load + shift
            height = (centre[2] - zmp[2]) / total[2]
            dx = zmp[0] + height * total[0] - centre[0]
            dy = zmp[1] + height * total[1] - centre[1]
            gain = dt * sensing.offset_rate
            offset = vec3(
                offset[0] + gain * (c * dx + s * dy - offset[0]),
                offset[1] + gain * (c * dy - s * dx - offset[1]),
                offset[2] + gain * (total[2] / sensing.weight - offset[2]),
            )
            own.vectors[t, OFFSET] = offset
        told[t, TOLD_POSITION] = place_now
        told[t, TOLD_VELOCITY] = velocity
        told[t, TOLD_OMEGA] = omega
        told[t, TOLD_COM] = centre
        told[t, TOLD_COM_VELOCITY] = moving
        told[t, TOLD_OFFSET] = vec3(
            c * offset[0] - s * offset[1], s * offset[0] + c * offset[1], offset[2]
        )
        told[t, TOLD_CONTACT] = vec3(own.contact[t, 0], own.contact[t, 1], load)
        told[t, TOLD_ZMP] = zmp
        told_rotations[t, TOLD_BASE] = rotation

    return SimpleNamespace(Sensing=Sensing, Estimation=Estimation, estimate=estimate)
