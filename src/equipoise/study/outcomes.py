"""What can be measured of a run, by the names of its summary.

Results within others have dotted names, as ``com_error_m.max``. Times that the computer
took are not among them: a table is the same wherever and whenever it is made.
"""

from __future__ import annotations

import dataclasses
import re
import types
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from equipoise.errors import EquipoiseError, suggest
from equipoise.simulation.actuator_use import ActuatorUse
from equipoise.simulation.dance import DanceSummary
from equipoise.simulation.estimate_errors import EstimateErrors
from equipoise.simulation.push import PushSummary
from equipoise.simulation.trials import StandSummary
from equipoise.simulation.walk_summary import WalkSummary
from equipoise.study.parameters import Verb, attribute_words
from equipoise.study.rehearsal_runs import RehearsalSummary
from equipoise.study.store import Value

SURVIVED, ERROR = "survived", "error"
Type = Literal["bool", "int", "float", "str"]
TYPES: dict[type, Type] = {bool: "bool", int: "int", float: "float", str: "str"}
UNITS = {
    "m": "m",
    "s": "s",
    "n": "N",
    "nm": "Nm",
    "deg": "deg",
    "mps": "m/s",
    "nspkg": "N s/kg",
    "ns": "N s",
    "fraction": "",
}
# The same in all runs of a study, of the computer, or told by "survived".
LEFT_OUT = ("robot", "engine", "verb", "wall_s", "realtime_factor", "dt_s", "error")
# What results hold that are tables of numbers.
PARTS = {
    "com_error_m": ("mean", "max"),
    "com_error_from_stance_m": ("mean", "max"),
    "zmp_margin_m": ("min", "mean"),
    "placement_error_m": ("mean", "max"),
    "placement_error_from_stance_m": ("mean", "max"),
    "zmp_error_m": ("single_support_rms", "rms", "max"),
    "zmp_error_from_stance_m": ("single_support_rms", "rms", "max"),
    "hand_error_m": ("rms", "max"),
    "sole_lift_m": ("max", "end"),
    "zmp_deviation_m": ("x", "y"),
    "planned_zmp_deviation_m": ("x", "y"),
    "sinkage_m": ("mean", "max"),
    "force_n": ("x", "y", "z"),
    "com_m": ("x", "y", "z"),
    "zmp_m": ("x", "y", "z"),
    "foot_force_n": ("left", "right"),
}
NESTED = {"actuators": ActuatorUse, "estimator": EstimateErrors}


SUMMARIES: dict[Verb, type] = {
    "walk": WalkSummary,
    "push": PushSummary,
    "dance": DanceSummary,
    "stand": StandSummary,
    "identify": RehearsalSummary,
}
FELL = (SURVIVED, "achieved", "fell_at_s")
# What is measured unless asked for.
USUAL: dict[Verb, tuple[str, ...]] = {
    "walk": (
        SURVIVED,
        "fell_at_s",
        "com_error_from_stance_m.mean",
        "com_error_from_stance_m.max",
        "zmp_margin_m.min",
    ),
    "push": (*FELL, "com_excursion_m", "limit_fraction"),
    "dance": (*FELL, "com_error_m.max", "zmp_deviation_m.x", "zmp_deviation_m.y"),
    "stand": (*FELL, "com_error_m.max", "zmp_margin_m.min"),
    "identify": (
        "achieved",
        "com_error_before_m",
        "com_error_after_m",
        "com_covered_fraction",
        "poses_stood",
    ),
}


@dataclass(frozen=True)
class Outcome:
    """Something that can be measured of a run.

    Attributes:
        name: Its name, that of the summary.
        unit: Its unit, ``""`` for none.
        meaning: What it is, in words.
        type: What its values are.
    """

    name: str
    unit: str
    meaning: str
    type: Type


def known_outcomes(verb: Verb) -> dict[str, Outcome]:
    """Return all that can be measured of a run, by name."""
    found = {}
    if verb != "identify":
        words = "whether the robot had not fallen at the end"
        found[SURVIVED] = Outcome(SURVIVED, "", words, "bool")
    return found | _of_class(SUMMARIES[verb])


def find_outcome(name: str, verb: Verb, where: str) -> Outcome:
    """Return an outcome by name.

    Raises:
        EquipoiseError: If there is none: the nearest is suggested.
    """
    known = known_outcomes(verb)
    if name not in known:
        raise EquipoiseError(
            f"{where}: there is no outcome '{name}'{suggest(name, known)}; those of "
            f"{verb} are: {', '.join(known)}"
        )
    return known[name]


def measured(summary: Mapping[str, Any], name: str) -> Value:
    """Return an outcome of a run's summary; None where it has none."""
    if name == SURVIVED:
        return summary["fell_at_s"] is None and not summary.get("error")
    value: Any = summary
    for part in name.split("."):
        value = None if value is None else value.get(part)
    found: Value = value
    return found


def _of_class(kind: type, prefix: str = "") -> dict[str, Outcome]:
    found: dict[str, Outcome] = {}
    words, hints = attribute_words(kind), get_type_hints(kind)
    for field in dataclasses.fields(kind):
        name = field.name
        if name in LEFT_OUT:
            continue
        meaning = re.sub(r" \[[^\[\]]*\]|``", "", words.get(name, name))
        if name in NESTED:
            found |= _of_class(NESTED[name], f"{prefix}{name}.")
        elif name in PARTS:
            for part in PARTS[name]:
                full = f"{prefix}{name}.{part}"
                found[full] = Outcome(full, _unit(name), f"{meaning} ({part})", "float")
        elif (own := _plain_type(hints[name])) is not None:
            full = prefix + name
            found[full] = Outcome(full, _unit(name), meaning, own)
    return found


def _plain_type(hint: Any) -> Type | None:
    """Return which plain type an annotation allows, beside None; None for others."""
    among = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    among = tuple(own for own in among if own is not type(None))
    if len(among) == 1 and get_origin(among[0]) is Literal:
        return "str"
    return TYPES.get(among[0]) if len(among) == 1 else None


def _unit(name: str) -> str:
    return UNITS.get(name.rpartition("_")[2], "")
