"""``equipoise trajectory``: joints over time, for other programs and real robots."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from equipoise.cli.console import check_out, print_notices, printable
from equipoise.cli.walk import GaitOptions

if TYPE_CHECKING:
    from equipoise.gait.motion import Motion
    from equipoise.robot.model import Robot


@dataclass(frozen=True)
class TrajectoryOptions:
    """Options beside those of the gait."""

    source: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN|ROBOT")]
    """Run folder, MCAP file, ROS 2 bag or CSV file, for joints as they were; or a
    robot, for a walk that is planned and not simulated."""

    out: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """File to write: FILE.csv, or FILE.mcap with trajectory_msgs/JointTrajectory."""

    rate: Annotated[float | None, tyro.conf.arg(metavar="HZ")] = None
    """Points a second [Hz]; default: all there are, 1000 of a planned walk."""

    robot: Annotated[str | None, tyro.conf.arg(metavar="ROBOT")] = None
    """The robot of a log that does not describe it: a name or a file."""

    settings: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """TOML to use instead of the one beside the robot file."""

    force: bool = False
    """Replace a file that exists."""

    terrain: Annotated[str, tyro.conf.arg(metavar="GROUND")] = "flat"
    """What a planned walk is on, as of walk."""

    seed: Annotated[int, tyro.conf.arg(metavar="N")] = 0
    """Seed of rough ground."""


@dataclass(frozen=True)
class Trajectory(GaitOptions, TrajectoryOptions):
    """Write joint positions, velocities and torques of a run or a planned walk."""

    def run(self) -> int:
        """Read or plan, write."""
        from equipoise.errors import EquipoiseError
        from equipoise.log.open_run import open_run_or_robot
        from equipoise.log.run import Run
        from equipoise.log.trajectory import check_format, write_trajectory
        from equipoise.robot.load import load

        if self.out is None:
            raise EquipoiseError("--out FILE is needed: FILE.csv or FILE.mcap")
        check_format(self.out)
        check_out(self.out, self.force)
        if self.rate is not None and not 0.0 < self.rate <= 1e6:
            raise EquipoiseError(f"--rate {self.rate:g}: it must be positive")
        robot = None if self.robot is None else load(self.robot, self.settings)
        found = open_run_or_robot(self.source, robot, self.settings)
        source: Run | Motion
        if isinstance(found, Run):
            self._check_nothing_planned()
            print_notices(found.summary)
            source, what = found, "run"
        else:
            source, what = self._planned(found), "planned walk"
        written = write_trajectory(source, self.out, rate=self.rate, replace=self.force)
        seconds = float(written.time[-1] - written.time[0])
        print(
            printable(
                f"{what} of {written.robot.name}: {len(written.joint_names)} joints, "
                f"{len(written.time)} points in {seconds:.2f} s"
            )
        )
        print(f"written: {printable(str(self.out))}")
        return 0

    def _planned(self, robot: Robot) -> Motion:
        from equipoise.simulation.terrain_names import terrain_named

        return self.plan(robot, terrain_named(self.terrain, robot, self.seed))

    def _check_nothing_planned(self) -> None:
        """Refuse options of a plan beside a run, which had its own."""
        from equipoise.errors import EquipoiseError

        names = [*(option.name for option in fields(GaitOptions)), "terrain", "seed"]
        for option in fields(self):
            asked = getattr(self, option.name) != option.default
            if option.name in names and asked:
                word = option.name.replace("_", "-")
                raise EquipoiseError(
                    f"--{word} is for a walk to plan; {self.source} is a run"
                )
