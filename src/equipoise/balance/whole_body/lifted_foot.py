"""A foot that carries little is lifted while a push to the side is captured.

A push to the side puts all of the weight on one foot. As long as the other stays flat
on the ground, the pelvis cannot roll: its leg comes to a stop of its hip, or to a
straight knee. Lifted, its leg is free to swing out with the upper body, and adds to the
angular momentum that takes the push. It comes back to where it stood, as the torso
does, and is put down; meanwhile η is kept over the sole that carries alone. No foot is
lifted where the other leg is too weak: at the edge of one sole an ankle bears twice
what it bears beside the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from equipoise.arrays import Array
from equipoise.balance.estimator import Estimate
from equipoise.balance.skeleton import BASE_DOF
from equipoise.balance.whole_body.dynamics import Dynamics
from equipoise.balance.whole_body.feet import Feet
from equipoise.balance.whole_body.support import Support, length_of, support_of
from equipoise.control.signals import Target
from equipoise.kinematics.leg_freedom import SIDES

# A weight grows or shrinks to ten times or a tenth of it in this time, over √(L / g).
TENFOLD = 0.1
# η is kept in this part of a sole that carries alone.
INNER = 0.5


@dataclass(frozen=True)
class LiftGains:
    """Gains of a foot that is lifted.

    Lengths are over the leg's length L, rates over √(g / L), speeds over √(g L).

    Attributes:
        load: A foot that carries less than this is lifted, over the weight.
        lateral: Least cosine between what η is beyond the soles and the line between
            the feet.
        over_sole: How far across the other sole η must be: 0 at its inner edge, 1 at
            its outer one.
        off_sole: Where η has come back to when the foot is put down wherever it is.
        height: How high it is wanted while it is away.
        lifting: Speed at which it goes there.
        lowering: Speed at which it is put down.
        free_weight: Weight of its place while it is free [per (m/s²)²].
        near: Distance from its place above which it weighs more.
        far: Distance at which it weighs a thousand times as much.
        back_weight: Its weight while it comes back with the torso [per (m/s²)²].
        back_rate: Rate at which it comes back.
        settled: Angle of the torso below which it is brought to its place [rad].
        placed: Distance from its place below which it is put down.
    """

    load: float = 0.15
    lateral: float = 0.5
    over_sole: float = 0.5
    off_sole: float = 0.1
    height: float = 0.03
    lifting: float = 0.1
    lowering: float = 0.05
    free_weight: float = 0.01
    near: float = 0.25
    far: float = 0.5
    back_weight: float = 0.1
    back_rate: float = 3.0
    settled: float = 0.3
    placed: float = 0.007


class LiftedFoot:
    """Decides which foot is lifted, and says where it goes.

    Args:
        feet: Feet of the robot.
        can_carry: Whether the leg of a foot, 0 for the left and 1 for the right, can
            carry all of the weight on a point of the ground [m], shape (2,).

    Attributes:
        number: Which foot is lifted, 0 for the left and 1 for the right; or None.
    """

    def __init__(self, feet: Feet, can_carry: Callable[[int, Array], bool]) -> None:
        self.feet, self._can_carry = feet, can_carry
        self.reset()

    def reset(self) -> None:
        """Begin with both feet on the ground."""
        self.number: int | None = None
        self._weight = self._height = 0.0

    def target(self, target: Target) -> Target:
        """Return what is wanted of the feet: one that is lifted does not carry."""
        if self.number is None:
            return target
        return replace(target, support=SIDES[1 - self.number])

    def support(self, both: Support, corners: list[Array]) -> Support:
        """Return where the ground can push now.

        Args:
            both: Where it can push on both soles.
            corners: Of both soles from above [m], shape (k, 2) each.
        """
        return both if self.number is None else support_of(corners[1 - self.number])

    def reference(self, planned: Array, corners: list[Array]) -> Array:
        """Return where the DCM should be: over the sole that carries alone.

        Args:
            planned: Where it should be on both soles [m], shape (2,).
            corners: Of both soles from above [m], shape (k, 2) each.
        """
        if self.number is None:
            return planned
        sole = corners[1 - self.number]
        middle = sole.mean(axis=0)
        return support_of(middle + INNER * (sole - middle)).nearest(planned)

    def update(
        self,
        gains: LiftGains,
        known: Estimate,
        corners: list[Array],
        places: list[Array],
        eta: Array,
        over: Array,
        tilt: float,
        *,
        may_begin: bool,
    ) -> None:
        """Lift a foot, set its task, or put it down, from the next tick on.

        Args:
            gains: Gains of the lifted foot.
            known: What is known.
            corners: Of both soles where they stand or stood [m], shape (k, 2) each.
            places: Poses of both soles where they stood, shape (4, 4) each.
            eta: η of :mod:`~equipoise.balance.whole_body.capture` [m], shape (2,).
            over: By how much η should be farther inside the soles, or will be [m].
            tilt: Angle of the torso from where it is wanted [rad].
            may_begin: Whether a foot may be lifted that is not.
        """
        if self.number is None:
            if may_begin:
                self._begin(gains, known, corners, eta, over)
            return
        light, feet = self.number, self.feet
        here, _ = feet.measured_sole(known, light)
        distance = length_of(here[:2] - places[light][:2, 3]) / feet.length
        late = _part_across(eta, corners[1 - light], corners[light]) < gains.off_sole
        away = not late and bool(over.any())
        settled = late or (not away and tilt < gains.settled)
        down = late or (settled and distance < gains.placed)
        speed = -gains.lowering if down else gains.lifting
        step = feet.period * feet.rate * speed
        self._height = min(max(self._height + step, 0.0), gains.height)
        touches, _ = feet.felt(known, light)
        if down and (touches or self._height == 0.0):
            self.number = None
            return
        far = (distance - gains.near) / (gains.far - gains.near)
        weight = gains.free_weight * 10.0 ** (3.0 * min(max(far, 0.0), 1.0))
        if not away:
            placing = feet.gains.swing_weight if settled else gains.back_weight
            weight = max(weight, placing)
        self._set_task(gains, weight, places[light])

    def _begin(
        self,
        gains: LiftGains,
        known: Estimate,
        corners: list[Array],
        eta: Array,
        over: Array,
    ) -> None:
        """Lift a foot if one may be."""
        across = corners[0].mean(axis=0) - corners[1].mean(axis=0)
        least = gains.lateral * length_of(over) * length_of(across)
        if abs(float(over @ across)) < least:
            return
        for light in (0, 1):
            _, load = self.feet.felt(known, light)
            part = _part_across(eta, corners[1 - light], corners[light])
            if load >= gains.load * self.feet.weight or part <= gains.over_sole:
                continue
            zmp = support_of(corners[1 - light]).nearest(eta)
            if self._can_carry(1 - light, zmp):
                self.number, self._height = light, 0.0
                self._weight = gains.free_weight

    def _set_task(self, gains: LiftGains, weight: float, place: Array) -> None:
        """Set the task of the foot that is lifted, its weight changing gradually."""
        assert self.number is not None
        feet, foot = self.feet, self.feet.feet[self.number]
        if foot.state.carries:
            return
        change = 10.0 ** (feet.period * feet.rate / TENFOLD)
        least, most = self._weight / change, self._weight * change
        self._weight = min(max(weight, least), most)
        rate, task = gains.back_rate * feet.rate, foot.task
        task.root_weight = np.sqrt(self._weight)
        task.stiffness, task.damping = rate**2, 2.0 * rate
        task.pose = np.array(place)
        task.pose[2, 3] += self._height * feet.length


def torques_to_carry(
    dynamics: Dynamics, frame: int, point: Array, weight: float
) -> Array:
    """Return the joint torques that bear a weight on a point, without the legs' own.

    Args:
        dynamics: Dynamics of the robot, up to date.
        frame: Number of the foot's frame.
        point: Where the ground bears it [m], shape (2,).
        weight: The weight [N].

    Returns:
        Torques [Nm or N], shape (nv - 6,).
    """
    jacobian, here = dynamics.jacobian(frame), dynamics.pose(frame).translation
    x, y = point - here[:2]
    upwards = jacobian[2] + y * jacobian[3] - x * jacobian[4]  # of that point
    return np.asarray(-weight * upwards[BASE_DOF:])


def _part_across(point: Array, sole: Array, other: Array) -> float:
    """Return where a point is across a sole: 0 at its inner edge, 1 at its outer."""
    outwards = sole.mean(axis=0) - other.mean(axis=0)
    places = sole @ outwards
    low, high = float(places.min()), float(places.max())
    return (float(point @ outwards) - low) / max(high - low, 1e-9)
