"""How far an estimator was off the truth of a simulation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from equipoise.arrays import Array
from equipoise.balance.estimator import Estimate
from equipoise.control.blocks import Estimator
from equipoise.control.signals import Command, Measurement, State
from equipoise.kinematics.com import com, com_velocity
from equipoise.kinematics.leg_freedom import SIDES
from equipoise.kinematics.stance import sole_pose
from equipoise.log.run import Run
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side
from equipoise.simulation.executed_plan import MovedPlan, Soles, turned


@dataclass(frozen=True)
class EstimateErrors:
    """Errors of an estimator over a walk.

    Attributes:
        com_rms_m: Horizontal error of the CoM with its offset, both seen from the
            stance foot, root mean square [m].
        com_velocity_rms_mps: Error of its horizontal velocity, the same [m/s].
        com_offset_true_m: How far the true CoM was from the model's at the end,
            horizontally [m].
        com_offset_found_m: What the estimator found [m].
        com_offset_error_m: Distance of the two [m].
    """

    com_rms_m: float
    com_velocity_rms_mps: float
    com_offset_true_m: float
    com_offset_found_m: float
    com_offset_error_m: float


class WatchedEstimator(Estimator):
    """Keeps what an estimator says of the CoM at times that a run records.

    Args:
        estimator: The estimator.
        period: Time between two estimates [s].
        record_period: Time between two records [s].
    """

    def __init__(
        self, estimator: Estimator, period: float, record_period: float
    ) -> None:
        self._estimator = estimator
        self._period, self._record = period, record_period
        self._count = 0
        self._kept: list[tuple[float, Array, Array, Array, Array]] = []

    def reset(self, start: State) -> None:
        """Begin anew."""
        self._count = 0
        self._kept.clear()
        reset = getattr(self._estimator, "reset", None)  # need not have one
        if reset is not None:
            reset(start)

    def estimate(self, measurement: Measurement, command: Command) -> State:
        """Return the estimator's answer."""
        answer = self._estimator.estimate(measurement, command)
        time = self._count * self._period
        self._count += 1
        left = time / self._record
        if abs(left - round(left)) < 1e-6 and isinstance(answer, Estimate):
            com, velocity = answer.com.copy(), answer.com_velocity.copy()
            offset = answer.com_offset.copy()
            self._kept.append((time, answer.q, com, velocity, offset))
        return answer

    def errors(
        self,
        run: Run,
        model: Robot,
        soles: Soles,
        loads: Mapping[Side, Array],
        until: float,
    ) -> EstimateErrors | None:
        """Return how far it was off; None if it says nothing of the CoM.

        Args:
            run: What truly happened.
            model: The robot as the estimator knows it.
            soles: Where the soles truly were, (n, 4, 4) each.
            loads: What each was meant to carry, (n,) each.
            until: Later times do not count [s].
        """
        times = np.array([kept[0] for kept in self._kept])
        rows = np.searchsorted(run.time, times - 1e-9)
        fits = (rows < len(run.time)) & (times <= until)
        fits[fits] &= np.abs(run.time[rows[fits]] - times[fits]) < 1e-6
        if not fits.any():
            return None
        rows, which = rows[fits], np.flatnonzero(fits)
        columns = list(zip(*(self._kept[k] for k in which), strict=True))[1:]
        q, centre, velocity, offset = map(np.array, columns)
        believed = {side: sole_pose(model, q, side) for side in SIDES}
        true = {side: soles[side][rows] for side in SIDES}
        moved = MovedPlan(believed, true, {side: loads[side][rows] for side in SIDES})
        centre[:, :2] += offset
        off = (moved.points(centre) - run.com[rows])[:, :2]
        speed = np.asarray(com_velocity(run.robot, run.q[rows], run.v[rows]))
        late = (turned(velocity, moved.turn()) - speed)[:, :2]
        modelled = np.asarray(com(model, run.q[rows[-1:]]))
        meant = (run.com[rows[-1:]] - modelled)[0, :2]
        found = turned(offset[-1:], moved.turn()[-1:])[0]
        return EstimateErrors(
            _rms(off),
            _rms(late),
            float(np.linalg.norm(meant)),
            float(np.linalg.norm(found)),
            float(np.linalg.norm(found - meant)),
        )


def odometry_drift(run: Run, until: float) -> float | None:
    """Return how far the estimated base is from the true one at the end [m].

    Horizontally; None where nothing was estimated.

    Args:
        run: What happened.
        until: Later times do not count [s].
    """
    if not run.estimates:
        return None
    row = max(int(np.searchsorted(run.time, until, side="right")) - 1, 0)
    off: Any = run.estimates["q"][row, :2] - run.q[row, :2]
    return float(np.linalg.norm(off))


def _rms(vectors: Array) -> float:
    """Return the root mean square length of vectors, shape (n, k)."""
    return float(np.sqrt(np.mean(np.sum(vectors**2, axis=1))))
