"""The report of a run: what was asked, what happened, and how to see it again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from equipoise.log.run import Run
from equipoise.show.charts.ground_map import ground_map
from equipoise.show.charts.quantities import available, charts
from equipoise.show.pages.labels import readable_results, value_with_unit
from equipoise.show.pages.markup import (
    element,
    how_to_reproduce,
    listing,
    page,
    plots,
    section,
    table,
    text,
)
from equipoise.show.pages.report_replay import replay, replay_script, replay_style
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
)
HEAD = ("method", "CoM error, mean", "max", "min", "ZMP inside", "a point", "outcome")
PRINTED = "as printed in the paper"


def report(run: Run, title: str, reproduce: str) -> str:
    """Return a report as one HTML file that needs nothing else.

    Args:
        run: The run. Of its summary, ``sentence`` says what happened, ``achieved``
            whether the robot did it, ``checks`` is a list of mappings with name,
            value, limit, unit and passed, ``versions`` maps programs to versions,
            ``warnings``, ``assumptions`` and ``notices`` are lists of sentences,
            ``paper`` holds what :func:`paper_table` shows; the rest are results.
        title: Title of the report.
        reproduce: The command that does it again.
    """
    results = run.summary
    paper = results.get("paper", {})
    rows = [(text(a), text(b)) for a, b in readable_results(results, ELSEWHERE)]
    return page(
        title,
        _opening(results, title),
        section("Replay", replay(run)),
        section(
            "Results",
            element(
                "div",
                _checks(results),
                table((), rows) if rows else "",
                class_="columns",
            ),
        ),
        section("Compared", paper_table(paper) if paper else ""),
        section(
            "Centre of mass and ZMP",
            plots(
                *_plots(run, "com"),
                ground_plot(ground_map(run)),
                *_plots(run, "com-error", "zmp-margin", "sole"),
            ),
        ),
        section("Forces and torques", plots(*_plots(run, "forces", "torques"))),
        section("Legs", plots(*_legs(run))),
        section("Events", _texts(f"{e.time:.3f} s: {e.text}" for e in run.events)),
        section("Warnings", _texts(run.robot.warnings, results.get("warnings", []))),
        section("Notices", _texts(results.get("notices", []))),
        section(
            "Assumptions",
            _texts(
                run.robot.assumptions,
                results.get("assumptions", []),
                paper.get("assumptions", []),
            ),
        ),
        section("Reproduce", how_to_reproduce(results, reproduce)),
        style=replay_style(),
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


def _checks(results: Mapping[str, Any]) -> str:
    rows = []
    for check in results.get("checks", []):
        unit = str(check.get("unit") or "")
        passed = bool(check.get("passed"))
        mark = element(
            "span", "within" if passed else "beyond", class_="good" if passed else "bad"
        )
        rows.append(
            (
                text(check.get("name", "")),
                text(value_with_unit(check.get("value"), unit)),
                text(value_with_unit(check.get("limit"), unit)),
                mark,
            )
        )
    return table(("check", "value", "limit", "verdict"), rows) if rows else ""


def _plots(run: Run, *what: str) -> list[str]:
    """Return plots of what the run has data for."""
    there = available(run)
    return [time_plot(chart) for chart in charts(run, [w for w in what if w in there])]


def _legs(run: Run) -> list[str]:
    """Return the angles of each leg's joints."""
    return [
        time_plot(replace(chart, title=chart.title.replace("Joint angles", words)))
        for limb in run.robot.limbs.values()
        if limb.kind == "leg"
        for words in [f"Joint angles, {limb.name.replace('_', ' ')}"]
        for chart in charts(run, ["joints"], limb.joints)
    ]


def _texts(*parts: Iterable[str]) -> str:
    sentences = [sentence for part in parts for sentence in part]
    return listing(sentences) if sentences else ""


def paper_table(results: Mapping[str, Any]) -> str:
    """Return the methods that a paper compares as a table.

    Args:
        results: ``"paper"`` of a summary: a mapping for each method, with its name,
            ``com_error_m``, ``zmp_inside_share``, ``time_a_point_s``, ``steps_done``
            and ``fell_at_s``; ``"printed"`` lacks some.
    """
    methods = [value for value in results.values() if isinstance(value, Mapping)]
    methods.sort(key=lambda method: "method" in method)
    return table(HEAD, [[text(cell) for cell in _row(m)] for m in methods])


def _row(method: Mapping[str, Any]) -> list[str]:
    error = method.get("com_error_m", {})
    inside = method.get("zmp_inside_share")
    return [
        str(method.get("method", PRINTED)),
        *(value_with_unit(error.get(key), "m") for key in ("mean", "max", "min")),
        "–" if inside is None else f"{100.0 * inside:.0f} %",
        value_with_unit(method.get("time_a_point_s"), "s"),
        _outcome(method),
    ]


def _outcome(method: Mapping[str, Any]) -> str:
    steps, fell = method.get("steps_done"), method.get("fell_at_s")
    after = "" if steps is None else f", {steps} steps"
    return f"stays up{after}" if fell is None else f"falls at {fell:.2f} s{after}"
