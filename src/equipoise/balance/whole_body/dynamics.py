"""The equations of motion of a robot in one state: all that tasks are made of.

    M a + h = Sᵀ τ + Jᵀ f

with the mass matrix M (rotor inertias included), Coriolis, centrifugal and gravity
forces h, joint torques τ and contact forces f. The first six rows, those of the base,
have no torque; they say how CoM and angular momentum move:

    m c̈ = Σ f - m g,    L̇ = Σ (p - c) × f.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from equipoise.arrays import Array
from equipoise.balance.skeleton import BASE_DOF, sole_placements
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.robot.joint_coordinates import joint_positions
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side


def sole_frame(side: Side) -> str:
    """Return the name of a sole's frame."""
    return f"sole of the {side} foot"


class Dynamics:
    """A robot's equations of motion, up to date for one state at a time.

    All vectors and Jacobians are in world axes unless said otherwise. Each
    :meth:`update` makes new arrays.

    Args:
        robot: The robot as it is known.
        rotor_inertia: Rotor inertias seen at the joints [kg m² or kg], shape
            (nv - 6,); none unless given.

    Attributes:
        robot: The robot.
        model: Its Pinocchio model, with a frame for each sole.
        q: Configuration, shape (nq,).
        v: Velocity, shape (nv,).
        mass_matrix: M, shape (nv, nv).
        bias_force: h, shape (nv,); one may add what else acts on the robot.
        joint_positions: Joint positions [rad or m], shape (nv - 6,).
    """

    def __init__(self, robot: Robot, rotor_inertia: ArrayLike | None = None) -> None:
        self.robot = robot
        self.model = model = robot.model.copy()
        self._frames: dict[str, int] = {}
        for side, (body, pose) in sole_placements(robot).items():
            frame = pin.Frame(
                sole_frame(side), body, pin.SE3(pose), pin.FrameType.OP_FRAME
            )
            self._frames[sole_frame(side)] = model.addFrame(frame, False)
        armature = np.array(model.armature)
        if rotor_inertia is not None:
            armature[BASE_DOF:] = rotor_inertia
        model.armature = armature
        self._use(model.createData())
        nv = model.nv
        # a number for each joint, none of them a circle or a ball
        self._plain = robot.nq - 7 == nv - BASE_DOF
        self._per_mass = 1.0 / robot.mass
        self._still = np.zeros(nv)
        self._moving = False
        self.q, self.v = np.array(robot.standing), np.zeros(nv)
        self.joint_positions = joint_positions(robot, self.q)
        self.mass_matrix, self.bias_force = np.zeros((nv, nv)), np.zeros(nv)
        self.update(self.q, self.v)

    def update(self, q: Array, v: Array) -> Dynamics:
        """Make everything that of a state, and return itself."""
        model, data = self.model, self.data
        self.q, self.v = q, v
        self.joint_positions = q[7:] if self._plain else joint_positions(self.robot, q)
        # this way, it finds poses and Jacobians of the joints as well
        self.mass_matrix = pin.crba(model, data, q, pin.Convention.WORLD)
        self.bias_force = pin.nonLinearEffects(model, data, q, v)
        self._moving = False
        return self

    def _use(self, data: pin.Data) -> None:
        """Use some memory of Pinocchio, of which these arrays are parts."""
        self.data, self._bias = data, data.nle
        self._base_rotation = data.oMi[1].rotation
        self._base_place = data.oMi[1].translation
        self._com = data.oYcrb[1].lever  # of all bodies together

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Make a copy whose arrays are parts of its own memory."""
        self.__dict__.update(state)
        self._use(self.data)

    @property
    def base(self) -> pin.SE3:
        """Pose of the base."""
        return self.data.oMi[1]

    @property
    def base_rotation(self) -> Array:
        """Rotation from base to world, shape (3, 3)."""
        return np.array(self._base_rotation)

    @property
    def com(self) -> Array:
        """Centre of mass [m], shape (3,)."""
        return np.array(self._com)

    @property
    def com_jacobian(self) -> Array:
        """J of the CoM velocity, shape (3, nv); the base's rows of M say it."""
        return np.asarray(
            (self._per_mass * self._base_rotation).dot(self.mass_matrix[:3])
        )

    @property
    def com_drift(self) -> Array:
        """Acceleration of the CoM while a = 0, J̇ v, shape (3,)."""
        drift = (self._per_mass * self._base_rotation).dot(self._bias[:3])
        drift[2] -= STANDARD_GRAVITY
        return np.asarray(drift)

    @property
    def com_velocity(self) -> Array:
        """Velocity of the centre of mass [m/s], shape (3,)."""
        return np.asarray(self.com_jacobian @ self.v)

    def momentum_matrix(self) -> Array:
        """Return A of the angular momentum about the CoM, L = A v, shape (3, nv)."""
        rotation, lever = self._base_rotation, self._com - self._base_place
        matrix = self.mass_matrix
        turn = pin.skew(lever) @ rotation
        return np.asarray(rotation @ matrix[3:6] - turn @ matrix[:3])

    def momentum_drift(self) -> Array:
        """Return Ȧ v, the rate of the angular momentum while a = 0, shape (3,)."""
        rotation, lever = self._base_rotation, self._com - self._base_place
        force, moment = self._bias[:6].reshape(2, 3) @ rotation.T
        return np.asarray(moment - pin.skew(lever) @ force)

    def frame(self, name: str) -> int:
        """Return the number of a link, joint, frame or sole of this model.

        Raises:
            NameNotFoundError: If the robot has no such frame.
        """
        found = self._frames.get(name)
        if found is None:
            # its frames come first in the model; links and joints may share names
            found = self._frames[name] = self.robot.frame_id(name)
        return found

    def add_frame(self, name: str, link: str, position_in_link: ArrayLike) -> None:
        """Add a point of a link as a frame; one that is there already stays.

        Raises:
            NameNotFoundError: If the robot has no such link.
        """
        if name in self._frames or self.model.existFrame(name):
            return
        carrier = self.model.frames[self.frame(link)]
        place = carrier.placement * pin.SE3(np.eye(3), np.asarray(position_in_link))
        frame = pin.Frame(name, carrier.parentJoint, place, pin.FrameType.OP_FRAME)
        self._frames[name] = self.model.addFrame(frame, False)
        self._use(self.model.createData())
        self.update(self.q, self.v)

    def pose(self, frame: int) -> pin.SE3:
        """Return where a frame is."""
        return pin.updateFramePlacement(self.model, self.data, frame)

    def twist(self, frame: int) -> Array:
        """Return velocity and angular velocity of a frame, shape (6,)."""
        self._move()
        moving = pin.getFrameVelocity(self.model, self.data, frame, WORLD_AXES)
        return np.asarray(moving.vector)

    def jacobian(self, frame: int) -> Array:
        """Return the Jacobian of a frame's twist, shape (6, nv)."""
        return np.asarray(
            pin.getFrameJacobian(self.model, self.data, frame, WORLD_AXES)
        )

    def drift(self, frame: int) -> Array:
        """Return J̇ v of a frame: its acceleration while a = 0, shape (6,)."""
        self._move()
        moving = pin.getFrameClassicalAcceleration(
            self.model, self.data, frame, WORLD_AXES
        )
        return np.asarray(moving.vector)

    def contact_rows(self, frame: int, damping: float) -> tuple[Array, Array]:
        """Return J and b of J a = b, which stops a frame; in axes of the frame.

        Args:
            frame: Number of the frame.
            damping: Rate at which a velocity that it has is stopped [1/s].
        """
        self._move()
        model, data = self.model, self.data
        jacobian = pin.getFrameJacobian(model, data, frame, OWN_AXES)
        moving = pin.getFrameClassicalAcceleration(model, data, frame, OWN_AXES)
        twist = pin.getFrameVelocity(model, data, frame, OWN_AXES)
        return jacobian, np.asarray(-damping * twist.vector - moving.vector)

    def _move(self) -> None:
        """Find velocities and accelerations of the joints, if something needs them."""
        if not self._moving:
            pin.forwardKinematics(self.model, self.data, self.q, self.v, self._still)
            self._moving = True


WORLD_AXES = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
OWN_AXES = pin.ReferenceFrame.LOCAL
