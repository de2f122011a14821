"""``equipoise dance``: arms move fast, and the legs keep the centre of mass."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from equipoise.cli.feedback_options import FeedbackOptions
from equipoise.cli.long_work import refuse_long_run
from equipoise.cli.trial import RunOptions, asked_push, run_trial, with_pushes

if TYPE_CHECKING:
    from equipoise.log.run import Run
    from equipoise.robot.model import Robot
    from equipoise.simulation.world import World


@dataclass(frozen=True)
class Dance(FeedbackOptions, RunOptions):
    """Let the arms dance while the legs keep the CoM, and beside it with legs held."""

    robot: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="ROBOT")] = (
        "mahru-1"
    )
    """Catalogue name, path to a URDF, MJCF or DH (TOML) file, or a name of the package
    robot_descriptions, for example g1_description."""

    arms: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """CSV file of joint positions over time: a column time [s], and one for each joint
    that moves, by its name [rad]. Default: a dance of 10 s that fits the arms."""

    def run(self) -> int:
        """Solve, simulate twice, print, write."""
        from equipoise.simulation.dance import (
            EMBEDDED,
            HELD,
            dance,
            dance_motion,
            read_arm_motion,
        )
        from equipoise.simulation.feedback import mode_for

        feedback = self.asked_feedback("paper", self.seed)
        beside: dict[str, Run] = {}

        def simulate(world: World, model: Robot, **how: Any) -> Run:
            arms = None if self.arms is None else read_arm_motion(self.arms, model)
            if arms is not None:
                refuse_long_run(self, 2.0 * arms.duration, model.model.nv)
            motion = dance_motion(world, arms, model)
            asked_pushes = [asked_push(word) for word in self.push]
            world = with_pushes(world, asked_pushes, motion.duration)
            refuse_long_run(self, 2.0 * motion.duration, model.model.nv)
            done = dance(world, motion, **feedback, **how)
            beside.update({EMBEDDED: done.run, HELD: done.held})
            return done.run

        mode = mode_for(self.law or "paper", not self.open_loop)
        return run_trial(self, "dance", simulate, mode=mode, beside=beside)
