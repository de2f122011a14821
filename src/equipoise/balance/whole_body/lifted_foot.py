"""A foot that is lifted while a push is captured, and one that is put back after it.

A push to the side puts all of the weight on one foot. As long as the other stays flat
on the ground, the pelvis cannot roll: its leg comes to a stop of its hip, or to a
straight knee. Lifted, its leg is free to swing out with the upper body, and adds to the
angular momentum that takes the push. It comes back to where it stood, as the torso
does, and is put down; meanwhile η is kept over the sole that carries alone.

At the edge of one sole an ankle bears twice what it bears beside the other. Where the
leg that stays is too weak for that, η is kept over the part of its sole on which it can
bear the weight, and the leg in the air is thrown along with the swing.

Soles may slide under a swing, and a foot may come down beside its place. Once the robot
is calm, the weight is shifted to the other foot, and the one that is off is lifted and
put back where it stood.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from equipoise.arrays import Array
from equipoise.balance.estimator import Estimate
from equipoise.balance.whole_body.feet import Feet
from equipoise.balance.whole_body.support import Support, length_of, support_of
from equipoise.control.signals import Target
from equipoise.kinematics.leg_freedom import SIDES

# A weight grows or shrinks to ten times or a tenth of it in this time, over √(L / g).
TENFOLD = 0.1
# η is kept in this part of a sole that carries alone, and in this one while the other
# foot is put back, which nothing hurries.
INNER, INNERMOST = 0.5, 0.2


@dataclass(frozen=True)
class LiftGains:
    """Gains of a foot that is lifted.

    Lengths are over the leg's length L, rates over √(g / L), speeds over √(g L), times
    over √(L / g). How far a foot is beside its place is the largest horizontal distance
    of a corner of its sole from its own place, over the sole's length.

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
        near: Distance of its middle from its place above which that weighs more.
        far: Distance at which it weighs a thousand times as much.
        back_weight: Its weight while it comes back with the torso [per (m/s²)²].
        back_rate: Rate at which it comes back.
        height_rate: Rate at which its height does, so that it does not touch the ground
            on its way.
        leg_weight: Weight of its leg's joints while it comes back straight, as a
            fraction of the weight of the foot's task.
        throw: Speed at which its leg is thrown along with the swing, where the other
            leg is too weak for the edge of its sole.
        throw_rate: Rate at which it comes to that speed.
        throw_weight: Weight of its hip's joints meanwhile [per (rad/s²)²].
        settled: Angle of the torso below which it is brought to its place [rad].
        placed: How far beside its place it may be put down.
        patience: Time in which it comes no nearer, after which it is put down.
        beside: A foot that is farther beside its place is put back.
        calm: How near η must be to where it should be, for that.
        shifting: Speed at which the weight is shifted for that.
        onto_sole: How far across the other sole η must be, for that.
        waiting: How long the weight waits there for that.
        tries: How often a foot is put back.
    """

    load: float = 0.15
    lateral: float = 0.5
    over_sole: float = 0.5
    off_sole: float = 0.1
    height: float = 0.03
    lifting: float = 0.1
    lowering: float = 0.05
    free_weight: float = 0.01
    near: float = 0.4
    far: float = 0.8
    back_weight: float = 0.1
    back_rate: float = 3.0
    height_rate: float = 8.0
    leg_weight: float = 0.1
    throw: float = 6.0
    throw_rate: float = 8.0
    throw_weight: float = 0.1
    settled: float = 0.3
    placed: float = 0.02
    patience: float = 1.0
    beside: float = 0.03
    calm: float = 0.02
    shifting: float = 0.06
    onto_sole: float = 0.25
    waiting: float = 4.0
    tries: int = 2


# A foot comes nearer to its place if it does so by this; over the sole's length.
NEARER = 0.01
# How far beside its place a foot is where the joints of its leg begin to weigh, and
# where they weigh all that they do; over the sole's length.
LEG_FROM, LEG_WHOLE = 0.1, 0.5


class Standing(NamedTuple):
    """How a robot stands in one tick, while a push is captured.

    Attributes:
        known: What is known.
        corners: Of both soles where they stand or stood [m], shape (k, 2) each.
        places: Poses of both soles where they stood, shape (4, 4) each.
        planned: Where the DCM should be on both soles [m], shape (2,).
        eta: η of :mod:`~equipoise.balance.whole_body.capture` [m], shape (2,).
        over: By how much η should be farther inside the soles, or will be [m].
        tilt: Angle of the torso from where it is wanted [rad].
    """

    known: Estimate
    corners: list[Array]
    places: list[Array]
    planned: Array
    eta: Array
    over: Array
    tilt: float


class LiftedFoot:
    """Decides which foot is lifted, and says where it goes.

    Args:
        feet: Feet of the robot.
        bearable: Returns the part of the sole of a foot, 0 for the left and 1 for the
            right, on which its leg can bear all of the weight; None if nowhere.

    Attributes:
        number: Which foot is lifted, 0 for the left and 1 for the right; or None.
        returning: Which foot is put back; or None.
        sole: Part of the other sole on which its leg can bear the weight, as found when
            the foot was lifted; None if that is not to be regarded.
        weak: Whether the swing must bring η back to that part.
        joint_weight: Weight of the joints of the leg in the air [per (rad/s²)²].
    """

    def __init__(
        self, feet: Feet, bearable: Callable[[int, Support], Support | None]
    ) -> None:
        self.feet, self._bearable = feet, bearable
        self.reset()

    def reset(self) -> None:
        """Begin with both feet on the ground, where they should be."""
        self.number: int | None = None
        self.returning: int | None = None
        self.sole: Support | None = None
        self.weak = False
        self.joint_weight = 0.0
        self._weight, self._height = np.zeros(6), 0.0
        self._risen, self._nearest, self._waited = False, 0.0, 0.0
        self._shifted, self._onto = 0.0, 0
        self._tried = [0, 0]

    @property
    def busy(self) -> bool:
        """Whether a foot is put back, or the weight is shifted for that."""
        return self.returning is not None or self._shifted > 0.0

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
        if self.number is None:
            return both
        return self.sole or support_of(corners[1 - self.number])

    def reference(self, planned: Array, corners: list[Array]) -> Array:
        """Return where the DCM should be: over the sole that carries alone, or will.

        Args:
            planned: Where it should be on both soles [m], shape (2,).
            corners: Of both soles from above [m], shape (k, 2) each.
        """
        if self.number is not None:
            inner = INNER if self.returning is None else INNERMOST
            return _alone(planned, corners[1 - self.number], inner)
        if self._shifted == 0.0:
            return planned
        there = _alone(planned, corners[self._onto], INNERMOST)
        return np.asarray(planned + self._shifted * (there - planned))

    def update(self, gains: LiftGains, now: Standing, *, may_begin: bool) -> None:
        """Lift a foot, set its task, or put it down, from the next tick on.

        Args:
            gains: Gains of the lifted foot.
            now: How the robot stands.
            may_begin: Whether a foot may be lifted that is not.
        """
        if self.number is not None:
            self._move(gains, now, self.number)
            return
        if may_begin:
            self._begin(gains, now)
        if self.number is None:
            self._put_back(gains, now)

    def _begin(self, gains: LiftGains, now: Standing) -> None:
        """Lift a foot if one may be."""
        corners, eta, over = now.corners, now.eta, now.over
        across = corners[0].mean(axis=0) - corners[1].mean(axis=0)
        least = gains.lateral * length_of(over) * length_of(across)
        if abs(float(over @ across)) < least:
            return
        for light in (0, 1):
            _, load = self.feet.felt(now.known, light)
            part = _part_across(eta, corners[1 - light], corners[light])
            if load >= gains.load * self.feet.weight or part <= gains.over_sole:
                continue
            sole = support_of(corners[1 - light])
            bearable = self._bearable(1 - light, sole)
            back = _alone(now.planned, corners[1 - light], INNER)
            if bearable is None or not bearable.holds(back):
                continue
            strong = bearable.holds(sole.nearest(eta))
            if strong or bearable.holds(_alone(eta, corners[1 - light], INNER)):
                self.returning = None
                self._lift(gains, light, None if strong else bearable)
                self.weak = not strong

    def _lift(self, gains: LiftGains, number: int, sole: Support | None) -> None:
        self.number, self.sole, self.weak = number, sole, False
        self._weight, self._height = np.full(6, gains.free_weight), 0.0
        self._risen, self._nearest, self._waited = False, 0.0, 0.0
        self._shifted, self.joint_weight = 0.0, 0.0

    def _put_down(self) -> None:
        self._shifted = 0.0 if self.returning is None else 1.0
        self.number = self.returning = self.sole = None
        self.weak = False

    def _put_back(self, gains: LiftGains, now: Standing) -> None:
        """Shift the weight and lift a foot that is beside its place, once it is calm.

        Afterwards the weight goes back, as it does where the foot cannot be lifted;
        another push ends it at once.
        """
        feet = self.feet
        pushed = bool(now.over.any())
        off = now.eta - self.reference(now.planned, now.corners)
        calm = (
            not pushed
            and now.tilt < gains.settled
            and length_of(off) < gains.calm * feet.length
            and all(foot.state.carries for foot in feet.feet)
        )
        if self.returning is None and self._shifted == 0.0:
            if calm:
                self._find_beside(gains, now)
            return
        if pushed:
            self.returning, self._shifted = None, 0.0
            return
        onto, tick = self._onto, feet.period * feet.rate
        there = _alone(now.planned, now.corners[onto], INNERMOST)
        way = max(length_of(there - now.planned), 1e-9)
        step = gains.shifting * tick * feet.length / way
        if self._waited > gains.waiting:
            self.returning = None
        if self.returning is None:
            self._shifted = max(self._shifted - step, 0.0)
            return
        self._shifted = min(self._shifted + step, 1.0)
        if self._shifted < 1.0:
            return
        self._waited += tick
        corners = now.corners
        across = _part_across(now.eta, corners[onto], corners[1 - onto])
        if calm and across > gains.onto_sole:
            sole = support_of(corners[onto])
            self._lift(gains, self.returning, self._bearable(onto, sole))

    def _find_beside(self, gains: LiftGains, now: Standing) -> None:
        """Find a foot that is beside its place, and may be put back."""
        off = [self._beside(now, number) for number in (0, 1)]
        for foot in sorted((0, 1), key=off.__getitem__, reverse=True):
            if off[foot] <= gains.beside or self._tried[foot] == gains.tries:
                continue
            sole = now.corners[1 - foot]
            bearable = self._bearable(1 - foot, support_of(sole))
            there = _alone(now.planned, sole, INNERMOST)
            if bearable is not None and bearable.holds(there):
                self._tried[foot] += 1
                self.returning, self._onto = foot, 1 - foot
                self._waited = 0.0
                return

    def _move(self, gains: LiftGains, now: Standing, light: int) -> None:
        """Set the task of the foot that is lifted, or put it down."""
        feet, corners, place = self.feet, now.corners, now.places[light]
        here, _ = feet.measured_sole(now.known, light)
        across = _part_across(now.eta, corners[1 - light], corners[light])
        late = across < gains.off_sole
        away = not late and bool(now.over.any())
        settled = late or (not away and now.tilt < gains.settled)
        off = self._beside(now, light)
        self._risen = self._risen or self._height >= gains.height
        if not (settled and self._risen) or off < self._nearest - NEARER:
            self._nearest, self._waited = off, 0.0
        self._waited += feet.period * feet.rate
        there = self._risen and off < gains.placed
        down = late or (settled and (there or self._waited > gains.patience))
        speed = -gains.lowering if down else gains.lifting
        step = feet.period * feet.rate * speed
        self._height = min(max(self._height + step, 0.0), gains.height)
        touches, _ = feet.felt(now.known, light)
        if down and (touches or self._height == 0.0):
            self._put_down()
            return
        distance = length_of(here[:2] - place[:2, 3]) / feet.length
        far = (distance - gains.near) / (gains.far - gains.near)
        weight = gains.free_weight * _thousandfold(far)
        low = 0.0
        if not away:
            placing = feet.gains.swing_weight if settled else gains.back_weight
            weight = max(weight, placing)
            wanted = place[2, 3] + self._height * feet.length
            low = 2.0 * (wanted - here[2]) / (gains.height * feet.length)
        weights = np.full(6, weight)
        weights[2] = max(weight, gains.free_weight * _thousandfold(low))
        rates = np.full(6, gains.back_rate)
        if not away:
            rates[2] = gains.height_rate
        self._set_task(weights, rates * feet.rate, place)
        bent = (off - LEG_FROM) / (LEG_WHOLE - LEG_FROM)
        bent = 0.0 if away else min(max(bent, 0.0), 1.0)
        self.joint_weight = gains.leg_weight * bent * float(self._weight[0])

    def _beside(self, now: Standing, number: int) -> float:
        """Return how far beside its place a foot is, over the sole's length."""
        here, rotation = self.feet.measured_sole(now.known, number)
        points = self.feet.feet[number].contact.points_in_frame
        place = now.places[number]
        off = points @ (rotation - place[:3, :3]).T + (here - place[:3, 3])
        length = max(float(np.ptp(points[:, 0])), 1e-9)
        return float(np.hypot(off[:, 0], off[:, 1]).max()) / length

    def _set_task(self, weights: Array, rates: Array, place: Array) -> None:
        """Set the task of the foot that is lifted, its weights changing gradually."""
        assert self.number is not None
        feet, foot = self.feet, self.feet.feet[self.number]
        if foot.state.carries:
            return
        change = 10.0 ** (feet.period * feet.rate / TENFOLD)
        self._weight = np.clip(weights, self._weight / change, self._weight * change)
        task = foot.task
        task.root_weight = np.sqrt(self._weight)
        task.stiffness, task.damping = rates**2, 2.0 * rates
        task.pose = np.array(place)
        task.pose[2, 3] += self._height * feet.length


def _thousandfold(part: float) -> float:
    """Return a factor from 1 to 1,000 as a part goes from 0 to 1."""
    return float(10.0 ** (3.0 * min(max(part, 0.0), 1.0)))


def _alone(point: Array, sole: Array, part: float) -> Array:
    """Return what is nearest to a point in the inner part of a sole [m], shape (2,)."""
    middle = sole.mean(axis=0)
    return support_of(middle + part * (sole - middle)).nearest(point)


def _part_across(point: Array, sole: Array, other: Array) -> float:
    """Return where a point is across a sole: 0 at its inner edge, 1 at its outer."""
    outwards = sole.mean(axis=0) - other.mean(axis=0)
    places = sole @ outwards
    low, high = float(places.min()), float(places.max())
    return (float(point @ outwards) - low) / max(high - low, 1e-9)
