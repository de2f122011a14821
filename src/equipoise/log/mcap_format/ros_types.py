"""The ROS 2 messages of a run: their definitions as the ROS packages give them.

A log carries the definition of every message in it, so that it opens without ROS.
Comments and constants of the originals are left out.
"""

from __future__ import annotations

import re

SEPARATOR = "=" * 80
DEFINITIONS = {
    "builtin_interfaces/Time": "int32 sec\nuint32 nanosec",
    "builtin_interfaces/Duration": "int32 sec\nuint32 nanosec",
    "std_msgs/Header": "builtin_interfaces/Time stamp\nstring frame_id",
    "std_msgs/String": "string data",
    "std_msgs/Float64": "float64 data",
    "std_msgs/ColorRGBA": "float32 r\nfloat32 g\nfloat32 b\nfloat32 a",
    "std_msgs/MultiArrayDimension": "string label\nuint32 size\nuint32 stride",
    "std_msgs/MultiArrayLayout": (
        "std_msgs/MultiArrayDimension[] dim\nuint32 data_offset"
    ),
    "std_msgs/Float64MultiArray": "std_msgs/MultiArrayLayout layout\nfloat64[] data",
    "geometry_msgs/Vector3": "float64 x\nfloat64 y\nfloat64 z",
    "geometry_msgs/Point": "float64 x\nfloat64 y\nfloat64 z",
    "geometry_msgs/Quaternion": "float64 x 0\nfloat64 y 0\nfloat64 z 0\nfloat64 w 1",
    "geometry_msgs/Pose": (
        "geometry_msgs/Point position\ngeometry_msgs/Quaternion orientation"
    ),
    "geometry_msgs/PoseStamped": "std_msgs/Header header\ngeometry_msgs/Pose pose",
    "geometry_msgs/PoseArray": "std_msgs/Header header\ngeometry_msgs/Pose[] poses",
    "geometry_msgs/PoseWithCovariance": (
        "geometry_msgs/Pose pose\nfloat64[36] covariance"
    ),
    "geometry_msgs/PointStamped": "std_msgs/Header header\ngeometry_msgs/Point point",
    "geometry_msgs/Vector3Stamped": (
        "std_msgs/Header header\ngeometry_msgs/Vector3 vector"
    ),
    "geometry_msgs/QuaternionStamped": (
        "std_msgs/Header header\ngeometry_msgs/Quaternion quaternion"
    ),
    "geometry_msgs/Twist": (
        "geometry_msgs/Vector3 linear\ngeometry_msgs/Vector3 angular"
    ),
    "geometry_msgs/TwistStamped": "std_msgs/Header header\ngeometry_msgs/Twist twist",
    "geometry_msgs/TwistWithCovariance": (
        "geometry_msgs/Twist twist\nfloat64[36] covariance"
    ),
    "geometry_msgs/Accel": (
        "geometry_msgs/Vector3 linear\ngeometry_msgs/Vector3 angular"
    ),
    "geometry_msgs/AccelStamped": "std_msgs/Header header\ngeometry_msgs/Accel accel",
    "geometry_msgs/Wrench": (
        "geometry_msgs/Vector3 force\ngeometry_msgs/Vector3 torque"
    ),
    "geometry_msgs/WrenchStamped": (
        "std_msgs/Header header\ngeometry_msgs/Wrench wrench"
    ),
    "geometry_msgs/Transform": (
        "geometry_msgs/Vector3 translation\ngeometry_msgs/Quaternion rotation"
    ),
    "geometry_msgs/TransformStamped": (
        "std_msgs/Header header\nstring child_frame_id\n"
        "geometry_msgs/Transform transform"
    ),
    "tf2_msgs/TFMessage": "geometry_msgs/TransformStamped[] transforms",
    "nav_msgs/Odometry": (
        "std_msgs/Header header\nstring child_frame_id\n"
        "geometry_msgs/PoseWithCovariance pose\n"
        "geometry_msgs/TwistWithCovariance twist"
    ),
    "sensor_msgs/JointState": (
        "std_msgs/Header header\nstring[] name\n"
        "float64[] position\nfloat64[] velocity\nfloat64[] effort"
    ),
    "sensor_msgs/Imu": (
        "std_msgs/Header header\n"
        "geometry_msgs/Quaternion orientation\nfloat64[9] orientation_covariance\n"
        "geometry_msgs/Vector3 angular_velocity\n"
        "float64[9] angular_velocity_covariance\n"
        "geometry_msgs/Vector3 linear_acceleration\n"
        "float64[9] linear_acceleration_covariance"
    ),
    "sensor_msgs/CompressedImage": (
        "std_msgs/Header header\nstring format\nuint8[] data"
    ),
    "trajectory_msgs/JointTrajectoryPoint": (
        "float64[] positions\nfloat64[] velocities\nfloat64[] accelerations\n"
        "float64[] effort\nbuiltin_interfaces/Duration time_from_start"
    ),
    "trajectory_msgs/JointTrajectory": (
        "std_msgs/Header header\nstring[] joint_names\n"
        "trajectory_msgs/JointTrajectoryPoint[] points"
    ),
    "visualization_msgs/UVCoordinate": "float32 u\nfloat32 v",
    "visualization_msgs/MeshFile": "string filename\nuint8[] data",
    "visualization_msgs/Marker": (
        "std_msgs/Header header\nstring ns\nint32 id\nint32 type\nint32 action\n"
        "geometry_msgs/Pose pose\ngeometry_msgs/Vector3 scale\n"
        "std_msgs/ColorRGBA color\nbuiltin_interfaces/Duration lifetime\n"
        "bool frame_locked\ngeometry_msgs/Point[] points\n"
        "std_msgs/ColorRGBA[] colors\nstring texture_resource\n"
        "sensor_msgs/CompressedImage texture\n"
        "visualization_msgs/UVCoordinate[] uv_coordinates\nstring text\n"
        "string mesh_resource\nvisualization_msgs/MeshFile mesh_file\n"
        "bool mesh_use_embedded_materials"
    ),
    "visualization_msgs/MarkerArray": "visualization_msgs/Marker[] markers",
    "rcl_interfaces/Log": (
        "builtin_interfaces/Time stamp\nuint8 level\nstring name\nstring msg\n"
        "string file\nstring function\nuint32 line"
    ),
}


def definition(name: str) -> str:
    """Return a message's definition with those that it is made of, as ``ros2msg``.

    Args:
        name: For example ``"sensor_msgs/JointState"``.
    """
    parts = [DEFINITIONS[name]]
    parts += [f"MSG: {used}\n{DEFINITIONS[used]}" for used in _used_by(name)]
    return f"\n{SEPARATOR}\n".join(parts) + "\n"


def long_name(name: str) -> str:
    """Return the name with ROS 2's middle: ``"sensor_msgs/msg/JointState"``."""
    package, short = name.split("/")
    return f"{package}/msg/{short}"


def _used_by(name: str) -> list[str]:
    """Return the message types that a definition needs, each once."""
    found: dict[str, None] = {}
    for used in re.findall(r"^(\w+/\w+)", DEFINITIONS[name], re.MULTILINE):
        found[used] = None
        found.update(dict.fromkeys(_used_by(used)))
    return list(found)
