"""What was identified, in tables."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from equipoise.show.pages.labels import value_with_unit
from equipoise.show.pages.markup import element, table, text

# A combination shows as many of its terms, the largest ones.
MOST_TERMS = 10
# Where a term begins: its sign, its factor, the unknown.
TERM = re.compile(r" (?=[+-] \d+(?:\.\d+)?(?:e[+-]\d+)? m)")
RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
UNSEEN = "Stays at the model's figure (the data cannot see it)"


def signed(value: float, digits: int) -> str:
    """Return a number with so many digits after the point, and a proper minus."""
    if not math.isfinite(value):
        return "–"
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "\N{MINUS SIGN}")


def figures_table(figures: Mapping[str, Any]) -> str:
    """Return the figures of the whole, in two columns.

    Args:
        figures: As of :func:`~.identified_report.identified_report`.
    """
    held, tell = figures["held_out"], figures["identifiable"]
    mass, scale = figures["mass_kg"], figures["noise_scale"]
    low, high = held["reduction_interval_95"]
    left = [
        ("robot", figures["robot"]),
        ("total mass in the model", f"{signed(mass['before'], 3)} kg"),
        (
            "total mass, identified",
            f"{signed(mass['after'], 3)} ± {signed(mass['interval_95'], 3)} kg",
        ),
        ("poses", figures["poses"]),
        ("parts left out in turn", held["folds"]),
        ("CoP error, RMS, model", value_with_unit(held["cop_rms_before_m"], "m")),
        (
            "CoP error, RMS, model with offsets",
            value_with_unit(held["cop_rms_offsets_only_m"], "m"),
        ),
        ("CoP error, RMS, identified", value_with_unit(held["cop_rms_after_m"], "m")),
        ("reduction", percent(held["reduction"])),
        ("reduction, 95 % interval", f"{percent(low)} to {percent(high)}"),
    ]
    right = [
        ("unknowns of the links", tell["unknowns"]),
        ("combinations that standing still can tell", tell["rank"]),
        ("directions known better than before", tell["known_better_than_prior"]),
        ("condition", few_digits(tell["condition"])),
        *(
            (f"residuals against noise, {name}", f"×{scale[name]:.3g}")
            for name in sorted(scale)
        ),
        (
            "tilt of the soles, standard deviation",
            f"{1e3 * figures['level']['tilt_rad']:.3g} mrad",
        ),
        (
            "each foot's force sideways besides, likewise",
            value_with_unit(figures["level"]["sideways_n"], "N"),
        ),
        ("poses that count less", _named(figures["outliers"])),
        ("links at the edge of what a body can have", _named(figures["at_bounds"])),
    ]
    return element(
        "div",
        *(
            table((), [(text(label), text(value)) for label, value in rows])
            for rows in (left, right)
        ),
        class_="columns",
    )


def percent(share: float) -> str:
    """Return a share in percent."""
    return f"{signed(100.0 * share, 1)} %"


def few_digits(value: float) -> str:
    """Return a number of any size in a few letters; a dash if there is none."""
    if not math.isfinite(value):
        return "–"
    if abs(value) < 1e4:
        return f"{value:.3g}"
    digits, power = f"{value:.1e}".split("e")
    return f"{digits} × 10{str(int(power)).translate(RAISED)}"


def links_tables(figures: Mapping[str, Any]) -> str:
    """Return links before and after: those that the data see, then the others.

    Args:
        figures: As of :func:`~.identified_report.identified_report`.
    """
    parts = []
    links, edge = figures["links"], set(figures["at_bounds"])
    for seen, heading in ((True, "Seen by the data"), (False, UNSEEN)):
        rows = [
            tuple(_link_cells(name, link, name in edge))
            for name, link in links.items()
            if bool(link["seen"]) == seen
        ]
        if rows:
            head = ("link", "mass in the model [kg]", "identified [kg]")
            axes = (f"CoM {axis} [mm]" for axis in "xyz")
            parts.append(element("h3", text(heading)))
            parts.append(table((*head, *axes), rows))
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
    """Return what the sensors of both soles show too much, with 95 % intervals.

    Args:
        offsets: By side: ``force_n`` and ``torque_nm`` in sole axes, shape (3,), and
            ``force_interval_95_n`` and ``torque_interval_95_nm``; dashes stand for what
            is missing.
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


def combinations(told: Sequence[str]) -> str:
    """Return combinations of unknowns as a list that is folded up.

    Args:
        told: As in words, ``m x(leg) + 0.5 m(foot) …``.
    """
    items = [element("li", text(_largest_terms(words))) for words in told]
    head = f"{len(items)} combinations of masses m and first moments m x, m y, m z"
    return element("details", element("summary", text(head)), element("ol", *items))


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
