"""A study as its TOML file says it: what is run, what is varied, what is measured."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, get_args

from equipoise.errors import EquipoiseError, suggest
from equipoise.input_file import LARGEST_TEXT_BYTES, read_input_text
from equipoise.robot.load import load
from equipoise.robot.model import Robot
from equipoise.simulation.feedback import Law
from equipoise.study.outcomes import ERROR, USUAL, Outcome, find_outcome
from equipoise.study.parameters import (
    SIMULATED,
    VERBS,
    Parameter,
    Verb,
    checked_value,
    find_parameter,
    finite_number,
    known_parameters,
)
from equipoise.study.sampling import (
    METHODS,
    SPREAD_KEYS,
    Distribution,
    Method,
    Points,
    read_distribution,
)
from equipoise.study.store import Value

FORMAT = "equipoise study 1"
RUN = "run"
LAWS = (*get_args(Law), "none")
KNOWS = ("nominal", "true")
SAMPLING_KEYS = ("method", "count", "seed", "log", "table", "inertia_std")


class Option(NamedTuple):
    """An option of [run]: its type, and the runs that have it."""

    type: type
    verbs: tuple[Verb, ...] = VERBS


OPTIONS = {
    "verb": Option(str),
    "robot": Option(str),
    "settings": Option(str),
    "terrain": Option(str, SIMULATED),
    "law": Option(str, ("walk", "push", "dance")),
    "true_state": Option(bool, ("walk", "push", "dance")),
    "knows": Option(str, SIMULATED),
    "dt": Option(float, SIMULATED),
    "bandwidth": Option(float, SIMULATED),
    "payload_link": Option(str),
    "push_link": Option(str, ("walk", "push")),
    "steps": Option(int, ("walk",)),
    "first": Option(str, ("walk",)),
    "method": Option(str, ("walk",)),
    "one_by_one": Option(bool, ("walk",)),
    "recovery_steps": Option(bool, ("push",)),
    "seconds": Option(float, ("push", "stand")),
    "arms": Option(str, ("dance",)),
    "poses": Option(int, ("identify",)),
    "candidates": Option(int, ("identify",)),
}


@dataclass(frozen=True)
class Varied:
    """A parameter that is varied, and how."""

    parameter: Parameter
    distribution: Distribution


@dataclass(frozen=True)
class Sampling:
    """How points are chosen.

    Attributes:
        method: Which way.
        count: Number of runs, or of base samples; None for a grid.
        seed: Seed of the random numbers.
        log: Log that possible robots are identified from, with ``"posterior"``.
        table: Whether that is a table of poses.
        inertia_std: Relative standard deviation of the links' radii of gyration of
            these robots.
    """

    method: Method
    count: int | None
    seed: int
    log: Path | None = None
    table: bool = False
    inertia_std: float | None = None


@dataclass(frozen=True, eq=False)
class Study:
    """A study.

    Attributes:
        name: Its name, that of its file.
        title: What it is about, in a sentence; may be empty.
        verb: What is run.
        robot: The robot as its file describes it.
        options: Options of the run, without ``verb`` and ``robot``.
        constants: Parameters that are the same in all runs, by name.
        varied: Parameters that are varied.
        sampling: How points are chosen.
        outcomes: What is measured.
        text: The file.
    """

    name: str
    title: str
    verb: Verb
    robot: Robot
    options: Mapping[str, Any]
    constants: Mapping[str, Value]
    varied: tuple[Varied, ...]
    sampling: Sampling
    outcomes: tuple[Outcome, ...]
    text: str

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters that are varied; of possible robots what describes them."""
        drawn = POSTERIOR if self.sampling.method == "posterior" else ()
        return (*drawn, *(own.parameter for own in self.varied))

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the table after the number of the run."""
        return (
            *(own.name for own in self.parameters),
            *(own.name for own in self.outcomes),
            ERROR,
        )

    @property
    def law(self) -> str:
        """Law of control."""
        return law_of(self.verb, self.robot, self.options)

    @property
    def points(self) -> Points:
        """The points of what is varied."""
        spread = [own.distribution for own in self.varied]
        own = self.sampling
        return Points(own.method, spread, own.count, own.seed)


# What describes robots that are drawn from an identification.
POSTERIOR = (
    Parameter("posterior.robot", "", "number of the possible robot", kind="whole"),
    Parameter("posterior.mass", "kg", "mass of the possible robot"),
    *(
        Parameter(
            f"posterior.com.{axis}",
            "m",
            f"offset of its centre of mass from the model's along {axis}, standing",
        )
        for axis in "xyz"
    ),
)


def law_of(verb: Verb, robot: Robot, options: Mapping[str, Any]) -> str:
    """Return the law of control that options ask for, or the verb's default."""
    if "law" in options:
        return str(options["law"])
    if verb == "walk" and robot.torque_controlled:
        return "whole-body"
    usual = {"walk": "stabiliser", "push": "stabiliser", "dance": "paper"}
    return usual.get(verb, "none")


def load_study(path: Path | str) -> Study:
    """Return the study that a TOML file describes, with the robot that it names.

    Args:
        path: The file. Names of other files in it are relative to its folder.

    Raises:
        EquipoiseError: If the file is of another version, names what there is not, or
            asks for what is impossible.
    """
    path = Path(path)
    text = read_input_text(path, LARGEST_TEXT_BYTES)
    try:
        content = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise EquipoiseError(f"{path}: is not TOML ({error})") from error
    return read_study(content, text, path)


def read_study(content: Mapping[str, Any], text: str, path: Path) -> Study:
    """Return the study of a TOML file's content; see :func:`load_study`."""
    where = str(path)
    found = content.get("format")
    if found != FORMAT:
        said = "has no format" if found is None else f"has the format {found!r}"
        raise EquipoiseError(f'{where}: {said}; format = "{FORMAT}" is read here')
    known = ("format", "title", "outcomes", "run", "vary", "sampling")
    _refuse_other_keys(content, known, where)
    run = _table(content, "run", where)
    here = f"{where}: [run]"
    verb = _choice(run, "verb", VERBS, here)
    words = run.get("robot")
    if not isinstance(words, str) or not words:
        raise EquipoiseError(f"{here}: 'robot' is missing: a name or a file")
    folder = path.parent
    settings = run.get("settings")
    robot = load(
        _beside(folder, words), None if settings is None else folder / str(settings)
    )
    options, rest = _options(run, verb, here)
    if "arms" in options:
        options["arms"] = _beside(folder, options["arms"])
    law = law_of(verb, robot, options)
    parameters = known_parameters(robot, verb, law)
    constants = {}
    for name, value in _leaves(rest, here):
        if "." not in name and name not in parameters:
            choices = [own for own, kind in OPTIONS.items() if verb in kind.verbs]
            choices += [own for own in parameters if not own.startswith("links.")]
            raise EquipoiseError(
                f"{here}: there is no option '{name}'{suggest(name, choices)}; those "
                f"of {verb} are: {', '.join(choices)}"
            )
        own = find_parameter(name, parameters, verb, here)
        constants[name] = checked_value(own, value, f"{here}: '{name}'")
    sampling = _sampling(_table(content, "sampling", where), folder, where)
    varied = _varied(content, parameters, verb, sampling.method, where)
    both = sorted({own.parameter.name for own in varied} & set(constants))
    if both:
        raise EquipoiseError(f"{where}: '{both[0]}' is in [run] and in [vary]")
    names = {*constants, *(own.parameter.name for own in varied)}
    _refuse_contradictions(names, options, verb, law, where)
    study = Study(
        name=path.stem,
        title=str(content.get("title", "")),
        verb=verb,
        robot=robot,
        options=options,
        constants=constants,
        varied=varied,
        sampling=sampling,
        outcomes=_outcomes(content, verb, where),
        text=text,
    )
    try:
        _ = study.points
    except EquipoiseError as error:
        raise EquipoiseError(f"{where}: [sampling]: {error}") from error
    return study


def _table(content: Mapping[str, Any], name: str, where: str) -> Mapping[str, Any]:
    found = content.get(name)
    if not isinstance(found, Mapping):
        said = "is missing" if found is None else "is not a table"
        raise EquipoiseError(f"{where}: [{name}] {said}")
    return found


def _refuse_other_keys(
    table: Mapping[str, Any], known: tuple[str, ...], where: str
) -> None:
    for key in table:
        if key not in known:
            raise EquipoiseError(
                f"{where}: there is no '{key}'{suggest(key, known)}; known are: "
                f"{', '.join(known)}"
            )


def _choice(table: Mapping[str, Any], key: str, known: tuple[Any, ...], at: str) -> Any:
    value = table.get(key)
    if value not in known:
        near = suggest(value, known) if isinstance(value, str) else ""
        said = f"'{key}' is missing" if value is None else f"no {key} '{value}'{near}"
        raise EquipoiseError(f"{at}: {said}; choose from {', '.join(known)}")
    return value


def _beside(folder: Path, words: str) -> str:
    """Return a file's path from the folder of the study; other names as they are."""
    near = folder / words
    return str(near) if near.is_file() else words


def _options(
    run: Mapping[str, Any], verb: Verb, where: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return options of the run, and what else is there: constant parameters."""
    options: dict[str, Any] = {}
    rest: dict[str, Any] = {}
    for name, value in run.items():
        option = OPTIONS.get(name)
        if option is None:
            rest[name] = value
            continue
        if verb not in option.verbs:
            others = ", ".join(option.verbs)
            raise EquipoiseError(
                f"{where}: '{name}' is not of {verb}; it is of: {others}"
            )
        fits = isinstance(value, option.type) and not (
            isinstance(value, bool) and option.type is not bool
        )
        if option.type is float:
            fits = isinstance(value, int | float) and not isinstance(value, bool)
        if not fits:
            kind = {bool: "true or false", str: "a text", int: "a whole number"}
            need = kind.get(option.type, "a number")
            raise EquipoiseError(f"{where}: '{name}' is {value!r}; it must be {need}")
        if name not in ("verb", "robot", "settings"):
            options[name] = value
    for name, known in (("law", LAWS), ("knows", KNOWS)):
        if name in options:
            _choice(options, name, known, where)
    return options, rest


def _leaves(
    table: Mapping[str, Any], where: str, prefix: str = ""
) -> Iterator[tuple[str, Any]]:
    """Yield dotted names and what is under them; tables of plain values are leaves."""
    for key, value in table.items():
        name = prefix + key
        if isinstance(value, Mapping) and _is_group(value):
            yield from _leaves(value, where, f"{name}.")
        else:
            yield name, value


def _is_group(table: Mapping[str, Any]) -> bool:
    """Return whether a table is a part of a name, not a range."""
    within = [isinstance(value, Mapping) for value in table.values()]
    return bool(within) and (all(within) or not any(k in SPREAD_KEYS for k in table))


def _varied(
    content: Mapping[str, Any],
    parameters: dict[str, Parameter],
    verb: Verb,
    method: Method,
    where: str,
) -> tuple[Varied, ...]:
    here = f"{where}: [vary]"
    given = content.get("vary", {}) if method == "posterior" else None
    table = _table(content, "vary", where) if given is None else given
    if not table and method != "posterior":
        raise EquipoiseError(f"{here}: nothing is varied")
    found = []
    for name, value in _leaves(table, here):
        own = find_parameter(name, parameters, verb, here)
        found.append(Varied(own, read_distribution(own, value, f"{here}: '{name}'")))
    return tuple(found)


def _sampling(table: Mapping[str, Any], folder: Path, where: str) -> Sampling:
    here = f"{where}: [sampling]"
    _refuse_other_keys(table, SAMPLING_KEYS, here)
    method: Method = _choice(table, "method", METHODS, here)
    count, seed = table.get("count"), table.get("seed", 0)
    for name, value in (("count", count), ("seed", seed)):
        if value is not None and not (type(value) is int and value >= 0):
            raise EquipoiseError(
                f"{here}: {name} is {value!r}; it must be a whole number, 0 or more"
            )
    log = table.get("log")
    if method == "posterior" and log is None:
        raise EquipoiseError(
            f'{here}: method "posterior" needs log, what robots are identified from'
        )
    if method != "posterior" and log is not None:
        raise EquipoiseError(f'{here}: log is for method "posterior"')
    std = table.get("inertia_std")
    return Sampling(
        method,
        count,
        seed,
        None if log is None else folder / str(log),
        bool(table.get("table", False)),
        None if std is None else finite_number(std, f"{here}: inertia_std"),
    )


def _outcomes(
    content: Mapping[str, Any], verb: Verb, where: str
) -> tuple[Outcome, ...]:
    names = content.get("outcomes", list(USUAL[verb]))
    if not isinstance(names, list) or not names:
        raise EquipoiseError(f"{where}: 'outcomes' must be a list of names")
    if len(set(map(str, names))) < len(names):
        raise EquipoiseError(f"{where}: an outcome is there twice")
    return tuple(find_outcome(str(name), verb, where) for name in names)


def _refuse_contradictions(
    names: set[str], options: Mapping[str, Any], verb: Verb, law: str, where: str
) -> None:
    """Refuse parameters that exclude each other, or would have no effect."""
    for pair in (
        ("push.time", "push.phase"),
        ("push.phase", "steps"),
        ("push.phase", "first"),
        ("terrain.roughness", "terrain.slope"),
        ("terrain.seed", "terrain.slope"),
    ):
        if {*names, *options}.issuperset(pair):
            raise EquipoiseError(f"{where}: give {pair[0]} or {pair[1]}, not both")
    pushed = verb == "push" or any(name.startswith("push.") for name in names)
    if pushed and "push.impulse" not in names:
        raise EquipoiseError(f"{where}: push.impulse is missing, how hard to push")
    if len(names & {"gains.kp", "gains.kc"}) == 1:
        raise EquipoiseError(f"{where}: gains.kp and gains.kc are given together")
    sensed = sorted(name for name in names if name.startswith("sensors."))
    blind = law == "none" or options.get("true_state", False)
    if sensed and blind and verb != "identify":
        raise EquipoiseError(
            f"{where}: '{sensed[0]}' has no effect: this controller has no sensors"
        )
