"""Equipoise: the centre-of-mass toolkit for biped and humanoid robots."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from equipoise.errors import EquipoiseError
    from equipoise.kinematics.com import (
        com,
        com_and_jacobian,
        com_jacobian,
        com_jacobian_rate,
        com_velocity,
    )
    from equipoise.kinematics.frames import frame_jacobian, frame_pose
    from equipoise.kinematics.limb_com import (
        limb_com_jacobian,
        limb_com_share,
        limb_com_share_and_jacobian,
    )
    from equipoise.kinematics.momentum import centroidal_momentum
    from equipoise.kinematics.support import polygon_margin, support_polygon
    from equipoise.robot.catalogue import catalogue_names
    from equipoise.robot.formats.write import export_robot, write_mjcf, write_urdf
    from equipoise.robot.load import load
    from equipoise.robot.model import Robot

__version__ = "0.1.0"

# Where each public name lives. Imported on first use, so that `import equipoise`
# and `equipoise --help` do not wait for Pinocchio and Warp.
_HOMES = {
    "EquipoiseError": "errors",
    "Robot": "robot.model",
    "catalogue_names": "robot.catalogue",
    "centroidal_momentum": "kinematics.momentum",
    "com": "kinematics.com",
    "com_and_jacobian": "kinematics.com",
    "com_jacobian": "kinematics.com",
    "com_jacobian_rate": "kinematics.com",
    "com_velocity": "kinematics.com",
    "export_robot": "robot.formats.write",
    "frame_jacobian": "kinematics.frames",
    "frame_pose": "kinematics.frames",
    "limb_com_jacobian": "kinematics.limb_com",
    "limb_com_share": "kinematics.limb_com",
    "limb_com_share_and_jacobian": "kinematics.limb_com",
    "load": "robot.load",
    "polygon_margin": "kinematics.support",
    "support_polygon": "kinematics.support",
    "write_mjcf": "robot.formats.write",
    "write_urdf": "robot.formats.write",
}

__all__ = [  # noqa: RUF022 (in the order of the road)
    "EquipoiseError",
    "Robot",
    "catalogue_names",
    "load",
    "export_robot",
    "write_mjcf",
    "write_urdf",
    "com",
    "com_velocity",
    "com_jacobian",
    "com_and_jacobian",
    "com_jacobian_rate",
    "centroidal_momentum",
    "frame_pose",
    "frame_jacobian",
    "limb_com_share",
    "limb_com_jacobian",
    "limb_com_share_and_jacobian",
    "support_polygon",
    "polygon_margin",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module 'equipoise' has no attribute '{name}'")
    return getattr(import_module(f"equipoise.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
