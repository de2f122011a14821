"""Gains of capturing a push, for a robot that may step and for one that may not."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from equipoise.balance.whole_body.lifted_foot import LiftGains


@dataclass(frozen=True)
class CaptureGains:
    """Numbers of capturing; rates are multiples of √(g / L), with the leg's length L.

    By default they are those of a robot that may step: a step that begins would have to
    stop what a swing has begun. :func:`gains_in_place` are those of one that may not.

    Attributes:
        begins: Capturing sets in where η has gone this part of the way from the plan's
            DCM to the edge of the soles.
        whole: And is all there from this part on.
        calming: Rate at which capturing ends, over ω.
        release: Rate at which it ends if the plan begins to move, over ω.
        memory: For how long the CoM's offset is remembered, times ω: a push looks like
            an offset, and begins before it is known to be one.
        dcm: k: errors of the DCM fall at this many times ω, as far as soles allow.
        margin: How far η should be from the edge, over the width of the soles.
        along_push: Whether the swing is along the way of η, instead of across the
            nearest edge: forces that do not pass the CoM would turn the robot.
        foresight: How far ahead η is foreseen, times ω, so that the swing begins
            during the push.
        rate_filter: Time constant of the rate of η for that, times ω.
        corner: How much of an edge of the soles is not used next to a corner, over
            their width: on a corner a foot turns.
        swing: b, how much the upper body is swung.
        swing_rate: Rate at which the swing follows, over ω.
        arm_swing: Speed at which arms are thrown along with the swing.
        arm_rate: Rate at which they come to it; zero if none are thrown.
        light_leg: A leg whose foot carries less than this does not end a swing at its
            stops, over the weight.
        lever: Largest distance of the pivot from the ZMP, over the CoM's height.
        friction: Largest horizontal over vertical force that is asked for.
        back: Part of the distance of η from the edge that the swing back may use.
        upright: Angle of the torso below which it comes back more slowly [rad].
        most_tilt: Largest angle of the torso from where it is wanted [rad].
        tilt_braking: With which the torso can be stopped before, and before a joint is
            at its stop, over g / L [rad].
        crouch: How much lower the CoM is, over the leg's length and the torso's angle
            [1/rad]: a torso that leans would straighten the knees.
        sole: Part of the sole in which forces act, from its middle.
        unfelt: What a foot that is not felt on the ground may carry, over the weight.
        light: A foot that carries less than this is held at its place, over the weight.
        hold: Rate at which it is.
        drag: From how far away it is drawn there at most, over the leg's length.
        lift: Numbers of a foot that is lifted instead; None if none is.
        speed: Part of the speed limits that is used.
        zmp_weight: Weight of the ZMP [per m²].
        com_weight: Weight of the CoM, horizontally [per (m/s²)²].
        height_weight: Weight of its height.
        torso_weight: Weight of the torso's tilt [per (rad/s²)²].
        yaw_weight: Weight of the turn of the torso.
        arm_weight: Weight of the arms' joints that move most of their inertia.
        waist_weight: Weight of the joints of the torso and the neck, and largest one of
            the arms'.
        waist: Rate of the joints of the torso.
        brake: Least rate of damping of the torso and of the joints.
        torso_return: Largest acceleration back to the torso's place, over g / L [rad].
        posture_return: The same of the joints.
        told: Rate at which velocities that are told follow estimated ones [1/s].
    """

    begins: float = 0.1
    whole: float = 0.3
    calming: float = 0.3
    release: float = 10.0
    memory: float = 0.5
    dcm: float = 3.0
    margin: float = 0.1
    along_push: bool = False
    foresight: float = 0.0
    rate_filter: float = 0.04
    corner: float = 0.0
    swing: float = 3.0
    swing_rate: float = 8.0
    arm_swing: float = 4.0
    arm_rate: float = 0.0
    light_leg: float = 0.0
    lever: float = 0.3
    friction: float = math.inf
    back: float = 0.0
    upright: float = 0.3
    most_tilt: float = 0.9
    tilt_braking: float = 1.5
    crouch: float = 0.04
    sole: float = 0.99
    unfelt: float = 0.2
    light: float = 0.3
    hold: float = 8.0
    drag: float = math.inf
    lift: LiftGains | None = None
    speed: float = 0.9
    zmp_weight: float = 1e7
    com_weight: float = 1e3
    height_weight: float = 1e4
    torso_weight: float = 0.01
    yaw_weight: float = 10.0
    arm_weight: float = 0.001
    waist_weight: float = 1.0
    waist: float = 8.0
    brake: float = 1.75
    torso_return: float = 0.5
    posture_return: float = 5.0
    told: float = 50.0


def gains_in_place() -> CaptureGains:
    """Return numbers for a robot that may not step: it does more, and sooner."""
    return replace(
        CaptureGains(),
        whole=0.2,
        dcm=6.0,
        margin=0.1,
        along_push=True,
        foresight=0.2,
        corner=0.1,
        arm_rate=8.0,
        light_leg=0.2,
        lever=0.6,
        friction=0.5,
        back=0.5,
        tilt_braking=2.0,
        crouch=0.0,
        drag=0.03,
        lift=LiftGains(),
        arm_weight=0.003,
        posture_return=1.0,
    )
