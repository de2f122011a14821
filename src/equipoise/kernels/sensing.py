"""Sensors of many robots: encoders, IMU of the base, wrenches at the ankles, noise.

What they measure is made of the state that a rollout writes: configuration, velocity,
acceleration and contact forces. The wrench at an ankle is what the foot does to the
shank: contact forces, less weight and inertia of the foot and of what hangs on it.
Noise is white, of Warp's counter-based random numbers: a robot's is that of its seed
and of the tick, whatever robots are beside it and wherever it is computed.
"""

# Kernel bodies are in Warp's own language, which mypy misreads.
# mypy: disable-error-code="arg-type, attr-defined, untyped-decorator"

from types import SimpleNamespace
from typing import Any

import warp as wp

from equipoise.kernels.once import once
from equipoise.kernels.skeleton import make_skeleton

# Standard deviations of a robot's sensors: encoders [rad or m], gyroscope [rad/s],
# accelerometer [m/s²], force [N] and torque [Nm] at the ankles.
ENCODER, GYROSCOPE, ACCELEROMETER, FORCE, TORQUE, DEVIATIONS = range(6)
# Measured beside joint velocities: gyroscope, accelerometer, force and torque of both
# feet, in this order.
BESIDE_JOINTS = 18
BASE_DOF = 6


@once
def make_sensing(scalar: Any) -> SimpleNamespace:
    """Return the structs ``Sensors``, ``Truth`` and ``Moving``, and what uses them.

    - ``place_legs(skeleton, sensors, t, q, own)``: rotations and origins of the bodies
      between the base and the feet, in the world
    - ``sense(skeleton, sensors, t, tick, truth, own, before, position, measured)``:
      measurements of robot t, without delay; ``before`` are positions of the last tick
    """
    types = make_skeleton(scalar)
    Skeleton, vec3, mat33 = types.Skeleton, types.vec3, types.mat33
    axis_turn = types.axis_turn
    zero, one, two = scalar(0.0), scalar(1.0), scalar(2.0)

    @wp.struct
    class Sensors:
        gravity: scalar
        period: scalar
        # measurements are so many ticks old
        delay: int
        # pose of the IMU in the base
        imu_rotation: mat33
        imu_position: vec3
        # where each joint is in a configuration, and whether it turns for ever
        q_at: wp.array[int]
        endless: wp.array[int]
        # the base, then bodies between it and the feet, and on the feet, parents first;
        # above: where in this list the parent is; foot_of: whose foot it is a part of,
        # -1 for none
        body: wp.array[int]
        above: wp.array[int]
        foot_of: wp.array[int]
        # where in the list the feet are
        foot: wp.array[int]
        sole_rotation: wp.array[mat33]
        sole_position: wp.array[vec3]
        # contact points on the feet: number, place in the list, position there
        contact: wp.array[int]
        contact_at: wp.array[int]
        contact_position: wp.array[vec3]
        # masses, CoMs and inertias about them, of bodies in the list; robots differ
        mass: wp.array2d[scalar]
        com: wp.array2d[vec3]
        inertia: wp.array2d[mat33]
        deviation: wp.array2d[scalar]
        seed: wp.array[int]

    @wp.struct
    class Truth:
        q: wp.array2d[scalar]
        v: wp.array2d[scalar]
        a: wp.array2d[scalar]
        force: wp.array2d[vec3]

    @wp.struct
    class Moving:
        """Bodies of the list; velocities, accelerations, forces in their own axes."""

        rotation: wp.array2d[mat33]
        origin: wp.array2d[vec3]
        omega: wp.array2d[vec3]
        velocity: wp.array2d[vec3]
        spin: wp.array2d[vec3]
        acceleration: wp.array2d[vec3]
        force: wp.array2d[vec3]
        torque: wp.array2d[vec3]

    @wp.func
    def base_rotation(q: wp.array2d[scalar], t: int) -> mat33:
        x = q[t, 3]
        y = q[t, 4]
        z = q[t, 5]
        w = q[t, 6]
        return mat33(
            one - two * (y * y + z * z),
            two * (x * y - z * w),
            two * (x * z + y * w),
            two * (x * y + z * w),
            one - two * (x * x + z * z),
            two * (y * z - x * w),
            two * (x * z - y * w),
            two * (y * z + x * w),
            one - two * (x * x + y * y),
        )

    @wp.func
    def joint_position(
        sensors: Sensors, q: wp.array2d[scalar], t: int, j: int
    ) -> scalar:
        at = sensors.q_at[j]
        value = q[t, at]
        if sensors.endless[j] == 1:
            value = wp.atan2(q[t, at + 1], value)
        return value

    @wp.func
    def in_parent(
        skeleton: Skeleton, sensors: Sensors, q: wp.array2d[scalar], t: int, body: int
    ) -> tuple[mat33, vec3]:
        """Rotation and origin of a body in its parent."""
        turned = skeleton.rotation[body]
        origin = skeleton.translation[body]
        degree = skeleton.degree[body]
        if degree >= 0:
            value = joint_position(sensors, q, t, degree)
            axis = skeleton.axis[body]
            if skeleton.slides[body] == 1:
                origin = origin + value * (turned @ axis)
            else:
                turned = turned @ axis_turn(axis, wp.sin(value), wp.cos(value))
        return turned, origin

    @wp.func
    def place_legs(
        skeleton: Skeleton,
        sensors: Sensors,
        t: int,
        q: wp.array2d[scalar],
        own: Moving,
    ) -> None:
        own.rotation[t, 0] = base_rotation(q, t)
        own.origin[t, 0] = vec3(q[t, 0], q[t, 1], q[t, 2])
        for k in range(1, sensors.body.shape[0]):
            turned, origin = in_parent(skeleton, sensors, q, t, sensors.body[k])
            above = sensors.above[k]
            rotation = own.rotation[t, above]
            own.rotation[t, k] = rotation @ turned
            own.origin[t, k] = own.origin[t, above] + rotation @ origin

    @wp.func
    def move_legs(
        skeleton: Skeleton, sensors: Sensors, t: int, truth: Truth, own: Moving
    ) -> None:
        """Velocities and accelerations (less gravity) of the bodies in the list."""
        q = truth.q
        rotation = base_rotation(q, t)
        up = vec3(rotation[2, 0], rotation[2, 1], rotation[2, 2])
        own.rotation[t, 0] = rotation
        own.velocity[t, 0] = vec3(truth.v[t, 0], truth.v[t, 1], truth.v[t, 2])
        own.omega[t, 0] = vec3(truth.v[t, 3], truth.v[t, 4], truth.v[t, 5])
        own.acceleration[t, 0] = (
            vec3(truth.a[t, 0], truth.a[t, 1], truth.a[t, 2]) + sensors.gravity * up
        )
        own.spin[t, 0] = vec3(truth.a[t, 3], truth.a[t, 4], truth.a[t, 5])
        for k in range(1, sensors.body.shape[0]):
            body = sensors.body[k]
            above = sensors.above[k]
            turned, origin = in_parent(skeleton, sensors, q, t, body)
            own.rotation[t, k] = own.rotation[t, above] @ turned
            back = wp.transpose(turned)
            omega = own.omega[t, above]
            spin = own.spin[t, above]
            velocity = back @ (own.velocity[t, above] + wp.cross(omega, origin))
            acceleration = back @ (own.acceleration[t, above] + wp.cross(spin, origin))
            omega = back @ omega
            spin = back @ spin
            degree = skeleton.degree[body]
            if degree >= 0:
                axis = skeleton.axis[body]
                moves = truth.v[t, BASE_DOF + degree] * axis
                gains = truth.a[t, BASE_DOF + degree] * axis
                if skeleton.slides[body] == 1:
                    velocity = velocity + moves
                    acceleration = acceleration + gains + wp.cross(omega, moves)
                else:
                    omega = omega + moves
                    acceleration = acceleration + wp.cross(velocity, moves)
                    spin = spin + gains + wp.cross(omega, moves)
            own.omega[t, k] = omega
            own.velocity[t, k] = velocity
            own.spin[t, k] = spin
            own.acceleration[t, k] = acceleration

    @wp.func
    def load_feet(
        skeleton: Skeleton, sensors: Sensors, t: int, truth: Truth, own: Moving
    ) -> None:
        """What the shanks do to the feet, about the ankles in axes of the feet."""
        row = wp.min(t, sensors.mass.shape[0] - 1)
        count = sensors.body.shape[0]
        for k in range(1, count):
            if sensors.foot_of[k] >= 0:
                mass = sensors.mass[row, k]
                com = sensors.com[row, k]
                inertia = sensors.inertia[row, k]
                omega = own.omega[t, k]
                velocity = own.velocity[t, k]
                spin = own.spin[t, k]
                momentum = mass * (velocity + wp.cross(omega, com))
                turning = inertia @ omega + wp.cross(com, momentum)
                pull = mass * (own.acceleration[t, k] + wp.cross(spin, com))
                own.force[t, k] = pull + wp.cross(omega, momentum)
                own.torque[t, k] = (
                    inertia @ spin
                    + wp.cross(com, pull)
                    + wp.cross(omega, turning)
                    + wp.cross(velocity, momentum)
                )
        for c in range(sensors.contact.shape[0]):
            k = sensors.contact_at[c]
            pushed = truth.force[t, sensors.contact[c]]
            pushed = wp.transpose(own.rotation[t, k]) @ pushed
            own.force[t, k] = own.force[t, k] - pushed
            own.torque[t, k] = own.torque[t, k] - wp.cross(
                sensors.contact_position[c], pushed
            )
        for back in range(1, count):
            k = count - back
            foot = sensors.foot_of[k]
            if foot >= 0:  # noqa: SIM102 (kernels evaluate both sides)
                if sensors.foot[foot] != k:
                    above = sensors.above[k]
                    turned, origin = in_parent(
                        skeleton, sensors, truth.q, t, sensors.body[k]
                    )
                    pull = turned @ own.force[t, k]
                    own.force[t, above] = own.force[t, above] + pull
                    own.torque[t, above] = (
                        own.torque[t, above]
                        + turned @ own.torque[t, k]
                        + wp.cross(origin, pull)
                    )

    @wp.func
    def sense(
        skeleton: Skeleton,
        sensors: Sensors,
        t: int,
        tick: int,
        truth: Truth,
        own: Moving,
        before: wp.array2d[scalar],
        position: wp.array2d[scalar],
        measured: wp.array2d[scalar],
    ) -> None:
        state = wp.rand_init(sensors.seed[t], tick)
        noise = sensors.deviation[t, ENCODER]
        for j in range(skeleton.joints):
            value = joint_position(sensors, truth.q, t, j)
            if noise > zero:
                value = value + noise * scalar(wp.randn(state))
            moved = value - before[t, j]
            if sensors.endless[j] == 1:
                moved = wp.atan2(wp.sin(moved), wp.cos(moved))
            if tick == 0:
                moved = zero
            position[t, j] = value
            measured[t, j] = moved / sensors.period
        move_legs(skeleton, sensors, t, truth, own)
        load_feet(skeleton, sensors, t, truth, own)
        to_imu = wp.transpose(sensors.imu_rotation)
        omega = own.omega[t, 0]
        reach = sensors.imu_position
        felt = (
            own.acceleration[t, 0]
            + wp.cross(own.spin[t, 0], reach)
            + wp.cross(omega, own.velocity[t, 0] + wp.cross(omega, reach))
        )
        turned = to_imu @ omega
        felt = to_imu @ felt
        at = skeleton.joints
        for i in range(3):
            measured[t, at + i] = turned[i]
            measured[t, at + 3 + i] = felt[i]
        for foot in range(2):
            k = sensors.foot[foot]
            to_sole = wp.transpose(sensors.sole_rotation[foot])
            pushes = -(to_sole @ own.force[t, k])
            turns = -(to_sole @ own.torque[t, k])
            for i in range(3):
                measured[t, at + 6 + 6 * foot + i] = pushes[i]
                measured[t, at + 9 + 6 * foot + i] = turns[i]
        for i in range(BESIDE_JOINTS):
            kind = GYROSCOPE + wp.min(i / 3, 1)
            if i >= 6:
                kind = FORCE + (i / 3) % 2
            noise = sensors.deviation[t, kind]
            if noise > zero:
                measured[t, at + i] = measured[t, at + i] + noise * scalar(
                    wp.randn(state)
                )

    return SimpleNamespace(
        Sensors=Sensors,
        Truth=Truth,
        Moving=Moving,
        place_legs=place_legs,
        sense=sense,
    )
