"""The report of a study."""

from __future__ import annotations

import re
from typing import Any
from xml.etree.ElementTree import fromstring

import numpy as np
import pytest

from equipoise.show.pages.study_report import study_report
from equipoise.study.outcomes import Outcome
from equipoise.study.parameters import Parameter
from equipoise.study.safest_gait import safest_gait
from equipoise.study.sampling import Distribution, Method, Points
from equipoise.study.sensitivity import sensitivities
from equipoise.study.table import StudyTable

SPREAD = {
    "torso.com.x": Distribution("uniform", -0.05, 0.05, points=4),
    "contact.stiffness": Distribution("log-uniform", 0.01, 10.0, points=3),
    "gait.length": Distribution("uniform", 0.05, 0.2, points=3),
    "engine": Distribution("choice", values=("native", "mujoco")),
}
UNITS = {"torso.com.x": "m", "gait.length": "m"}


def a_study(method: Method, count: int | None) -> tuple[StudyTable, dict[str, Any]]:
    """Return table and summary of a study; runs with engine mujoco failed once."""
    points = Points(method, list(SPREAD.values()), count, seed=5)
    rows = [points[run] for run in range(len(points))]
    columns: dict[str, Any] = {
        name: np.array(values, dtype=object if name == "engine" else np.float64)
        for name, values in zip(SPREAD, zip(*rows, strict=True), strict=True)
    }
    columns["survived"] = 1.0 * (
        np.abs(columns["torso.com.x"]) + 0.2 * columns["gait.length"] < 0.05
    )
    columns["com_error_m.max"] = np.abs(columns["torso.com.x"])
    columns["fell_at_s"] = np.where(columns["survived"] == 1.0, np.nan, 1.5)
    columns["error"] = np.full(len(rows), None, dtype=object)
    columns["error"][3] = "no <gait> can be followed"
    for name in ("survived", "com_error_m.max", "fell_at_s"):
        columns[name][3] = np.nan
    parameters = tuple(
        Parameter(name, UNITS.get(name, ""), f"meaning of {name}") for name in SPREAD
    )
    outcomes = (
        Outcome("com_error_m.max", "m", "largest error of the CoM", "float"),
        Outcome("survived", "", "whether it stands", "bool"),
        Outcome("fell_at_s", "s", "when it fell", "float"),
    )
    table = StudyTable(parameters, outcomes, columns, len(rows))
    survived = int(np.nansum(columns["survived"]))
    gait = safest_gait(table)
    return table, {
        "sentence": f"{len(rows)} runs of walk with <robot>.",
        "runs": len(rows),
        "failed": 1,
        "survived": survived,
        "survived_fraction": survived / (len(rows) - 1),
        "errors": [{"error": "no <gait> can be followed", "runs": 1}],
        "outcomes": {
            own.name: {
                "unit": own.unit,
                "meaning": own.meaning,
                "known": 7,
                "mean": 0.5,
            }
            for own in outcomes
        },
        "sampling": {"method": method, "count": count, "seed": 5},
        "versions": {"equipoise": "1.2.3"},
        "notices": ["no GPU was found: it runs on cores"],
        "sensitivity": [own.as_dict() for own in sensitivities(table, method)],
        "safest_gait": None if gait is None else gait.as_dict(),
    }


@pytest.mark.parametrize(
    ("method", "count"), [("grid", None), ("latin-hypercube", 300), ("sobol", 64)]
)
def test_report_of_a_study(method: Method, count: int | None) -> None:
    """It is well formed, alone and light, and has what was found, survival first."""
    table, results = a_study(method, count)
    made = study_report(table, results, "A <study>", "equipoise study it.toml --out it")
    closed = re.sub(r"(<meta [^>]*)>", r"\1/>", made)
    root = fromstring(closed.removeprefix("<!DOCTYPE html>"))
    headings = [heading.text for heading in root.iter("h2")]
    assert headings == [
        "What matters most",
        "Safest gait",
        "Maps",
        "Curves",
        "How to read it",
        "Outcomes",
        "Failures",
        "Parameters",
        "Reproduce",
    ]
    titles = ["".join(caption.itertext()) for caption in root.iter("figcaption")]
    assert titles[0].startswith("Variance of survival, by parameter [%]")
    assert any(title.startswith("Survived; upward: ") for title in titles)
    whole = "".join(root.itertext())
    best = results["sensitivity"][1]["effects"][0]
    assert best["parameter"] == "torso.com.x"
    assert best["sentence"] in whole
    assert results["safest_gait"]["sentence"] in whole
    for words in (
        "no <gait> can be followed",
        "fell_at_s: ",
        "no GPU was found",
        "Made with equipoise 1.2.3.",
        "Seed 5.",
    ):
        assert words in whole
    assert "src=" not in made
    assert not re.search(r"\bnan\b", whole)
    assert len(made) < 200_000


def test_report_without_effects() -> None:
    """A study whose runs all failed has a report, too."""
    table, results = a_study("grid", None)
    for name in ("survived", "com_error_m.max", "fell_at_s"):
        table.columns[name][:] = np.nan
    found = [own.as_dict() for own in sensitivities(table, "grid")]
    results |= {"sensitivity": found, "safest_gait": safest_gait(table)}
    results |= {"failed": results["runs"], "survived": 0, "survived_fraction": None}
    made = study_report(table, results, "A study", "equipoise study it.toml --out it")
    assert "Too few runs have a value" in made
    assert "<figure" not in made
