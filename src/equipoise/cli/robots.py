"""``equipoise robots``: the catalogue."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Robots:
    """List the robots that come with Equipoise."""

    def run(self) -> int:
        """Print the table."""
        from rich import box
        from rich.console import Console
        from rich.table import Table

        from equipoise.robot.catalogue_files import catalogue_names, catalogue_summary
        from equipoise.robot.load import load

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        table.add_column("robot", no_wrap=True, style="bold")
        table.add_column("mass [kg]", justify="right", no_wrap=True)
        table.add_column("joints", justify="right", no_wrap=True)
        table.add_column("what it is")
        table.add_column("source")
        for name in catalogue_names():
            summary = catalogue_summary(name)
            robot = load(name)
            table.add_row(
                name,
                f"{robot.mass:.2f}",
                str(len(robot.model.names) - 2),
                summary.title,
                summary.source,
                style=None,
            )
        console = Console(markup=False, highlight=False)
        console.print(table)
        console.print("Any of them, or a path to a URDF or MJCF file, can be ROBOT:")
        console.print("  equipoise info ROBOT")
        return 0
