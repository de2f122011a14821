"""The report of an identification: what was found, and whether it is better."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from equipoise.arrays import Array
from equipoise.robot.model import Robot
from equipoise.show.pages.identified_drawings import (
    error_scatter,
    errors_by_pose,
    shift_bars,
)
from equipoise.show.pages.identified_places import Places, places
from equipoise.show.pages.identified_robot import robot_views
from equipoise.show.pages.identified_tables import (
    combinations,
    figures_table,
    links_tables,
    offsets_table,
    percent,
    signed,
)
from equipoise.show.pages.markup import element, listing, text
from equipoise.show.pages.page import page, section

# 95 % of a normal distribution lie within so many standard deviations.
WIDTH_95 = 1.959964

STYLE = """
.tiles{display:grid;gap:12px;margin:1.3rem 0 0;
grid-template-columns:repeat(auto-fit,minmax(min(100%,210px),1fr))}
.tiles div{background:var(--fill);border-radius:6px;padding:10px 14px}
.tiles b{display:block;font-size:1.3rem;line-height:1.3;font-weight:600;
font-variant-numeric:tabular-nums}
.tiles span{color:var(--soft);font-size:.9rem}
h3{font-size:1rem;margin:1.4rem 0 .3rem}
.note{margin:0 0 .7rem;max-width:75ch}
.faint,svg text.unseen{color:var(--soft)}
.num{white-space:nowrap}th,td{overflow-wrap:break-word}
details{margin-top:.8rem}summary{cursor:pointer}
details ol{font-size:.85rem;padding-left:2.2rem}
.zero{stroke:var(--soft)}.step{stroke:var(--soft);stroke-opacity:.28}
.rms{fill:none;stroke:currentColor;stroke-width:1.6;stroke-dasharray:6 4}
.dot{stroke:var(--paper);stroke-width:.8}
svg path.bar{fill:currentColor}.whisker{stroke:currentColor;stroke-opacity:.5}
.unseen,.stays{color:var(--soft)}svg .bar.unseen,.whisker.unseen{opacity:.6}
svg path.body{fill:var(--fill);stroke:var(--body-edge);stroke-width:.7;
stroke-linejoin:round}
:root{--body-edge:#c3cad0}
@media (prefers-color-scheme:dark){:root{--body-edge:#454e56}}
.support{stroke:currentColor;stroke-width:4}
.plumb{stroke:currentColor;stroke-dasharray:2 3}
.mark{fill:var(--paper);stroke:currentColor;stroke-width:1.1}
.mark.unseen{stroke-opacity:.75}
.shaft{stroke:currentColor;stroke-width:1.8}svg path.head{fill:currentColor}
.ink{color:var(--ink)}
.disc{fill:var(--paper);stroke:currentColor;stroke-width:1.4}
svg path.quarters{fill:currentColor}
svg path.ellipse{fill:currentColor;fill-opacity:.14;stroke:currentColor}
.lens{fill:var(--paper);stroke:var(--soft)}.ray{stroke:var(--soft);stroke-opacity:.5}
"""


def identified_report(
    figures: Mapping[str, Any],
    original: Robot,
    corrected: Robot,
    cop_errors: tuple[Array, Array],
    title: str,
    reproduce: str,
) -> str:
    """Return a report as one HTML file that needs nothing else, not even scripts.

    Args:
        figures: What was found, as
            :func:`equipoise.identification.identified.figures` has it. ``versions``
            maps programs to versions and ``seed`` is the bootstrap's, if there.
            ``standing_com_covariance_m2``, shape (3, 3), is how the identified CoM of
            the standing robot scatters in the world [m²]; with it, its 95 % ellipse is
            drawn.
        original: The robot as its file describes it.
        corrected: The same with what was identified.
        cop_errors: Predicted minus measured centre of pressure in poses that were left
            out, forward and to the left, before and after [m], shapes (n, 2).
        title: What was asked.
        reproduce: The command that does it again.
    """
    before, after = (np.asarray(errors, dtype=np.float64) for errors in cop_errors)
    found = places(figures, original, corrected)
    return page(
        title,
        _opening(figures, title, found),
        section("Figures", figures_table(figures)),
        section(
            "Centre of pressure in poses that were left out",
            _note(_held_out_words(figures)),
            element(
                "div",
                error_scatter(before, after),
                errors_by_pose(before, after, figures["outliers"]),
                class_="plots",
            ),
        ),
        section(
            "How the centre of mass moved",
            _note(_moved_words(found)),
            element("div", *robot_views(found, original), class_="plots"),
        ),
        section(
            "Shift by link",
            _note(_seen_words(figures)),
            element("div", *shift_bars(figures["links"]), class_="plots"),
        ),
        section("Links", links_tables(figures)),
        section("Offsets of the sensors", offsets_table(figures["sensor_offsets"])),
        section("What the poses can tell", _can_tell(figures["identifiable"])),
        section("Notices", listing(figures["notices"]) if figures["notices"] else ""),
        section("Reproduce", _reproduce(figures, reproduce)),
        style=STYLE,
    )


def _opening(figures: Mapping[str, Any], title: str, found: Places) -> str:
    confirmed = bool(figures["held_out"]["confirmed"])
    words = "Confirmed." if confirmed else "Not confirmed."
    verdict = element("span", words, class_="good" if confirmed else "bad")
    sentence = element("p", verdict, " ", text(figures["sentence"]), class_="sentence")
    return element("h1", text(title)) + sentence + _tiles(figures, found)


def _tiles(figures: Mapping[str, Any], found: Places) -> str:
    held, mass = figures["held_out"], figures["mass_kg"]
    rms = [1e3 * held[f"cop_rms_{when}_m"] for when in ("before", "after")]
    low, high = held["reduction_interval_95"]
    tiles = [
        _tile(
            f"{signed(rms[0], 2)} → {signed(rms[1], 2)} mm",
            "held-out error of the centre of pressure, RMS",
        ),
        _tile(
            percent(held["reduction"]),
            f"reduction of that error; 95 % interval {percent(low)} to {percent(high)}",
        ),
        _tile(
            f"{signed(mass['before'], 2)} → {signed(mass['after'], 2)} kg",
            f"total mass, ± {signed(mass['interval_95'], 2)} kg (95 %)",
        ),
    ]
    # without an interval a shift says nothing
    if found.scatter is not None:
        shift, spread = _shift_mm(found)
        words = ", ".join(signed(part, 1) for part in shift)
        wide = ", ".join(signed(part, 1) for part in spread)
        tiles.append(
            _tile(
                f"{words} mm",
                "shift of the standing robot's CoM forward, left, up; "
                f"± {wide} mm (95 %)",
            )
        )
    return element("div", *tiles, class_="tiles")


def _tile(number: str, words: str) -> str:
    return element("div", element("b", text(number)), element("span", text(words)))


def _note(words: str) -> str:
    return element("p", text(words), class_="note") if words else ""


def _held_out_words(figures: Mapping[str, Any]) -> str:
    held = figures["held_out"]
    low, _ = held["reduction_interval_95"]
    words = (
        f"Poses were left out in {held['folds']} parts, one after the other; each was "
        "predicted by a model that was identified without it. "
    )
    if held["confirmed"]:
        return words + (
            f"The error falls by at least {percent(low)} with 97.5 % probability, and "
            "more than the sensors' offsets alone would make it fall: an improvement."
        )
    if low > 0.0:
        alone = 1e3 * held["cop_rms_offsets_only_m"]
        return words + (
            f"The error falls; but with the model's masses and identified offsets of "
            f"the sensors it is {signed(alone, 2)} mm already: the data do not say "
            "that the masses are wrong, and this is not called an improvement."
        )
    return words + (
        "The 95 % interval of the reduction reaches zero or below: this is not called "
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
    """Return how far the standing robot's CoM went, and half the 95 % widths [mm]."""
    scatter = np.zeros((3, 3)) if found.scatter is None else found.scatter
    shift: Array = 1e3 * (found.whole.after - found.whole.before)
    return shift, 1e3 * WIDTH_95 * np.sqrt(np.diag(scatter))


def _seen_words(figures: Mapping[str, Any]) -> str:
    links = figures["links"]
    seen = sum(bool(link["seen"]) for link in links.values())
    if seen == len(links):
        return f"The data see all {seen} links."
    if not seen:
        return (
            f"The data see none of the {len(links)} links by itself, only sums of "
            "them: intervals are hardly narrower than the model's, and a shift is "
            "the link's share in what a sum shows."
        )
    return (
        f"The data see {seen} of {len(links)} links. The others stay at the model's "
        "figure: their intervals are hardly narrower than the model's, and what moves "
        "there is the link's share in what a sum of links shows."
    )


def _can_tell(tell: Mapping[str, Any]) -> str:
    parts = []
    if tell["not_told_apart"]:
        parts.append(_note("These cannot be told apart; only their sum is known:"))
        parts.append(listing(", ".join(group) for group in tell["not_told_apart"]))
    else:
        parts.append(_note("No two links' errors hide behind each other."))
    if tell["combinations"]:
        parts.append(combinations(tell["combinations"]))
    return "".join(parts)


def _reproduce(figures: Mapping[str, Any], command: str) -> str:
    parts = [element("pre", element("code", text(command)))]
    versions = figures.get("versions") or {}
    if versions:
        programs = ", ".join(f"{name} {number}" for name, number in versions.items())
        parts.append(element("p", text(f"Made with {programs}.")))
    if figures.get("seed") is not None:
        parts.append(element("p", text(f"Seed {figures['seed']}.")))
    return "".join(parts)
