"""``equipoise pose``: one pose of a table, as a file and in the browser."""

from __future__ import annotations

import contextlib
import json
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from equipoise.cli.console import (
    check_interrupt,
    check_out,
    make_console,
    make_table,
    printable,
)

if TYPE_CHECKING:
    from equipoise.identification.posing.pose_file import TablePose

ENDINGS = (".json", ".toml")
# Soles that are off by less are flat [m and rad].
FLAT_HEIGHT, FLAT_TILT = 5e-4, 2e-3


@dataclass(frozen=True)
class Pose:
    """Show one pose of a table, standing on flat soles; write it to a file."""

    robot: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="ROBOT")]
    """Catalogue name, path to a URDF, MJCF or DH (TOML) file, or a name of the package
    robot_descriptions, for example g1_description."""

    table: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="POSES.csv")]
    """CSV table of poses, as 'equipoise poses' writes it."""

    number: Annotated[int, tyro.conf.Positional, tyro.conf.arg(metavar="N")]
    """Number of the pose, as in the column 'pose'; in a table without one, its row."""

    out: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """File to write: FILE.json with base pose and joint positions, or FILE.toml,
    settings with which the robot has the posture pose_N."""

    view: bool = False
    """Show it in the browser, until Ctrl-C."""

    port: Annotated[int, tyro.conf.arg(metavar="N")] = 8080
    """Port of the page; the next free one if it is busy."""

    open: bool = False
    """Open the page in the browser."""

    seconds: Annotated[float | None, tyro.conf.arg(metavar="S")] = None
    """How long to serve [s]; default: until Ctrl-C."""

    force: bool = False
    """Replace a file that exists."""

    settings: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """TOML to use instead of the one beside the robot file."""

    def run(self) -> int:
        """Read, place, write, print, serve."""
        from equipoise.atomic_file import write_text_atomically
        from equipoise.errors import EquipoiseError
        from equipoise.identification.posing.pose_file import pose_of_table
        from equipoise.robot.load import load

        if self.out is not None:
            if self.out.suffix.lower() not in ENDINGS:
                raise EquipoiseError(
                    f"{self.out}: a pose is written to a file that ends in "
                    f"{' or '.join(ENDINGS)}"
                )
            check_out(self.out, self.force)
        if self.seconds is not None and not self.seconds >= 0.0:
            raise EquipoiseError(f"--seconds {self.seconds:g}: it must be 0 or more")
        robot = load(self.robot, self.settings)
        pose = pose_of_table(robot, self.table, self.number)
        if self.out is not None:
            write_text_atomically(self.out, self._text(pose))
        _print(pose)
        if self.out is not None:
            print(f"written: {printable(str(self.out))}", flush=True)
        if self.view:
            self._serve(pose)
        return 0

    @property
    def _name(self) -> str:
        return f"pose_{self.number}"

    def _text(self, pose: TablePose) -> str:
        from equipoise.robot.formats.write import posture_toml

        assert self.out is not None
        if self.out.suffix.lower() == ".json":
            return json.dumps(pose.as_dict(), indent=2, allow_nan=False) + "\n"
        return posture_toml(pose.robot, self._name, pose.q)

    def _serve(self, pose: TablePose) -> None:
        import webbrowser

        from equipoise.show.viewer.poser import Poser
        from equipoise.show.viewer.window import Window

        robot = replace(
            pose.robot, postures={self._name: pose.q, **pose.robot.postures}
        )
        with (
            Window(f"{robot.name}, pose {pose.number}", port=self.port) as window,
            contextlib.suppress(KeyboardInterrupt),
        ):
            window.show({robot.name: robot})
            if isinstance(window.content, Poser):
                window.content.take(self._name)
            print(window.url, flush=True)
            if self.open:
                webbrowser.open(window.url)
            check_interrupt()
            window.wait(self.seconds)


def _print(pose: TablePose) -> None:
    from equipoise.robot.joint_coordinates import degree_names, joint_positions

    console = make_console()
    x, y, z = pose.com
    margin = 1e3 * pose.com_margin
    where = "inside" if margin >= 0.0 else "outside"
    sentence = (
        f"pose {pose.number} of {pose.robot.name}: CoM ({x:.4f}, {y:.4f}, {z:.4f}) m, "
        f"{abs(margin):.1f} mm {where} the support polygon"
    )
    console.print(printable(sentence), style="bold", soft_wrap=True)
    rows = {
        "position [m]": pose.q[:3],
        "quaternion x, y, z, w": pose.q[3:7],
    }
    for label, values in rows.items():
        shown = ", ".join(f"{value:.6f}" for value in values)
        console.print(f"base {label}: {shown}")
    numbers = ("position [rad or m]", "[°]")
    table = make_table("joint", *numbers, numbers=numbers)
    kinds = {joint.name: joint.kind for joint in pose.robot.description.joints}
    positions = joint_positions(pose.robot, pose.q)
    for name, value in zip(degree_names(pose.robot), positions, strict=True):
        slides = kinds.get(name) == "prismatic"
        degrees = "" if slides else f"{math.degrees(value):.2f}"
        table.add_row(printable(name), f"{value:.6f}", degrees)
    console.print(table)
    notices = list(pose.notices)
    if pose.height > FLAT_HEIGHT or pose.tilt > FLAT_TILT:
        notices.append(
            f"soles are not flat: {1e3 * pose.height:.1f} mm apart in height, tilted "
            f"by up to {math.degrees(pose.tilt):.2f}°"
        )
    for notice in notices:
        console.print(printable(f"note: {notice}"), soft_wrap=True)
