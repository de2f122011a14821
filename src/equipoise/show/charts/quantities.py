"""What there is to plot of a run: the one list of report, viewer and plots."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

import numpy as np

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError, NameNotFoundError
from equipoise.log.run import Run
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.robot.joint_coordinates import degree_names, joint_positions
from equipoise.robot.model import Robot
from equipoise.show.charts.chart import Chart, Series, rows_within
from equipoise.show.palette import LINES
from equipoise.show.space.footprints import (
    Footprint,
    centre_of_pressure_in_sole,
    footprints,
)
from equipoise.show.space.scene import Path, trajectories

# Axes span at least this much: less is noise.
LEAST_LENGTH, LEAST_FORCE = 1e-3, 1.0
AXES = ("x, forward", "y, left", "z, up")
MM = 1e3
# The one that is not a chart over time: see :class:`GroundMap`.
GROUND = "ground"
Joints = Sequence[str] | None
# What each name shows, a few words.
WHAT: Mapping[str, str] = MappingProxyType(
    {
        "com": "centre of mass, against its plan",
        "com-error": "its distance from the plan",
        "zmp": "zero-moment point, against its plan",
        "zmp-margin": "distance of the ZMP to the edge of the soles",
        "sole": "centre of pressure in each sole",
        "forces": "ground forces of the feet",
        "torques": "actuator torques, the largest",
        "joints": "angles of joints, those that move most",
        "velocity": "speeds of joints, the fastest",
        GROUND: "from above: footprints, ZMP and CoM",
    }
)
COLOURS = {"left": "c0", "right": "c1"}
# Soles whose edges differ by less than this have one pair of lines [m].
SAME_EDGE = 1e-3
# More lines than there are colours cannot be distinguished.
MOST = len(LINES)
# Title, how joints are chosen if none are named, units where joints turn and slide, and
# what axes span at least.
JOINT_CHARTS = {
    "torques": ("Joint torques", "largest", "Nm", "N", 0.1),
    "joints": ("Joint angles", "that move most", "rad", "m", 0.01),
    "velocity": ("Joint speeds", "fastest", "rad/s", "m/s", 0.01),
}


def charts(run: Run, what: Sequence[str], joints: Joints = None) -> list[Chart]:
    """Return charts over time by name.

    Args:
        run: The run.
        what: Names among :data:`WHAT`; ``"ground"`` is not a chart over time, and adds
            none here.
        joints: Joints whose torques, angles and speeds are shown; by default those with
            the largest.

    Raises:
        NameNotFoundError: If there is no such chart, or no such joint.
        EquipoiseError: If the run holds no data for one.
    """
    check_names(what)
    made: list[Chart] = []
    for name in what:
        if name == GROUND:
            continue
        why = _lacking(run, name)
        if why is not None:
            raise EquipoiseError(f"there is nothing to plot for '{name}': {why}")
        made += _MAKERS[name](run, joints)
    return made


def overlaid(runs: Mapping[str, Run]) -> list[Chart]:
    """Return charts of CoM and ZMP with several runs of one reference in each.

    Args:
        runs: Runs by name; the first has the reference of the CoM.
    """
    first = next(iter(runs.values()))
    made = []
    for what, count in (("CoM", 3), ("ZMP", 2)):
        for axis in range(count):
            series = []
            wanted = first.references.get("com")
            if wanted is not None:
                series.append(Series("held CoM", MM * wanted[:, axis], "reference"))
            for colour, (name, run) in zip(LINES, runs.items(), strict=False):
                values = run.com if what == "CoM" else run.zmp
                own = np.full(len(first.time), np.nan)
                rows = min(len(own), len(values))  # one that fell is shorter
                own[:rows] = MM * values[:rows, axis]
                series.append(Series(name, own, colour))
            title = f"{what} {AXES[axis]}"
            key = f"both-{what.lower()}-{'xyz'[axis]}"
            made.append(_chart(first, key, title, "mm", series))
    return made


def available(run: Run) -> tuple[str, ...]:
    """Return the names of :data:`WHAT` that a run holds data for."""
    return tuple(name for name in WHAT if _lacking(run, name) is None)


def check_names(what: Sequence[str]) -> None:
    """Refuse names that are not in :data:`WHAT`, with a :class:`NameNotFoundError`."""
    for name in what:
        if name not in WHAT:
            raise NameNotFoundError("chart", name, WHAT, "a run")


def _com_error(run: Run, joints: Joints) -> list[Chart]:
    off = MM * (run.com - run.references["com"])
    series = [Series("xyz"[n], off[:, n], f"c{n + 1}") for n in (2, 1, 0)]
    series.append(Series("distance", np.linalg.norm(off, axis=1), "c0"))
    return [_chart(run, "com-error", "CoM from its reference", "mm", series)]


def _beside_reference(run: Run, what: str, values: Array, style: str) -> list[Chart]:
    """Return a chart for each axis, with what was wanted where that is known."""
    wanted = run.references.get(what.lower())
    made = []
    for axis, name in enumerate(AXES[: values.shape[1]]):
        series = [Series(what, values[:, axis], style)]
        if wanted is not None:
            series.insert(0, Series("reference", wanted[:, axis], "reference"))
        key = f"{what.lower()}-{name[0]}"
        made.append(_chart(run, key, f"{what} {name}", "m", series))
    return made


def _zmp_margin(run: Run, joints: Joints) -> list[Chart]:
    edge = np.zeros(len(run.time))
    series = [
        Series("edge", edge, "reference"),
        Series("ZMP", MM * run.zmp_margin, "c1"),
    ]
    title = "ZMP to the edge of the support polygon"
    return [_chart(run, "zmp-margin", title, "mm", series)]


def _forces(run: Run, joints: Joints) -> list[Chart]:
    weight = np.full(len(run.time), run.robot.mass * STANDARD_GRAVITY)
    series = [Series("weight", weight, "reference")]
    if run.contact_names:
        total = run.contact_force[:, :, 2].sum(axis=1)
        series.append(Series("all contacts, vertical", total, "c2"))
    for colour, (side, wrench) in zip(
        ("c0", "c1"), run.foot_wrench.items(), strict=False
    ):
        series.append(Series(f"{side} foot, normal", wrench[:, 2], colour))
    title = "Forces of the ground"
    made = [_chart(run, "forces", title, "N", series, LEAST_FORCE)]
    touching = _touching(run)
    if touching:
        title = "Horizontal forces on hands and body"
        made.append(_chart(run, "touch", title, "N", touching, LEAST_FORCE))
    return made


def _touching(run: Run) -> list[Series]:
    """Return forces on points other than soles, where there are boxes to touch."""
    if not run.boxes.shape[1]:
        return []
    force = np.linalg.norm(run.contact_force[:, :, :2], axis=2)
    peaks = force.max(axis=0)
    found = [
        number
        for number in np.argsort(-peaks)
        if peaks[number] > 0.0 and "_sole_" not in run.contact_names[number]
    ]
    return [
        Series(run.contact_names[number].split("(")[0], force[:, number], colour)
        for colour, number in zip(LINES, sorted(found[:MOST]), strict=False)
    ]


def _chart(
    run: Run,
    key: str,
    title: str,
    unit: str,
    series: list[Series],
    least: float | None = None,
) -> Chart:
    if least is None:
        least = LEAST_LENGTH * (MM if unit == "mm" else 1.0)
    return Chart(key, title, unit, run.time, tuple(series), least, run.events)


def _lacking(run: Run, name: str) -> str | None:
    """Return why there is nothing to plot for a name, None if there is."""
    match name:
        case "com-error" if "com" not in run.references:
            return "the run has no reference of the CoM"
        case "zmp" | "zmp-margin" if not run.supported.any():
            if run.contact_names:
                return "nothing ever carried the robot"
            return "the run has no ZMP: it needs the wrenches of both feet"
        case "sole" if not run.foot_wrench:
            return "the run has no wrenches of feet"
        case "forces" if not (run.foot_wrench or run.contact_names):
            return "the run has neither wrenches of feet nor contact forces"
        case "joints" | "velocity" if not run.torque.shape[1]:
            return f"{run.robot.name} has no joints"
        case "torques" if not run.torque.any():
            return "the run has no torques of actuators"
    return None


def _soles(run: Run, joints: Joints) -> list[Chart]:
    """Return the centres of pressure along and across the soles, and their edges."""
    made = []
    for axis, name in enumerate(("x, to the toes", "y, to the left")):
        series = _edges(run, axis)
        for side in run.foot_wrench:
            pressed = MM * centre_of_pressure_in_sole(run, side)[:, axis]
            series.append(Series(f"{side} sole", pressed, COLOURS[side]))
        title = f"ZMP in the sole, {name}"
        made.append(_chart(run, f"sole-{name[0]}", title, "mm", series))
    return made


def _edges(run: Run, axis: int) -> list[Series]:
    """Return lines at both ends of each sole; one pair if the soles are alike."""
    soles = {side: run.robot.soles[side].polygon_in_sole for side in run.foot_wrench}
    ends = {
        side: np.array([corners[:, axis].min(), corners[:, axis].max()])
        for side, corners in soles.items()
    }
    sides = list(ends)
    alike = all(np.abs(ends[s] - ends[sides[0]]).max() < SAME_EDGE for s in sides)
    ones = np.full(len(run.time), MM)
    if alike:
        low, high = ends[sides[0]]
        return [
            Series("edges", low * ones, "reference", named=False),
            Series("edges", high * ones, "reference"),
        ]
    return [
        Series(f"edge of the {side} sole", end * ones, f"{COLOURS[side]} dashed", False)
        for side in sides
        for end in ends[side]
    ]


def _degrees_of(robot: Robot, joints: Sequence[str]) -> list[int]:
    """Return places in v[6:] of joints by name; a ball joint has three."""
    names = degree_names(robot)
    places: list[int] = []
    for joint in joints:
        # "ball.rx" is a degree of freedom of "ball"
        own = [
            n
            for n, name in enumerate(names)
            if name == joint or name.startswith(f"{joint}.")
        ]
        if not own:
            raise NameNotFoundError("joint", joint, names, robot.name)
        places += [place for place in own if place not in places]
    return places


def _joint_charts(run: Run, joints: Joints, key: str) -> list[Chart]:
    """Return charts of some degrees of freedom, at most as many in each as colours."""
    title, which, turning, sliding, least = JOINT_CHARTS[key]
    values, wanted = run.torque, None
    if key == "joints":
        values = joint_positions(run.robot, run.q)
        wanted = run.references.get("joint_position")
    elif key == "velocity":
        values, wanted = run.v[:, 6:], run.references.get("joint_velocity")
    sizes = np.ptp(values, axis=0) if key == "joints" else np.abs(values).max(axis=0)
    slides = any(joint.kind == "prismatic" for joint in run.robot.description.joints)
    unit = f"{turning} or {sliding}" if slides else turning
    names, total = degree_names(run.robot), values.shape[1]
    notes = []
    if joints is None:
        groups = [np.argsort(-sizes, kind="stable")[:MOST].tolist()]
        if len(groups[0]) < total:
            notes.append(f"the {len(groups[0])} {which} of {total}")
    else:
        places = _degrees_of(run.robot, joints)
        groups = [places[at : at + MOST] for at in range(0, len(places), MOST)]
    if wanted is not None:
        notes.append("dashed: reference")
    if notes:
        title = f"{title} ({'; '.join(notes)})"
    made = []
    for number, places in enumerate(groups, start=1):
        series = []
        for colour, place in reversed(list(zip(LINES, places, strict=False))):
            name = names[place]
            if wanted is not None:
                line, style = wanted[:, place], f"{colour} dashed"
                series.append(Series(f"{name}, reference", line, style, named=False))
            series.append(Series(name, values[:, place], colour))
        own_key = f"{key}-{number}" if len(groups) > 1 else key
        made.append(_chart(run, own_key, title, unit, series, least))
    return made


_MAKERS: Mapping[str, Callable[[Run, Joints], list[Chart]]] = MappingProxyType(
    {
        "com": lambda run, _: _beside_reference(run, "CoM", run.com, "c0"),
        "com-error": _com_error,
        "zmp": lambda run, _: _beside_reference(run, "ZMP", run.zmp[:, :2], "c1"),
        "zmp-margin": _zmp_margin,
        "sole": _soles,
        "forces": _forces,
        **{key: partial(_joint_charts, key=key) for key in JOINT_CHARTS},
    }
)


@dataclass(frozen=True, eq=False)
class GroundMap:
    """Footprints and paths, seen from above.

    Attributes:
        time: Times [s], shape (n,).
        paths: Paths of ZMP and CoM, the planned ones first.
        footprints: Footprints of both feet.
    """

    time: Array
    paths: tuple[Path, ...]
    footprints: tuple[Footprint, ...]

    def within(self, begin: float, end: float) -> GroundMap:
        """Return the part in the :func:`.rows_within` two times [s]."""
        rows = rows_within(self.time, begin, end)
        paths = tuple(path._replace(points=path.points[rows]) for path in self.paths)
        prints = tuple(
            print_
            for print_ in self.footprints
            if print_.start_s <= end and print_.end_s >= begin
        )
        return GroundMap(self.time[rows], paths, prints)

    def bounds(self) -> tuple[Array, Array]:
        """Return least and greatest x and y of all there is [m], shape (2,) each."""
        points = np.concatenate(
            [path.points[:, :2] for path in self.paths]
            + [print_.polygon_in_world[:, :2] for print_ in self.footprints]
        )
        points = points[np.isfinite(points).all(axis=1)]
        return points.min(axis=0), points.max(axis=0)


def ground_map(run: Run) -> GroundMap:
    """Return footprints and the paths of ZMP and CoM, planned ones where there are."""
    return GroundMap(run.time, trajectories(run), footprints(run))
