"""Where the soles should be, and how they should move.

One that has come to the ground is where it is measured, so that servos do not press it
anywhere else; it turns freely the way its centre of pressure is wanted, and is stiff
against any other turn, so that it lies down on the ground and does not tip. One that
should carry and finds no ground is lowered. One that swings goes back to its plan as it
comes down: as far off it as the other foot, and flat.
"""

# Kernel bodies are in Warp's own language, which mypy misreads.
# mypy: disable-error-code="arg-type, attr-defined, untyped-decorator"

from typing import Any

import warp as wp

from equipoise.kernels.estimation import (
    TOLD_FORCE,
    TOLD_PRESSURE,
    TOLD_SOLE,
    TOLD_SOLES,
)
from equipoise.kernels.once import once
from equipoise.kernels.skeleton import make_skeleton
from equipoise.kernels.stabiliser.types import (
    BEGUN,
    BEHIND,
    LANDED,
    LOWERING,
    MOVING,
    PRESS,
    SHIFTS,
    SURE,
    TILTS,
    TURNING,
    WANTED_LOAD,
    WANTED_OMEGA,
    WANTED_SOLE,
    WANTED_SOLES,
    WANTED_VELOCITY,
    make_types,
)


@once
def make_step_soles(scalar: Any) -> Any:
    """Return the function ``step_soles(legs, given, own, t)``."""
    types, own_types = make_skeleton(scalar), make_types(scalar)
    vec3, vector_of = types.vec3, types.vector_of
    Legs, Given, Memory = own_types.Legs, own_types.Given, own_types.Memory
    zero, half, one = scalar(0.0), scalar(0.5), scalar(1.0)
    tiny, largest_tilt = scalar(1e-12), scalar(0.3)

    @wp.func
    def step_soles(legs: Legs, given: Given, own: Memory, t: int) -> None:
        dt = legs.period
        support = given.supports[t]
        begun = own.numbers[t, BEGUN]
        for foot in range(2):
            stance = support == 0 or support == foot + 1
            plan_velocity = given.wanted[t, WANTED_VELOCITY + foot]
            load = given.told[t, TOLD_FORCE + foot][2] / legs.weight
            pressed = wp.clamp(load / legs.touch, zero, one)
            sure = own.numbers[t, SURE + foot]
            landed = own.numbers[t, LANDED + foot]
            if begun < half:
                pressed = one
                sure = one
                landed = one
            sure = sure + wp.min(dt * legs.sure_rate, one) * (pressed - sure)
            if not stance and plan_velocity[2] > zero:
                landed = zero
            descends = plan_velocity[2] <= zero and wp.length(plan_velocity) > tiny
            if load > legs.touch and (stance or descends):
                landed = one
            shift = own.vectors[t, SHIFTS + foot]
            tilt = own.vectors[t, TILTS + foot]
            turned = given.told_rotations[t, TOLD_SOLES + foot]
            moving = plan_velocity
            turning = given.wanted[t, WANTED_OMEGA + foot]
            speed = zero
            if landed > half:
                # it is where it is measured, as far as it is pressed
                shift = shift - dt * plan_velocity
                off = (
                    given.told[t, TOLD_SOLE + foot]
                    - given.wanted[t, WANTED_SOLE + foot]
                    - shift
                )
                lean = vector_of(
                    turned
                    @ wp.transpose(given.wanted_rotations[t, WANTED_SOLES + foot])
                )
                gain = sure * wp.min(dt * legs.follow_rate, one)
                # one that hardly touches may lag behind: that is no slip
                stuck = wp.clamp(sure + sure - one, zero, one)
                slip = stuck * wp.min(dt * legs.follow_rate, one)
                shift = shift + vec3(slip * off[0], slip * off[1], gain * off[2])
                # it may turn the way its centre of pressure is wanted, and only so
                middle = given.told[t, TOLD_SOLE + foot] + turned @ legs.middle[foot]
                error = (
                    middle + own.vectors[t, PRESS] - given.told[t, TOLD_PRESSURE + foot]
                )
                half_size = legs.half_size[foot]
                drive = vec3(-error[1] / half_size[1], error[0] / half_size[0], zero)
                behind = own.vectors[t, BEHIND + foot]
                turning = vec3(zero, zero, zero)
                carries_much = sure * wp.clamp(load / legs.press_load, zero, one)
                for i in range(2):
                    yields = carries_much * wp.clamp(
                        wp.abs(drive[i]) / legs.press_error - one, zero, one
                    )
                    if drive[i] * (lean[i] - tilt[i]) > zero:
                        tilt[i] = tilt[i] + yields * wp.min(
                            dt * legs.tilt_rate, one
                        ) * (lean[i] - tilt[i])
                    rate = legs.follow_rate * (lean[i] - behind[i])
                    if drive[i] * rate > zero:
                        turning[i] = yields * legs.follow_turn * rate
                tilt[2] = tilt[2] + stuck * wp.min(dt * legs.yaw_rate, one) * (
                    lean[2] - tilt[2]
                )
                for i in range(2):
                    tilt[i] = wp.clamp(tilt[i], -largest_tilt, largest_tilt)
                moving = vec3(
                    zero, zero, sure * legs.follow_height * legs.follow_rate * off[2]
                )
                own.vectors[t, BEHIND + foot] = behind + wp.min(
                    dt * legs.follow_rate, one
                ) * (lean - behind)
            else:
                own.vectors[t, BEHIND + foot] = tilt
            if stance:
                # a foot that should carry and finds no ground is lowered
                other = own.numbers[t, SURE + 1 - foot] > half
                wanted_load = own.numbers[t, WANTED_LOAD + foot] > legs.touch
                needed = landed < half or wanted_load
                below = own.vectors[t, SHIFTS + 1 - foot][2] - shift[2]
                if other and needed and below < legs.lowest:
                    speed = wp.min(
                        own.numbers[t, LOWERING + foot]
                        + dt * legs.lowering_gain * legs.lowering_speed,
                        legs.lowering_speed * (one - sure),
                    )
                shift[2] = shift[2] - dt * speed
                if landed < half:
                    moving = vec3(zero, zero, zero)
                    turning = vec3(zero, zero, zero)
                moving[2] = moving[2] - speed
            elif landed < half and plan_velocity[2] <= zero:
                # as far off its plan as the foot that carries, and flat on it
                gain = wp.min(dt * legs.relax_rate, one)
                aside = shift - own.vectors[t, SHIFTS + 1 - foot]
                moving = moving - legs.relax_rate * aside
                turning = turning - legs.relax_rate * tilt
                shift = shift - gain * aside
                tilt = (one - gain) * tilt
            own.numbers[t, LOWERING + foot] = speed
            own.numbers[t, SURE + foot] = sure
            own.numbers[t, LANDED + foot] = landed
            own.vectors[t, SHIFTS + foot] = shift
            own.vectors[t, TILTS + foot] = tilt
            own.vectors[t, MOVING + foot] = moving
            own.vectors[t, TURNING + foot] = turning

    return step_soles
