"""The report of a map of pushes: what is survived by direction and phase."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from equipoise.show.charts.push_map import (
    MapPanel,
    direction_name,
    phase_name,
    push_map_panels,
)
from equipoise.show.pages.labels import readable_results
from equipoise.show.pages.markup import (
    details,
    element,
    how_to_reproduce,
    listing,
    page,
    plots,
    section,
    table,
    text,
    titled,
    value_table,
)
from equipoise.show.pages.svg_plots import WIDTH, figure

# Places in the drawing [px].
LEFT, ROW, HEAD = 84.0, 26.0, 22.0
# Keys of the summary that are shown as values.
SHOWN = (
    "robot",
    "engine",
    "feedback",
    "law",
    "link",
    "terrain",
    "mass_kg",
    "walk",
    "payload_kg",
    "unknown_payload_kg",
)
CELL_HEAD = (
    "when",
    "direction",
    "survived [N s/kg]",
    "single trial [N s/kg]",
    "J* [N s/kg]",
    "of J*",
    "actuators within limits",
    "trials",
    "errors",
)


def push_map_report(results: Mapping[str, Any], title: str, reproduce: str) -> str:
    """Return a report as one HTML file that needs nothing else, not even scripts.

    Args:
        results: ``summary.json`` of a map of pushes.
        title: Title of the report.
        reproduce: The command that does it again.
    """
    return page(
        title,
        element("h1", text(title)),
        element("p", text(results["sentence"]), class_="sentence"),
        section("Map", plots(*map(panel_plot, push_map_panels(results)))),
        section("How to read it", listing(_explanations(results))),
        section("Trials by impulse", impulse_table(results)),
        section("Cells", details(f"{len(results['map'])} cells", cell_table(results))),
        section(
            "Simulation",
            value_table(
                [
                    *readable_results(
                        {key: results[key] for key in SHOWN if key in results}
                    )
                ]
            ),
        ),
        section("Reproduce", how_to_reproduce(results, reproduce)),
    )


def panel_plot(panel: MapPanel) -> str:
    """Return a table of numbers, coloured by them, as a drawing."""
    cell = (WIDTH - LEFT) / len(panel.columns)
    parts = []
    for column, name in enumerate(panel.columns):
        middle = LEFT + (column + 0.5) * cell
        parts += [
            _words(middle, 10.0 + 13.0 * line, word, "middle")
            for line, word in enumerate(name.split())
        ]
    top = HEAD + 10.0
    for row, name in enumerate(panel.rows):
        y = top + row * ROW
        parts.append(_words(LEFT - 8.0, y + 0.5 * ROW + 4.0, name, "end"))
        for column, words in enumerate(panel.words[row]):
            x = LEFT + column * cell
            square = element(
                "rect",
                x=f"{x:.1f}",
                y=f"{y:.1f}",
                width=f"{cell - 1.0:.1f}",
                height=f"{ROW - 1.0:.1f}",
                fill_opacity=f"{0.75 * float(panel.shades[row, column]):.2f}",
                class_="dot c0",
            )
            number = element(
                "text",
                text(words),
                x=f"{x + 0.5 * cell:.1f}",
                y=f"{y + 0.5 * ROW + 4.0:.1f}",
                text_anchor="middle",
                style="fill:var(--ink)",
            )
            parts.append(
                titled(f"{name}, {panel.columns[column]}: {words}", square, number)
            )
    size = (WIDTH, top + len(panel.rows) * ROW + 4.0)
    return figure(panel.title, "", "".join(parts), size, ())


def _words(x: float, y: float, words: str, anchor: str) -> str:
    return element("text", text(words), x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor)


def impulse_table(results: Mapping[str, Any]) -> str:
    """Return how many trials of each impulse there were, and were survived."""
    rows = [
        (
            text("standing" if row["standing"] else "walking"),
            text(f"{row['impulse_nspkg']:.4g}"),
            text(row["trials"]),
            text(row["survived"]),
        )
        for row in results["by_impulse"]
    ]
    shown = table(("when", "impulse [N s/kg]", "trials", "survived"), rows)
    return details(f"{results['trials']} trials", shown)


def cell_table(results: Mapping[str, Any]) -> str:
    """Return all cells of the map as a table."""
    rows = [
        [
            text(words)
            for words in (
                phase_name(cell["phase"]),
                direction_name(cell["direction_deg"]),
                f"{'≥ ' if cell['at_least'] else ''}{cell['survived_nspkg']:.3g}",
                f"{cell['largest_nspkg']:.3g}",
                f"{cell['limit_nspkg']:.3f}",
                f"{100 * cell['limit_fraction']:.0f} %",
                "yes" if cell["within_limits"] else "no",
                cell["trials"],
                cell["errors"],
            )
        ]
        for cell in results["map"]
    ]
    return table(CELL_HEAD, rows)


def _explanations(results: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the numbers mean, a sentence each."""
    grid, walk = results["grid"], results.get("walk")
    seeds = "one seed" if grid["seeds"] == 1 else f"each of {grid['seeds']} seeds"
    if grid["search"] == "grid":
        yield (
            "A number is the largest impulse up to which each impulse of the grid, "
            f"{grid['impulse_step']:g} N s/kg apart, was survived with {seeds} of the "
            f"sensors' noise; {grid['failures']} in a row that were not ended the "
            "search."
        )
    else:
        yield (
            f"A number was found by bisection to {grid['impulse_step']:g} N s/kg with "
            f"{seeds} of the sensors' noise: it is assumed that what survives a push "
            "survives all smaller ones."
        )
    yield (
        "Survived means not fallen "
        f"{results['after_s']:g} s after the push where the robot stands; where it "
        f"walks, when it has walked on for {results['after_s']:g} s and stopped."
    )
    if walk is not None:
        yield (
            f"Phases are those of step {walk['pushed_step']}, which the "
            f"{walk['supporting_foot']} foot carries: 0 at the touch-down before it, "
            "at the beginning of double support, 1 at its own."
        )
    yield (
        "J* is the largest impulse in that direction that a pendulum survives "
        "standing, without a step, for all rows of the map."
    )
    yield from results["notices"]
