"""One tick of the contact-aided estimator: base, CoM, foot forces, CoM offset.

The IMU is carried on by gyroscope and accelerometer and drawn back to where the feet
that carry say it is; what is left over tilts the attitude. A foot stays where it came
to the ground, and turns about its centre of pressure if it rocks. Feet that carry and
seem to turn slowly and for long tell the bias of the gyroscope. The base is where the
joints between it and the IMU say.
"""

# Kernel bodies are in Warp's own language, which mypy misreads.
# mypy: disable-error-code="arg-type, attr-defined, untyped-decorator"

from types import SimpleNamespace
from typing import Any

import warp as wp

from equipoise.kernels.once import once
from equipoise.kernels.runtime import MODULE_OPTIONS
from equipoise.kernels.skeleton import make_skeleton

# Rows of the estimator's memory: vectors, then rotations. Position and velocity are
# those of the IMU, the first rotation is that of the body which carries it; the last
# vectors are the last velocity of the CoM, and those and the accelerations of the feet.
POSITION, VELOCITY, OFFSET, ANCHORS, BIAS, TURNS, MOVED, SPEEDS, RATES, VECTORS = (
    0,
    1,
    2,
    3,
    5,
    6,
    8,
    9,
    11,
    13,
)
CARRIER, FEET, HEADINGS, ROTATIONS = 0, 1, 3, 5
# What it tells, as vectors: position, velocity of the base and its angular velocity (in
# its own axes); CoM and its velocity; offset of the CoM; for each foot its force, its
# centre of pressure, where its sole is; (left, right foot in contact, load); ZMP; bias
# of the gyroscope in the axes of the body that carries it.
(
    TOLD_POSITION,
    TOLD_VELOCITY,
    TOLD_OMEGA,
    TOLD_COM,
    TOLD_COM_VELOCITY,
    TOLD_OFFSET,
    TOLD_FORCE,
) = range(7)
TOLD_PRESSURE, TOLD_SOLE, TOLD_CONTACT, TOLD_ZMP, TOLD_BIAS, TOLD = (
    8,
    10,
    12,
    13,
    14,
    15,
)
# And as rotations: base, left and right sole.
TOLD_BASE, TOLD_SOLES, TOLD_ROTATIONS = 0, 1, 3


@once
def make_estimation(scalar: Any) -> SimpleNamespace:
    """Return the structs ``Sensing`` and ``Estimation``, and one tick with them.

    - ``estimate_robot(skeleton, sensing, t, measured, position, commanded_velocity,
      own, told, told_rotations)``: the tick of robot t
    - ``estimate``: a kernel of the same arguments but t, one robot a thread
    """
    types = make_skeleton(scalar)
    Skeleton, vec3, mat33 = types.Skeleton, types.vec3, types.mat33
    rotation_of, place = types.rotation_of, types.place
    zero, half, one = scalar(0.0), scalar(0.5), scalar(1.0)
    damping = scalar(1.4)
    full_load = scalar(0.5)
    pressed = scalar(0.05)
    # a foot that turns faster than this rocks, at last and more at first [rad/s], by a
    # low pass of this rate [1/s]
    rocking, unsure, steady = scalar(0.005), scalar(0.04), scalar(10.0)
    # the first time constant of the gyroscope's bias [s]
    soon = scalar(0.2)

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
        # least rate at which feet that do not turn correct the gyroscope [1/s]
        bias_rate: scalar
        # a foot comes into contact above, and loses it below, these fractions
        touch: scalar
        lift: scalar
        at_sole: int
        # pose of the IMU in the body that carries it, and bodies from the base's on to
        # that one
        imu_rotation: mat33
        imu_position: vec3
        path: wp.array[int]
        path_length: int
        foot: wp.array[int]
        sole_rotation: wp.array[mat33]
        sole_position: wp.array[vec3]
        foot_mass: wp.array[scalar]
        foot_com: wp.array[vec3]

    @wp.struct
    class Estimation:
        vectors: wp.array2d[vec3]
        rotations: wp.array2d[mat33]
        # of left and right foot; for how long they have told of the gyroscope, and of
        # the offset of the CoM [s]
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
    def imu_in_base(
        skeleton: Skeleton,
        sensing: Sensing,
        t: int,
        joints: wp.array2d[scalar],
        rates: wp.array2d[scalar],
    ) -> tuple[mat33, vec3, vec3, vec3]:
        """Rotation of the IMU's body and place of the IMU in the base, and their rates.

        The angular velocity is that relative to the base, all in axes of the base.
        """
        rotation = wp.identity(n=3, dtype=scalar)
        origin = vec3(zero, zero, zero)
        turns = vec3(zero, zero, zero)
        moves = vec3(zero, zero, zero)
        for k in range(sensing.path_length):
            body = sensing.path[k]
            arm = rotation @ skeleton.translation[body]
            rotation = rotation @ skeleton.rotation[body]
            degree = skeleton.degree[body]
            if degree >= 0:
                axis = skeleton.axis[body]
                along = rotation @ axis
                if skeleton.slides[body] == 1:
                    arm = arm + joints[t, degree] * along
                    moves = moves + wp.cross(turns, arm) + rates[t, degree] * along
                else:
                    moves = moves + wp.cross(turns, arm)
                    turns = turns + rates[t, degree] * along
                    rotation = rotation @ rotation_of(joints[t, degree] * axis)
            else:
                moves = moves + wp.cross(turns, arm)
            origin = origin + arm
        arm = rotation @ sensing.imu_position
        return rotation, origin + arm, turns, moves + wp.cross(turns, arm)

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

    @wp.func
    def estimate_robot(
        skeleton: Skeleton,
        sensing: Sensing,
        t: int,
        measured: wp.array2d[scalar],
        position: wp.array2d[scalar],
        commanded_velocity: wp.array2d[scalar],
        own: Estimation,
        told: wp.array2d[vec3],
        told_rotations: wp.array2d[mat33],
    ) -> None:
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
        # the IMU carries itself on, in the axes of its body
        felt = sensing.imu_rotation @ read(z, joints) - own.vectors[t, BIAS]
        force = sensing.imu_rotation @ read(z, joints + 3)
        carrier = own.rotations[t, CARRIER] @ rotation_of(dt * felt)
        acceleration = carrier @ force - sensing.gravity * up
        imu_velocity = own.vectors[t, VELOCITY]
        imu_place = (
            own.vectors[t, POSITION] + dt * imu_velocity + half * dt * dt * acceleration
        )
        imu_velocity = imu_velocity + dt * acceleration
        # and the base with it
        in_base, reach, turning, moving_imu = imu_in_base(
            skeleton, sensing, t, position, own.joint_velocity
        )
        rotation = carrier @ wp.transpose(in_base)
        omega = in_base @ felt - turning
        place_now = imu_place - rotation @ reach
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
            # a foot that is thrown down pushes up on its ankle as the ground would
            thrown = zero
            if sensing.at_sole == 0:
                down = -own.vectors[t, RATES + foot][2]
                thrown = sensing.foot_mass[foot] * wp.max(down, zero)
            if own_load - thrown > sensing.touch * sensing.weight:
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
        imu_velocity = imu_velocity + rate * rate * dt * error
        tilt = (sensing.tilt_rate * dt * rate * rate / sensing.gravity) * wp.cross(
            up, error
        )
        tilt[2] = sensing.heading_rate * dt * turn
        correction = rotation_of(tilt)
        rotation = correction @ rotation
        carrier = correction @ carrier
        own.vectors[t, POSITION] = imu_place + shift
        own.vectors[t, VELOCITY] = imu_velocity
        own.rotations[t, CARRIER] = carrier
        velocity = imu_velocity - rotation @ (wp.cross(omega, reach) + moving_imu)
        # what the correction moves, it moves rigidly, but for the little tilt
        centre = vec3(zero, zero, zero)
        for body in range(1, skeleton.bodies):
            own.body_origins[t, body] = own.body_origins[t, body] + shift
            lever = own.body_rotations[t, body] @ skeleton.com_in_body[body]
            centre = centre + skeleton.mass[body] * (own.body_origins[t, body] + lever)
        centre = centre / skeleton.total_mass
        moving = com_velocity(skeleton, t, rotation @ omega, velocity, own)
        for foot in range(2):
            body = sensing.foot[foot]
            lever = own.body_rotations[t, body] @ sensing.foot_com[foot]
            speed_now = own.body_velocities[t, body] + wp.cross(
                own.body_omegas[t, body], lever
            )
            own.vectors[t, RATES + foot] = (
                speed_now - own.vectors[t, SPEEDS + foot]
            ) / dt
            own.vectors[t, SPEEDS + foot] = speed_now
            told[t, TOLD_SOLE + foot] = told[t, TOLD_SOLE + foot] + shift
            told[t, TOLD_PRESSURE + foot] = told[t, TOLD_PRESSURE + foot] + shift
        # feet that carry do not turn on average: what they seem to is bias
        seen = own.contact[t, 2]
        scale = rocking + unsure * soon / (soon + seen)
        believed = zero
        seems = vec3(zero, zero, zero)
        for foot in range(2):
            turns = vec3(zero, zero, zero)
            if own.contact[t, foot] > half:
                turns = own.vectors[t, TURNS + foot]
                turns = turns + (dt * steady) * (
                    own.body_omegas[t, sensing.foot[foot]] - turns
                )
                fraction = wp.max(told[t, TOLD_FORCE + foot][2], zero) / both
                speed = wp.length(turns) / scale
                weight_of = fraction / (one + speed * speed)
                believed = believed + weight_of
                seems = seems + weight_of * turns
            own.vectors[t, TURNS + foot] = turns
        # their mean, that forgets what is long ago
        gain = dt * wp.max(sensing.bias_rate, one / (soon + seen))
        if sensing.bias_rate == zero:
            gain = zero
        bias = own.vectors[t, BIAS] + gain * (wp.transpose(carrier) @ seems)
        own.vectors[t, BIAS] = bias
        own.contact[t, 2] = seen + dt * believed
        # the CoM accelerates away from the ZMP by g / h times its distance: what is
        # left of that on average is its offset
        offset = own.vectors[t, OFFSET]
        yaw = wp.atan2(rotation[1, 0], rotation[0, 0])
        c = wp.cos(yaw)
        s = wp.sin(yaw)
        zmp = vec3(centre[0], centre[1], zero)
        if load > full_load * sensing.weight:
            zmp = pressure / load + shift
            believe = wp.max(sensing.offset_rate, one / (one + own.contact[t, 3]))
            own.contact[t, 3] = own.contact[t, 3] + dt
            gain = dt * believe
            share = total[2] / (sensing.weight * offset[2])
            push = gain * share * (zmp - centre) + (
                believe * (centre[2] - zmp[2]) / sensing.gravity
            ) * (moving - own.vectors[t, MOVED])
            offset = vec3(
                offset[0] - gain * offset[0] + c * push[0] + s * push[1],
                offset[1] - gain * offset[1] + c * push[1] - s * push[0],
                offset[2] + gain * (total[2] / sensing.weight - offset[2]),
            )
            own.vectors[t, OFFSET] = offset
        own.vectors[t, MOVED] = moving
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
        told[t, TOLD_BIAS] = bias
        told_rotations[t, TOLD_BASE] = rotation

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
        estimate_robot(
            skeleton,
            sensing,
            wp.tid(),
            measured,
            position,
            commanded_velocity,
            own,
            told,
            told_rotations,
        )

    return SimpleNamespace(
        Sensing=Sensing,
        Estimation=Estimation,
        estimate_robot=estimate_robot,
        estimate=estimate,
    )
