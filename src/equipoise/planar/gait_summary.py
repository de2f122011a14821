"""A gait and a walk as plain results: numbers, texts and lists, by name and unit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from equipoise.planar.gait import PlanarGait
from equipoise.planar.hybrid import Step, Walk
from equipoise.planar.parameters import PlanarModelError, ThreeLinkParameters
from equipoise.planar.poincare import Basin
from equipoise.planar.virtual_constraints import Curve

ENGINE = "hybrid model, rigid impacts"


def walk_if_it_can(gait: PlanarGait, steps: int, start: ArrayLike) -> Walk:
    """Walk; a fall in the first step is a walk of no steps, and not an error."""
    try:
        return gait.walk(steps, start)
    except PlanarModelError as error:
        if steps < 1:
            raise
        return Walk(gait.model, (), f"in step 1, {error}")


def gait_summary(gait: PlanarGait) -> dict[str, Any]:
    """Return the periodic gait in numbers, by the full model and the zero dynamics.

    Keys end in their unit, as those of ``summary.json`` do.
    """
    zero, poincare, step = gait.zero_dynamics, gait.poincare, gait.poincare.step
    return {
        "parameters": parameters_summary(gait.model.parameters),
        "gait": step_summary(gait, step),
        "full_model": {
            "fixed_point": poincare.fixed_point.tolist(),
            "rate_before_impact_radps": float(poincare.fixed_point[3]),
            "eigenvalues": [[v.real, v.imag] for v in poincare.eigenvalues.tolist()],
            "largest_eigenvalue": poincare.largest_eigenvalue,
        },
        "zero_dynamics": {
            "rate_before_impact_radps": zero.impact_rate,
            "impact_ratio": zero.impact_ratio,
            "slope": zero.slope,
            "speed_mps": zero.speed,
            "step_time_s": zero.step_time,
            "torque_cost": zero.torque_cost,
            "cost_of_transport": zero.cost_of_transport,
            "invariant": zero.invariant,
        },
        "constraints": {
            "stance_angle_rad": gait.stance_angle,
            "swing": _curve(gait.constraints.swing),
            "torso": _curve(gait.constraints.torso),
        },
    }


def parameters_summary(parameters: ThreeLinkParameters) -> dict[str, float]:
    """Return masses and lengths by name and unit."""
    return {
        "leg_length_m": parameters.leg_length,
        "torso_length_m": parameters.torso_length,
        "leg_mass_kg": parameters.leg_mass,
        "hip_mass_kg": parameters.hip_mass,
        "torso_mass_kg": parameters.torso_mass,
        "gravity_mps2": parameters.gravity,
    }


def step_summary(gait: PlanarGait, step: Step) -> dict[str, Any]:
    """Return a step in numbers; what is infinite is None."""
    p = gait.model.parameters
    height = gait.model.swing_foot(step.state[:, :3])[:, 1]
    impulse = np.abs(step.impulse)
    return {
        "speed_mps": step.speed,
        "step_length_m": step.length,
        "step_time_s": step.duration,
        "cost_of_transport": step.cost_of_transport,
        "torque_cost": step.torque_cost,
        "largest_torque_nm": float(np.abs(step.torques).max()),
        "friction": step.friction if math.isfinite(step.friction) else None,
        "impact_friction": float(impulse[0] / impulse[1]),
        "least_force_fraction": float(
            step.force[:, 1].min() / (p.total_mass * p.gravity)
        ),
        "scuffing_m": float(max(0.0, -height.min())),
    }


def walk_summary(gait: PlanarGait, walk: Walk, wanted: int) -> dict[str, Any]:
    """Return what a walk came to, with a sentence.

    Args:
        gait: The gait.
        walk: Steps of the full model; there may be none.
        wanted: How many there should be.
    """
    done = len(walk.steps)
    largest = gait.poincare.largest_eigenvalue
    stable = largest < 1.0
    periodic = gait.poincare.step
    distances = [float(np.abs(s.after - periodic.after).max()) for s in walk.steps]
    duration = sum(step.duration for step in walk.steps)
    length = sum(step.length for step in walk.steps)
    word = "stable" if stable else "not stable"
    speed = f" at {length / duration:.3f} m/s" if done else ""
    sentence = (
        f"The three-link biped walked {done} of {wanted} steps{speed}; the gait is "
        f"{word}: the largest eigenvalue of its Poincaré map is {largest:.3f}, by the "
        "full model."
    )
    return {
        "sentence": sentence + (f" It fell: {walk.fall}." if walk.fall else ""),
        "achieved": done == wanted and stable,
        "steps_done": done,
        "steps_wanted": wanted,
        "fell_at_s": duration if walk.fall else None,
        "duration_s": duration,
        "distance_m": length,
        "end_distance": distances[-1] if distances else None,
        "walk": _whole(walk) if done else None,
        "engine": ENGINE,
    }


def _whole(walk: Walk) -> dict[str, Any]:
    """Return what all steps of a walk need; friction is None if the ground pulls."""
    p = walk.model.parameters
    friction = max(step.friction for step in walk.steps)
    force = float(walk.force[:, 1].min()) / (p.total_mass * p.gravity)
    return {
        "largest_torque_nm": float(np.abs(walk.torques).max()),
        "friction": friction if math.isfinite(friction) else None,
        "least_force_fraction": force,
    }


def basin_summary(basin: Basin) -> dict[str, Any]:
    """Return a basin of attraction as plain lists, rows by change of the rates."""
    return {
        "rate_change": basin.rate_change.tolist(),
        "torso_change_rad": basin.torso_change.tolist(),
        "steps": basin.steps.tolist(),
        "asked": basin.asked,
        "fraction": basin.fraction,
    }


def _curve(curve: Curve) -> dict[str, Any]:
    """Return a curve h(s), s = (θ₁ − origin) / scale, as plain numbers."""
    return {
        "coefficients": list(curve.coefficients),
        "origin_rad": curve.origin,
        "scale_rad": curve.scale,
    }
