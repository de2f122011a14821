"""The report of a run: what was asked, what happened, and how to see it again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from equipoise.log.run import Run
from equipoise.show.charts.quantities import (
    available,
    charts,
    ground_map,
    overlaid,
)
from equipoise.show.pages.labels import (
    compared_rows,
    joint_use_rows,
    push_rows,
    readable_results,
    value_beside_limit,
    value_with_unit,
    values_with_unit,
)
from equipoise.show.pages.markup import (
    details,
    element,
    folded,
    how_to_reproduce,
    page,
    plots,
    resource,
    result_tables,
    section,
    table,
    text,
    value_table,
)
from equipoise.show.pages.report_replay import replay, replay_script
from equipoise.show.pages.svg_plots import ground_plot, time_plot

# Keys of the summary that have a place of their own.
ELSEWHERE = (
    "sentence",
    "achieved",
    "checks",
    "warnings",
    "assumptions",
    "versions",
    "notices",
    "paper",
    "command",
    "seed",
    "footfalls",
    "pushes",
    "compared",
)
# Results that a run without an estimator does not have.
ONLY_CLOSED_LOOP = ("odometry_drift_m", "drift_over_distance_fraction", "estimator")
# Groups of results; what is in none of them is part of the outcome.
MAPPINGS = ("estimator", "gait", "contact", "actuators", "solver")
SIMULATION = (
    "verb",
    "robot",
    "terrain",
    "planned_terrain",
    "payload_kg",
    "unknown_payload_kg",
    "engine",
    "duration_s",
    "dt_s",
    "wall_s",
    "realtime_factor",
)
HEAD = (
    "method",
    "CoM error, mean",
    "max",
    "min",
    "ZMP inside",
    "time per point",
    "outcome",
)
PRINTED = "as printed in the paper"


def report(
    run: Run,
    title: str,
    reproduce: str,
    *,
    beside: Mapping[str, Run] | None = None,
) -> str:
    """Return a report as one HTML file that needs nothing else.

    Args:
        run: The run. Of its summary, ``sentence`` says what happened, ``achieved``
            whether the robot did it, ``checks`` is a list of mappings with name,
            value, limit, unit and passed, ``versions`` maps programs to versions,
            ``warnings``, ``assumptions`` and ``notices`` are lists of sentences,
            ``paper`` holds what :func:`paper_table` shows, ``compared`` results of
            several runs by name; the rest are results.
        title: Title of the report.
        reproduce: The command that does it again.
        beside: Runs by name to show beside this one, in charts of arms, CoM, legs and
            ZMP; this one is among them.
    """
    results = run.summary
    paper = results.get("paper", {})
    warnings = [*run.robot.warnings, *results.get("warnings", [])]
    assumptions = [
        *run.robot.assumptions,
        *results.get("assumptions", []),
        *paper.get("assumptions", []),
    ]
    return page(
        title,
        _opening(results, title),
        section("Replay", replay(run)),
        section("Results", result_tables(_groups(results))),
        section("Actuators and footfalls", _joints(results), _footfalls(results)),
        section("Compared", paper_table(paper) if paper else ""),
        section("Side by side", _compared(results), _side_by_side(beside or {})),
        section(
            "Centre of mass and ZMP",
            plots(
                *_plots(run, "com"),
                ground_plot(ground_map(run)),
                *_plots(run, "com-error", "zmp-margin", "sole"),
            ),
        ),
        section("Forces and torques", plots(*_plots(run, "forces", "torques"))),
        section("Legs", plots(*_limbs(run, "leg"))),
        section(
            "Events",
            folded([f"{e.time:.3f} s: {e.text}" for e in run.events], "events"),
        ),
        section("Warnings", folded(warnings, "warnings")),
        section("Notices", folded([*results.get("notices", [])], "notices")),
        section("Assumptions", folded(assumptions, "assumptions")),
        section("Reproduce", how_to_reproduce(results, reproduce)),
        style=resource("replay.css"),
        script=replay_script(),
    )


def _opening(results: Mapping[str, Any], title: str) -> str:
    verdict = ""
    if isinstance(results.get("achieved"), bool):
        done = results["achieved"]
        words = "Achieved." if done else "Not achieved."
        verdict = element("span", words, class_="good" if done else "bad") + " "
    sentence = text(results.get("sentence", ""))
    return element("h1", text(title)) + element(
        "p", verdict, sentence, class_="sentence"
    )


def _groups(results: Mapping[str, Any]) -> dict[str, str]:
    """Return tables of results by heading."""
    unknown = [key for key in ONLY_CLOSED_LOOP if results.get(key) is None]
    groups = [key for key in MAPPINGS if isinstance(results.get(key), Mapping)]
    simulation = {key: results[key] for key in SIMULATION if key in results}
    outcome = readable_results(results, (*ELSEWHERE, *SIMULATION, *unknown, *groups))
    return {
        "Outcome": value_table([*outcome]),
        "Checks": _checks(results),
        **{
            key.capitalize(): value_table([*readable_results(results[key], ["joints"])])
            for key in groups
        },
        "Simulation": value_table(
            [*readable_results(simulation), *push_rows(results.get("pushes", ()))]
        ),
    }


def _checks(results: Mapping[str, Any]) -> str:
    rows = []
    for check in results.get("checks", []):
        passed = bool(check.get("passed"))
        shown = value_beside_limit(
            check.get("value"), check.get("limit"), str(check.get("unit") or "")
        )
        mark = element(
            "span", "within" if passed else "beyond", class_="good" if passed else "bad"
        )
        rows.append((text(check.get("name", "")), *map(text, shown), mark))
    return table(("check", "value", "limit", "verdict"), rows) if rows else ""


def _joints(results: Mapping[str, Any]) -> str:
    """Return torques and speeds against their limits, folded."""
    joints = results.get("actuators", {}).get("joints")
    if not joints:
        return ""
    head, *rows = joint_use_rows(joints)
    cells = [[text(cell) for cell in row] for row in rows]
    return details(f"torques and speeds of {len(rows)} joints", table(head, cells))


def _footfalls(results: Mapping[str, Any]) -> str:
    """Return where and when feet came down, folded."""
    steps = results.get("footfalls")
    if not steps:
        return ""
    rows = [
        [
            str(number),
            step["side"],
            value_with_unit(step["touch_down_s"], "s") if step["made"] else "not made",
            value_with_unit(step["planned_s"], "s"),
            value_with_unit(step["placement_error_m"], "m"),
            value_with_unit(step.get("placement_from_stance_m"), "m"),
            value_with_unit(step["yaw_error_deg"], "°"),
        ]
        for number, step in enumerate(steps, start=1)
    ]
    head = (
        "step",
        "foot",
        "touch-down",
        "planned",
        "off its place",
        "the same from the other foot",
        "turned",
    )
    cells = [[text(cell) for cell in row] for row in rows]
    return details(f"{len(rows)} footfalls", table(head, cells))


def _plots(run: Run, *what: str) -> list[str]:
    """Return plots of what the run has data for."""
    there = available(run)
    return [time_plot(chart) for chart in charts(run, [w for w in what if w in there])]


def _limbs(run: Run, kind: str, note: str = "") -> list[str]:
    """Return the angles of the joints of each leg or arm."""
    return [
        time_plot(replace(chart, title=chart.title.replace("Joint angles", words)))
        for limb in run.robot.limbs.values()
        if limb.kind == kind
        for words in [f"Joint angles, {limb.name.replace('_', ' ')}{note}"]
        for chart in charts(run, ["joints"], limb.joints)
    ]


def _compared(results: Mapping[str, Any]) -> str:
    """Return results of several runs as a table, a column each."""
    compared = results.get("compared")
    if not compared:
        return ""
    head, *rows = compared_rows(compared)
    return table(head, [[text(cell) for cell in row] for row in rows])


def _side_by_side(runs: Mapping[str, Run]) -> str:
    """Return the arms of runs, CoM and ZMP in the same charts, and their legs."""
    if not runs:
        return ""
    first = next(iter(runs.values()))
    made = [*_limbs(first, "arm"), *map(time_plot, overlaid(runs))]
    for name, run in runs.items():
        made += _limbs(run, "leg", f", {name}")
    return plots(*made)


def paper_table(results: Mapping[str, Any]) -> str:
    """Return the methods that a paper compares as a table.

    Args:
        results: ``"paper"`` of a summary: a mapping for each method, with its name,
            ``com_error_m``, ``zmp_inside_fraction``, ``time_a_point_s``, ``steps_done``
            and ``fell_at_s``; ``"printed"`` lacks some.
    """
    methods = [value for value in results.values() if isinstance(value, Mapping)]
    methods.sort(key=lambda method: "method" in method)
    return table(HEAD, [[text(cell) for cell in _row(m)] for m in methods])


def _row(method: Mapping[str, Any]) -> list[str]:
    error = method.get("com_error_m", {})
    errors = [error.get(key) for key in ("mean", "max", "min")]
    return [
        str(method.get("method", PRINTED)),
        *values_with_unit(errors, "m"),
        value_with_unit(method.get("zmp_inside_fraction"), "%"),
        value_with_unit(method.get("time_a_point_s"), "s"),
        _outcome(method),
    ]


def _outcome(method: Mapping[str, Any]) -> str:
    steps, fell = method.get("steps_done"), method.get("fell_at_s")
    after = "" if steps is None else f", {steps} steps"
    return f"stays up{after}" if fell is None else f"falls at {fell:.2f} s{after}"
