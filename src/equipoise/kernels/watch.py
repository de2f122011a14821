"""Watching robots from the host: what a fall is, what is measured, who was stopped."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import warp as wp
from numpy.typing import NDArray

from equipoise.kernels.monitor import (
    CAUSES,
    ERROR_MAX,
    ERROR_SUM,
    ERRORS,
    MARGIN_MIN,
    MARGIN_SUM,
    MARGINS,
    RESULTS,
    TORQUE,
    WHEN,
    WHICH,
    WHY,
)
from equipoise.kernels.once import lock
from equipoise.kernels.program import Floats
from equipoise.kernels.schedule import Schedule


class Stopped(NamedTuple):
    """A robot that fell or diverged.

    Attributes:
        robot: Its number.
        why: ``FELL`` or ``DIVERGED``.
        steps: After how many steps since its reset.
        body: Which body accelerated most, 0 where that means nothing.
        causes: How large each possible cause of a divergence was, and of which joint,
            contact point or push, shape (CAUSES, 2), in the order of ``monitor``.
    """

    robot: int
    why: int
    steps: int
    body: int
    causes: Floats


class Measured(NamedTuple):
    """What was measured of n robots; arrays of shape (n,).

    Attributes:
        com_error_mean: Mean distance of the CoM from its reference [m], or None.
        com_error_max: The largest [m], or None without a reference.
        zmp_margin_mean: Mean margin of the ZMP [m]; zero where nothing ever touched.
        zmp_margin_min: The smallest [m]; likewise.
        torque_fraction: Largest torque over its limit.
    """

    com_error_mean: NDArray[np.float64] | None
    com_error_max: NDArray[np.float64] | None
    zmp_margin_mean: NDArray[np.float64]
    zmp_margin_min: NDArray[np.float64]
    torque_fraction: NDArray[np.float64]


class Watch:
    """The struct ``Monitor`` of kernels, and what the host does with it.

    Attributes:
        struct: What kernels get.
        measuring: Whether results are measured.
        clock: Steps since the reset of each robot, shape (n,), on the device.
        status: Why, when and where each robot was stopped, shape (n, 3), likewise.
    """

    def __init__(self, types: Any, robots: int, scalar: Any, device: wp.Device) -> None:
        """Make room; nothing is watched but divergence.

        Args:
            types: With the struct ``Monitor`` and ``vec3``.
            robots: How many.
            scalar: Warp's number type.
            device: Where to.
        """
        self._number, self._vec3 = wp.dtype_to_numpy(scalar), types.vec3
        self._robots, self._device, self.measuring = robots, device, False
        with lock:
            self.struct = struct = types.Monitor()
            struct.clock = wp.zeros(robots, dtype=wp.int32, device=device)
            struct.status = wp.zeros((robots, 3), dtype=wp.int32, device=device)
            struct.upright = wp.zeros((robots, 4), dtype=scalar, device=device)
            struct.result = wp.zeros((robots, RESULTS), dtype=scalar, device=device)
            struct.reference = wp.zeros((1, 1), dtype=types.vec3, device=device)
            struct.cause = wp.zeros((robots, CAUSES, 2), dtype=scalar, device=device)
        self.clock, self.status = struct.clock, struct.status

    def reset(self) -> None:
        """Begin anew for all robots."""
        self.clock.zero_()
        self.status.zero_()
        self._clear_results()

    def _clear_results(self) -> None:
        fresh = np.zeros((self._robots, RESULTS), self._number)
        fresh[:, MARGIN_MIN] = np.inf
        self.struct.result.assign(fresh)

    def look_for_falls(self, upright: Floats, lowest_cosine: float) -> None:
        """Say what a fall is.

        Args:
            upright: The world's vertical in each base's axes when it is upright, and
                the height below which its CoM has fallen [m], shape (robots, 4).
            lowest_cosine: Cosine of the angle by which the base may tilt.
        """
        self.struct.falls, self.struct.lowest_cosine = 1, lowest_cosine
        self.struct.upright.assign(np.ascontiguousarray(upright, self._number))

    def measure(self, reference: Floats | None, steps: int) -> None:
        """Begin to measure.

        Args:
            reference: Where the CoM should be [m], shape (rows, robots or 1, 3); None
                for nowhere.
            steps: Time steps between rows.
        """
        struct = self.struct
        struct.results, self.measuring = 1, True
        struct.reference_steps = 0 if reference is None else steps
        if reference is not None:
            rows = np.ascontiguousarray(reference, self._number)
            with lock:
                struct.reference = wp.array(rows, dtype=self._vec3, device=self._device)
        self._clear_results()

    def measured(self) -> Measured:
        """Return what was measured."""
        rows = self.struct.result.numpy().astype(np.float64)
        errors, margins = rows[:, ERRORS], rows[:, MARGINS]
        has_reference = self.struct.reference_steps > 0
        return Measured(
            rows[:, ERROR_SUM] / np.maximum(errors, 1.0) if has_reference else None,
            rows[:, ERROR_MAX].copy() if has_reference else None,
            rows[:, MARGIN_SUM] / np.maximum(margins, 1.0),
            np.where(margins > 0.0, rows[:, MARGIN_MIN], 0.0),
            rows[:, TORQUE].copy(),
        )

    def stopped(self, schedule: Schedule) -> list[Stopped]:
        """Return robots that fell or diverged."""
        status: NDArray[np.int32] = self.status.numpy()
        causes = self.struct.cause.numpy().astype(np.float64)
        found = []
        for robot in np.flatnonzero(status[:, WHY]):
            why, when, which = (int(status[robot, at]) for at in (WHY, WHEN, WHICH))
            group, lane = divmod(max(which, 0), schedule.width)
            worst = int(schedule.body[group, lane]) if which >= 0 else 0
            found.append(Stopped(int(robot), why, when, worst, causes[robot]))
        return found
