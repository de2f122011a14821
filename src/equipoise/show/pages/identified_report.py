"""The report of an identification: what was found, and whether it is better."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from equipoise.arrays import Array
from equipoise.robot.model import Robot
from equipoise.show.pages.identified_errors import (
    error_scatter,
    errors_by_pose,
    shift_bars,
)
from equipoise.show.pages.identified_robot import Places, places, robot_views
from equipoise.show.pages.labels import signed, value_with_unit, values_with_unit
from equipoise.show.pages.markup import (
    MOST_ROWS,
    details,
    element,
    folded,
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

# Words for keys of the results.
NAMES = {"lateral": "lateral forces", "vertical": "weight and tipping torques"}
# 95 % of a normal distribution lie within so many standard deviations.
WIDTH_95 = 1.959964
STYLE = "identified.css"
# A combination shows as many of its terms, the largest ones.
MOST_TERMS = 10
# Where a term begins: its sign, its factor, the unknown.
TERM = re.compile(r" (?=[+-] \d+(?:\.\d+)?(?:e[+-]\d+)? m)")
RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
UNSEEN = "Stays at the model's value (the data do not determine it)"


def identified_report(
    results: Mapping[str, Any],
    original: Robot,
    corrected: Robot,
    cop_errors: tuple[Array, Array],
    title: str,
    reproduce: str,
) -> str:
    """Return a report as one HTML file that needs nothing else, not even scripts.

    Args:
        results: What was found, as
            ``Identified.summary()`` has it. ``versions``
            maps programs to versions, if there.
            ``log_rows``, if there, are rows of the log with their fates.
            ``standing_com_covariance_m2``, shape (3, 3), is how the identified CoM of
            the standing robot scatters in the world [m²]; with it, its 95 % ellipse is
            drawn.
        original: The robot as its file describes it.
        corrected: The same with what was identified.
        cop_errors: Predicted minus measured centre of pressure in poses that were left
            out, forward and to the left, before and after [m], shapes (n, 2).
        title: Title of the report.
        reproduce: The command that does it again.
    """
    before, after = (np.asarray(errors, dtype=np.float64) for errors in cop_errors)
    found = places(results, original, corrected)
    return page(
        title,
        _opening(results, title, found),
        section("Results", results_table(results)),
        section(
            "Centre of pressure in poses that were left out",
            _note(_held_out_words(results)),
            plots(
                error_scatter(before, after),
                errors_by_pose(before, after, results["outliers"]),
            ),
        ),
        section(
            "How the centre of mass moved",
            _note(_moved_words(found)),
            plots(*robot_views(found, original)),
        ),
        section(
            "Shift by link",
            _note(_seen_words(results)),
            plots(*shift_bars(results["links"])),
        ),
        section("Links", links_tables(results)),
        section("Offsets of the sensors", offsets_table(results["sensor_offsets"])),
        section("What the poses identify", _identifiable(results["identifiable"])),
        section("Notices", folded(results["notices"], "notices")),
        section("Rows of the log", folded(_row_words(results), "stretches")),
        section("Reproduce", how_to_reproduce(results, reproduce)),
        style=resource(STYLE),
    )


def _row_words(results: Mapping[str, Any]) -> list[str]:
    """Return which rows of the log are which pose, or why they are left out."""
    words = []
    for row in results.get("log_rows", ()):
        fate = "left out" if row["pose"] is None else f"pose {row['pose']}"
        when = f"{row['start_s']:.2f} s to {row['end_s']:.2f} s"
        words.append(f"{when}, rows {row['first']} to {row['end'] - 1}: {fate}; ")
        words[-1] += row["reason"]
    return words


def _opening(results: Mapping[str, Any], title: str, found: Places) -> str:
    confirmed = bool(results["held_out"]["confirmed"])
    words = "Confirmed." if confirmed else "Not confirmed."
    verdict = element("span", words, class_="good" if confirmed else "bad")
    sentence = element("p", verdict, " ", text(results["sentence"]), class_="sentence")
    return element("h1", text(title)) + sentence + _tiles(results, found)


def _tiles(results: Mapping[str, Any], found: Places) -> str:
    held, mass = results["held_out"], results["mass_kg"]
    rms = [1e3 * held["cop_rms_m"][which] for which in ("original", "file")]
    low, high = held["reduction"]["interval_90"]
    tiles = [
        (
            f"{signed(rms[0], 2)} → {signed(rms[1], 2)} mm",
            "error of the centre of pressure in stretches left out, RMS",
        ),
        (
            percent(held["reduction"]["fraction"]),
            f"reduction of that error; 90 % interval {percent(low)} to {percent(high)}",
        ),
        (
            f"{signed(mass['before'], 2)} → {signed(mass['after'], 2)} kg",
            f"total mass, ± {signed(mass['interval_95'], 2)} kg (95 %)",
        ),
    ]
    # without an interval a shift says nothing
    if found.scatter is not None:
        shift, spread = (
            ", ".join(signed(part, 1) for part in parts) for parts in _shift_mm(found)
        )
        words = "shift of the standing robot's CoM forward, left, up"
        tiles.append((f"{shift} mm", f"{words}; ± {spread} mm (95 %)"))
    shown = [
        element("div", element("b", text(number)), element("span", text(words)))
        for number, words in tiles
    ]
    return element("div", *shown, class_="tiles")


def _note(words: str) -> str:
    return element("p", text(words), class_="note") if words else ""


def _held_out_words(results: Mapping[str, Any]) -> str:
    held = results["held_out"]
    low, _ = held["reduction"]["interval_90"]
    words = (
        f"{held['stretches']} stretches were left out in {held['folds']} parts, one "
        "after the other; each was predicted by a file that was identified without it, "
        "as the sensors show them, without offsets. "
    )
    if held["confirmed"]:
        better = [name for name in ("com", "mass") if held[f"{name}_confirmed"]]
        which = {"com": "centre of mass", "mass": "mass"}
        return words + (
            f"The file is better in its {' and its '.join(which[b] for b in better)}: "
            "by more than 5 % of the error with 95 % probability, and offsets of "
            "the sensors do not explain it."
        )
    if low > 0.0:
        return words + (
            "The error falls, but by less than 5 % at the end of its interval, "
            "or offsets of the sensors explain it as well "
            f"({signed(1e3 * held['cop_rms_m']['offsets_only'], 2)} mm with these "
            "alone): this is not called an improvement."
        )
    return words + (
        "The 90 % interval of the reduction reaches zero or below: this is not called "
        "an improvement."
    )


def _moved_words(found: Places) -> str:
    words = (
        "The robot stands; arrows are to scale, from the model's centre of mass to "
        "the identified one. The magnifier shows the whole robot's."
    )
    if found.scatter is None:
        return words
    words += " The ellipse holds it with 95 % probability."
    shift, spread = _shift_mm(found)
    if (np.abs(shift) < spread).all():
        words += (
            " The model's own lies within the 95 % interval of every coordinate: its "
            "shift alone is not certain."
        )
    return words


def _shift_mm(found: Places) -> tuple[Array, Array]:
    """Return the shift of the standing robot's CoM, and half the 95 % widths [mm]."""
    scatter = np.zeros((3, 3)) if found.scatter is None else found.scatter
    shift: Array = 1e3 * (found.whole.after - found.whole.before)
    return shift, 1e3 * WIDTH_95 * np.sqrt(np.diag(scatter))


def _seen_words(results: Mapping[str, Any]) -> str:
    links = results["links"]
    seen = sum(bool(link["seen"]) for link in links.values())
    if seen == len(links):
        return f"The data determine all {seen} links."
    if not seen:
        return (
            f"The data determine none of the {len(links)} links by itself, only sums "
            "of them: intervals are hardly narrower than the model's, and a shift is "
            "the link's part in the shift of a sum."
        )
    return (
        f"The data determine {seen} of {len(links)} links. The others are known only "
        "together with others: their intervals are hardly narrower than the model's, "
        "and what moves there is the link's part in the shift of a sum of links."
    )


def _identifiable(found: Mapping[str, Any]) -> str:
    groups = [", ".join(group) for group in found["inseparable_links"]]
    said = _note("No two links' errors hide behind each other.")
    if groups:
        said = _note("These cannot be distinguished; only their sum is identifiable:")
        said += listing(groups)
    return said + (
        _combinations(found["combinations"]) if found["combinations"] else ""
    )


def results_table(results: Mapping[str, Any]) -> str:
    """Return the results of the whole robot, in groups."""
    held, found = results["held_out"], results["identifiable"]
    mass, scale = results["mass_kg"], results["noise_scale"]
    low, high = held["reduction"]["interval_90"]
    rms = held["cop_rms_m"]
    pressure = dict(zip(rms, values_with_unit(list(rms.values()), "m"), strict=True))
    weight = held["weight_rms_fraction"]
    groups: dict[str, list[tuple[str, object]]] = {
        "Mass": [
            ("robot", results["robot"]),
            ("total mass in the model", f"{signed(mass['before'], 2)} kg"),
            (
                "total mass, identified",
                f"{signed(mass['after'], 2)} ± {signed(mass['interval_95'], 2)} kg",
            ),
        ],
        "Stretches left out": [
            ("poses", results["poses"]),
            ("stretches", held["stretches"]),
            ("parts left out in turn", held["folds"]),
            ("CoP error, RMS, original file", pressure["original"]),
            ("CoP error, RMS, ridge regression", pressure["ridge"]),
            ("CoP error, RMS, identified file", pressure["file"]),
            ("reduction", percent(held["reduction"]["fraction"])),
            ("reduction, 90 % interval", f"{percent(low)} to {percent(high)}"),
            ("CoP error, RMS, original with offsets", pressure["offsets_only"]),
            ("CoP error, RMS, identified with offsets", pressure["file_with_offsets"]),
            ("weight error, RMS, original file", percent(weight["original"])),
            ("weight error, RMS, identified file", percent(weight["file"])),
        ],
        "Identifiability": [
            ("unknowns of the links", found["unknowns"]),
            ("identifiable combinations, standing still", found["rank"]),
            ("directions known better than before", found["known_better_than_prior"]),
            ("condition number", few_digits(found["condition"])),
            (
                "links at the bounds of physical consistency",
                _named(results["at_bounds"]),
            ),
        ],
        "Sensors": [
            *(
                (f"residuals against noise, {NAMES.get(name, name)}", f"×{ratio:.3g}")
                for name, ratio in sorted(scale.items())
            ),
            (
                "tilt of the soles, standard deviation",
                f"{1e3 * results['level']['tilt_rad']:.3g} mrad",
            ),
            (
                "further lateral force of each foot, standard deviation",
                value_with_unit(results["level"]["lateral_force_n"], "N"),
            ),
            ("offsets", results["offset_belief"]),
            ("poses that count less", _named(results["outliers"])),
        ],
    }
    return result_tables({name: value_table(rows) for name, rows in groups.items()})


def percent(fraction: float) -> str:
    """Return a fraction in percent."""
    return f"{signed(100.0 * fraction, 1)} %"


def few_digits(value: float) -> str:
    """Return a number of any size in a few letters; a dash if there is none."""
    if not math.isfinite(value):
        return "–"
    if abs(value) < 1e4:
        return f"{value:.3g}"
    digits, power = f"{value:.1e}".split("e")
    return f"{digits} × 10{str(int(power)).translate(RAISED)}"


def links_tables(results: Mapping[str, Any]) -> str:
    """Return links before and after: those that the data determine, then the others."""
    parts = []
    links, edge = results["links"], set(results["at_bounds"])
    for seen, heading in ((True, "Determined by the data"), (False, UNSEEN)):
        rows = [
            tuple(_link_cells(name, link, name in edge))
            for name, link in links.items()
            if bool(link["seen"]) == seen
        ]
        if rows:
            head = ("link", "mass in the model [kg]", "identified [kg]")
            axes = (f"CoM {axis} [mm]" for axis in "xyz")
            shown = table((*head, *axes), rows)
            if not seen and len(rows) > MOST_ROWS:
                shown = details(f"{len(rows)} links", shown)
            parts.append(element("h3", text(heading)) + shown)
    return "".join(parts)


def _link_cells(name: str, link: Mapping[str, Any], edge: bool) -> Iterator[str]:
    note = element("span", " at its bound", class_="faint") if edge else ""
    yield _number(name) + note
    yield _number(signed(link["mass_before_kg"], 3))
    yield _number(
        f"{signed(link['mass_kg'], 3)} ± {signed(link['mass_interval_95_kg'], 3)}"
    )
    keys = ("com_before_m", "com_m", "com_interval_95_m")
    for before, after, spread in zip(*(link[key] for key in keys), strict=True):
        words = (signed(1e3 * value, 1) for value in (before, after, spread))
        yield _number("{} → {} ± {}".format(*words))


def offsets_table(offsets: Mapping[str, Mapping[str, Sequence[float]]]) -> str:
    """Return the offsets of the sensors of both soles, with 95 % intervals.

    Each side has ``force_n`` and ``torque_nm`` in sole axes, shape (3,), and their
    ``force_interval_95_n`` and ``torque_interval_95_nm``; dashes stand for none.
    """
    head = ("sole", *(f"F{a} [N]" for a in "xyz"), *(f"T{a} [Nm]" for a in "xyz"))
    rows = []
    for side, foot in offsets.items():
        cells = [text(side)]
        for kind, unit in (("force", "n"), ("torque", "nm")):
            values = foot.get(f"{kind}_{unit}", ())
            spreads = foot.get(f"{kind}_interval_95_{unit}", ())
            shown = [
                _number(f"{signed(value, 2)} ± {signed(spread, 2)}")
                for value, spread in zip(values, spreads, strict=True)
            ]
            cells += shown or ["–"] * 3
        rows.append(cells)
    return table(head, rows)


def _combinations(found: Sequence[str]) -> str:
    """Return combinations such as ``m x(leg) + 0.5 m(foot) …`` in a folded list."""
    items = [element("li", text(_largest_terms(words))) for words in found]
    head = f"{len(items)} combinations of masses m and first moments m x, m y, m z"
    return details(head, element("ol", *items))


def _largest_terms(words: str) -> str:
    """Return a combination without its small terms, and say how many those are."""
    first, *others = TERM.split(words)
    sizes = {at: float(term.split()[1]) for at, term in enumerate(others)}
    kept = sorted(sorted(sizes, key=lambda at: -sizes[at])[: MOST_TERMS - 1])
    shown = " ".join([first, *(others[at] for at in kept)]).replace(
        " - ", " \N{MINUS SIGN} "
    )
    rest = len(others) - len(kept)
    return f"{shown}, and {rest} smaller terms" if rest else shown


def _named(names: Sequence[object]) -> str:
    return ", ".join(str(name) for name in names) or "none"


def _number(words: str) -> str:
    return element("span", text(words), class_="num")
