"""``equipoise robots``: the catalogue."""

from __future__ import annotations

from dataclasses import dataclass

from equipoise.cli.console import make_console, make_table


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
