"""Reports of the three-link biped: a walk, the classic gaits, a sweep of speeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from equipoise.planar.classic import ClassicGait
from equipoise.planar.gait import PlanarGait
from equipoise.planar.gait_summary import step_summary
from equipoise.planar.hybrid import Walk
from equipoise.planar.poincare import Basin
from equipoise.show.charts.chart import Series
from equipoise.show.charts.planar_walk import walk_charts
from equipoise.show.pages.gait_plots import (
    basin_plot,
    eigenvalue_plot,
    phase_portraits,
    poincare_plot,
    speed_plot,
    step_figures,
)
from equipoise.show.pages.labels import readable_results, signed, value_with_unit
from equipoise.show.pages.markup import (
    element,
    how_to_reproduce,
    listing,
    page,
    plots,
    resource,
    result_tables,
    section,
    table,
    text,
    value_table,
)
from equipoise.show.pages.stick_replay import stick_replay, stick_script, stick_style
from equipoise.show.pages.svg_plots import time_plot
from equipoise.show.palette import LINES

Row = tuple[str, str]
# Quantities of both classic gaits: attribute of ``GaitResults``, words, digits.
CLASSIC_ROWS = (
    ("rate", "fixed point, θ̇₁ before impact [rad/s]", 4),
    ("momentum", "angular momentum there [kg m²/s]", 3),
    ("step_time", "step time [s]", 4),
    ("step_length", "step length [m]", 4),
    ("speed", "speed [m/s]", 4),
    ("slope", "slope of the Poincaré map", 4),
    ("torque_cost", "∫ ‖u‖² dt for a metre [N² m s]", 1),
    ("cost_of_transport", "cost of transport", 4),
    ("largest_torque", "largest torque [Nm]", 1),
    ("friction", "friction needed in the swing phase", 3),
)
# Less of the leg's length below the ground is not worth a word.
LEAST_SCUFFING = 1e-4
CLASSIC_HEAD = ("", "full model", "zero dynamics", "difference")
# Columns of a sweep: group and key of a summary, words, digits.
SWEEP_COLUMNS = (
    ("gait", "speed_mps", "speed [m/s]", 2),
    ("gait", "step_length_m", "step [m]", 3),
    ("gait", "step_time_s", "time [s]", 3),
    ("full_model", "largest_eigenvalue", "eigenvalue", 3),
    ("gait", "largest_torque_nm", "torque [Nm]", 1),
    ("gait", "friction", "friction", 2),
    ("gait", "impact_friction", "at impact", 2),
    ("gait", "torque_cost", "∫ ‖u‖² dt / m [N² m s]", 0),
    ("gait", "cost_of_transport", "cost of transport", 3),
)
# What is drawn over speed: title, unit, and words for keys of a gait.
SPEED_PLOTS: tuple[tuple[str, str, dict[str, str]], ...] = (
    (
        "Cost of transport",
        "",
        {"cost_of_transport": "work of torques over weight and way"},
    ),
    (
        "Friction needed",
        "",
        {"friction": "swing phase", "impact_friction": "impact"},
    ),
    ("Step length", "m", {"step_length_m": "from foot to foot"}),
    ("Largest torque", "Nm", {"largest_torque_nm": "of either actuator"}),
)
ASSUMPTIONS = (
    "Scuffing is ignored: a leg without a knee cannot pass the other without touching "
    "the ground. Contact of the swing foot counts only in front of the stance foot.",
    "Impacts are rigid: the swing foot neither slips nor rebounds, and the other foot "
    "leaves the ground at once.",
    "Feet are points without an ankle torque: nothing but gravity moves the biped over "
    "its stance foot.",
)


def result_rows(results: Mapping[str, Any]) -> dict[str, list[Row]]:
    """Return the results of a gait, and of its walk if there is one, as words.

    Args:
        results: ``summary.json`` of a gait.
    """
    gait, full, zero = (
        results[name] for name in ("gait", "full_model", "zero_dynamics")
    )
    groups = {
        "Gait": [
            ("speed", value_with_unit(gait["speed_mps"], "m/s")),
            ("step length", f"{gait['step_length_m']:.3f} m"),
            ("step time", f"{gait['step_time_s']:.3f} s"),
            ("largest torque", value_with_unit(gait["largest_torque_nm"], "Nm")),
            ("friction needed", _number(gait["friction"], 3)),
            ("friction needed at impact", _number(gait["impact_friction"], 3)),
            (
                "least vertical force over weight",
                value_with_unit(gait["least_force_fraction"], "%"),
            ),
            ("cost of transport", _number(gait["cost_of_transport"], 4)),
            ("∫ ‖u‖² dt for a metre", f"{gait['torque_cost']:.1f} N² m s"),
            (
                "swing foot below the ground, ignored",
                value_with_unit(gait["scuffing_m"], "m"),
            ),
        ],
        "Stability": [
            ("largest eigenvalue, full model", _number(full["largest_eigenvalue"], 4)),
            ("all eigenvalues", ", ".join(map(_complex, full["eigenvalues"]))),
            ("slope, zero dynamics", _number(zero["slope"], 4)),
            (
                "θ̇₁ before impact, full model",
                f"{full['rate_before_impact_radps']:.4f} rad/s",
            ),
            (
                "θ̇₁ before impact, zero dynamics",
                f"{zero['rate_before_impact_radps']:.4f} rad/s",
            ),
            ("outputs invariant under impact", "yes" if zero["invariant"] else "no"),
        ],
        "Robot": [*readable_results(results["parameters"])],
    }
    if "steps_wanted" in results:
        groups["Walk"] = [*_walk_rows(results)]
    if "basin" in results:
        fraction = value_with_unit(results["basin"]["fraction"], "%")
        groups["Stability"].append(("starts of the grid that walk on", fraction))
    return groups


def _walk_rows(results: Mapping[str, Any]) -> Iterator[Row]:
    yield "steps", f"{results['steps_done']} of {results['steps_wanted']}"
    yield "angles and rates at the start", _percent(results["perturbation_fraction"])
    yield "distance", value_with_unit(results["distance_m"], "m")
    yield "duration", value_with_unit(results["duration_s"], "s")
    if results["end_distance"] is not None:
        off = f"{results['end_distance']:.2g} rad and rad/s"
        yield "off the gait at the end, at most", off
    whole = results["walk"]
    if whole is not None:
        pulls = "the ground would have to pull"
        friction = whole["friction"]
        yield "largest torque", value_with_unit(whole["largest_torque_nm"], "Nm")
        yield "friction needed", pulls if friction is None else _number(friction, 3)


def planar_report(
    gait: PlanarGait,
    walk: Walk,
    results: Mapping[str, Any],
    reproduce: str,
    basin: Basin | None = None,
) -> str:
    """Return the report of a gait and a walk as one HTML file that needs nothing else.

    Args:
        gait: The gait.
        walk: Its walk; it may have no steps.
        results: ``summary.json``.
        reproduce: The command that does it again.
        basin: Its basin of attraction, if it was computed.
    """
    periodic = gait.poincare.step
    some = walk if walk.steps else None
    done = bool(results["achieved"])
    verdict = element(
        "span",
        "Achieved." if done else "Not achieved.",
        class_="good" if done else "bad",
    )
    tables = {
        name: value_table(rows)
        for name, rows in sorted(result_rows(results).items(), key=_order)
    }
    return page(
        results["title"],
        element("h1", text(results["title"])),
        element("p", verdict, " ", text(results["sentence"]), class_="sentence"),
        section("Walk", stick_replay(some)) if some else "",
        section("Results", result_tables(tables)),
        section(
            "A step", plots(step_figures(gait, periodic), poincare_plot(gait, some))
        ),
        section(
            "Phase portraits and eigenvalues",
            plots(
                *phase_portraits(some, periodic),
                eigenvalue_plot(gait.poincare.eigenvalues.tolist()),
            ),
        ),
        section(
            "Basin of attraction",
            plots(basin_plot(basin), listing(_about_basin(basin))),
        )
        if basin
        else "",
        section("A periodic step over time", _step_charts(gait)),
        section("The walk over time", plots(*map(time_plot, walk_charts(some))))
        if some
        else "",
        section("Assumptions", listing(ASSUMPTIONS)),
        section("Reproduce", how_to_reproduce(results, reproduce)),
        style=resource("gait.css") + (stick_style() if some else ""),
        script=stick_script() if some else "",
    )


def _about_basin(basin: Basin) -> Iterator[str]:
    """Yield what the drawing of a basin means, a sentence each."""
    count = basin.steps.size
    yield (
        f"{round(basin.fraction * count)} of {count} starts, "
        f"{100 * basin.fraction:.0f} %, walk {basin.asked} steps; the basin may go on "
        "beyond the grid."
    )
    yield (
        "A start is the state of the gait after its impact, the ring, with all rates "
        "changed by a fraction of themselves and the torso leaning otherwise. The legs "
        "are where they are in the gait."
    )
    yield (
        "Starts are walked by the full model with the gait's controller. Torques have "
        "no limits there, and friction and the sign of the ground's force are not "
        "looked at."
    )


def _step_charts(gait: PlanarGait) -> str:
    """Return charts of the periodic step, whose time no cursor of a replay follows."""
    charts = walk_charts(Walk(gait.model, (gait.poincare.step,), ""))
    drawn = map(time_plot, charts)
    return plots(*(plot.replace(" data-begin=", " data-from=") for plot in drawn))


def _order(group: tuple[str, list[Row]]) -> int:
    return ("Gait", "Stability", "Walk", "Robot").index(group[0])


def classic_rows(gait: ClassicGait) -> list[tuple[str, ...]]:
    """Return the quantities of a classic gait in words.

    Each row is what it is, by the full model, by the zero dynamics, and how much more
    it is by the full model.
    """
    rows = []
    for name, words, digits in CLASSIC_ROWS:
        full, zero = (getattr(by, name) for by in (gait.full_model, gait.zero_dynamics))
        numbers = [_number(value, digits) for value in (full, zero)]
        rows.append((words, *numbers, f"{signed(100.0 * (full / zero - 1.0), 1)} %"))
    return rows


def classic_notes(gait: ClassicGait) -> list[str]:
    """Return what is to be said of a classic gait, a sentence each."""
    depth = step_summary(gait.gait, gait.gait.poincare.step)["scuffing_m"]
    if depth < LEAST_SCUFFING * gait.gait.model.parameters.leg_length:
        return [gait.note]
    words = f"The swing foot passes up to {value_with_unit(depth, 'm')} below the "
    return [gait.note, f"{words}ground, which is ignored."]


def classic_report(
    gaits: Sequence[ClassicGait], results: Mapping[str, Any], reproduce: str
) -> str:
    """Return the report of the classic gaits, by the full model and zero dynamics."""
    parts = []
    for found in gaits:
        name, step = found.name.replace("-", " "), found.gait.poincare.step
        zero = found.gait.zero_dynamics
        rows = [[text(cell) for cell in row] for row in classic_rows(found)]
        parts.append(
            section(
                f"{name.capitalize()}, by the full model and by the zero dynamics",
                listing(classic_notes(found)),
                table(CLASSIC_HEAD, rows),
            )
        )
        parts.append(
            section(
                f"{name.capitalize()}: its periodic step by the full model",
                plots(
                    step_figures(found.gait, step),
                    poincare_plot(found.gait, None),
                    *phase_portraits(None, step, zero.orbit.state),
                    eigenvalue_plot(found.gait.poincare.eigenvalues.tolist()),
                ),
            )
        )
        over_time = _step_charts(found.gait)
        parts.append(section(f"{name.capitalize()}: the step over time", over_time))
    return page(
        results["title"],
        element("h1", text(results["title"])),
        element("p", text(results["sentence"]), class_="sentence"),
        *parts,
        section("Assumptions", listing(ASSUMPTIONS)),
        section("Reproduce", how_to_reproduce(results, reproduce)),
        style=resource("gait.css"),
    )


def sweep_rows(gaits: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Return a row for each gait, as ``SWEEP_COLUMNS`` name them."""
    return [
        [_number(gait[group][key], digits) for group, key, _, digits in SWEEP_COLUMNS]
        for gait in gaits
    ]


def sweep_report(
    gaits: Sequence[PlanarGait], results: Mapping[str, Any], reproduce: str
) -> str:
    """Return the report of gaits of several speeds."""
    head = [words for _, _, words, _ in SWEEP_COLUMNS]
    rows = [[text(cell) for cell in row] for row in sweep_rows(results["gaits"])]
    figures = [step_figures(gait, gait.poincare.step) for gait in gaits]
    titles = [f"{gait['gait']['speed_mps']:.2f} m/s: " for gait in results["gaits"]]
    return page(
        results["title"],
        element("h1", text(results["title"])),
        element("p", text(results["sentence"]), class_="sentence"),
        section("Speeds", table(head, rows)),
        section("Over speed", plots(*_speed_plots(results["gaits"]))),
        section(
            "A step of each",
            plots(
                *(
                    drawn.replace("<b>A step", f"<b>{title}a step", 1)
                    for title, drawn in zip(titles, figures, strict=True)
                )
            ),
        ),
        section("Robot", value_table([*readable_results(results["parameters"])])),
        section("Assumptions", listing(ASSUMPTIONS)),
        section("Reproduce", how_to_reproduce(results, reproduce)),
        style=resource("gait.css"),
    )


def _speed_plots(gaits: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield quantities of gaits over their speed, sorted by it."""
    steps = sorted((gait["gait"] for gait in gaits), key=lambda g: g["speed_mps"])
    speeds = np.array([step["speed_mps"] for step in steps])
    for title, unit, keys in SPEED_PLOTS:
        lines = [
            Series(
                words,
                np.array([step[key] for step in steps], dtype=np.float64),
                colour,
            )
            for (key, words), colour in zip(keys.items(), LINES, strict=False)
        ]
        yield speed_plot(title, unit, speeds, lines)


def _number(value: float | None, digits: int) -> str:
    return "–" if value is None else signed(value, digits)


def _percent(fraction: float) -> str:
    """Return how much a start differs from the gait's, in words."""
    if not fraction:
        return "those of the gait"
    return f"{abs(100 * fraction):.3g} % {'more' if fraction > 0.0 else 'less'}"


def _complex(value: Sequence[float]) -> str:
    real, imaginary = value
    size = abs(complex(real, imaginary))
    if size < 1e-4:
        return f"{size:.0e}"
    if abs(imaginary) < 1e-6:
        return signed(real, 4)
    return f"{signed(real, 4)} ± {abs(imaginary):.4f} i"
