"""Frames that become contacts, or leave them, without a jump of torques.

A contact and a task ask a frame for different accelerations. In the tick at which a
frame changes from one to the other, it keeps the acceleration that it had; what that
is beside what is now asked for dies out. With forces that begin at little, and have
become little before a contact ends, torques are then continuous.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from equipoise.arrays import Array
from equipoise.balance.whole_body.dynamics import Dynamics
from equipoise.balance.whole_body.problem import Contact
from equipoise.balance.whole_body.tasks import FrameTask

# What is left of less than this part of what it was is nothing.
LITTLE = 0.01


class Handover:
    """Hands frames over between contacts and tasks.

    Args:
        period: Time between two ticks [s].
        time: Time constant with which the old acceleration dies out [s].
    """

    def __init__(self, period: float, time: float) -> None:
        self._keep = max(1.0 - period / time, 0.0)
        self.reset()

    def reset(self) -> None:
        """Forget what frames did."""
        self._contacts: tuple[Contact, ...] = ()
        self._tasks: tuple[FrameTask, ...] = ()
        self._left: dict[str, float] = {}

    def update(
        self,
        dynamics: Dynamics,
        contacts: Sequence[Contact],
        tasks: Sequence[FrameTask],
        solve: Callable[[Sequence[Contact], Sequence[FrameTask]], Array],
    ) -> None:
        """Set what is left of old accelerations.

        Args:
            dynamics: Of this tick.
            contacts: Of this tick.
            tasks: Tasks of frames that are contacts at other times.
            solve: Returns accelerations with other contacts and tasks of frames.
        """
        old_contacts, old_tasks = self._contacts, self._tasks
        self._contacts, self._tasks = tuple(contacts), tuple(tasks)
        every: list[Contact | FrameTask] = [*contacts, *tasks]
        if every == [*old_contacts, *old_tasks] and not any(
            one.leftover is not None for one in every
        ):
            return
        held = {contact.frame for contact in old_contacts}
        moved = {task.frame for task in old_tasks}
        landed = [contact for contact in contacts if contact.frame in moved]
        left = [task for task in tasks if task.frame in held]
        for one in every:
            if one.leftover is not None:
                self._left[one.frame] *= self._keep
                ends = self._left[one.frame] < LITTLE
                one.leftover = None if ends else one.leftover * self._keep
        if landed or left:
            acceleration = solve(old_contacts, old_tasks)
            for contact in landed:
                contact.leftover = _of_contact(dynamics, contact, acceleration)
                self._left[contact.frame] = 1.0
            for task in left:
                task.leftover = _of_task(dynamics, task, acceleration)
                self._left[task.frame] = 1.0


def _of_contact(dynamics: Dynamics, contact: Contact, acceleration: Array) -> Array:
    """Return the acceleration that a contact has less the one that it is asked for."""
    frame = dynamics.frame(contact.frame)
    jacobian, goal = dynamics.contact_rows(frame, contact.damping)
    return np.asarray(jacobian @ acceleration - goal)


def _of_task(dynamics: Dynamics, task: FrameTask, acceleration: Array) -> Array:
    """Return the acceleration that a frame has less the one that it is asked for."""
    task.leftover = None
    jacobian, asked = task.rows(dynamics)
    change = np.zeros(6)
    change[list(task.directions)] = jacobian @ acceleration - asked
    return change
