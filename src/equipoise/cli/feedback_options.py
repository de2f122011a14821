"""Options of verbs in which feedback keeps a standing robot in balance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import tyro

from equipoise.errors import EquipoiseError


@dataclass(frozen=True)
class FeedbackOptions:
    """Which feedback there is, and what it knows."""

    open_loop: bool = False
    """No feedback: servos follow what is planned."""

    law: Literal["stabiliser", "paper", "whole-body"] | None = None
    """Law of the feedback: the stabiliser, the balancing controller of the paper
    (Eq. 33 of [Choi2007]), or whole-body torques, for joints that are told torques.
    Default: stabiliser for push, paper for dance."""

    kp: Annotated[float | None, tyro.conf.arg(metavar="1/S")] = None
    """Gain of the ZMP error in the paper's law [1/s]; default: in proportion to the
    pendulum's natural frequency."""

    kc: Annotated[float | None, tyro.conf.arg(metavar="1/S")] = None
    """Gain of the CoM error in the paper's law [1/s]."""

    force_gains: bool = False
    """Use gains that are not stable."""

    true_state: bool = False
    """Feedback of the true state instead of sensors and an estimator."""

    def asked_feedback(
        self, usual: Literal["stabiliser", "paper", "whole-body"], seed: int
    ) -> dict[str, Any]:
        """Return arguments of :func:`~equipoise.simulation.feedback.feedback_by`.

        Args:
            usual: The verb's law by default.
            seed: Seed of the sensors' noise.

        Raises:
            EquipoiseError: If options do not go together.
        """
        law = self.law or usual
        if self.open_loop:
            if self.true_state:
                raise EquipoiseError(
                    "--true-state is for feedback: not with --open-loop"
                )
            if self.law is not None or self.kp is not None or self.kc is not None:
                raise EquipoiseError(
                    "--law, --kp and --kc are for feedback: not with --open-loop"
                )
            return {"feedback": False}
        if (self.kp is None) != (self.kc is None):
            raise EquipoiseError("--kp and --kc are given together, or neither is")
        if law != "paper" and (self.kp is not None or self.force_gains):
            raise EquipoiseError("--kp, --kc and --force-gains are for --law paper")
        return {
            "feedback": True,
            "law": law,
            "gains": None if self.kp is None else (self.kp, self.kc),
            "force_gains": self.force_gains,
            "true_state": self.true_state,
            "seed": seed,
        }
