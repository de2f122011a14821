"""Parameters that a study can vary, by dotted name, with their units.

What is varied is the true robot and its world, or the gait and the gains. The model
that planner and controller know stays that of the robot's file.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import re
from dataclasses import dataclass
from typing import Any, Literal, get_type_hints

from equipoise.balance.stabiliser import StabiliserGains
from equipoise.balance.whole_body.gains import WholeBodyGains
from equipoise.errors import EquipoiseError, suggest
from equipoise.robot.model import Robot
from equipoise.simulation.world import pushed_link
from equipoise.study.store import Value

Verb = Literal["walk", "push", "dance", "stand", "identify"]
VERBS: tuple[Verb, ...] = ("walk", "push", "dance", "stand", "identify")
Kind = Literal["number", "whole", "text"]
FACTOR = "×"
SIMULATED: tuple[Verb, ...] = ("walk", "push", "dance", "stand")
SENSED: tuple[Verb, ...] = ("walk", "push", "dance", "identify")
PUSHED: tuple[Verb, ...] = ("walk", "push")
AXES = ("x", "y", "z")


@dataclass(frozen=True)
class Parameter:
    """Something that can be varied.

    Attributes:
        name: Dotted name.
        unit: Its unit, ``"×"`` for a factor on what the robot's file says, ``""`` for
            none.
        meaning: What it is, in words.
        verbs: Runs that have it.
        kind: Whether it is a number, a whole number or a text.
        least: Smallest value that makes sense.
        most: Largest one.
        texts: What a text may be.
    """

    name: str
    unit: str
    meaning: str
    verbs: tuple[Verb, ...] = SIMULATED
    kind: Kind = "number"
    least: float = -math.inf
    most: float = math.inf
    texts: tuple[str, ...] = ()


def _factor(
    name: str, meaning: str, verbs: tuple[Verb, ...] = SIMULATED, least: float = 0.0
) -> Parameter:
    return Parameter(name, FACTOR, meaning, verbs, least=least)


# A factor on a mass; a link without any would be no body.
LEAST_MASS = 0.01
LINK = (
    _factor("mass", "factor on the mass of {link}", VERBS, LEAST_MASS),
    *(
        Parameter(
            f"com.{axis}",
            "m",
            f"offset of the centre of mass of {{link}} along {axis} of the link",
            VERBS,
        )
        for axis in AXES
    ),
)
GAIT = (
    ("length", "m", "step length, from foot to foot"),
    ("width", "m", "distance of the feet, side by side"),
    ("step_time", "s", "step time, from one touch-down to the next"),
    ("double_support", "", "fraction of a step with both feet on the ground"),
    ("clearance", "m", "clearance of the swing foot above the ground"),
    ("com_height", "m", "height of the centre of mass above the ground"),
    ("sideways", "m", "lateral step of the leading foot, to the left"),
    ("turn", "deg", "turn to the left with each step"),
    ("torso_pitch", "deg", "lean of the torso, forward"),
    ("zmp_inward", "m", "shift of the ZMP towards the other foot in single support"),
)
# Angles of a gait, in degrees here.
GAIT_ANGLES = ("turn", "torso_pitch")
FIXED = (
    _factor("mass", "factor on the masses of all links", VERBS, LEAST_MASS),
    Parameter(
        "payload.mass",
        "kg",
        "mass that the model does not know, at the centre of mass of the torso (or of "
        "the link that payload_link of [run] names)",
        VERBS,
        least=0.0,
    ),
    Parameter("friction", "", "coefficient of friction at which soles slip", least=0.0),
    _factor(
        "contact.stiffness",
        "factor on the stiffness of contact points; their damping stays the same "
        "fraction of critical",
        least=1e-3,
    ),
    _factor("servo.stiffness", "factor on the stiffness of the servos"),
    _factor("servo.damping", "factor on the damping of the servos"),
    Parameter(
        "actuator.delay",
        "s",
        "delay from command to actuator, in whole time steps",
        least=0.0,
        most=1.0,
    ),
    _factor(
        "sensors.noise", "factor on the standard deviations of the sensors", SENSED
    ),
    Parameter(
        "sensors.seed",
        "",
        "seed of the sensors' noise; the same in all runs unless varied",
        SENSED,
        "whole",
        least=0,
    ),
    Parameter(
        "terrain.roughness",
        "m",
        "largest height of rough ground that nothing knows of, flat at the start",
        least=0.0,
    ),
    Parameter("terrain.slope", "deg", "slope that nothing knows of, uphill"),
    Parameter("terrain.seed", "", "seed of rough ground", SIMULATED, "whole", least=0),
    Parameter(
        "push.impulse",
        "N s/kg",
        "impulse of a push of 0.1 s, over the mass of the model",
        PUSHED,
        least=0.0,
    ),
    Parameter(
        "push.direction",
        "deg",
        "where it is pushed: 0 forward, 90 to the left",
        PUSHED,
    ),
    Parameter("push.time", "s", "when it is pushed", ("walk",), least=0.0),
    Parameter(
        "push.phase",
        "",
        "when it is pushed, as a part of the third step, whose left foot carries",
        ("walk",),
        least=0.0,
        most=1.0,
    ),
    Parameter(
        "engine",
        "",
        "engine that simulates",
        SIMULATED,
        "text",
        texts=("native", "mujoco"),
    ),
    Parameter(
        "truth.seed",
        "",
        "seed of the true robot, drawn as far from the model as an identification "
        "assumes robots to be",
        ("identify",),
        "whole",
        least=0,
    ),
    *(
        Parameter(f"gait.{name}", unit, meaning, ("walk",))
        for name, unit, meaning in GAIT
    ),
)
PAPER_GAINS = {
    "kp": "gain of the ZMP error in the paper's law [1/s]",
    "kc": "gain of the CoM error in the paper's law [1/s]",
}


def known_parameters(robot: Robot, verb: Verb, law: str) -> dict[str, Parameter]:
    """Return all parameters of a run by name.

    Args:
        robot: The robot, whose links can be varied.
        verb: What is run.
        law: Law of control, whose gains can be varied: ``"stabiliser"``,
            ``"whole-body"``, ``"paper"``, or ``"none"``.
    """
    found = {own.name: own for own in FIXED if verb in own.verbs}
    torso = pushed_link(robot)
    for prefix, link in (
        ("torso", torso),
        *((f"links.{name}", name) for name in massive_links(robot)),
    ):
        for own in LINK:
            name = f"{prefix}.{own.name}"
            words = own.meaning.format(link="the torso" if prefix == "torso" else link)
            found[name] = dataclasses.replace(own, name=name, meaning=words)
    if verb in ("walk", "push", "dance"):
        for name, words in _gains(law).items():
            meaning, unit = _split_unit(words)
            found[f"gains.{name}"] = Parameter(f"gains.{name}", unit, meaning)
    return found


def massive_links(robot: Robot) -> tuple[str, ...]:
    """Return the names of the links that have mass."""
    return tuple(
        link.name
        for link in robot.description.links
        if link.inertial is not None and link.inertial.mass > 0.0
    )


def find_parameter(
    name: str, known: dict[str, Parameter], verb: Verb, where: str
) -> Parameter:
    """Return a parameter by name.

    Raises:
        EquipoiseError: If there is none: the nearest is suggested.
    """
    if name in known:
        return known[name]
    elsewhere = [own.verbs for own in FIXED if own.name == name]
    if elsewhere:
        others = ", ".join(elsewhere[0])
        raise EquipoiseError(f"{where}: '{name}' is not of {verb}; it is of: {others}")
    plain = [own for own in known if not own.startswith(("links.", "gains."))]
    nearest = suggest(name, known)
    groups = ", ".join([*plain, "links.NAME.mass", "links.NAME.com.x", "gains.NAME"])
    raise EquipoiseError(
        f"{where}: there is no parameter '{name}'{nearest}; those of {verb} are: "
        f"{groups}"
    )


def _gains(law: str) -> dict[str, str]:
    """Return meanings of a law's gains by name."""
    if law == "paper":
        return PAPER_GAINS
    if law == "stabiliser":
        return _numbers(StabiliserGains)
    return _numbers(WholeBodyGains) if law == "whole-body" else {}


def _numbers(kind: type, prefix: str = "") -> dict[str, str]:
    """Return meanings of the numbers of a dataclass, those within it too."""
    found: dict[str, str] = {}
    words, hints = attribute_words(kind), get_type_hints(kind)
    for field in dataclasses.fields(kind):
        own = hints[field.name]
        if own in (float, int):
            found[prefix + field.name] = words.get(field.name, field.name)
        elif dataclasses.is_dataclass(own) and isinstance(own, type):
            found |= _numbers(own, f"{prefix}{field.name}.")
    return found


def attribute_words(kind: type) -> dict[str, str]:
    """Return what a dataclass and those that it is made of say of their attributes."""
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        text = inspect.cleandoc(base.__doc__ or "")
        section = text.partition("Attributes:\n")[2]
        for name, words in re.findall(
            r"^ {4}(\w+): (.*(?:\n {8}.*)*)", section, flags=re.MULTILINE
        ):
            found[name] = " ".join(words.split()).rstrip(".")
    return found


def _split_unit(words: str) -> tuple[str, str]:
    """Return a meaning and the unit in brackets at its end, if there is one."""
    match = re.fullmatch(r"(.*?) \[([^\[\]]+)\]", words)
    return (match[1], match[2]) if match else (words, "")


def finite_number(value: Any, where: str) -> float:
    """Return a finite number.

    Raises:
        EquipoiseError: If it is something else.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise EquipoiseError(f"{where} is {value!r}, not a number")
    if not math.isfinite(value):
        raise EquipoiseError(f"{where} is {value}; it must be finite")
    return float(value)


def checked_value(own: Parameter, value: Any, where: str) -> Value:
    """Return a value that a parameter can have.

    Raises:
        EquipoiseError: If it is another.
    """
    if own.kind == "text":
        if value not in own.texts:
            raise EquipoiseError(
                f"{where} is {value!r}; choose from {', '.join(own.texts)}"
            )
        return str(value)
    number = finite_number(value, where)
    if not own.least <= number <= own.most:
        bounds = f"{own.least:g} or more"
        if own.most < math.inf:
            bounds = f"from {own.least:g} to {own.most:g}"
        raise EquipoiseError(f"{where} is {number:g}; it must be {bounds}")
    if own.kind == "whole":
        if number != int(number):
            raise EquipoiseError(f"{where} is {number:g}; it must be a whole number")
        return int(number)
    return number
