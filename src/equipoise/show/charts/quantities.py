"""What there is to plot of a run: the one list that report, viewer and plots share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError, NameNotFoundError
from equipoise.log.run import Run
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.show.charts.chart import Chart, Series
from equipoise.show.charts.joint_charts import angle_charts, speed_charts, torque_charts
from equipoise.show.charts.sole_charts import sole_charts

__all__ = ["GROUND", "WHAT", "Chart", "Series", "available", "charts", "check_names"]

# Axes span at least this much: less is noise.
LEAST_LENGTH, LEAST_FORCE = 1e-3, 1.0
AXES = ("x, forward", "y, left", "z, up")
MM = 1e3
# The one that is no chart over time: see :mod:`equipoise.show.charts.ground_map`.
GROUND = "ground"
Joints = Sequence[str] | None


class _Kind(NamedTuple):
    """Charts of one name.

    Attributes:
        about: What they show, a few words.
        lacks: Says why a run has none, or nothing.
        make: Makes them.
    """

    about: str
    lacks: Callable[[Run], str | None]
    make: Callable[[Run, Joints], list[Chart]]


def charts(run: Run, what: Sequence[str], joints: Joints = None) -> list[Chart]:
    """Return charts over time by name.

    Args:
        run: The run.
        what: Names among :data:`WHAT`; ``"ground"`` is no chart over time, and adds
            none here.
        joints: Whose torques, angles and speeds; the largest unless given.

    Raises:
        NameNotFoundError: If there is no such chart, or no such joint.
        EquipoiseError: If the run holds no data for one.
    """
    check_names(what)
    made: list[Chart] = []
    for name in what:
        if name == GROUND:
            continue
        why = _KINDS[name].lacks(run)
        if why is not None:
            raise EquipoiseError(f"there is nothing to plot for '{name}': {why}")
        made += _KINDS[name].make(run, joints)
    return made


def available(run: Run) -> tuple[str, ...]:
    """Return the names of :data:`WHAT` that a run holds data for."""
    found = [name for name, kind in _KINDS.items() if kind.lacks(run) is None]
    return (*found, GROUND)


def check_names(what: Sequence[str]) -> None:
    """Refuse names that are not in :data:`WHAT`.

    Raises:
        NameNotFoundError: Which one, what is near, and what there is.
    """
    for name in what:
        if name not in WHAT:
            raise NameNotFoundError("chart", name, WHAT, "a run")


def _com(run: Run, joints: Joints) -> list[Chart]:
    return _beside_reference(run, "CoM", run.com, "c0")


def _com_error(run: Run, joints: Joints) -> list[Chart]:
    off = MM * (run.com - run.references["com"])
    series = [Series("xyz"[n], off[:, n], f"c{n + 1}") for n in (2, 1, 0)]
    series.append(Series("distance", np.linalg.norm(off, axis=1), "c0"))
    return [_chart(run, "com-error", "CoM from its reference", "mm", series)]


def _zmp(run: Run, joints: Joints) -> list[Chart]:
    return _beside_reference(run, "ZMP", run.zmp[:, :2], "c1")


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
    return [_chart(run, "forces", title, "N", series, LEAST_FORCE)]


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


def _never(run: Run) -> str | None:
    return None


def _no_com_reference(run: Run) -> str | None:
    return None if "com" in run.references else "the run has no reference of the CoM"


def _no_support(run: Run) -> str | None:
    if run.supported.any():
        return None
    if run.contact_names:
        return "nothing ever carried the robot"
    return "the run has no ZMP: it needs the wrenches of both feet"


def _no_wrench(run: Run) -> str | None:
    return None if run.foot_wrench else "the run has no wrenches of feet"


def _no_forces(run: Run) -> str | None:
    if run.foot_wrench or run.contact_names:
        return None
    return "the run has neither wrenches of feet nor contact forces"


def _no_joints(run: Run) -> str | None:
    return None if run.torque.shape[1] else f"{run.robot.name} has no joints"


def _no_torques(run: Run) -> str | None:
    return None if run.torque.any() else "the run has no torques of actuators"


_KINDS: Mapping[str, _Kind] = MappingProxyType(
    {
        "com": _Kind("centre of mass, against its plan", _never, _com),
        "com-error": _Kind("its distance from the plan", _no_com_reference, _com_error),
        "zmp": _Kind("zero-moment point, against its plan", _no_support, _zmp),
        "zmp-margin": _Kind(
            "distance of the ZMP to the edge of the soles", _no_support, _zmp_margin
        ),
        "sole": _Kind("where each sole is pressed", _no_wrench, sole_charts),
        "forces": _Kind("ground forces of the feet", _no_forces, _forces),
        "torques": _Kind("actuator torques, the largest", _no_torques, torque_charts),
        "joints": _Kind(
            "angles of joints, those that move most", _no_joints, angle_charts
        ),
        "velocity": _Kind("speeds of joints, the fastest", _no_joints, speed_charts),
    }
)
WHAT: Mapping[str, str] = MappingProxyType(
    {name: kind.about for name, kind in _KINDS.items()}
    | {GROUND: "from above: footprints, ZMP and CoM"}
)
