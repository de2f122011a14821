"""What the sensors of a robot measured during a run; checks of arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError, NameNotFoundError, ShapeError
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side

BASE_DOF = 6
FootSensorPlace = Literal["sole", "ankle"]


def checked(name: str, values: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Return a read-only copy of finite numbers, or raise a ShapeError."""
    array = numbers(name, values, shape)
    check_finite(name, array)
    array.flags.writeable = False
    return array


def numbers(name: str, values: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Return a copy of numbers, finite or not, or raise a ShapeError."""
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ShapeError(f"{name} must be an array of numbers ({error})") from error
    if array.shape != shape:
        raise ShapeError(f"{name} has shape {array.shape}; {shape} is needed")
    return array


def check_finite(name: str, values: Array) -> None:
    """Refuse NaN and infinity; the message names the first row that holds one."""
    if not np.isfinite(values).all():
        row = int(np.argwhere(~np.isfinite(values))[0][0])
        raise ShapeError(f"{name} holds values that are not finite, first in row {row}")


@dataclass(frozen=True, eq=False)
class Measured:
    """Measurements at the n times of a run; arrays are copied, float64 and read-only.

    Attributes:
        time: Time of each measurement, not decreasing [s], shape (n,).
        position: Joint positions [rad or m], shape (n, nv - 6).
        velocity: Joint velocities [rad/s or m/s], shape (n, nv - 6).
        feet: Force and torque of each foot's sensor, in axes parallel to the sole's
            [N, Nm], shape (n, 6) each.
        feet_at: ``"sole"``: wrench of the ground on the foot, about the sole's origin.
            ``"ankle"``: wrench of the foot on the shank, about the last joint of the
            leg: the same, less weight and inertia of the foot.
        angular_velocity: Gyroscope of the IMU, in its own axes [rad/s], shape (n, 3).
        specific_force: Accelerometer of the IMU, acceleration less gravity, in its own
            axes [m/s²], shape (n, 3).
        orientation: Orientation of the IMU in the world, quaternion xyzw, (n, 4).
        imu_frame: Link, joint or fixed frame that carries the IMU.
        transform_imu_to_frame: Pose of the IMU there, shape (4, 4).
    """

    time: Array
    position: Array
    velocity: Array
    feet: Mapping[Side, Array]
    feet_at: FootSensorPlace
    angular_velocity: Array
    specific_force: Array
    orientation: Array
    imu_frame: str
    transform_imu_to_frame: Array

    def __post_init__(self) -> None:
        """Check, copy and freeze.

        Raises:
            ShapeError: If an array has the wrong shape or impossible values.
            EquipoiseError: If foot sensors are at another place.
        """
        rows = np.size(self.time)
        joints = np.shape(self.position)[-1] if np.ndim(self.position) else 0
        shapes: dict[str, tuple[int, ...]] = {
            "time": (rows,),
            "position": (rows, joints),
            "velocity": (rows, joints),
            "angular_velocity": (rows, 3),
            "specific_force": (rows, 3),
            "orientation": (rows, 4),
            "transform_imu_to_frame": (4, 4),
        }
        for name, shape in shapes.items():
            values = checked(f"measured.{name}", getattr(self, name), shape)
            object.__setattr__(self, name, values)
        if np.any(self.time < 0.0) or np.any(np.diff(self.time) < 0.0):
            raise ShapeError("measured.time is negative or decreases")
        feet = {
            side: checked(f"measured.feet['{side}']", wrench, (rows, 6))
            for side, wrench in self.feet.items()
        }
        object.__setattr__(self, "feet", MappingProxyType(feet))
        places = get_args(FootSensorPlace)
        if self.feet_at not in places:
            raise EquipoiseError(
                f"there are no foot sensors at '{self.feet_at}'; "
                f"the choices are: {', '.join(places)}"
            )

    def of_robot(self, robot: Robot, rows: int) -> Measured:
        """Return the same, with the robot's own name of the IMU's frame.

        Args:
            robot: The robot that carries the sensors.
            rows: Number of measurements that there must be.

        Raises:
            ShapeError: If the robot has another number of joints, or there are more or
                fewer measurements.
            NameNotFoundError: If the robot lacks a sole or the IMU's frame.
        """
        needed = (rows, robot.nv - BASE_DOF)
        if self.position.shape != needed:
            raise ShapeError(
                f"measured.position has shape {self.position.shape}; {needed} is needed"
            )
        for side in self.feet:
            if side not in robot.soles:
                raise NameNotFoundError("sole", side, robot.soles, robot.name)
        frame = robot.model.frames[robot.frame_id(self.imu_frame)].name
        return replace(self, imu_frame=frame)
