"""``equipoise info``: what was found in a robot file, and from where."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from equipoise.cli.console import make_console, make_table, printable

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class Info:
    """Show masses, limbs, soles, centre of mass and what looks wrong."""

    robot: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="ROBOT")]
    """Catalogue name, path to a URDF, MJCF or DH (TOML) file, or a name of the package
    robot_descriptions, such as g1_description."""

    json: bool = False
    """Print everything as JSON, for machines."""

    links: bool = False
    """Show the mass of every link, not only of the limbs."""

    settings: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """TOML to use instead of the one beside the robot file."""

    def run(self) -> int:
        """Load the robot and print."""
        from equipoise.robot.load import load
        from equipoise.robot.summary import summarise

        facts = summarise(load(self.robot, self.settings))
        if self.json:
            print(json.dumps(facts, indent=2, allow_nan=False))
        else:
            _print(facts, self.links)
        return 0


def _print(facts: dict[str, Any], every_link: bool) -> None:
    console = make_console()
    x, y, z = facts["com_m"]
    console.print(f"{facts['name']}", style="bold")
    if facts["source"]:
        console.print(f"from {facts['source']}", soft_wrap=True)
    console.print(
        f"mass {facts['mass_kg']:.3f} kg, {facts['joints']} joints, "
        f"{facts['dof']} degrees of freedom with the floating base"
    )
    if facts["torque_controlled"]:
        console.print("torque-controlled: the joints of its legs are told torques")
    console.print(f"centre of mass, standing: ({x:.4f}, {y:.4f}, {z:.4f}) m")
    _print_masses(console, facts["limbs"], facts["mass_kg"], "part")
    if every_link:
        _print_masses(console, facts["links"], facts["mass_kg"], "link")
    _print_limbs(console, facts)
    _print_soles(console, facts)
    for title, key in (("assumed", "assumptions"), ("warning", "warnings")):
        for sentence in facts[key]:
            line = printable(f"{title}: {sentence}")
            console.print(line, style=_style(title), soft_wrap=True)
    if not facts["warnings"]:
        console.print("no warnings")


def _style(title: str) -> str | None:
    return "yellow" if title == "warning" else None


def _print_masses(
    console: Console, rows: list[dict[str, Any]], total: float, title: str
) -> None:
    numbers = ("mass [kg]", "fraction", "x [m]", "y [m]", "z [m]")
    table = make_table(title, *numbers, numbers=numbers)
    for row in rows:
        table.add_row(
            row["name"],
            f"{row['mass_kg']:.3f}",
            f"{100 * row['mass_kg'] / total:.1f} %",
            *(f"{value:.4f}" for value in row["com_m"] or ()),
        )
    console.print(table)


def _print_limbs(console: Console, facts: dict[str, Any]) -> None:
    table = make_table(
        "limb",
        "joints",
        "length [m]",
        "end link",
        "found",
        numbers=("joints", "length [m]"),
    )
    for kind in ("legs", "arms"):
        for side, limb in facts[kind].items():
            if limb is None:
                continue
            table.add_row(
                f"{side} {kind[:-1]}",
                str(len(limb["joints"])),
                f"{limb['length_m']:.4f}",
                limb["end_link"],
                limb["from"],
            )
    console.print(table)


def _print_soles(console: Console, facts: dict[str, Any]) -> None:
    table = make_table(
        "sole", "link", "length x width [m]", "corners", "found", numbers=("corners",)
    )
    for side, leg in facts["legs"].items():
        sole = leg["sole"]
        length, width = sole["size_m"]
        table.add_row(
            side,
            sole["link"],
            f"{length:.4f} x {width:.4f}",
            str(len(sole["polygon_m"])),
            sole["from"],
        )
    console.print(table)


@dataclass(frozen=True)
class Robots:
    """List the robots that are included."""

    def run(self) -> int:
        """Print the table."""
        from equipoise.robot.catalogue import catalogue_names, catalogue_summary
        from equipoise.robot.load import load

        numbers = ("mass [kg]", "joints")
        table = make_table("robot", *numbers, "what it is", "source", numbers=numbers)
        for name in catalogue_names():
            summary = catalogue_summary(name)
            robot = load(name)
            table.add_row(
                name,
                f"{robot.mass:.2f}",
                str(len(robot.model.names) - 2),
                summary.title,
                summary.source,
            )
        console = make_console()
        console.print(table)
        console.print("Any of them, or a path to a URDF or MJCF file, can be ROBOT:")
        console.print("  equipoise info ROBOT")
        return 0


@dataclass(frozen=True)
class Export:
    """Write a robot as a new URDF or MJCF file, with its settings beside it.

    MJCF has actuators, a standing keyframe, and copies of meshes in a folder beside it.
    """

    robot: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="ROBOT")]
    """Catalogue name, path to a URDF, MJCF or DH (TOML) file, or a name of the package
    robot_descriptions, such as g1_description."""

    out: Annotated[Path, tyro.conf.arg(metavar="FILE")]
    """File to write: FILE.urdf for URDF, FILE.xml for MJCF. Limbs, soles, actuators
    and postures go into FILE.toml, which is read together with it."""

    actuators: Literal["position", "motor"] | None = None
    """Actuators of an MJCF file, with the robot's torque limits: position servos that
    hold the standing posture (default), or motors."""

    force: bool = False
    """Replace files that exist."""

    settings: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """TOML to use instead of the one beside the robot file."""

    def run(self) -> int:
        """Load the robot and write its files."""
        from equipoise.errors import EquipoiseError
        from equipoise.robot.formats.write import (
            MJCF_ENDINGS,
            export_robot,
            mesh_folder,
        )
        from equipoise.robot.load import load

        mjcf = self.out.suffix.lower() in MJCF_ENDINGS
        if self.actuators is not None and not mjcf:
            raise EquipoiseError("--actuators is for MJCF: --out FILE.xml")
        robot = load(self.robot, self.settings)
        servos = None
        if mjcf and self.actuators != "motor":
            from equipoise.simulation.mjcf_servos import mjcf_servos

            servos = mjcf_servos(robot)
        written = export_robot(robot, self.out, replace=self.force, actuators=servos)
        for path in written:
            print(printable(str(path)))
        if mjcf and mesh_folder(self.out).is_dir():
            print(printable(str(mesh_folder(self.out))))
        return 0
