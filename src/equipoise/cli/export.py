"""``equipoise export``: any robot as URDF or MJCF."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro


@dataclass(frozen=True)
class Export:
    """Write a robot as a new URDF or MJCF file, with its settings beside it."""

    robot: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="ROBOT")]
    """Catalogue name, or path to a URDF, MJCF or DH (TOML) file."""

    out: Annotated[Path, tyro.conf.arg(metavar="FILE")]
    """File to write: FILE.urdf for URDF, FILE.xml for MJCF. Limbs, soles, actuators
    and postures go into FILE.toml, which is read together with it."""

    force: bool = False
    """Replace files that exist."""

    def run(self) -> int:
        """Load the robot and write both files."""
        from equipoise.robot.formats.write import export_robot
        from equipoise.robot.load import load

        for path in export_robot(load(self.robot), self.out, replace=self.force):
            print(path)
        return 0
