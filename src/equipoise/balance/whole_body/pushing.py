"""A robot that walks up to something, touches it and pushes it with a wanted force.

The controller is a whole-body controller whose tasks change with the phases:

    walk            as the reference says, with bent elbows;
    stand           hands go to where they begin, the CoM leans forward;
    approach        hands go forward slowly until they feel something;
    push            hands press with the wanted force, and go along with what moves;
    release         hands stop, and the robot stands.

While hands press, their forces are part of the equations of motion, so that torques of
the arms make them and the soles bear them. Balanced, a force F at the height z moves
the ZMP back from below the CoM by F z / (m g); half of it is made up for by leaning
forward before. A force that is felt too small or too large is corrected by an
integral, F_told' = k (F_wanted - F_felt). Friction of the arms' joints, where the
robot's file has it, is added to their torques.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from equipoise.arrays import Array
from equipoise.balance.estimator import Estimate
from equipoise.balance.whole_body.controller import WholeBodyController
from equipoise.balance.whole_body.hands import Hand, add_hands
from equipoise.balance.whole_body.push_plan import Phase, PushGains, PushPlan
from equipoise.balance.whole_body.tasks import FrameTask
from equipoise.control.blocks import Controller
from equipoise.control.signals import Command, State, Target
from equipoise.robot.joint_coordinates import degree_names, joint_positions
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side

FORWARD = 0
POSITION = (0, 1, 2)


@dataclass(eq=False)
class _HandState:
    """One hand: its tasks, where it is and what it feels."""

    hand: Hand
    follow: FrameTask
    press: FrameTask
    touched: bool = False
    at: Array = field(default_factory=lambda: np.zeros(3))
    stop: Array = field(default_factory=lambda: np.zeros(3))
    across: Array = field(default_factory=lambda: np.zeros(3))
    speed: float = 0.0
    last_speed: float = 0.0
    felt: float = 0.0
    correction: float = 0.0

    def reset(self) -> None:
        """Forget what was."""
        self.touched = False
        self.speed = self.felt = self.correction = 0.0


class PushingController(Controller[State]):
    """Walks, touches and pushes by whole-body torques.

    Args:
        controller: Makes torques; its tasks are changed.
        plan: How hard to push, and how hands and CoM move for it.
        gains: Its numbers.

    Attributes:
        phase: What the robot does.
        began: When each phase began [s].
        touched: When the first hand felt something, or None [s].
        ended_by: Why the push was over, in words.
    """

    def __init__(
        self,
        controller: WholeBodyController,
        plan: PushPlan,
        gains: PushGains | None = None,
    ) -> None:
        self.controller, self.plan = controller, plan
        self.gains = gains = gains or PushGains()
        rate = controller.feet.rate
        self._pace = controller.feet.length * rate
        self._gravity = self._pace * rate
        hands = add_hands(controller.dynamics)
        stiffness = (gains.hand * rate) ** 2
        damping, across = 2.0 * gains.hand * rate, np.array([0.0, 1.0, 1.0])
        self._hands: dict[Side, _HandState] = {}
        for side in plan.stroke.hands:
            given = hands[side].frame, gains.hand_weight
            follow = FrameTask(*given, stiffness, directions=POSITION)
            press = FrameTask(
                *given, stiffness * across, damping * across, directions=POSITION
            )
            self._hands[side] = _HandState(hands[side], follow, press)
        self._arms = {
            id(path): joint_positions(path.robot, path.q)
            for path in (plan.ready, plan.stroke)
        }
        self._friction = _friction(controller.robot, hands.values())
        arms = [name for side in self._hands for name in hands[side].joints]
        self._is_arm = np.isin(degree_names(controller.robot), arms)
        self._own_tasks = list(controller.tasks)
        self._begin()

    def _begin(self) -> None:
        self.phase = Phase.WALK
        self.began: dict[Phase, float] = {Phase.WALK: 0.0}
        self.touched: float | None = None
        self.ended_by = ""
        self._mass: tuple[Array, float] | None = None
        self._silent = self._approached = 0.0
        for state in self._hands.values():
            state.reset()

    def reset(self, start: State) -> None:
        """Begin in the state at the start."""
        self.controller.reset(start)
        self.controller.tasks[:] = self._own_tasks
        self.controller.applied_forces.clear()
        self._begin()

    def control(self, known: State, target: Target) -> Command:
        """Return a command for the next period."""
        if isinstance(known, Estimate):
            if self.phase is not Phase.WALK:
                self._feel(known)
            self._change(known.time)
            known = self._unloaded(known)
            target = self._act(known.time, target)
        command = self.controller.control(known, target)
        if self.phase is not Phase.PUSH:
            return command
        viscous, dry = self._friction
        turning = command.velocity
        friction = viscous * turning + dry * np.tanh(turning / self.gains.dry_speed)
        most = self.controller.joints.torque
        return command._replace(torque=np.clip(command.torque + friction, -most, most))

    def _unloaded(self, known: Estimate) -> Estimate:
        """Return an estimate whose CoM offset is that before the hands touched.

        The estimator knows of no other forces than those at the feet: what hands press
        would seem to be an offset of the CoM.
        """
        if self.touched is None or self._mass is None:
            self._mass = np.array(known.com_offset), known.mass_ratio
            return known
        offset, ratio = self._mass
        return replace(known, com_offset=offset, mass_ratio=ratio)

    def _feel(self, known: Estimate) -> None:
        """Take note of where hands are and what they feel."""
        dynamics, gains = self.controller.dynamics, self.gains
        dynamics.update(known.q, known.v)
        follow = min(self.controller.period / gains.filter, 1.0)
        least = gains.touch * self._share
        for side, state in self._hands.items():
            frame = dynamics.frame(state.hand.frame)
            pose = dynamics.pose(frame)
            state.at = np.array(pose.translation)
            state.speed = float(dynamics.twist(frame)[FORWARD])
            if side in known.hands:
                force = pose.rotation @ known.hands[side]
                state.felt += follow * (-float(force[FORWARD]) - state.felt)
                state.across = np.array([0.0, *force[1:]])
            feels = self.phase is Phase.APPROACH and state.felt > least
            if feels and not state.touched:
                state.touched, state.stop = True, state.at
                if self.touched is None:
                    self.touched = known.time

    @property
    def _share(self) -> float:
        return self.plan.force / len(self._hands)

    # phases

    def _change(self, time: float) -> None:
        """Go on to the next phase where it is time."""
        gains, phase = self.gains, self.phase
        passed = time - self.began[phase]
        if phase is Phase.WALK and time >= self.plan.start:
            self._enter(Phase.STAND, time)
        elif phase is Phase.STAND and passed >= gains.leaning:
            self._enter(Phase.APPROACH, time)
        elif phase is Phase.APPROACH:
            if all(state.touched for state in self._hands.values()):
                self._enter(Phase.PUSH, time)
            elif self._progress() >= 1.0:
                self._release("the arms are stretched and nothing was felt", time)
        elif phase is Phase.PUSH:
            why = self._over()
            if why:
                self._release(why, time)

    def _enter(self, phase: Phase, time: float) -> None:
        self.phase = phase
        self.began[phase] = time

    def _release(self, why: str, time: float) -> None:
        self.ended_by = why
        for state in self._hands.values():
            state.stop, state.last_speed = state.at, max(state.speed, 0.0)
        self._enter(Phase.RELEASE, time)

    def _braking(self, state: _HandState) -> float:
        """Return how far a hand goes until it can be at rest [m]."""
        speed = max(state.speed, 0.0)
        return speed**2 / (2.0 * self.gains.braking * self._gravity)

    def _over(self) -> str:
        """Return why a push is over, nothing if it is not."""
        felt = sum(state.felt for state in self._hands.values())
        lost = felt < self.gains.touch * self.plan.force
        self._silent = self._silent + self.controller.period if lost else 0.0
        if self._silent > self.gains.lost:
            return "contact was lost"
        shift = self.controller.feet.shift[FORWARD]
        for side, state in self._hands.items():
            end = self.plan.stroke.hands[side][-1, FORWARD] + shift
            if end - state.at[FORWARD] <= self._braking(state):
                return "the arms are stretched"
        return ""

    def _progress(self) -> float:
        """Return which part of the stroke the foremost hand has gone."""
        shift, parts = self.controller.feet.shift[FORWARD], []
        for side, state in self._hands.items():
            first, *_, last = self.plan.stroke.hands[side][:, FORWARD]
            parts.append((state.at[FORWARD] - shift - first) / max(last - first, 1e-9))
        return float(max(parts))

    # what is done in them

    def _act(self, time: float, target: Target) -> Target:
        """Set tasks and forces of the phase; return the reference that goes with it."""
        controller, plan, gains = self.controller, self.plan, self.gains
        if self.phase is Phase.WALK:
            bent = along(self._arms[id(plan.ready)], smooth(time / gains.raising))
            return replace(target, position=self._with_arms(target.position, bent))
        lean = plan.lean * smooth((time - self.began[Phase.STAND]) / gains.leaning)
        if self.phase is Phase.APPROACH:
            self._approached += gains.approach * self._pace * controller.period
        elif self.phase is Phase.RELEASE:
            lean *= 1.0 - smooth((time - self.began[self.phase]) / gains.leaning)
        controller.applied_forces.clear()
        controller.tasks[:] = self._own_tasks
        for side, state in self._hands.items():
            controller.tasks.append(self._task(side, state, time))
        arms = along(self._arms[id(plan.stroke)], self._progress())
        assert target.com is not None
        return replace(
            target,
            com=target.com + np.array([lean, 0.0, 0.0]),
            position=self._with_arms(target.position, arms),
        )

    def _with_arms(self, position: Array, arms: Array) -> Array:
        """Return joint positions with those of the arms from others."""
        return np.where(self._is_arm, arms, position)

    def _task(self, side: Side, state: _HandState, time: float) -> FrameTask:
        """Return the task of a hand in this phase, and set the force that it feels."""
        plan, gains = self.plan, self.gains
        shift = self.controller.feet.shift
        task, pressing = state.follow, self.phase in (Phase.APPROACH, Phase.PUSH)
        task.velocity[:] = task.acceleration[:] = 0.0
        if self.phase is Phase.STAND:
            task.pose[:3, 3] = plan.stroke.hands[side][0] + shift
        elif pressing and state.touched:
            task = state.press
            give_way = gains.give_way * self._pace / self._share
            state.stop = state.stop + self.controller.period * give_way * state.across
            task.pose[:3, 3] = state.stop
            self._press(state, time)
        elif pressing:
            task.pose[:3, 3] = plan.stroke.hands[side][0] + shift
            task.pose[FORWARD, 3] += self._approached
            task.velocity[FORWARD] = gains.approach * self._pace
        else:
            self._brake(state, time - self.began[Phase.RELEASE])
        return task

    def _brake(self, state: _HandState, passed: float) -> None:
        """Bring a hand to rest, then draw it back a little, off what it pushed."""
        task, speed = state.follow, state.last_speed
        braking = self.gains.braking * self._gravity
        left = max(speed - braking * passed, 0.0)
        gone = (speed**2 - left**2) / (2.0 * braking)
        back = smooth((passed - speed / braking) / self.gains.leaning)
        task.pose[:3, 3] = state.stop
        task.pose[FORWARD, 3] += gone - back * self.gains.back * state.hand.length
        task.velocity[FORWARD] = left
        task.acceleration[FORWARD] = -braking if left > 0.0 else 0.0

    def _press(self, state: _HandState, time: float) -> None:
        """Set the force of a hand that is in contact."""
        gains, share = self.gains, self._share
        wanted = gains.hold * share
        if self.phase is Phase.PUSH:
            grown = smooth((time - self.began[Phase.PUSH]) / gains.ramp)
            wanted += (share - wanted) * grown
        error = wanted - state.felt
        most = gains.correction * share
        state.correction += gains.integral * self.controller.period * error
        state.correction = min(max(state.correction, -most), most)
        told = wanted + state.correction
        force = np.array([-told, 0.0, 0.0])
        self.controller.applied_forces[state.hand.frame] = force


def _friction(robot: Robot, hands: Iterable[Hand]) -> tuple[Array, Array]:
    """Return viscous [Nm s/rad] and dry friction [Nm] of the arms' joints.

    In the order of v[6:], zero for all other joints.
    """
    arms = {name for hand in hands for name in hand.joints}
    own = {a.joint: a for a in robot.actuators if a.joint in arms}
    names = degree_names(robot)
    viscous = [own[name].viscous_friction if name in own else 0.0 for name in names]
    dry = [own[name].coulomb_friction if name in own else 0.0 for name in names]
    return np.array(viscous), np.array(dry)


def smooth(part: float) -> float:
    """Return 0 to 1 for 0 to 1, at rest and without acceleration at both ends."""
    s = min(max(part, 0.0), 1.0)
    return s**3 * (10.0 + s * (6.0 * s - 15.0))


def along(rows: Array, part: float) -> Array:
    """Return a row between the first (0) and the last (1), linear between them."""
    at = min(max(part, 0.0), 1.0) * (len(rows) - 1)
    row = min(math.floor(at), len(rows) - 2)
    return np.asarray(rows[row] + (at - row) * (rows[row + 1] - rows[row]))
