"""Definitions of the ROS 2 messages in logs, from ``ros_messages.txt``.

A log carries the definition of every message in it, so that it opens without ROS.
"""

from __future__ import annotations

import re
from importlib import resources

SEPARATOR = "=" * 80
_TEXT = resources.files(__package__).joinpath("ros_messages.txt").read_text("utf-8")
# Fields by message type, one a line.
DEFINITIONS = {
    name: fields.strip()
    for name, fields in re.findall(r"^MSG: (\S+)\n((?:.+\n)+)", _TEXT, re.MULTILINE)
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
