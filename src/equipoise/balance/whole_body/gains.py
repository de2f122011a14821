"""Gains of whole-body control, all of them, and of its parts."""

from __future__ import annotations

from dataclasses import dataclass, field

from equipoise.balance.whole_body.capture_gains import CaptureGains, gains_in_place
from equipoise.balance.whole_body.clearance import ClearanceGains
from equipoise.balance.whole_body.feet import FootGains


@dataclass(frozen=True)
class WholeBodyGains:
    """Numbers of whole-body control; none depends on the robot.

    Rates are multiples of √(g / L), with the leg's length L.

    Attributes:
        dcm: k: errors of the DCM fall at this many times the pendulum's ω.
        height: Rate of the CoM's height.
        torso: Rate of the torso's rotation.
        posture: Rate of the joints.
        com_weight: Weight of the CoM [per (m/s²)²].
        hasty_com_weight: The same in steps that were changed: feet that are hurried
            would move the CoM.
        torso_weight: Weight of the torso [per (rad/s²)²].
        posture_weight: Weight of the joints [per (rad/s²)²].
        follow_weight: The same of joints that follow their targets closely.
        loose_weight: The same of joints that other tasks may move.
        torque: Part of the torque limits that is used.
        speed: Part of the speed limits that is used; a foot that rocks on uneven
            ground turns its joints faster than they are told.
        off_plan: Rate at which friction of joints goes from that at planned speeds to
            that at measured ones, and back.
        limit_periods: Control periods in which a speed beyond its limit is brought
            back.
        foot: Numbers of the feet.
        capture: Numbers of capturing pushes, if the robot may step.
        capture_in_place: The same if it may not.
        clearance: Numbers of arms that keep clear.
    """

    dcm: float = 1.1
    height: float = 2.5
    torso: float = 3.8
    posture: float = 2.7
    com_weight: float = 10.0
    hasty_com_weight: float = 30.0
    torso_weight: float = 1.0
    posture_weight: float = 0.01
    follow_weight: float = 1.0
    loose_weight: float = 0.001
    torque: float = 0.98
    speed: float = 0.95
    off_plan: float = 3.0
    limit_periods: float = 5.0
    foot: FootGains = field(default_factory=FootGains)
    capture: CaptureGains = field(default_factory=CaptureGains)
    capture_in_place: CaptureGains = field(default_factory=gains_in_place)
    clearance: ClearanceGains = field(default_factory=ClearanceGains)
