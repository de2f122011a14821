"""How a walk is controlled: by our feedback, by somebody else's, or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from equipoise.balance.whole_body.arms import Arms
from equipoise.balance.whole_body.step_plan import Plan
from equipoise.balance.whole_body.steps import RecoverySteps
from equipoise.errors import EquipoiseError
from equipoise.robot.model import Robot
from equipoise.simulation.actuation import MODES
from equipoise.simulation.estimate_errors import WatchedEstimator
from equipoise.simulation.feedback import (
    PERIOD,
    Feedback,
    Knowledge,
    balance_feedback,
    whole_body_feedback,
)
from equipoise.simulation.world import World

# A walk is recorded this often [s].
WALK_PERIOD = 5e-3
OPEN_LOOP = "open loop"
FLAT_FEET = "open loop: heels rise in this walk; feedback is for feet that stand flat"
LOOPS: dict[Knowledge, str] = {
    "none": OPEN_LOOP,
    "sensors": "with sensors and feedback",
    "true state": "with feedback of the true state",
}


@dataclass(frozen=True, eq=False)
class ClosedLoop:
    """How a walk is controlled; open loop, too.

    Attributes:
        blocks: Arguments of :func:`~equipoise.simulation.simulate.simulate`.
        knowledge: What the feedback knows.
        words: How it is controlled, for a sentence.
        estimator: The estimator, if there is one, watched.
        notices: Why it is not as asked for.
        steps: What changes footsteps, if something does.
    """

    blocks: dict[str, Any]
    knowledge: Knowledge = "none"
    words: str = OPEN_LOOP
    estimator: WatchedEstimator | None = None
    notices: tuple[str, ...] = ()
    steps: RecoverySteps | None = None

    def said(self) -> tuple[str, ...]:
        """Return what is to be said after a walk: notices, and changed footsteps."""
        if self.steps is None or not self.steps.events:
            return self.notices
        events = self.steps.events
        landed = sum(event.what == "lands" for event in events)
        return (
            *self.notices,
            f"footsteps were changed from {events[0].time:.2f} s on, {landed} of them; "
            "what is compared with the plan is compared with that of before",
        )


def closed_loop(
    world: World,
    model: Robot,
    feedback: Feedback | bool,
    *,
    own: dict[str, Any],
    true_state: bool,
    seed: int,
    dt: float,
    plan: Plan | None = None,
    on_toes: bool = False,
    arms: Arms | None = None,
    moving: Sequence[str] = (),
) -> ClosedLoop:
    """Return how a walk is controlled.

    Our feedback is for servos; joints that follow exactly are left to do so. It is for
    feet that stand flat, too: where heels rise the walk is open loop unless the true
    state is asked for.

    Args:
        world: The robot as it is.
        model: The robot as feedback of ours knows it.
        feedback: Whether there is feedback, or one of the user's own.
        own: A user's blocks instead of feedback, by the names of ``simulate``.
        true_state: Whether ours is shown the true state, not sensors.
        seed: Seed of its noise.
        dt: Time step [s]; the control period is a whole number of these.
        plan: The walk, if it was planned ahead; whole-body control may change its
            footsteps.
        on_toes: Whether feet stand on their toes at times.
        arms: What the arms do, whole-body torques only.
        moving: Joints beside the legs' that have a motion of their own.

    Raises:
        EquipoiseError: If what is asked for contradicts itself.
    """
    given = {name: block for name, block in own.items() if block is not None}
    torques = world.actuation.by_torque
    if arms is not None and (not torques or given or feedback is not True):
        raise EquipoiseError(
            f"arms='{arms}' is for feedback of ours by whole-body torques: "
            "actuators='torque'"
        )
    servos = bool((world.actuation.mode == MODES.index("servo")).any())
    ours = feedback is True and servos and not given
    if world.actuation.by_torque and feedback is False and not given:
        raise EquipoiseError(
            "joints that are told torques need feedback, or a controller of yours"
        )
    if given and isinstance(feedback, Feedback):
        raise EquipoiseError(f"give {next(iter(given))} or feedback, not both")
    if true_state and not ours:
        what = "feedback=True" if servos else "servo actuators"
        raise EquipoiseError(f"true_state is for feedback of ours: {what}")
    if ours and on_toes and torques:
        raise EquipoiseError(
            "heels rise in this walk; whole-body torques are for feet that stand flat"
        )
    if ours and on_toes and not true_state:
        return ClosedLoop({}, notices=(FLAT_FEET,))
    closed = feedback if isinstance(feedback, Feedback) else None
    if ours:
        period = dt * max(round(PERIOD / dt), 1)
        how: dict[str, Any] = {"true_state": true_state, "seed": seed, "period": period}
        if torques:
            how |= {"arms": arms, "moving": moving, "plan": plan}
        law = whole_body_feedback if torques else balance_feedback
        closed = law(world, model, **how)
    if closed is None:
        words = "closed loop" if "controller" in given else OPEN_LOOP
        return ClosedLoop(given, words=words)
    knowledge, watched = closed.knowledge, None
    if closed.estimator is not None:
        watched = WatchedEstimator(
            closed.estimator, closed.control_period, max(dt, WALK_PERIOD)
        )
    blocks = {**closed.blocks, "estimator": watched}
    words = LOOPS[knowledge]
    return ClosedLoop(blocks, knowledge, words, watched, steps=closed.steps)
