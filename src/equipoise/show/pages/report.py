"""The report of a run: what was asked, what happened, and how to see it again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from equipoise.log.run import Run
from equipoise.show.charts.chart import Chart
from equipoise.show.charts.ground_map import ground_map
from equipoise.show.charts.quantities import available, charts
from equipoise.show.pages.ground import ground_plot
from equipoise.show.pages.labels import readable_figures, value_with_unit
from equipoise.show.pages.markup import element, listing, table, text
from equipoise.show.pages.page import page, section
from equipoise.show.pages.paper_table import paper_table
from equipoise.show.pages.plots import time_plot
from equipoise.show.pages.replay import replay, replay_script, replay_style

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


def report(run: Run, title: str, reproduce: str) -> str:
    """Return a report as one HTML file that needs nothing else.

    Args:
        run: The run. Of its summary, ``sentence`` says what happened, ``achieved``
            whether the robot did it, ``checks`` is a list of mappings with name,
            value, limit, unit and passed, ``versions`` maps programs to versions,
            ``warnings``, ``assumptions`` and ``notices`` are lists of sentences,
            ``paper`` holds what :func:`~.paper_table.paper_table` shows; the rest are
            figures.
        title: What was asked.
        reproduce: The command that does it again.
    """
    figures = run.summary
    paper = figures.get("paper", {})
    return page(
        title,
        _opening(figures, title),
        section("Replay", replay(run)),
        section(
            "Figures",
            element("div", _checks(figures), _figures(figures), class_="columns"),
        ),
        section("Compared", paper_table(paper) if paper else ""),
        section(
            "Centre of mass and ZMP",
            element(
                "div",
                *_plots(run, "com"),
                ground_plot(ground_map(run)),
                *_plots(run, "com-error", "zmp-margin", "sole"),
                class_="plots",
            ),
        ),
        section(
            "Forces and torques",
            element("div", *_plots(run, "forces", "torques"), class_="plots"),
        ),
        section("Legs", element("div", *_legs(run), class_="plots")),
        section("Events", _events(run)),
        section(
            "Warnings", _texts([*run.robot.warnings, *figures.get("warnings", [])])
        ),
        section("Notices", _texts(figures.get("notices", []))),
        section(
            "Assumptions",
            _texts(
                [
                    *run.robot.assumptions,
                    *figures.get("assumptions", []),
                    *paper.get("assumptions", []),
                ]
            ),
        ),
        section("Reproduce", _reproduce(figures, reproduce)),
        style=replay_style(),
        script=replay_script(),
    )


def _opening(figures: Mapping[str, Any], title: str) -> str:
    verdict = ""
    if isinstance(figures.get("achieved"), bool):
        done = figures["achieved"]
        words = "Achieved." if done else "Not achieved."
        verdict = element("span", words, class_="good" if done else "bad") + " "
    sentence = text(figures.get("sentence", ""))
    return element("h1", text(title)) + element(
        "p", verdict, sentence, class_="sentence"
    )


def _checks(figures: Mapping[str, Any]) -> str:
    rows = []
    for check in figures.get("checks", []):
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


def _figures(figures: Mapping[str, Any]) -> str:
    rows = [(text(a), text(b)) for a, b in readable_figures(figures, ELSEWHERE)]
    return table((), rows) if rows else ""


def _plots(run: Run, *what: str) -> list[str]:
    """Return plots of what the run has data for."""
    there = available(run)
    return [time_plot(chart) for chart in charts(run, [w for w in what if w in there])]


def _legs(run: Run) -> list[str]:
    """Return the angles of each leg's joints."""
    return [
        time_plot(_named(chart, limb.name.replace("_", " ")))
        for limb in run.robot.limbs.values()
        if limb.kind == "leg"
        for chart in charts(run, ["joints"], limb.joints)
    ]


def _named(chart: Chart, limb: str) -> Chart:
    title = chart.title.replace("Joint angles", f"Joint angles, {limb}")
    return replace(chart, title=title)


def _events(run: Run) -> str:
    return _texts([f"{event.time:.3f} s: {event.text}" for event in run.events])


def _texts(sentences: list[str]) -> str:
    return listing(sentences) if sentences else ""


def _reproduce(figures: Mapping[str, Any], command: str) -> str:
    versions = figures.get("versions", {})
    programs = ", ".join(f"{name} {version}" for name, version in versions.items())
    parts = [element("pre", element("code", text(command)))]
    if programs:
        parts.append(element("p", text(f"Made with {programs}.")))
    if figures.get("seed") is not None:
        parts.append(element("p", text(f"Seed {figures['seed']}.")))
    return "".join(parts)
