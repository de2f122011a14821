"""``equipoise identify --paper``: the method of [Muscolo2017] on any robot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from equipoise.cli.console import drop_output, make_console, make_table, printable
from equipoise.cli.world_options import command_line

if TYPE_CHECKING:
    from equipoise.cli.identify import Identify
    from equipoise.identification.paper.known_com import LinksFromCom
    from equipoise.identification.paper.motor_currents import TorqueCheck
    from equipoise.identification.paper.two_rows import TwoRowCom
    from equipoise.robot.model import Robot

MOST_JOINTS = 12


def run_paper(
    asked: Identify, units: Mapping[str, str], wrench_frames: Mapping[str, str]
) -> int:
    """Repeat the paper's validation, or use its equations on a table."""
    from equipoise.errors import EquipoiseError

    if asked.export:
        raise EquipoiseError("--export does not go with --paper")
    if asked.robot is None and not asked.known_com:
        return _validate()
    if asked.robot is None or asked.log is None:
        raise EquipoiseError(
            "ROBOT and TABLE are needed: equipoise identify ROBOT TABLE --paper; or "
            "neither, for the paper's own validation"
        )
    from equipoise.robot.load import load

    if asked.com_frame is not None and not asked.known_com:
        raise EquipoiseError("--com-frame goes with --known-com")
    robot = load(asked.robot, asked.settings)
    name = "identified.urdf"
    files: tuple[str, ...] = ("summary.json",)
    if asked.known_com:
        if robot.source is not None and robot.source.suffix.lower() == ".xml":
            name = "identified.xml"
        files = (*files, name)
    if asked.out is not None:
        from equipoise.log.folder import check_folder

        check_folder(asked.out, files=files, replace=asked.force)
    found = (
        _known_com(robot, asked.log, asked.com_frame, units)
        if asked.known_com
        else _two_rows(robot, asked.log, units, wrench_frames, asked.free_mass)
    )
    if asked.out is not None:
        _write(found, asked, name, files)
    try:
        found_status = _print(found)
        if asked.out is not None:
            print(f"written: {printable(str(asked.out))}", flush=True)
    except BrokenPipeError:
        drop_output()
        found_status = 0
    return found_status


def _validate() -> int:
    from equipoise.identification.paper.validation import paper_validation

    result = paper_validation()
    console = make_console()
    table = make_table("way", "quantity", "paper", "here", numbers=("paper", "here"))
    for row in result.rows:
        paper = "–" if row.paper is None else f"{row.paper:.6g}"
        table.add_row(row.way, row.quantity, paper, f"{row.ours:.10g}")
    console.print(table)
    _print_notes(result.notes)
    return 0 if result.achieved else 1


def _two_rows(
    robot: Robot,
    file: Path,
    units: Mapping[str, str],
    wrench_frames: Mapping[str, str],
    free_mass: bool,
) -> TwoRowCom:
    from equipoise.identification.measuring.log_poses import measured_poses
    from equipoise.identification.measuring.pose_table import read_pose_table
    from equipoise.identification.paper.motor_currents import (
        table_torques,
        take_currents,
    )
    from equipoise.identification.paper.two_rows import com_of_two_rows

    recording, _ = take_currents(read_pose_table(file), robot)
    extracted = measured_poses(
        robot,
        recording,
        table=True,
        units=units,
        wrench_frames=wrench_frames,
        free_mass=free_mass,
    )
    torques = table_torques(extracted.poses, file)
    found = com_of_two_rows(extracted.poses, (*extracted.notices, *torques.notices))
    return replace(found, torques=torques.checks)


def _known_com(
    robot: Robot, file: Path, frame: str | None, units: Mapping[str, str]
) -> LinksFromCom:
    from equipoise.identification.paper.known_com import (
        links_from_known_com,
        read_known_coms,
    )

    known = read_known_coms(robot, file, frame=frame, units=units)
    return links_from_known_com(robot, known)


def _write(
    found: TwoRowCom | LinksFromCom, asked: Identify, name: str, files: Sequence[str]
) -> None:
    from equipoise.atomic_file import write_text_atomically
    from equipoise.identification.paper.known_com import LinksFromCom
    from equipoise.log.folder import SUMMARY_NAME, summary_as_json, write_folder
    from equipoise.simulation.summary import versions

    assert asked.out is not None
    plain: dict[str, Any] = {
        **found.summary(),
        "versions": versions(),
        "command": command_line(),
    }

    def write(part: Path) -> None:
        write_text_atomically(part / SUMMARY_NAME, summary_as_json(plain))
        if isinstance(found, LinksFromCom):
            if name.endswith(".xml"):
                found.robot.write_mjcf(part / name)
            else:
                found.robot.write_urdf(part / name)

    write_folder(asked.out, write, files=tuple(files), replace=asked.force)


def _print(found: TwoRowCom | LinksFromCom) -> int:
    from equipoise.identification.paper.two_rows import TwoRowCom

    if isinstance(found, TwoRowCom):
        _print_two_rows(found)
        return 0
    _print_links(found)
    return 0 if found.improved else 1


def _print_two_rows(found: TwoRowCom) -> None:
    console = make_console()
    table = make_table("quantity", "from", "pose A", "pose B", numbers=("pose A",))
    for own in found.quantities:
        cells = [f"{value:.5f}" for value in own.values]
        table.add_row(own.name, own.equation, *cells, *[""] * (2 - len(cells)))
    console.print(table)
    table = make_table("total CoM from P [mm]", "pose A: x, y, z", "pose B: x, y, z")
    for way, places in found.ways.items():
        cells = [", ".join(f"{1e3 * part:.1f}" for part in place) for place in places]
        table.add_row(way, *cells)
    console.print(table)
    print_torques(found.torques)
    _print_notes(found.notes)


def print_torques(checks: Sequence[TorqueCheck]) -> None:
    """Print joint torques by motor currents beside the model's, the worst first."""
    if not checks:
        return
    import numpy as np

    table = make_table(
        "joint torque, mean over poses [Nm]", "N K I, Eq. 4", "model", "RMS difference"
    )
    for own in sorted(checks, key=lambda own: -own.rms)[:MOST_JOINTS]:
        means = (float(np.mean(own.measured)), float(np.mean(own.model)), own.rms)
        table.add_row(printable(own.joint), *(f"{value:.2f}" for value in means))
    make_console().print(table)


def _print_links(found: LinksFromCom) -> None:
    console = make_console()
    console.print(printable(found.sentence), style="bold", soft_wrap=True)
    table = make_table("link", "CoM moved by x, y, z [mm]", "± 95 %", "determined")
    for own in found.links:
        moved = own.com - own.com_before
        axes = zip("xyz", own.determined, strict=True)
        table.add_row(
            printable(own.link),
            ", ".join(f"{1e3 * part:+.1f}" for part in moved),
            ", ".join(f"{1e3 * part:.1f}" for part in own.com_95),
            ", ".join(axis for axis, known in axes if known) or "–",
        )
    console.print(table)
    _print_notes(
        (
            f"{found.rank} of {found.unknowns} combinations of coordinates are "
            f"determined beyond the {1e3 * found.com_std:.2g} mm (one standard "
            "deviation) that the given centres of mass fit to",
            *found.notices,
        )
    )


def _print_notes(notes: Sequence[str]) -> None:
    console = make_console()
    for note in notes:
        console.print(printable(f"note: {note}"), soft_wrap=True)
