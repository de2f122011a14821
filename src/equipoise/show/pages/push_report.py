"""The report of pushes in several directions: impulses beside the theoretical limit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from equipoise.show.charts.push_polar import push_series
from equipoise.show.pages.labels import readable_results, signed
from equipoise.show.pages.markup import (
    element,
    how_to_reproduce,
    listing,
    page,
    plots,
    section,
    stroke,
    table,
    text,
    titled,
    value_table,
)
from equipoise.show.pages.svg_plots import (
    BOTTOM,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    figure,
    grid,
    make_axis,
    placed,
    ring,
    sample,
)

SQUARE = 380.0
DOT = 4.0
MARGIN = 1.08
# Keys of the summary that are shown as values.
SHOWN = (
    "robot",
    "engine",
    "feedback",
    "law",
    "link",
    "pull",
    "terrain",
    "mass_kg",
    "com_height_m",
    "push_duration_s",
    "payload_kg",
    "unknown_payload_kg",
)
HEAD = ("direction", "impulse [N s]", "[N s/kg]", "J* [N s]", "of J*")


def push_report(results: Mapping[str, Any], title: str, reproduce: str) -> str:
    """Return a report as one HTML file that needs nothing else, not even scripts.

    Args:
        results: ``summary.json`` of pushes in several directions, as
            :func:`~equipoise.show.charts.push_polar.write_push_polar` draws them.
        title: Title of the report.
        reproduce: The command that does it again.
    """
    verdict = ""
    if not results["find_limit"]:
        done = bool(results["achieved"])
        words = "Achieved." if done else "Not achieved."
        verdict = element("span", words, class_="good" if done else "bad") + " "
    return page(
        title,
        element("h1", text(title)),
        element("p", verdict, text(results["sentence"]), class_="sentence"),
        section("Impulses", plots(impulse_plot(results), limits_table(results))),
        section(
            "The smallest push that was not survived"
            if results["find_limit"]
            else "Outcome of each push",
            listing(row["sentence"] for row in results["directions"]),
        ),
        section("What must hold afterwards", listing(results["conditions"])),
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


def limits_table(results: Mapping[str, Any]) -> str:
    """Return impulses by direction as a table, with those without feedback if known."""
    rows = results["directions"]
    beside = bool(rows) and "open_loop_ns" in rows[0]
    head = [*HEAD]
    if beside:
        head += ["without feedback [N s]", "of J*"]
    if not results["find_limit"]:
        head.append("stands")
    cells = []
    for row in rows:
        cell = [
            f"{signed(row['direction_deg'], 0)}°",
            f"{row['impulse_ns']:.1f}",
            f"{row['impulse_nspkg']:.3f}",
            f"{row['theoretical_limit_ns']:.1f}",
            f"{100 * row['limit_fraction']:.0f} %",
        ]
        if beside:
            fraction = row["open_loop_fraction"]
            cell += [f"{row['open_loop_ns']:.1f}", f"{100 * fraction:.0f} %"]
        if not results["find_limit"]:
            cell.append("yes" if row["stands"] else "no")
        cells.append([text(words) for words in cell])
    return table(head, cells)


def impulse_plot(results: Mapping[str, Any]) -> str:
    """Return a plot of impulses from above: forward to the right, left up."""
    curve = _vectors(results["theoretical"])
    series = push_series(results)
    points = [_vectors(pairs) for _, _, _, pairs in series]
    reach = MARGIN * float(np.abs(np.concatenate([curve, *points])).max())
    across_reach = reach * (WIDTH - LEFT - RIGHT) / SQUARE
    across = make_axis(-across_reach, across_reach, LEFT, WIDTH - RIGHT, ticks=8)
    up = make_axis(-reach, reach, TOP + SQUARE, TOP)
    parts = [grid(across, up, "forward [N s]")]
    parts.append(stroke(placed(curve, across, up), "line reference"))
    for (label, colour, _, pairs), vectors in zip(series, points, strict=True):
        places = placed(vectors, across, up)
        if results["find_limit"] and len(places) > 2:
            closed = np.vstack([places, places[:1]])
            parts.append(stroke(closed, f"line {colour}"))
        parts += [
            titled(
                f"{label}: {impulse:.1f} N s towards {signed(angle, 0)}°",
                ring(place, DOT, f"dot {colour}"),
            )
            for (angle, impulse), place in zip(pairs, places, strict=True)
        ]
    legend = [sample("theoretical limit J*", "reference")]
    legend += [sample(label, colour) for label, colour, _, _ in series]
    title = "Impulse in the direction of the push: left over forward"
    size = (WIDTH, TOP + SQUARE + BOTTOM)
    return figure(title, "N s", "".join(parts), size, legend)


def _vectors(pairs: Any) -> Any:
    """Return directions [degrees] and impulses as vectors, shape (n, 2)."""
    angle, size = np.asarray(pairs, dtype=np.float64).reshape(-1, 2).T
    angle = np.radians(angle)
    return size[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
