"""A push as plain data: its phases, its numbers, and where hands and CoM go."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from equipoise.balance.whole_body.reaching import ReachPath


class Phase(Enum):
    """What the robot does, in order."""

    WALK = "walks"
    STAND = "stands and leans"
    APPROACH = "approaches with its hands"
    PUSH = "pushes"
    RELEASE = "lets go and stands"


@dataclass(frozen=True)
class PushGains:
    """Numbers of touching and pushing; none depends on the robot.

    Attributes:
        hand: Rate at which hands follow where they are wanted, as a multiple of
            √(g / L), with the leg's length L.
        hand_weight: Weight of the hands [per (m/s²)²].
        raising: Time in which elbows are bent as the walk begins [s].
        leaning: Time in which the CoM leans forward, and back at the end [s].
        approach: Speed at which hands approach, as a fraction of √(g L).
        touch: Part of its wanted force at which a hand is in contact.
        hold: Part of its wanted force with which a hand waits for the other.
        filter: Time constant of what hands feel [s].
        ramp: Time in which the force grows to what is wanted [s].
        integral: Rate at which an error of the force is corrected [1/s].
        correction: Largest correction, as a part of the wanted force.
        give_way: Speed at which a hand gives way to a force across its push that is as
            large as the push, as a fraction of √(g L).
        braking: Deceleration of hands at the end of a push, as a fraction of g.
        back: How far hands are drawn back after it, as a fraction of the arm.
        lost: Time without any force after which contact is lost [s].
        dry_speed: Speed of a joint at which its dry friction is fully there [rad/s].
    """

    hand: float = 4.0
    hand_weight: float = 10.0
    raising: float = 1.5
    leaning: float = 1.5
    approach: float = 0.01
    touch: float = 0.15
    hold: float = 0.2
    filter: float = 4e-3
    ramp: float = 0.15
    integral: float = 60.0
    correction: float = 0.5
    give_way: float = 0.1
    braking: float = 1.5
    back: float = 0.1
    lost: float = 0.03
    dry_speed: float = 0.05


@dataclass(frozen=True, eq=False)
class PushPlan:
    """A push as it is planned, in the world of the reference.

    Attributes:
        force: Wanted force, of all hands together [N], forward along x.
        start: When the walk is over [s].
        ready: From standing to where the hands begin to approach.
        stroke: From there to where the arms are nearly stretched.
        lean: How far the CoM is moved forward for the push [m].
    """

    force: float
    start: float
    ready: ReachPath
    stroke: ReachPath
    lean: float
