"""What was identified, on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from equipoise.cli.console import make_console, make_table, printable

if TYPE_CHECKING:
    from equipoise.identification.held_out import Reduction
    from equipoise.identification.identified import Identified

MOST_LINKS = 12


def print_identified(found: Identified) -> None:
    """Print the sentence, tables of results, links and offsets, and all notices."""
    console = make_console()
    held, identified = found.held_out, found.identifiability
    console.print(printable(found.sentence), style="bold", soft_wrap=True)
    table = make_table("quantity", "before", "after", "± 95 %", numbers=())
    table.add_row(
        "total mass [kg]",
        f"{found.original.mass:.3f}",
        f"{found.mass:.3f}",
        f"{found.mass_95:.3f}",
    )
    console.print(table)
    table = make_table(
        "in stretches left out",
        "CoP off [mm]",
        "weight off [%]",
        "CoP error against it",
        numbers=("CoP off [mm]", "weight off [%]"),
    )
    rivals = (
        ("original file", held.original, held.reduction),
        ("ridge regression", held.ridge, held.over_ridge),
        ("identified file", held.file, None),
        ("original with sensor offsets", held.offsets_only, held.over_offsets),
        ("identified with sensor offsets", held.with_offsets, None),
    )
    for name, errors, against in rivals:
        table.add_row(
            name,
            f"{1e3 * errors.pressure_rms:.2f}",
            f"{100 * errors.weight_rms:.2f}",
            "" if against is None else _percent(against),
        )
    console.print(table)
    console.print(_link_table(found))
    console.print(_offset_table(found))
    lines = [
        f"from {len(found.poses)} poses {identified.rank} combinations of "
        f"{identified.unknowns} parameters are identifiable; "
        f"{identified.better_than_prior} combinations, sensor offsets included, are "
        "determined better than by the model"
    ]
    if identified.at_prior:
        lines.append(
            "known only together with others (their change is part of a sum): "
            f"{_named(identified.at_prior)}"
        )
    lines += [f"cannot be separated: {_named(group)}" for group in identified.groups]
    lines += [f"note: {notice}" for notice in found.notices]
    for line in lines:
        console.print(printable(line), soft_wrap=True)


def _percent(reduction: Reduction) -> str:
    low, high = (100.0 * bound for bound in reduction.interval)
    return f"{100.0 * reduction.fraction:.0f} % less ({low:.0f} to {high:.0f})"


def _link_table(found: Identified) -> Any:
    import numpy as np

    table = make_table(
        "link", "mass [kg]", "± 95 %", "CoM moved by x, y, z [mm]", "± 95 %",
        numbers=("mass [kg]",),
    )  # fmt: skip
    moved = [float(np.abs(link.com - link.com_before).max()) for link in found.links]
    shown = sorted(range(len(moved)), key=lambda at: -moved[at])[:MOST_LINKS]
    for at in sorted(shown):
        link = found.links[at]
        table.add_row(
            printable(link.link),
            f"{link.mass_before:.3f} → {link.mass:.3f}",
            f"{link.mass_95:.3f}",
            ", ".join(f"{1e3 * part:+.1f}" for part in link.com - link.com_before),
            ", ".join(f"{1e3 * part:.1f}" for part in link.com_95),
        )
    return table


def _offset_table(found: Identified) -> Any:
    table = make_table(
        "sensor's offset", "force [N]", "± 95 %", "torque [Nm]", "± 95 %"
    )
    for side, offset in found.offsets.items():
        wide = found.offsets_95[side]
        cells = []
        for part in (slice(0, 3), slice(3, 6)):
            cells.append(", ".join(f"{value:+.2f}" for value in offset[part]))
            cells.append(", ".join(f"{value:.2f}" for value in wide[part]))
        at_foot = side in found.original.soles
        table.add_row(f"{side} foot" if at_foot else printable(side), *cells)
    total, wide = found.offset_sum, found.offset_sum_95
    table.add_row(
        "all together",
        ", ".join(f"{value:+.2f}" for value in total),
        ", ".join(f"{value:.2f}" for value in wide),
        "",
        "",
    )
    return table


def _named(links: tuple[str, ...]) -> str:
    shown = ", ".join(links[:MOST_LINKS])
    more = len(links) - MOST_LINKS
    return f"{shown} and {more} more" if more > 0 else shown
