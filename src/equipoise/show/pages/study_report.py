"""The report of a study: what mattered, where robots fell, the safest gait."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from equipoise.show.charts.study_maps import study_curves, study_maps
from equipoise.show.pages.markup import (
    details,
    element,
    how_to_reproduce,
    listing,
    page,
    plots,
    resource,
    section,
    table,
    text,
)
from equipoise.show.pages.study_plots import (
    MOST_BARS,
    curve_plots,
    map_plot,
    ranking_plot,
)
from equipoise.study.cells import fraction_interval, number_words
from equipoise.study.outcomes import SURVIVED
from equipoise.study.sensitivity import RATIO, SOBOL, VARIANCE
from equipoise.study.table import StudyTable

# Outcomes that are drawn, parameters of maps, and of curves.
MOST_OUTCOMES, MAPPED, CURVED = 3, 3, 6


def study_report(
    columns: StudyTable, results: Mapping[str, Any], title: str, reproduce: str
) -> str:
    """Return a report as one HTML file that needs nothing else, not even scripts.

    Args:
        columns: The study's table, or a part of it if it is very large.
        results: Its ``summary.json``; ``"sensitivity"`` has what
            :func:`equipoise.study.sensitivity.sensitivities` found, ``"safest_gait"``
            what :func:`equipoise.study.safest_gait.safest_gait` did, as plain data.
        title: Title of the report.
        reproduce: The command that does it again.
    """
    found = [own for own in results.get("sensitivity", ()) if own["effects"]]
    shown = [own["outcome"] for own in _drawn(found)]
    ranked = {own["outcome"]: [e["parameter"] for e in own["effects"]] for own in found}
    seed = (results.get("sampling") or {}).get("seed")
    return page(
        title,
        element("h1", text(title)),
        element("p", text(results["sentence"]), class_="sentence"),
        _tiles(results),
        section(
            "What matters most",
            *map(_ranking, _drawn(found)),
            _unranked(results, found),
        ),
        section("Safest gait", _safest(results.get("safest_gait"))),
        section(
            "Maps",
            plots(
                *(
                    map_plot(drawn)
                    for name in shown
                    for drawn in study_maps(columns, name, ranked[name][:MAPPED])
                )
            )
            if shown and len(columns.parameters) > 1
            else "",
        ),
        section(
            "Curves",
            plots(
                *(
                    drawn
                    for name in shown
                    for drawn in curve_plots(
                        study_curves(columns, name, ranked[name][:CURVED])
                    )
                )
            )
            if shown
            else "",
        ),
        section("How to read it", listing(_explanations(columns, results))),
        section("Outcomes", _outcomes(results)),
        section("Failures", _failures(results)),
        section("Parameters", _parameters(columns)),
        section("Reproduce", how_to_reproduce({**results, "seed": seed}, reproduce)),
        style=resource("study.css"),
    )


def _drawn(found: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the sensitivities that are drawn: survival, then the best known ones."""
    order = sorted(found, key=lambda own: (own["outcome"] != SURVIVED, own["lost"]))
    return order[:MOST_OUTCOMES]


def _tiles(results: Mapping[str, Any]) -> str:
    """Return how many runs there were, failed and survived."""
    runs, failed, survived = (results[key] for key in ("runs", "failed", SURVIVED))
    tiles = [(f"{runs:,}".replace(",", "\N{THIN SPACE}"), "runs")]
    fraction = results.get("survived_fraction")
    if survived is not None and fraction is not None:
        count = round(survived / fraction) if fraction else runs - failed
        low, high = fraction_interval(survived, max(count, 1))
        tiles.append(
            (
                f"{100 * fraction:.1f} %",
                f"survived: {survived} of {count} (95 % interval {100 * low:.1f} to "
                f"{100 * high:.1f} %)",
            )
        )
    tiles.append((str(failed), "failed with an error, and have no outcome"))
    return element(
        "div",
        *(
            element("div", element("b", text(number)), element("span", text(words)))
            for number, words in tiles
        ),
        class_="tiles",
    )


def _ranking(own: Mapping[str, Any]) -> str:
    """Return what matters for an outcome: the first in words, all as bars."""
    effects = own["effects"]
    sentences = [effect["sentence"] for effect in effects]
    return element(
        "p", text(" ".join([sentences[0], *own["notes"]])), class_="note"
    ) + (plots(ranking_plot(own), _effects(own)))


def _effects(own: Mapping[str, Any]) -> str:
    """Return all effects as a table, folded if they are many."""
    ranks = any(effect["rank_correlation"] is not None for effect in own["effects"])
    total = any(effect["total"] is not None for effect in own["effects"])
    head = ["parameter", "alone [%]"]
    head += ["with others [%]"] if total else []
    head += ["rank correlation", "p"] if ranks else []
    rows = []
    for effect in own["effects"]:
        row = [effect["parameter"], _part(effect, "first_order")]
        row += [_part(effect, "total")] if total else []
        if ranks:
            row += [_number(effect["rank_correlation"]), _number(effect["p_value"])]
        rows.append([text(words) for words in row])
    made = table(head, rows)
    return details(f"{len(rows)} parameters", made) if len(rows) > MOST_BARS else made


def _part(effect: Mapping[str, Any], kind: str) -> str:
    words = f"{100 * effect[kind]:.1f}".replace("-", "\N{MINUS SIGN}")
    interval = effect[f"{kind}_interval"]
    if interval is None:
        return words
    return f"{words} ±{50 * (interval[1] - interval[0]):.1f}"


def _number(value: float | None) -> str:
    return "–" if value is None else number_words(value)


def _unranked(results: Mapping[str, Any], found: Sequence[Mapping[str, Any]]) -> str:
    """Return outcomes of which nothing can be said, and those that are not drawn."""
    silent = [own for own in results.get("sensitivity", ()) if not own["effects"]]
    parts = [f"{own['outcome']}: {' '.join(own['notes'])}" for own in silent]
    drawn = _drawn(found)
    for own in found:
        if own not in drawn:
            parts += [effect["sentence"] for effect in own["effects"][:1]]
    return listing(parts) if parts else ""


def _safest(gait: Mapping[str, Any] | None) -> str:
    if gait is None:
        return ""
    rows = []
    for own in gait["gait"]:
        words = number_words(own["low"])
        if own["high"] > own["low"]:
            words += f" to {number_words(own['high'])}"
        rows.append((text(own["name"]), text(f"{words} {own['unit']}")))
    return element("p", text(gait["sentence"]), class_="note") + table((), rows)


def _outcomes(results: Mapping[str, Any]) -> str:
    rows = []
    for name, own in results["outcomes"].items():
        numbers = [_number(own.get(key)) for key in ("mean", "min", "max")]
        known = str(own.get("known", "–"))
        rows.append(
            [text(w) for w in (name, own["unit"], known, *numbers, own["meaning"])]
        )
    return table(("outcome", "unit", "known", "mean", "min", "max", "meaning"), rows)


def _failures(results: Mapping[str, Any]) -> str:
    rows = [(text(own["error"]), text(own["runs"])) for own in results["errors"]]
    return table(("error", "runs"), rows) if rows else ""


def _parameters(columns: StudyTable) -> str:
    rows = []
    for own in columns.parameters:
        column = columns.columns[own.name]
        if column.dtype == object:
            among = ", ".join(sorted({str(value) for value in column}))
        else:
            among = " to ".join(
                number_words(end) for end in (np.nanmin(column), np.nanmax(column))
            )
        rows.append([text(w) for w in (own.name, own.unit, among, own.meaning)])
    return table(("parameter", "unit", "values", "meaning"), rows)


def _explanations(columns: StudyTable, results: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the numbers mean, a sentence each."""
    methods = {own["method"] for own in results.get("sensitivity", ())}
    if methods:
        yield (
            "A parameter explains a part of an outcome's variance over the runs of "
            "this study: with other ranges of the parameters it would be another part."
        )
    if VARIANCE in methods:
        yield "Parts are those of the means over each level of a parameter."
    if RATIO in methods:
        yield (
            "Parts are those of the means over ranges of a parameter with equally many "
            "runs; intervals (95 %) are those of the jackknife."
        )
    if SOBOL in methods:
        yield (
            "Parts are Sobol indices; intervals (95 %) are those of the bootstrap over "
            "base samples."
        )
    yield (
        "Cells of maps and curves are levels of a parameter, or ranges of it with "
        "equally many runs, shown by their middle. Intervals of fractions are those of "
        "Wilson, 95 %."
    )
    rows = len(next(iter(columns.columns.values())))
    if rows < columns.runs:
        yield f"Rankings, maps and curves are of {rows} of {columns.runs} runs."
    yield from results.get("notices", ())
