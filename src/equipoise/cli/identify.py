"""``equipoise identify``: where the centre of mass really is, from foot sensors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from equipoise.cli.console import drop_output, printable
from equipoise.cli.identified import print_identified
from equipoise.cli.identified_exports import export_files, write_exports
from equipoise.cli.identify_paper import print_torques, run_paper
from equipoise.cli.world_options import command_line

if TYPE_CHECKING:
    from equipoise.identification.identified import Identified
    from equipoise.identification.prior import Prior
    from equipoise.robot.model import Robot

# Rows of the log that were used and left out, in the folder.
ROWS_NAME = "rows.csv"


@dataclass(frozen=True)
class Identify:
    """Find masses and centres of mass of all links in a log of a standing robot."""

    robot: Annotated[
        str | None, tyro.conf.Positional, tyro.conf.arg(metavar="ROBOT")
    ] = None
    """Catalogue name, path to a URDF, MJCF or DH (TOML) file, or a name of the package
    robot_descriptions, for example g1_description."""

    log: Annotated[Path | None, tyro.conf.Positional, tyro.conf.arg(metavar="LOG")] = (
        None
    )
    """Joint angles, and wrenches of both feet or of force plates: CSV, MCAP, ROS 2 bag,
    or a run's folder. Stretches in which the robot stands still are found."""

    out: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None
    """Folder for the corrected robot file, summary.json, report.html and rows.csv (rows
    of the log used and left out)."""

    force: bool = False
    """Replace what is in that folder already."""

    export: Annotated[
        tuple[Literal["mjlab", "isaaclab", "json", "mjcf"], ...],
        tyro.conf.arg(metavar="KIND"),
    ] = ()
    """Also write to that folder: ranges for domain randomisation in mjlab or Isaac Lab
    (Python), the whole posterior (json), the corrected robot as MJCF."""

    table: bool = False
    """LOG is a CSV table, each row a pose; 'equipoise poses' writes its joints."""

    units: Annotated[tuple[str, ...], tyro.conf.arg(metavar="WHAT=UNIT")] = ()
    """Units of the log that are not SI: angle=deg, length=mm, force=kgf, torque=Nmm."""

    wrench_frame: Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME=FRAME")] = ()
    """The robot's frame that a wrench is in, by topic or column name."""

    plate_at: Annotated[tuple[str, ...], tyro.conf.arg(metavar="[NAME=]X,Y,Z,YAW")] = ()
    """Place of a force plate in the world of the base's pose [m, rad], by topic or
    column name; default: its origin."""

    up: Literal["soles", "base"] | None = None
    """Up is the mean of the soles' normals, or the base's measured attitude (motion
    capture or IMU); default: soles, on force plates base."""

    moving: bool = False
    """Use slow motion, too, where standing poses are enough."""

    free_mass: bool = False
    """The robot may weigh much more or less than its model."""

    com_std: Annotated[float | None, tyro.conf.arg(metavar="M")] = None
    """Standard deviation of the model's centres of mass, each coordinate [m]."""

    mass_std: Annotated[float | None, tyro.conf.arg(metavar="FRACTION")] = None
    """Standard deviation of the model's masses, as a fraction of each."""

    offset_std: Annotated[
        tuple[float, float, float] | None, tyro.conf.arg(metavar="N N NM")
    ] = None
    """Standard deviation of the sensors' offsets: lateral force, vertical force [N],
    torque [Nm]."""

    noise: Annotated[
        tuple[float, float, float] | None, tyro.conf.arg(metavar="N NM RAD")
    ] = None
    """Standard deviation of a sample: force [N], torque [Nm], joint position [rad];
    default: as the log shows."""

    level: Annotated[float | None, tyro.conf.arg(metavar="RAD")] = None
    """Standard deviation of the soles' tilt against the level [rad]; default: as
    lateral forces show."""

    zeroed: bool = False
    """The sensors were zeroed with the feet in the air: they have no offsets. Default:
    lateral forces, which sum to nothing where a robot stands, tell."""

    settings: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """TOML to use instead of the one beside the robot file."""

    paper: bool = False
    """[Muscolo2017]: repeat its validation (without ROBOT and LOG), or take the two
    rows of a table as its balance poses A and B."""

    known_com: bool = False
    """With --paper: the table has the total centre of mass of each pose, com_x, com_y,
    com_z, instead of wrenches."""

    com_frame: Annotated[str | None, tyro.conf.arg(metavar="FRAME")] = None
    """The robot's frame that they are in; default: the left sole."""

    def run(self) -> int:
        """Read, identify, check on held-out poses, write, print."""
        from equipoise.errors import EquipoiseError

        if self.paper:
            units = _pairs("--units", self.units)
            frames = _pairs("--wrench-frame", self.wrench_frame)
            return run_paper(self, units, frames)
        if self.known_com or self.com_frame is not None:
            raise EquipoiseError("--known-com and --com-frame go with --paper")
        if self.robot is None or self.log is None:
            raise EquipoiseError(
                "ROBOT and LOG are needed: equipoise identify ROBOT LOG"
            )
        from equipoise.identification.identify import identify
        from equipoise.identification.noise import SensorNoise
        from equipoise.identification.paper.motor_currents import (
            table_torques,
            torque_summary,
        )
        from equipoise.log.folder import check_folder
        from equipoise.robot.load import load
        from equipoise.simulation.summary import versions

        robot = load(self.robot, self.settings)
        name = _file_name(robot)
        files = (*_files(name), *export_files(self.export, name, self.out))
        if self.out is not None:
            check_folder(self.out, files=files, replace=self.force)
        found = identify(
            robot,
            self.log,
            table=self.table,
            units=_pairs("--units", self.units),
            wrench_frames=_pairs("--wrench-frame", self.wrench_frame),
            plate_at=_places(self.plate_at),
            up=self.up,
            moving=self.moving,
            free_mass=self.free_mass,
            noise=None if self.noise is None else SensorNoise(*self.noise),
            level=self.level,
            prior=self._prior(robot),
            zeroed=self.zeroed,
        )
        found = replace(found, notices=tuple(map(_in_shell_words, found.notices)))
        torques = table_torques(found.poses, self.log).checks if self.table else ()
        plain = {
            **found.summary(),
            **({"joint_torques": torque_summary(torques)} if torques else {}),
            "log_rows": [row._asdict() for row in found.log_rows],
            "versions": versions(),
            "command": command_line(),
        }
        if self.out is not None:
            self._write(found, plain, name)
        try:
            print_identified(found)
            print_torques(torques)
            if self.out is not None:
                print(f"written: {printable(str(self.out))}", flush=True)
        except BrokenPipeError:  # what was found is kept, and the status
            drop_output()
        return 0 if found.improved else 1

    def _prior(self, robot: Robot) -> Prior | None:
        """Return what the user believes; None for what the measurements show."""
        from equipoise.errors import EquipoiseError
        from equipoise.identification.prior import default_prior

        if self.zeroed and self.offset_std is not None:
            raise EquipoiseError("--zeroed sensors have no --offset-std")
        if (self.com_std, self.mass_std, self.offset_std) == (None, None, None):
            return None
        prior = default_prior(robot)
        if self.com_std is not None:
            prior = replace(prior, com_std=self.com_std)
        if self.mass_std is not None:
            prior = replace(
                prior, mass_std_fraction=self.mass_std, total_mass_std_fraction=0.0
            )
        if self.offset_std is not None:
            lateral, vertical, torque = self.offset_std
            prior = replace(
                prior,
                lateral_force_std=lateral,
                vertical_force_std=vertical,
                torque_std=torque,
            )
        return prior

    def _write(self, found: Identified, plain: dict[str, Any], name: str) -> None:
        from equipoise.atomic_file import write_text_atomically
        from equipoise.identification.measuring.log_rows import rows_as_csv
        from equipoise.log.folder import (
            REPORT_NAME,
            SUMMARY_NAME,
            summary_as_json,
            write_folder,
        )
        from equipoise.show.pages.identified_report import identified_report

        assert self.out is not None
        held = found.held_out
        page = identified_report(
            plain,
            found.original,
            found.robot,
            (held.original.pressure, held.file.pressure),
            f"identify {found.original.name}",
            command_line(),
        )

        def write(part: Path) -> None:
            write_text_atomically(part / SUMMARY_NAME, summary_as_json(plain))
            write_text_atomically(part / REPORT_NAME, page)
            write_text_atomically(part / ROWS_NAME, rows_as_csv(found.log_rows))
            if name.endswith(".xml"):
                found.robot.write_mjcf(part / name)
            else:
                found.robot.write_urdf(part / name)
            write_exports(found, self.export, part, name)

        files = (*_files(name), *export_files(self.export, name, self.out))
        write_folder(self.out, write, files=files, replace=self.force)


def _file_name(robot: Robot) -> str:
    """Return the corrected robot's file name, in the format of the original."""
    from_mjcf = robot.source is not None and robot.source.suffix.lower() == ".xml"
    return "identified.xml" if from_mjcf else "identified.urdf"


def _files(name: str) -> tuple[str, ...]:
    from equipoise.log.folder import REPORT_NAME, SUMMARY_NAME

    return (SUMMARY_NAME, REPORT_NAME, ROWS_NAME, name)


def _in_shell_words(notice: str) -> str:
    """Return a notice with options for the names of Python's parameters."""
    from equipoise.cli.main import SHELL_WORDS

    for in_python, in_the_shell in SHELL_WORDS.items():
        notice = notice.replace(in_python, in_the_shell)
    return notice


def _places(words: tuple[str, ...]) -> dict[str, tuple[float, ...]]:
    """Return places of force plates by name, or by ``""``."""
    from equipoise.errors import EquipoiseError

    places = {}
    for word in words:
        name, _, numbers = word.rpartition("=")
        try:
            places[name] = tuple(float(part) for part in numbers.split(","))
        except ValueError:
            raise EquipoiseError(
                f"--plate-at '{word}': X,Y,Z,YAW or NAME=X,Y,Z,YAW is needed"
            ) from None
    return places


def _pairs(option: str, words: tuple[str, ...]) -> dict[str, str]:
    from equipoise.errors import EquipoiseError

    pairs = {}
    for word in words:
        name, equals, value = word.rpartition("=")
        if not (name and equals and value):
            raise EquipoiseError(f"{option} '{word}': NAME=VALUE is needed")
        pairs[name] = value
    return pairs
