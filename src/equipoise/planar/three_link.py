"""The three-link biped as fast functions of its state, for one state or for many."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from equipoise.arrays import Array
from equipoise.errors import ShapeError
from equipoise.planar.equations import Coordinates, Equations, compiled, derive
from equipoise.planar.parameters import PlanarModelError, ThreeLinkParameters

# Columns are q₁, q₂, q₃: θ = RELATIVE_TO_ABSOLUTE q + (0, 0, π), Eq. (1) of
# [ThreeLink].
RELATIVE_TO_ABSOLUTE = np.array([[1.0, 0.0, 0.0], [1.0, -1.0, 0.0], [1.0, 0.0, -1.0]])


@dataclass(frozen=True)
class ThreeLink:
    """A three-link biped: its equations, and their values.

    With x = (q, q̇) the biped obeys ẋ = f(x) + g(x) u. States x and configurations q
    may be stacks, of shape (…, 6) and (…, 3), and so are the results. The unpinned
    model has two coordinates more, the position of the stance foot.

    Attributes:
        parameters: Masses and lengths.
        coordinates: ``"absolute"`` angles θ, or ``"relative"`` ones, q of [ThreeLink].
        pinned: Whether the stance foot is a pivot at the origin.
    """

    parameters: ThreeLinkParameters
    coordinates: Coordinates = "absolute"
    pinned: bool = True

    def __post_init__(self) -> None:
        derive(self.coordinates, pinned=self.pinned)  # refuses unknown coordinates

    @property
    def equations(self) -> Equations:
        """The symbolic model."""
        return derive(self.coordinates, pinned=self.pinned)

    @property
    def dimension(self) -> int:
        """The number of coordinates: 3, or 5 if unpinned."""
        return 3 if self.pinned else 5

    @property
    def unpinned(self) -> ThreeLink:
        """The same biped with its stance foot free to move."""
        return replace(self, pinned=False)

    def require_absolute(self) -> None:
        """Refuse a model that is not the pinned one in absolute angles.

        Raises:
            PlanarModelError: If it is not.
        """
        if self.coordinates != "absolute" or not self.pinned:
            raise PlanarModelError(
                "walking is described by the pinned model in absolute angles: "
                "ThreeLink(parameters)"
            )

    def D(self, q: ArrayLike) -> Array:
        """Return the inertia matrix, shape (…, n, n)."""
        n = self.dimension
        return self._values("D", (n, n), q)

    def C(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """Return the Coriolis matrix, Eq. (20), shape (…, n, n)."""
        n = self.dimension
        return self._values("C", (n, n), q, dq)

    def G(self, q: ArrayLike) -> Array:
        """Return the gravity vector, shape (…, n)."""
        return self._values("G", (self.dimension,), q)

    def bias(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """Return C q̇ + G, shape (…, n)."""
        return self._values("bias", (self.dimension,), q, dq)

    @property
    def B(self) -> Array:
        """The input matrix, shape (n, 2)."""
        return np.array(self.equations.B, dtype=np.float64)

    def f(self, x: ArrayLike) -> Array:
        """Return the drift vector field, Eq. (18), shape (…, 2n)."""
        q, dq = self._split(x)
        if self.pinned:
            return self._values("f", (6,), q, dq)
        ddq = -np.linalg.solve(self.D(q), self.bias(q, dq)[..., None])[..., 0]
        return np.concatenate([dq, ddq], axis=-1)

    def g(self, x: ArrayLike) -> Array:
        """Return the input vector fields, Eq. (19), shape (…, 2n, 2)."""
        q, dq = self._split(x)
        if self.pinned:
            return self._values("g", (6, 2), q, dq)
        lower = np.linalg.solve(self.D(q), np.broadcast_to(self.B, (*q.shape, 2)))
        return np.concatenate([np.zeros_like(lower), lower], axis=-2)

    def acceleration(self, x: ArrayLike, torques: ArrayLike) -> Array:
        """Return q̈ under torques [Nm] of shape (…, 2)."""
        u = np.asarray(torques, dtype=np.float64)[..., None]
        return (self.f(x) + (self.g(x) @ u)[..., 0])[..., self.dimension :]

    def kinetic_energy(self, x: ArrayLike) -> Array:
        """Return the kinetic energy [J], shape (…)."""
        return self._values("kinetic", (), *self._split(x))

    def potential_energy(self, q: ArrayLike) -> Array:
        """Return the potential energy above the stance foot's ground [J], shape (…)."""
        return self._values("potential", (), q)

    def energy(self, x: ArrayLike) -> Array:
        """Return kinetic and potential energy together [J], shape (…)."""
        return self.kinetic_energy(x) + self.potential_energy(self._split(x)[0])

    def com(self, q: ArrayLike) -> Array:
        """Return the centre of mass (x, z), seen from the origin [m], shape (…, 2)."""
        return self._values("com", (2,), q)

    def com_velocity(self, x: ArrayLike) -> Array:
        """Return the velocity of the centre of mass [m/s], shape (…, 2)."""
        return self._values("com_velocity", (2,), *self._split(x))

    def points(self, q: ArrayLike) -> dict[str, Array]:
        """Return the point masses and the swing foot, by name.

        They are ``m_1``, ``m_h``, ``m_2``, ``m_t`` and ``f_2``, each (…, 2) [m].
        """
        values = self._values("points", (5, 2), q)
        return {name: values[..., i, :] for i, name in enumerate(self.equations.points)}

    def point_velocities(self, x: ArrayLike) -> dict[str, Array]:
        """Return the velocities of the same points [m/s], each of shape (…, 2)."""
        values = self._values("velocities", (5, 2), *self._split(x))
        return {name: values[..., i, :] for i, name in enumerate(self.equations.points)}

    def swing_foot(self, q: ArrayLike) -> Array:
        """Return the position of the swing foot [m], shape (…, 2)."""
        return self.points(q)["f_2"]

    def foot_jacobian(self, q: ArrayLike) -> Array:
        """Return the Jacobian of the swing foot's position, shape (…, 2, n)."""
        return self._values("foot_jacobian", (2, self.dimension), q)

    def angular_momentum(self, x: ArrayLike, about: ArrayLike = (0.0, 0.0)) -> Array:
        """Return the angular momentum about a point [kg m²/s], shape (…).

        It is positive when the biped turns forwards, like the angles; about the stance
        foot it is the σ of the zero dynamics.

        Args:
            x: State.
            about: The point, at rest, seen from the origin [m], shape (…, 2).
        """
        q, _ = self._split(x)
        points, velocities = self.points(q), self.point_velocities(x)
        p = self.parameters
        masses = (p.leg_mass, p.hip_mass, p.leg_mass, p.torso_mass)
        total = np.zeros(q.shape[:-1])
        for mass, name in zip(masses, ("m_1", "m_h", "m_2", "m_t"), strict=True):
            arm, v = points[name] - np.asarray(about), velocities[name]
            total = total + mass * (arm[..., 1] * v[..., 0] - arm[..., 0] * v[..., 1])
        return total

    def ground_force(self, x: ArrayLike, torques: ArrayLike) -> Array:
        """Return the force (F_x, F_z) of the ground on the stance foot [N], (…, 2).

        Args:
            x: State of the pinned model.
            torques: u [Nm], shape (…, 2).
        """
        pinned = replace(self, pinned=True)
        return self.force_of_motion(*pinned._split(x), pinned.acceleration(x, torques))

    def force_of_motion(self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike) -> Array:
        """Return the ground's force that goes with accelerations q̈ [N], shape (…, 2).

        It is what the last two rows of the unpinned equations of motion lack while the
        foot rests: m (ẍ_cm, z̈_cm + g).

        Args:
            q: Configuration of the pinned model.
            dq: Its velocity.
            ddq: Its acceleration.
        """
        free, parts = self.unpinned, []
        for part in (q, dq, ddq):
            value = np.asarray(part, dtype=np.float64)
            rest = np.zeros((*value.shape[:-1], 2))
            parts.append(np.concatenate([value, rest], axis=-1))
        inertial = free.D(parts[0])[..., 3:, :] @ parts[2][..., None]
        return np.asarray(inertial[..., 0] + free.bias(parts[0], parts[1])[..., 3:])

    def to_absolute(self, q: ArrayLike) -> Array:
        """Return the angles θ of relative coordinates q, Eq. (1), shape (…, 3)."""
        turned = np.asarray(q, dtype=np.float64) @ RELATIVE_TO_ABSOLUTE.T
        return np.asarray(turned + np.array([0.0, 0.0, np.pi]))

    def to_relative(self, theta: ArrayLike) -> Array:
        """Return the relative coordinates q of angles θ, shape (…, 3)."""
        offset = np.asarray(theta, dtype=np.float64) - [0.0, 0.0, np.pi]
        return np.asarray(offset @ RELATIVE_TO_ABSOLUTE.T)  # it is its own inverse

    def _split(self, x: ArrayLike) -> tuple[Array, Array]:
        state = np.asarray(x, dtype=np.float64)
        if state.ndim == 0 or state.shape[-1] != 2 * self.dimension:
            raise ShapeError(
                f"a state has the shape (…, {2 * self.dimension}), not {state.shape}"
            )
        return state[..., : self.dimension], state[..., self.dimension :]

    def _values(
        self,
        expression: str,
        shape: tuple[int, ...],
        q: ArrayLike,
        dq: ArrayLike | None = None,
    ) -> Array:
        """Evaluate one expression of the equations at a stack of states."""
        position = np.asarray(q, dtype=np.float64)
        rate = np.zeros_like(position) if dq is None else np.asarray(dq, np.float64)
        for name, value in (("configuration", position), ("velocity", rate)):
            if value.ndim == 0 or value.shape[-1] != self.dimension:
                raise ShapeError(
                    f"a {name} has the shape (…, {self.dimension}), not {value.shape}"
                )
        function = compiled(expression, self.coordinates, pinned=self.pinned)
        stack = np.broadcast_shapes(position.shape[:-1], rate.shape[:-1])
        each = range(self.dimension)
        entries = function(
            *(position[..., i] for i in each),
            *(rate[..., i] for i in each),
            *self.parameters.values(),
        )
        values = np.empty((*stack, len(entries)))
        for i, entry in enumerate(entries):
            values[..., i] = entry
        return values.reshape((*stack, *shape))
