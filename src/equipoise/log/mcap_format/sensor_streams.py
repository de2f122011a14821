"""What sensors measured and an estimator made of it, as streams of messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pinocchio as pin

from equipoise.arrays import Array
from equipoise.log.mcap_format.stream import (
    Stream,
    base_streams,
    joint_states,
    wrenches,
)
from equipoise.log.mcap_format.topics import (
    ESTIMATED_JOINTS,
    IMU,
    JOINT_STATES,
    ankle_frame,
    imu_frame,
    sole_frame,
    wrench_topic,
)
from equipoise.log.run import Run
from equipoise.robot.joint_coordinates import BASE_V, joint_positions
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side


def sensor_streams(run: Run) -> Iterator[Stream]:
    """Return what was measured and estimated; nothing where there were no sensors.

    Headers say when it was measured; efforts are those of the actuators.
    """
    robot, measured = run.robot, run.measured
    if measured is None:
        return
    yield joint_states(
        JOINT_STATES,
        robot,
        measured.time,
        position=measured.position,
        velocity=measured.velocity,
        effort=run.torque,
    )
    for side, wrench in measured.feet.items():
        frame = foot_sensor_frame(run, side)
        yield wrenches(wrench_topic(side), frame, wrench, measured.time)
    yield Stream(
        IMU,
        "sensor_msgs/Imu",
        {"header": {"frame_id": imu_frame(robot)}},
        {
            "orientation.x": measured.orientation,
            "angular_velocity.x": measured.angular_velocity,
            "linear_acceleration.x": measured.specific_force,
        },
        stamped=measured.time,
    )
    if run.estimates:
        q, v = run.estimates["q"], run.estimates["v"]
        yield from base_streams(robot, q, v, "", measured.time)
        yield joint_states(
            ESTIMATED_JOINTS,
            robot,
            measured.time,
            position=joint_positions(robot, q),
            velocity=v[:, BASE_V:],
        )


def foot_sensor_frame(run: Run, side: Side) -> str:
    """Return the frame that a foot's measured wrench is in."""
    at_ankle = run.measured is not None and run.measured.feet_at == "ankle"
    return ankle_frame(run.robot, side) if at_ankle else sole_frame(side)


def static_transforms(run: Run) -> list[dict[str, Any]]:
    """Return soles and sensors as geometry_msgs/TransformStamped."""
    robot, measured = run.robot, run.measured
    found = [
        _transform(sole.link, sole_frame(side), sole.transform_sole_to_link)
        for side, sole in robot.soles.items()
    ]
    if measured is None:
        return found
    if measured.feet_at == "ankle":
        found += [
            _transform(
                robot.soles[side].link,
                ankle_frame(robot, side),
                _ankle_in_link(robot, side),
            )
            for side in measured.feet
        ]
    pose = measured.transform_imu_to_frame
    return [*found, _transform(measured.imu_frame, imu_frame(robot), pose)]


def _ankle_in_link(robot: Robot, side: Side) -> Array:
    """Return a pose at the last joint of a leg, axes parallel to the sole's."""
    sole = robot.soles[side]
    link = robot.model.frames[robot.model.getBodyId(sole.link)]
    pose = np.array(sole.transform_sole_to_link)
    pose[:3, 3] = link.placement.inverse().translation
    return pose


def _transform(parent: str, child: str, pose: Array) -> dict[str, Any]:
    turn = pin.Quaternion(np.array(pose[:3, :3])).coeffs()
    return {
        "header": {"frame_id": parent},
        "child_frame_id": child,
        "transform": {
            "translation": dict(zip("xyz", pose[:3, 3], strict=True)),
            "rotation": dict(zip("xyzw", turn, strict=True)),
        },
    }
