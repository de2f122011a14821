"""What differs between two runs, in numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.log.run import Run
from equipoise.robot.joint_coordinates import BASE_V, degree_names, joint_positions
from equipoise.robot.model import Robot

# Parts of a summary that are texts and tables, not results.
NOT_RESULTS = ("versions", "checks", "footfalls", "pushes", "notices", "assumptions")
# Results of the machine rather than of the robot.
OF_THE_MACHINE = ("wall_s", "realtime_factor")


class ResultDifference(NamedTuple):
    """A result of two summaries.

    Attributes:
        key: Its key in ``summary.json``; keys within others follow after dots.
        first: Value in the first run, None if it has none.
        second: Value in the second run, None if it has none.
        difference: Second less first; None where one is not a number.
    """

    key: str
    first: float | str | bool | None
    second: float | str | bool | None
    difference: float | None

    @property
    def differs(self) -> bool:
        """Whether the values are not the same."""
        return self.first != self.second


class CurveDifference(NamedTuple):
    """A quantity over the time that two runs have in common.

    Attributes:
        name: What it is.
        unit: Its unit.
        rms: Root mean square of the difference.
        largest: Largest difference.
        time: When that was [s].
        where: The joint with the largest difference, if it is one of joints.
    """

    name: str
    unit: str
    rms: float
    largest: float
    time: float
    where: str = ""


@dataclass(frozen=True)
class Comparison:
    """What differs between two runs.

    Attributes:
        begin: Beginning of the time that both have [s].
        end: Its end [s].
        results: All results that either summary has, in order.
        curves: CoM, ZMP, joint positions and torques, as far as both have them.
        joints: Largest difference in position of each joint that both have [rad or m],
            the largest first.
        notices: What could not be compared, a sentence each.
    """

    begin: float
    end: float
    results: tuple[ResultDifference, ...]
    curves: tuple[CurveDifference, ...]
    joints: dict[str, float]
    notices: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, for machines."""
        return {
            "begin_s": self.begin,
            "end_s": self.end,
            "results": [row._asdict() for row in self.results],
            "curves": [row._asdict() for row in self.curves],
            "joints": self.joints,
            "notices": list(self.notices),
        }


def compare_runs(first: Run, second: Run) -> Comparison:
    """Compare two runs: results, and curves over the time that they have in common.

    Curves are linear between rows, and compared at the rows of both. Joints are matched
    by name.

    Raises:
        EquipoiseError: If the runs have no time in common.
    """
    runs = (first, second)
    begin = max(float(run.time[0]) for run in runs)
    end = min(float(run.time[-1]) for run in runs)
    if begin > end:
        raise EquipoiseError(
            f"the runs have no time in common: the first is from {first.time[0]:g} to "
            f"{first.time[-1]:g} s, the second from {second.time[0]:g} to "
            f"{second.time[-1]:g} s"
        )
    time = np.union1d(first.time, second.time)
    time = time[(time >= begin) & (time <= end)]
    notices: list[str] = []
    curves = [
        _distance("CoM", time, [_at(time, run.time, run.com) for run in runs]),
        _distance("ZMP", time, [_at(time, run.time, run.zmp) for run in runs]),
    ]
    names = [degree_names(run.robot) for run in runs]
    common = [name for name in names[0] if name in names[1]]
    alone = len(set(names[0]) ^ set(names[1]))
    if alone:
        notices.append(f"{alone} joints are in one of the runs alone")
    joints: dict[str, float] = {}
    if common:
        places = [[own.index(name) for name in common] for own in names]
        off = _joint_difference(time, runs, places)
        worst = np.abs(off).max(axis=0)
        order = np.argsort(-worst, kind="stable")
        joints = {common[at]: float(worst[at]) for at in order}
        slides = any(run.robot.sliding_joints for run in runs)
        angle, moment = ("rad or m", "Nm or N") if slides else ("rad", "Nm")
        curves.append(_of_joints("joint positions", angle, time, off, common))
        torque = [
            _at(time, run.time, run.torque[:, own])
            for run, own in zip(runs, places, strict=True)
        ]
        away = torque[1] - torque[0]
        curves.append(_of_joints("joint torques", moment, time, away, common))
    found = [curve for curve in curves if curve is not None]
    if curves[1] is None:
        notices.append("the runs have no ZMP at the same time")
    return Comparison(
        begin, end, tuple(_results(*runs)), tuple(found), joints, tuple(notices)
    )


def _results(first: Run, second: Run) -> Iterator[ResultDifference]:
    """Yield all results that either run has, in the order of the first."""
    one, other = dict(_flat(first.summary)), dict(_flat(second.summary))
    for key in dict.fromkeys([*one, *other]):
        a, b = one.get(key), other.get(key)
        difference = None
        if _is_number(a) and _is_number(b):
            difference = float(b) - float(a)  # type: ignore[arg-type]
        yield ResultDifference(key, a, b, difference)


def _flat(summary: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in summary.items():
        if not above and key in NOT_RESULTS:
            continue
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{key}.")
        elif value is None or isinstance(value, bool | int | float | str):
            yield f"{above}{key}", value


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value)


def _at(time: Array, own_time: Array, values: Array) -> Array:
    """Return columns at other times, linear between rows."""
    columns = [np.interp(time, own_time, column) for column in values.T]
    return np.stack(columns, axis=1) if columns else np.zeros((len(time), 0))


def _distance(name: str, time: Array, pair: list[Array]) -> CurveDifference | None:
    """Return how far apart two points are; None if they are nowhere at once."""
    off = np.linalg.norm(pair[1] - pair[0], axis=1)
    known = np.isfinite(off)
    if not known.any():
        return None
    off, time = off[known], time[known]
    at = int(off.argmax())
    rms = float(np.sqrt(np.mean(off**2)))
    return CurveDifference(name, "m", rms, float(off[at]), float(time[at]))


def _of_joints(
    name: str, unit: str, time: Array, off: Array, joints: list[str]
) -> CurveDifference:
    row, joint = np.unravel_index(int(np.abs(off).argmax()), off.shape)
    rms = float(np.sqrt(np.mean(off**2)))
    largest = float(abs(off[row, joint]))
    return CurveDifference(name, unit, rms, largest, float(time[row]), joints[joint])


def _joint_difference(
    time: Array, runs: tuple[Run, Run], places: list[list[int]]
) -> Array:
    """Return differences of joint positions; a whole turn is none."""
    turning = [_turns(run.robot)[own] for run, own in zip(runs, places, strict=True)]
    endless = turning[0] & turning[1]
    sampled = []
    for run, own in zip(runs, places, strict=True):
        position = joint_positions(run.robot, run.q)[:, own]
        position[:, endless] = np.unwrap(position[:, endless], axis=0)
        sampled.append(_at(time, run.time, position))
    off = sampled[1] - sampled[0]
    whole = 2.0 * np.pi * np.rint(off / (2.0 * np.pi))
    return np.where(endless, off - whole, off)


def _turns(robot: Robot) -> NDArray[np.bool_]:
    """Return which degrees of freedom turn without end, in the order of v[6:]."""
    endless = np.zeros(robot.nv - BASE_V, dtype=np.bool_)
    for joint in robot.model.joints[2:]:
        if joint.nq == 2 and joint.nv == 1:
            endless[joint.idx_v - BASE_V] = True
    return endless
