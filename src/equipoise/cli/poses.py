"""``equipoise poses``: poses to measure to determine the centre of mass."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from equipoise.cli.console import (
    check_out,
    make_console,
    make_table,
    printable,
    progress,
)
from equipoise.cli.long_work import poses_seconds, refuse_long

if TYPE_CHECKING:
    from equipoise.identification.posing.design import Design
    from equipoise.identification.statics import MeasuredPoses
    from equipoise.robot.model import Robot


@dataclass(frozen=True)
class Poses:
    """Choose the balanced poses that determine the centre of mass best."""

    robot: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="ROBOT")]
    """Catalogue name, path to a URDF, MJCF or DH (TOML) file, or a name of the package
    robot_descriptions, for example g1_description."""

    count: Annotated[int, tyro.conf.arg(metavar="N")] = 30
    """Number of poses."""

    seed: Annotated[int, tyro.conf.arg(metavar="N")] = 0
    """Seed of all random numbers."""

    stances: Annotated[int, tyro.conf.arg(metavar="N")] = 1
    """Number of placements of the feet; with one the robot need not step."""

    candidates: Annotated[int, tyro.conf.arg(metavar="N")] = 2000
    """Random poses to choose from."""

    margin: Annotated[float | None, tyro.conf.arg(metavar="M")] = None
    """Least distance of the CoM inside that part of the support polygon where either
    foot carries a load [m]; default: from the soles' size and the usual errors of
    models."""

    measured: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """CSV table of poses that were measured already, as identify reads it."""

    out: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """CSV file to write: a row for each pose, in an order of short joint travel, a
    column for each joint [rad or m]. Add wrenches and identify reads it."""

    force: bool = False
    """Replace a file that exists."""

    long: bool = False
    """Do it even if it takes more than ten minutes."""

    settings: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """TOML to use instead of the one beside the robot file."""

    def run(self) -> int:
        """Draw, choose, write, print."""
        from equipoise.atomic_file import write_text_atomically
        from equipoise.errors import EquipoiseError
        from equipoise.identification.posing.candidates import pose_candidates
        from equipoise.identification.posing.design import choose_poses
        from equipoise.identification.posing.pose_limits import self_collision
        from equipoise.robot.load import load

        if self.out is not None:
            check_out(self.out, self.force)
        if not 1 <= self.count <= self.candidates:
            raise EquipoiseError(
                f"--count {self.count}: from 1 to the {self.candidates} candidates "
                "can be chosen"
            )
        if self.seed < 0:
            raise EquipoiseError(f"--seed {self.seed}: must be ≥ 0")
        refuse_long(
            poses_seconds(self.candidates, self.count),
            f"choosing {self.count} of {self.candidates} poses",
            self.long,
        )
        robot = load(self.robot, self.settings)
        done = self._measured(robot)
        collisions = self_collision(robot)
        with progress(self.candidates, f"finding poses of {robot.name}") as report:
            drawn = pose_candidates(
                robot,
                self.candidates,
                self.seed,
                stances=self.stances,
                margin=self.margin,
                collisions=collisions,
                progress=report,
            )
        count = min(self.count, len(drawn))
        with progress(1.0, f"choosing {count} poses") as report:
            design = choose_poses(
                robot, drawn, count, measured=done, seed=self.seed, progress=report
            )
        if self.out is not None:
            write_text_atomically(self.out, _csv(robot, design))
        notices = list(collisions.notices)
        if len(drawn) < self.candidates:
            notices.append(
                f"only {len(drawn)} candidates were found: joint limits, balance and "
                "what must not touch leave few"
            )
        _print(robot, design, notices, 0 if done is None else len(done))
        if self.out is not None:
            print(f"written: {printable(str(self.out))}")
        return 0

    def _measured(self, robot: Robot) -> MeasuredPoses | None:
        if self.measured is None:
            return None
        from equipoise.identification.measuring.log_poses import measured_poses
        from equipoise.identification.measuring.pose_table import read_pose_table

        table = read_pose_table(self.measured)
        return measured_poses(robot, table, table=True).poses


def _csv(robot: Robot, design: Design) -> str:
    """Return the table of poses, in the order of the tour."""
    from equipoise.robot.joint_coordinates import degree_names, joint_positions

    head = ",".join(["pose", *degree_names(robot)])
    joints = joint_positions(robot, design.q)
    rows = [
        ",".join([str(at + 1), *(f"{value:.9g}" for value in joints[at])])
        for at in design.tour
    ]
    return "\n".join([head, *rows, ""])


def _print(robot: Robot, design: Design, notices: list[str], done: int) -> None:
    from equipoise.identification.posing.design import described_poses

    numbers = (
        *("pose", "placement", "roll [°]", "pitch [°]", "yaw [°]", "CoM inside [mm]"),
        *("on tour", "travel [°]", "CoM then to [mm]"),
    )
    table = make_table(*numbers, numbers=numbers)
    described = described_poses(robot, design.q, design.tour)
    for row, deviation in zip(described, design.deviation, strict=True):
        table.add_row(
            str(row.number + 1),
            str(row.placement + 1),
            *(f"{math.degrees(angle):.1f}" for angle in row.torso_rpy),
            f"{1e3 * row.com_margin:.1f}",
            str(row.place_on_tour + 1),
            f"{math.degrees(row.travel):.0f}",
            f"±{1e3 * deviation:.2f}",
        )
    console = make_console()
    console.print(printable(_sentence(design, done)), style="bold", soft_wrap=True)
    console.print(table)
    for notice in notices:
        console.print(printable(f"note: {notice}"), soft_wrap=True)


def _sentence(design: Design, done: int) -> str:
    """Return how well the poses determine the CoM."""
    deviation = 1e3 * design.deviation[-1]
    tried = len(design.random_deviation)
    need = design.random_count
    others = f"{need} for that" if need else f"more than {tried} for that"
    after = f" after the {done} measured" if done else ""
    return (
        f"{len(design.rows)} chosen poses{after} determine the CoM to "
        f"±{deviation:.1f} mm (±{1e3 * design.deviation_before:.1f} mm before); random "
        f"poses need {others}"
    )
