"""The same torques as :mod:`~equipoise.balance.whole_body.inverse_dynamics`, compiled.

One kernel makes the reduced programme of a tick from Pinocchio's own memory and from
what tasks want, DAQP solves it in place, and another kernel makes torques and forces of
its solution. Tasks of one's own give their rows as they always do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.balance.whole_body.dynamics import Dynamics
from equipoise.balance.whole_body.inverse_dynamics import Solution
from equipoise.balance.whole_body.problem import (
    Contact,
    Limits,
    grasp_of,
)
from equipoise.balance.whole_body.tasks import (
    Task,
)
from equipoise.balance.whole_body.tick_memory import TickMemory

# Sets of tasks and contacts that are kept ready.
MOST_SETS = 32
# Bytes of a pose in Pinocchio's memory, and where its translation begins.
POSE_BYTES, TRANSLATION_BYTES = 96, 72


class CompiledProblem:
    """Makes torques of tasks, contacts and limits by compiled code.

    Args:
        dynamics: Dynamics of the robot; up to date when :meth:`solve` is called.
    """

    def __init__(self, dynamics: Dynamics) -> None:
        import daqp

        self.dynamics, self._daqp = dynamics, daqp
        self._memories: dict[tuple[int, ...], TickMemory] = {}
        self._data: Any = None
        self._poses: Array | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Make copies anew: kernels would work in memory of the original."""
        return CompiledProblem, (self.dynamics,)

    def prepare(self, tasks: Sequence[Task], contacts: Sequence[Contact]) -> None:
        """Compile, and lay memory out for tasks and contacts, which takes a while."""
        self._memory(tasks, contacts)

    def solve(
        self,
        tasks: Sequence[Task],
        contacts: Sequence[Contact],
        limits: Limits,
        near: NDArray[np.bool_] | None = None,
    ) -> Solution | None:
        """Return accelerations, forces and torques, nothing relaxed.

        None where that is for ``solve_qp``: in the air, on contacts that cannot bear
        any wrench, if there is no such solution, or if Pinocchio's memory is laid out
        otherwise than known here.

        Args:
            tasks: The tasks.
            contacts: The contacts.
            limits: What joints can do.
            near: Limits that were near in the last solution.
        """
        daqp, memory = self._daqp, self._memory(tasks, contacts)
        if memory is not None and not memory.fill(self.dynamics, limits):
            self._memories = {}  # rows or frames are others than before
            memory = self._memory(tasks, contacts)
            fits = memory is not None and memory.fill(self.dynamics, limits)
            memory = memory if fits else None
        if memory is None:
            return None
        if near is None or len(near) != len(memory.working):
            near = NOTHING
        memory.working[:] = near
        iterations = 0
        while True:
            memory.assemble()
            _, size, counted, _, _ = memory.answers.tolist()
            y, _, flag, info = daqp.solve(
                *memory.matrices(size, counted), eq_reduction=daqp.EQ_REDUCTION_OFF
            )
            iterations += info["iterations"]
            if flag <= 0:
                return None
            memory.unknowns[:size] = y
            memory.answer()
            _, _, _, violated, finite = memory.answers.tolist()
            if not violated:
                break
        return memory.solution(iterations) if finite else None

    def _memory(
        self, tasks: Sequence[Task], contacts: Sequence[Contact]
    ) -> TickMemory | None:
        """Return the memory of tasks and contacts, None where there is no such."""
        if self._data is not self.dynamics.data:
            self._memories, self._data = {}, self.dynamics.data
            self._poses = _poses(self._data, self.dynamics.model.njoints)
        grasps = [
            grasp_of(contact.points_in_frame.tobytes(), contact.friction)
            for contact in contacts
        ]
        key = (*map(id, tasks), 0, *map(id, contacts), *map(id, grasps))
        found = self._memories.get(key)
        if found is None:
            if self._poses is None or not any(grasp.whole for grasp in grasps):
                return None
            if len(self._memories) >= MOST_SETS:
                self._memories = {}
            found = TickMemory(self.dynamics, self._poses, tasks, contacts, grasps)
            self._memories[key] = found
        return found


def _poses(data: Any, count: int) -> Array | None:
    """Return poses of all joints in Pinocchio's memory, shape (count, 12).

    None if they do not lie there one after another, rotation before translation.
    """
    first = data.oMi[0].rotation
    begin = _address(first)
    for joint in range(count):
        pose, at = data.oMi[joint], begin + joint * POSE_BYTES
        places = _address(pose.rotation), _address(pose.translation)
        if places != (at, at + TRANSLATION_BYTES):
            return None
    shape, steps = (count, POSE_BYTES // 8), (POSE_BYTES, 8)
    return np.lib.stride_tricks.as_strided(first, shape, steps)


def _address(values: Array) -> int:
    return int(values.__array_interface__["data"][0])


NOTHING = np.zeros(1, dtype=bool)
