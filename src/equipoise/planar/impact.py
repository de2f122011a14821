r"""The impact of the swing foot with the ground, and the exchange of the legs.

The impact is rigid: the swing foot comes to rest at once, neither slipping nor
rebounding, while the stance foot leaves the ground without a force, as in
[Grizzle2001]. The configuration does not change, and integrating the unpinned equations
of motion over the impact gives

    D_e (q̇⁺ − q̇⁻) = Eᵀ F,   E q̇⁺ = 0,

with E the Jacobian of the swing foot, F the impulse on it and q̇⁻ = (θ̇⁻, 0), since the
stance foot is at rest before. Torques are finite and do nothing. The angular momentum
about the new contact is therefore conserved.

Afterwards the legs exchange their roles, R swaps θ₁ and θ₂, so that the same equations
hold for the next step.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from equipoise.arrays import Array
from equipoise.planar.three_link import ThreeLink

RELABEL = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])


@dataclass(frozen=True, eq=False)
class Impact:
    """What an impact does; all may be stacks, as the states are.

    Attributes:
        state: State after the impact, legs exchanged, shape (…, 6).
        impulse: (x, z) of the ground on the new stance foot [Ns], shape (…, 2).
        lift_off: Velocity (x, z) with which the old stance foot leaves [m/s], shape
            (…, 2).
    """

    state: Array
    impulse: Array
    lift_off: Array

    @property
    def friction(self) -> Array:
        """The coefficient of friction that the impulse needs."""
        tangential, normal = self.impulse[..., 0], self.impulse[..., 1]
        safe = np.where(normal > 0.0, normal, 1.0)
        return np.where(normal > 0.0, np.abs(tangential) / safe, np.inf)

    def problems(self, friction: float = np.inf) -> list[str]:
        """Say what of the assumptions does not hold; nothing if the impact is valid.

        Args:
            friction: Coefficient of friction of the ground.
        """
        found = []
        if np.any(self.impulse[..., 1] <= 0.0):
            found.append("the ground would have to pull the landing foot")
        elif np.any(self.friction > friction):
            found.append(
                f"the landing foot slips: it needs a friction of "
                f"{np.max(self.friction):.2f}, and has {friction:.2f}"
            )
        if np.any(self.lift_off[..., 1] < 0.0):
            found.append("the old stance foot does not leave the ground")
        return found


def impact(model: ThreeLink, x: ArrayLike) -> Impact:
    """Return what the impact makes of a state.

    Args:
        model: The biped, pinned, in absolute angles.
        x: State before the impact, shape (…, 6). The swing foot's height is not looked
            at: the ground is taken to be where the foot is.
    """
    state = np.asarray(x, dtype=np.float64)
    theta, rate = state[..., :3], state[..., 3:]
    velocity, impulse = _solve(model, theta, rate[..., None])
    after = np.concatenate([theta @ RELABEL, velocity[..., :3, 0] @ RELABEL], axis=-1)
    return Impact(after, impulse[..., 0], velocity[..., 3:, 0])


def impact_matrix(model: ThreeLink, theta: ArrayLike) -> Array:
    """Return the matrix that maps θ̇⁻ to θ̇⁺, legs exchanged, shape (…, 3, 3)."""
    angles = np.asarray(theta, dtype=np.float64)
    every = np.broadcast_to(np.eye(3), (*angles.shape, 3))
    return np.asarray(RELABEL @ _solve(model, angles, every)[0][..., :3, :])


def _solve(model: ThreeLink, theta: Array, rates: Array) -> tuple[Array, Array]:
    """Return q̇⁺ of the unpinned model and F, for columns of θ̇⁻."""
    model.require_absolute()
    free = model.unpinned
    q = np.concatenate([theta, np.zeros((*theta.shape[:-1], 2))], axis=-1)
    D, E = free.D(q), free.foot_jacobian(q)
    system = np.zeros((*theta.shape[:-1], 7, 7))
    system[..., :5, :5] = D
    system[..., :5, 5:] = -np.swapaxes(E, -1, -2)
    system[..., 5:, :5] = E
    right = np.zeros((*theta.shape[:-1], 7, rates.shape[-1]))
    right[..., :5, :] = D[..., :, :3] @ rates
    solution = np.linalg.solve(system, right)
    return solution[..., :5, :], solution[..., 5:, :]
