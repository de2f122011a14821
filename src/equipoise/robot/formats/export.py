"""Any robot as a new URDF or MJCF document.

To change the masses in a file that a user wrote, and nothing else, see
:mod:`equipoise.robot.formats.rewrite`.
"""

from __future__ import annotations

from equipoise.robot.formats.export_mjcf import ExportError, to_mjcf
from equipoise.robot.formats.export_urdf import to_urdf

__all__ = ["ExportError", "to_mjcf", "to_urdf"]
