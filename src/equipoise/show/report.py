"""The report of a run: what was asked, what happened, and how to see it again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from equipoise.log.run import Run
from equipoise.robot.description import Array
from equipoise.robot.gravity import STANDARD_GRAVITY
from equipoise.robot.joint_coordinates import degree_names
from equipoise.show.ground import ground_plot
from equipoise.show.labels import readable_figures, value_with_unit
from equipoise.show.markup import element, listing, table, text
from equipoise.show.page import page, section
from equipoise.show.plots import Series, time_plot

# Plots span at least this much: less is noise.
LEAST_LENGTH, LEAST_FORCE, LEAST_TORQUE = 1e-3, 1.0, 0.1
MOST_TORQUES = 6
# Keys of the summary that have a place of their own.
ELSEWHERE = ("sentence", "achieved", "checks", "warnings", "assumptions", "versions")


def report(run: Run, title: str, reproduce: str) -> str:
    """Return a report as one HTML file that needs nothing else.

    Args:
        run: The run. Of its summary, ``sentence`` says what happened, ``achieved``
            whether the robot did it, ``checks`` is a list of mappings with name,
            value, limit, unit and passed, ``versions`` maps programs to versions,
            ``warnings`` is a list of sentences; the rest are figures.
        title: What was asked.
        reproduce: The command that does it again.
    """
    figures = run.summary
    return page(
        title,
        _opening(figures, title),
        section(
            "Figures",
            element("div", _checks(figures), _figures(figures), class_="columns"),
        ),
        section(
            "Centre of mass and ZMP",
            element("div", *_com(run), ground_plot(run), class_="plots"),
        ),
        section(
            "Forces and torques",
            element("div", _forces(run), _torques(run), class_="plots"),
        ),
        section("Events", _events(run)),
        section(
            "Warnings", _texts([*run.robot.warnings, *figures.get("warnings", [])])
        ),
        section(
            "Assumptions",
            _texts([*run.robot.assumptions, *figures.get("assumptions", [])]),
        ),
        section("Reproduce", _reproduce(figures, reproduce)),
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


def _com(run: Run) -> list[str]:
    wanted = run.references.get("com")
    plots = []
    for axis, name in enumerate(("x, forward", "y, left", "z, up")):
        series = []
        if wanted is not None:
            series.append(Series("reference", wanted[:, axis], "reference"))
        series.append(Series("CoM", run.com[:, axis], "c0"))
        plots.append(
            time_plot(
                f"CoM {name}",
                "m",
                run.time,
                series,
                least=LEAST_LENGTH,
                events=run.events,
            )
        )
    return plots


def _forces(run: Run) -> str:
    weight = np.full(len(run.time), run.robot.mass * STANDARD_GRAVITY)
    series = [Series("weight", weight, "reference")]
    if run.contact_names:
        total: Array = run.contact_force[:, :, 2].sum(axis=1)
        series.append(Series("all contacts, vertical", total, "c2"))
    for style, (side, wrench) in zip(
        ("c0", "c1"), run.foot_wrench.items(), strict=False
    ):
        series.append(Series(f"{side} foot, normal", wrench[:, 2], style))
    return time_plot(
        "Forces of the ground",
        "N",
        run.time,
        series,
        least=LEAST_FORCE,
        events=run.events,
    )


def _torques(run: Run) -> str:
    peaks = np.abs(run.effort).max(axis=0)
    if not len(peaks):
        return ""
    slides = any(j.kind == "prismatic" for j in run.robot.description.joints)
    largest = np.argsort(-peaks, kind="stable")[:MOST_TORQUES]
    names = degree_names(run.robot)
    series = [
        Series(names[joint], run.effort[:, joint], f"c{place}")
        for place, joint in enumerate(largest.tolist())
    ]
    title = (
        "Joint torques"
        if len(peaks) <= MOST_TORQUES
        else f"Joint torques, the {MOST_TORQUES} largest of {len(peaks)}"
    )
    return time_plot(
        title,
        "Nm or N" if slides else "Nm",
        run.time,
        series[::-1],
        least=LEAST_TORQUE,
        events=run.events,
    )


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
