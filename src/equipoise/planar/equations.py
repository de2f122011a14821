r"""The equations of motion of the three-link biped, derived with SymPy.

Eq. (1)–(20) of [ThreeLink], for the pinned model (the stance foot is a pivot) and for
the unpinned one, in two sets of coordinates:

- ``"absolute"``: θ = (θ₁, θ₂, θ₃), the angles of stance leg, swing leg and torso from
  the vertical, positive when leaning forwards, each leg taken from its foot to the hip.
  This is the convention of [Grizzle2001], and the one that the rest of the package
  uses.
- ``"relative"``: q = (q₁, q₂, q₃) of [ThreeLink]: the stance leg's absolute angle, and
  the angles from it to the swing leg and to the torso.

Eq. (1) connects them, but for the swing leg, which [ThreeLink] takes from the hip to
the foot, so that its Θ₂ is θ₂ + π:

    θ = (q₁, q₁ − q₂, π + q₁ − q₃).

The torques u = (u₁, u₂) act between the torso and the stance leg, and between the torso
and the swing leg; a positive one leans the torso forwards.

The unpinned model has the stance foot as its point p_e. Any point would do; with this
one the pinned model is the case p_e = const: its D, C, G and B are the first rows and
columns of the unpinned ones, and what is left in the last two rows is the ground
reaction force.

Where the report is misprinted, what is derived here is right: ``docs/errata.md`` lists
the differences.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_args

import sympy as sp
from sympy.simplify.fu import TR8

from equipoise.errors import NameNotFoundError

Coordinates = Literal["absolute", "relative"]

# r, l, m, M_H, M_T and g, in the order of ``ThreeLinkParameters.values``.
PARAMETERS = sp.symbols("r l m M_H M_T g", positive=True)
TORQUES = sp.symbols("u_1 u_2", real=True)


@dataclass(frozen=True, eq=False)
class Equations:
    """The symbolic model D(q) q̈ + C(q, q̇) q̇ + G(q) = B u, and what it is made of.

    Attributes:
        coordinates: The generalised coordinates; the unpinned model has x_e and z_e
            after the three angles.
        rates: Their rates.
        angles: θ of the coordinates, shape (3, 1).
        points: Position of each point mass and of the feet by name, Eq. (2)–(6).
        velocities: Their velocities, Eq. (8)–(11).
        com: Position of the centre of mass, Eq. (7).
        com_velocity: Its velocity, Eq. (12).
        kinetic: Kinetic energy, Eq. (13).
        potential: Potential energy, Eq. (14).
        D: Inertia matrix, Σ m Jᵀ J.
        C: Coriolis matrix of Christoffel symbols, Eq. (20).
        G: Gravity vector, ∂V/∂q.
        B: Input matrix, Eq. (16).
    """

    coordinates: tuple[sp.Symbol, ...]
    rates: tuple[sp.Symbol, ...]
    angles: sp.Matrix
    points: dict[str, sp.Matrix]
    velocities: dict[str, sp.Matrix]
    com: sp.Matrix
    com_velocity: sp.Matrix
    kinetic: sp.Expr
    potential: sp.Expr
    D: sp.Matrix
    C: sp.Matrix
    G: sp.Matrix
    B: sp.Matrix

    @property
    def lagrangian(self) -> sp.Expr:
        """Return the Lagrangian, Eq. (15)."""
        return self.kinetic - self.potential

    @property
    def f(self) -> sp.Matrix:
        """Return the drift vector field, Eq. (18), with D⁻¹ written out."""
        rates = sp.Matrix(self.rates)
        return rates.col_join(self._D_inverse() * (-self.C * rates - self.G))

    @property
    def g(self) -> sp.Matrix:
        """Return the input vector fields, Eq. (19), with D⁻¹ written out."""
        return sp.zeros(*self.B.shape).col_join(self._D_inverse() * self.B)

    @property
    def bias(self) -> sp.Matrix:
        """Return C q̇ + G."""
        return self.C * sp.Matrix(self.rates) + self.G

    @property
    def foot_jacobian(self) -> sp.Matrix:
        """Return the Jacobian of the swing foot's position."""
        return self.points["f_2"].jacobian(self.coordinates)

    def _D_inverse(self) -> sp.Matrix:
        return self.D.adjugate() / self.D.det(method="berkowitz")

    def lines(self) -> list[tuple[int | None, str, sp.Basic]]:
        """Return what was derived, line by line.

        Returns:
            Of each line the number of its equation in [ThreeLink], None if it has none
            there, the left side as LaTeX, and the right side.
        """
        q = r"\boldsymbol{q}"
        lines: list[tuple[int | None, str, sp.Basic]] = [
            (None, q, sp.Matrix(self.coordinates)),
            (1, r"\Theta", self.angles),
        ]
        for i, (name, point) in enumerate(self.points.items()):
            lines.append((2 + i, rf"\boldsymbol{{P}}_{{{name}}}", point))
        lines.append((7, r"\boldsymbol{P}_{cm}", self.com))
        numbers = {"m_h": 8, "m_t": 9, "m_1": 10, "m_2": 11}
        for name, velocity in self.velocities.items():
            number = numbers.get(name)
            lines.append((number, rf"\boldsymbol{{v}}_{{{name}}}", velocity))
        return [
            *lines,
            (12, r"\boldsymbol{v}_{cm}", self.com_velocity),
            (13, "K", self.kinetic),
            (14, "V", self.potential),
            (15, r"\mathcal{L}", self.lagrangian),
            (None, f"D({q})", self.D),
            (20, rf"C({q}, \dot{{{q}}})", self.C),
            (None, f"G({q})", self.G),
            (None, "B", self.B),
        ]

    def latex(self) -> str:
        """Return the whole derivation as LaTeX, with the numbers of [ThreeLink].

        f and g are printed with D⁻¹ not written out, as Eq. (18) and (19) are.
        """
        q = r"\boldsymbol{q}"
        text = [
            (number, f"{name} &= {sp.latex(value)}")
            for number, name, value in self.lines()
        ]
        rate = rf"\dot{{{q}}}"
        drift = rf"D^{{-1}}(-C\,{rate} - G"
        text += [
            (16, rf"D\,\ddot{{{q}}} + C\,{rate} + G &= B\,\boldsymbol{{u}}"),
            (17, r"\dot{x} &= " + _stack(rate, drift + r" + B\,\boldsymbol{u})")),
            (None, r"\dot{x} &= f(x) + g(x)\,\boldsymbol{u}"),
            (18, "f(x) &= " + _stack(rate, f"{drift})")),
            (19, "g(x) &= " + _stack("0", "D^{-1} B")),
        ]
        rows = " \\\\\n".join(
            line + (r" \notag" if number is None else rf" \tag{{{number}}}")
            for number, line in text
        )
        return f"\\begin{{align}}\n{rows}\n\\end{{align}}"


def _stack(upper: str, lower: str) -> str:
    return rf"\begin{{bmatrix}} {upper} \\ {lower} \end{{bmatrix}}"


@cache
def derive(coordinates: Coordinates = "absolute", *, pinned: bool = True) -> Equations:
    """Derive the model; the second call costs nothing.

    Args:
        coordinates: ``"absolute"`` or ``"relative"``.
        pinned: Whether the stance foot is a pivot at the origin; if not, its position
            (x_e, z_e) is added to the coordinates.

    Raises:
        NameNotFoundError: If there are no such coordinates.
    """
    if coordinates not in get_args(Coordinates):
        raise NameNotFoundError(
            "set of coordinates", coordinates, get_args(Coordinates), "the three-link"
        )
    r, torso_length, m, hip_mass, torso_mass, gravity = PARAMETERS
    letter = r"\theta" if coordinates == "absolute" else "q"
    q = [sp.Symbol(f"{letter}_{i}", real=True) for i in (1, 2, 3)]
    dq = [sp.Symbol(rf"\dot{{{letter}}}_{i}", real=True) for i in (1, 2, 3)]
    angles = sp.Matrix(q)
    if coordinates == "relative":  # Eq. (1)
        angles = sp.Matrix([q[0], q[0] - q[1], sp.pi + q[0] - q[2]])
    # Torques act on the torso, and with the opposite sign on a leg; the work that they
    # do is uᵀ Bᵀ q̇.
    B = angles.jacobian(q).T * sp.Matrix([[-1, 0], [0, -1], [1, 1]])
    foot = sp.zeros(2, 1)
    if not pinned:
        foot = sp.Matrix(sp.symbols("x_e z_e", real=True))
        q += list(foot)
        dq += [sp.Symbol(rf"\dot{{{letter}}}_e", real=True) for letter in "xz"]
        B = B.col_join(sp.zeros(2, 2))

    stance, swing, torso = (sp.Matrix([sp.sin(a), sp.cos(a)]) for a in angles)
    hip = foot + r * stance
    points = {
        "m_1": foot + r / 2 * stance,  # Eq. (2)
        "m_h": hip,  # Eq. (3)
        "m_2": hip - r / 2 * swing,  # Eq. (4)
        "m_t": hip + torso_length * torso,  # Eq. (5)
        "f_2": hip - r * swing,  # Eq. (6)
    }
    masses = {"m_1": m, "m_h": hip_mass, "m_2": m, "m_t": torso_mass}
    jacobians = {name: point.jacobian(q) for name, point in points.items()}
    velocities = {name: J * sp.Matrix(dq) for name, J in jacobians.items()}
    total = sum(masses.values())

    def weighted(vectors: dict[str, sp.Matrix]) -> sp.Matrix:
        parts = (masses[name] * vectors[name] for name in masses)
        return (sum(parts, sp.zeros(2, 1)) / total).applyfunc(sp.factor_terms)

    D = sum(
        (masses[name] * jacobians[name].T * jacobians[name] for name in masses),
        sp.zeros(len(q), len(q)),
    ).applyfunc(_products_to_angles)
    potential = sp.expand(
        sum(masses[name] * gravity * points[name][1] for name in masses)
    )
    return Equations(
        coordinates=tuple(q),
        rates=tuple(dq),
        angles=angles,
        points=points,
        velocities=velocities,
        com=weighted(points),
        com_velocity=weighted(velocities),
        kinetic=sp.expand((sp.Matrix(dq).T * D * sp.Matrix(dq))[0] / 2),
        potential=potential,
        D=D,
        C=christoffel(D, q, dq),
        G=sp.Matrix([potential]).jacobian(q).T.applyfunc(sp.factor_terms),
        B=B,
    )


def christoffel(D: sp.Matrix, q: list[sp.Symbol], dq: list[sp.Symbol]) -> sp.Matrix:
    """Return the Coriolis matrix of an inertia matrix, Eq. (20)."""

    def entry(k: int, j: int) -> sp.Expr:
        symbols = (
            (sp.diff(D[k, j], q[i]) + sp.diff(D[k, i], q[j]) - sp.diff(D[i, j], q[k]))
            * dq[i]
            / 2
            for i in range(len(q))
        )
        return sp.factor_terms(sum(symbols))

    return sp.Matrix(len(q), len(q), entry)


def _products_to_angles(entry: sp.Expr) -> sp.Expr:
    """Write sin a sin b + cos a cos b as cos(a − b)."""
    return sp.factor_terms(sp.expand(TR8(sp.expand(entry))))


Compiled = Callable[..., Any]


@cache
def compiled(
    expressions: str,
    coordinates: Coordinates = "absolute",
    *,
    pinned: bool = True,
    scalar: bool = False,
) -> Compiled:
    """Return a fast function of coordinates, rates and parameters.

    Args:
        expressions: Attributes of ``Equations`` between spaces, e.g. ``"D G"``.
        coordinates: ``"absolute"`` or ``"relative"``.
        pinned: Whether the stance foot is a pivot.
        scalar: Whether it takes floats, one state in a few microseconds; if not, it
            takes arrays that broadcast.

    Returns:
        A function of the coordinates, the rates and the parameters, each an argument of
        its own. It returns all entries in one flat list, row after row; of arrays,
        those that do not depend on the state are plain numbers.
    """
    model = derive(coordinates, pinned=pinned)
    entries: list[sp.Expr] = []
    for name in expressions.split():
        value = getattr(model, name)
        values = value.values() if isinstance(value, dict) else [value]
        for part in values:
            entries += list(part) if isinstance(part, sp.MatrixBase) else [part]
    arguments = [*model.coordinates, *model.rates, *PARAMETERS]
    function: Compiled = sp.lambdify(
        arguments, entries, modules="math" if scalar else "numpy", cse=True
    )
    return function
