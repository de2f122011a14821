"""Joint torques that keep a torque-controlled robot on its plan.

The CoM is accelerated as Eq. (54) of [Sariyildiz2015] says,

    c̈ = c̈_plan + K_D (ċ_plan - ċ) + K_P (c_plan - c),

with K_P = k ω² and K_D = (1 + k) ω: then it is DCM feedback, and the error of
ξ = c + ċ / ω falls at the rate k ω. The plan is seen from the feet that carry. Where a
push takes the DCM of a robot that stands towards the edge of its soles, another law
takes over (:mod:`~equipoise.balance.whole_body.capture`). Swing feet, torso and posture
are further tasks; all of them, exact dynamics, contacts and limits make one quadratic
programme (:mod:`~equipoise.balance.whole_body.inverse_dynamics`).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array, frozen_array
from equipoise.balance.estimator import Estimate
from equipoise.balance.skeleton import BASE_DOF
from equipoise.balance.whole_body.capture import Capture
from equipoise.balance.whole_body.capture_tasks import BalanceTasks
from equipoise.balance.whole_body.clearance import ArmClearance
from equipoise.balance.whole_body.compiled import CompiledProblem
from equipoise.balance.whole_body.dynamics import Dynamics
from equipoise.balance.whole_body.feet import Feet
from equipoise.balance.whole_body.friction import FrictionCompensation
from equipoise.balance.whole_body.gains import WholeBodyGains
from equipoise.balance.whole_body.handover import Handover
from equipoise.balance.whole_body.inverse_dynamics import (
    Contact,
    Limits,
    Problem,
    Solution,
    build_qp,
    solve_qp,
)
from equipoise.balance.whole_body.limits import JointRange, Joints
from equipoise.balance.whole_body.problem import RangeLimits
from equipoise.balance.whole_body.step_targets import omega_of
from equipoise.balance.whole_body.steps import RecoverySteps
from equipoise.balance.whole_body.swing_limits import hip_degrees, with_slow_hips
from equipoise.balance.whole_body.tasks import (
    ComTask,
    FrameTask,
    PostureTask,
    Task,
)
from equipoise.control.blocks import Controller
from equipoise.control.signals import Command, State, Target
from equipoise.errors import EquipoiseError
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.robot.joint_coordinates import degree_of
from equipoise.robot.model import Robot

# What a tick may have to give up: contacts that stay strictly, limits of position and
# speed, or all of it, where torques are zero.
GIVEN_UP = ("contacts", "limits", "all")


class WholeBodyController(Controller[State]):
    """Makes joint torques for a robot that stands or walks.

    Args:
        robot: The robot as it is known.
        period: Time between two ticks [s].
        joints: What its actuators can do.
        gains: Its numbers.
        tasks: Tasks beside those of balance.
        follow: Joints that follow their targets closely, as those of a hand that waves.
        loose: Joints that other tasks may move, as those of arms that swing.
        solver: Any that ``qpsolvers`` knows.

    Attributes:
        torque_limit: Largest torques that are asked for [Nm or N], shape (nv - 6,).
        dynamics: Dynamics of the robot in the last tick.
        feet: What the feet do.
        com_task: The task of the CoM; those of the others likewise.
        capture: What captures pushes while it stands.
        tasks: Tasks beside those of balance, which one may change.
        applied_forces: Forces of the world on frames beside the feet, as far as they
            are known, in world axes [N], shape (3,) each; one may change them.
        solution: The last solution.
        relaxed: How many ticks had to give up contacts or limits, by which.
        ticks: How many ticks there were.
    """

    def __init__(
        self,
        robot: Robot,
        period: float,
        joints: Joints,
        gains: WholeBodyGains | None = None,
        *,
        tasks: Sequence[Task] = (),
        follow: Sequence[str] = (),
        loose: Sequence[str] = (),
        solver: str = "daqp",
    ) -> None:
        self.robot, self.period, self.solver = robot, period, solver
        self.gains = gains = gains or WholeBodyGains()
        self.joints, self.torque_limit = joints, gains.torque * joints.torque
        motion = joints.motion
        self._motion = replace(motion, speed=gains.speed * motion.speed)
        self.dynamics = Dynamics(robot, joints.rotor_inertia)
        self.feet = Feet(self.dynamics, period, gains.foot)
        self._handover = Handover(period, 0.25 * gains.foot.unloading)
        rate = self.feet.rate
        self.com_task = ComTask(gains.com_weight)
        self._com_roots = np.sqrt([gains.com_weight, gains.hasty_com_weight])
        torso = robot.limbs.get("torso")
        link = robot.description.root if torso is None else torso.end_link
        self.torso_task = FrameTask(
            link,
            gains.torso_weight,
            (gains.torso * rate) ** 2,
            directions=(3, 4, 5),
        )
        weights = np.full(len(joints.torque), gains.posture_weight)
        weights[[degree_of(robot, name) for name in loose]] = gains.loose_weight
        self._follow = [degree_of(robot, name) for name in follow]
        self._no_acceleration = frozen_array(np.zeros(len(joints.torque)))
        weights[self._follow] = gains.follow_weight
        self.posture_task = PostureTask(weights, (gains.posture * rate) ** 2)
        self.capture = Capture(
            self.dynamics,
            self.feet,
            BalanceTasks(self.com_task, self.torso_task, self.posture_task),
            joints.motion,
            self.torque_limit,
            self._follow,
            gains.height * rate,
            period,
            gains.capture,
            gains.capture_in_place,
        )
        self._clearance = ArmClearance(robot, self.feet.length, period, gains.clearance)
        change = gains.off_plan * rate * period
        back = gains.posture * rate
        self._friction = FrictionCompensation(robot, joints, change, back)
        self._hips = hip_degrees(robot)
        self.tasks = list(tasks)
        self.steps: RecoverySteps | None = None
        self.applied_forces: dict[str, Array] = {}
        self._torso = self.dynamics.frame(link)
        upright = self.dynamics.pose(self._torso).rotation  # standing
        self._torso_in_upright = np.array(upright)
        self._compiled = CompiledProblem(self.dynamics)
        self._asked: tuple[tuple[Task, ...], list[Contact], Limits] | None = None
        self.solution: Solution | None = None
        self._near: NDArray[np.bool_] | None = None
        self._wanted_velocity: Array | None = None
        self.ticks, self.relaxed = 0, dict.fromkeys(GIVEN_UP, 0)

    def reset(self, start: State) -> None:
        """Begin in the state at the start."""
        self.feet.reset()
        if self.steps is not None:
            self.steps.reset()
        self._handover.reset()
        self.capture.reset()
        self._clearance.reset()
        self._prepare()
        self._friction.reset()
        self._near = self._asked = self.solution = self._wanted_velocity = None
        self.ticks, self.relaxed = 0, dict.fromkeys(GIVEN_UP, 0)

    def control(self, known: State, target: Target) -> Command:
        """Return a command for the next period: torques, and velocities to damp with.

        Args:
            known: An :class:`~equipoise.balance.estimator.Estimate`.
            target: What is wanted; a walk, a dance, a stance.

        Raises:
            EquipoiseError: If it is another state, or a target without CoM and soles,
                or no torques exist.
        """
        if not isinstance(known, Estimate):
            raise EquipoiseError(
                "whole-body control needs an Estimate: give simulate a "
                "ContactAidedEstimator with sensors"
            )
        if target.com is None or target.soles is None or target.torso is None:
            raise EquipoiseError(
                "whole-body control needs a target with CoM, ZMP, soles and torso: a "
                "motion, not joints alone"
            )
        dynamics, gains = self.dynamics, self.gains
        dynamics.update(known.q, known.v)
        known = self.capture.remember(known, omega_of(target))
        self._add_payload(known)
        if self.steps is not None:
            target = self.steps.adjust(known, target)
        self._add_friction(known, target)
        for frame, force in self.applied_forces.items():
            jacobian = dynamics.jacobian(dynamics.frame(frame))
            dynamics.bias_force -= force @ jacobian[:3]
        self._set_tasks(known, target)
        clear = self._clear_arms()
        velocity = known.v[BASE_DOF:]
        limits = RangeLimits(
            self.torque_limit,
            self._joint_range(clear=bool(clear)),
            dynamics.joint_positions,
            velocity,
            gains.limit_periods * self.period,
        )
        own = (*self._own_tasks, *self.capture.tasks, *clear)

        def as_before(contacts: Sequence[Contact], feet: Sequence[FrameTask]) -> Array:
            return self._solve((*own, *feet), contacts, limits).acceleration

        feet, contacts = self.feet.tasks, self.feet.contacts
        self._handover.update(dynamics, contacts, feet, as_before)
        self._asked = (*own, *feet), contacts, limits
        with self.capture.holding(contacts) if self.capture.alert else nullcontext():
            found = self._solve(*self._asked, self._near)
        self.solution, self._near = found, found.near
        self.ticks += 1
        if found.relaxed:
            self.relaxed[found.relaxed] += 1
        velocity = self.capture.told_velocity(velocity, found.acceleration[BASE_DOF:])
        position = dynamics.joint_positions + self.period * velocity
        return Command(position, velocity, found.torque)

    def _set_tasks(self, known: Estimate, target: Target) -> None:
        """Set what the tasks of balance and of feet ask for."""
        shift = self.feet.update(known, self.capture.lifted.target(target))
        wanted = self._com_acceleration(known, target, shift)
        assert target.torso is not None
        self.torso_task.pose[:3, :3] = target.torso.dot(self._torso_in_upright)
        self.posture_task.position = target.position
        self.posture_task.velocity = target.velocity
        self.posture_task.acceleration = self._joint_acceleration(target)
        self.com_task.acceleration = self.capture.adjust(
            known, target, wanted, may_step=self.steps is not None
        )
        if self.capture.alert == 0.0:
            hasty = self.feet.hasty
            self.com_task.root_weight = self._com_roots[1 if hasty else 0]

    def _joint_range(self, *, clear: bool) -> JointRange:
        """Return where joints may be and how fast, also while a push is recovered from.

        Args:
            clear: Whether arms keep clear.
        """
        motion = self._motion
        if self.capture.alert > 0.0:
            part = min(self.gains.speed, self.capture.speed)
            motion = replace(motion, speed=part * self.joints.motion.speed)
        if self.feet.hasty:
            motion = with_slow_hips(motion, self.feet, self._hips)
        if clear:
            motion = self._clearance.stops(motion, self.dynamics.joint_positions)
        return motion

    def _clear_arms(self) -> tuple[Task, ...]:
        """Return the task of arms that keep clear, while a push is recovered from."""
        recovers = self.capture.alert > 0.0 or self.feet.hasty
        if not self._clearance.needed(recovers=recovers):
            return ()
        swings = any(not foot.state.carries for foot in self.feet.feet)
        self._clearance.update(self.dynamics, leg_swings=swings)
        return (self._clearance,)

    def _prepare(self) -> None:
        """Compile, and lay out memory of all stances, before there is a hurry."""
        own, feet = self._own_tasks, self.feet.feet
        for carrying in (feet, feet[:1], feet[1:]):
            swings = [foot.task for foot in feet if foot not in carrying]
            contacts = [foot.contact for foot in carrying]
            self._compiled.prepare((*own, *swings), contacts)

    @property
    def _own_tasks(self) -> tuple[Task, ...]:
        """Tasks beside those of swing feet."""
        return (self.com_task, self.torso_task, self.posture_task, *self.tasks)

    @property
    def problem(self) -> Problem | None:
        """The last quadratic programme, to inspect; None before the first tick."""
        return None if self._asked is None else build_qp(self.dynamics, *self._asked)

    def _solve(
        self,
        tasks: tuple[Task, ...],
        contacts: Sequence[Contact],
        limits: Limits,
        near: NDArray[np.bool_] | None = None,
    ) -> Solution:
        """Return torques of tasks, by compiled code where it can."""
        found = None
        if self.solver == "daqp":
            found = self._compiled.solve(tasks, contacts, limits, near)
        if found is None:
            problem = build_qp(self.dynamics, tasks, contacts, limits)
            found = solve_qp(problem, self.solver, near)
        return found

    def _com_acceleration(self, known: Estimate, target: Target, shift: Array) -> Array:
        """Return the CoM acceleration that is wanted, Eq. (54) of [Sariyildiz2015]."""
        com, velocity = target.com, target.com_velocity
        acceleration = target.com_acceleration
        assert com is not None
        assert velocity is not None
        assert acceleration is not None
        omega, k = omega_of(target), self.gains.dcm
        stiffness, damping = k * omega**2, (1.0 + k) * omega
        rate = self.gains.height * self.feet.rate
        # in plain numbers: vectors of three would take three times as long
        (x, y, z), (shift_x, shift_y, shift_z) = com.tolist(), shift.tolist()
        is_x, is_y, is_z = known.com.tolist()
        off_x, off_y = known.com_offset.tolist()
        fast = velocity.tolist()
        is_fast = known.com_velocity.tolist()
        back = (
            damping * (fast[0] - is_fast[0]) + stiffness * (x + shift_x - is_x - off_x),
            damping * (fast[1] - is_fast[1]) + stiffness * (y + shift_y - is_y - off_y),
            2.0 * rate * (fast[2] - is_fast[2]) + rate**2 * (z + shift_z - is_z),
        )
        return np.asarray(acceleration + np.array(back))

    def _joint_acceleration(self, target: Target) -> Array:
        """Return the accelerations of the targets of joints that follow closely."""
        before, self._wanted_velocity = self._wanted_velocity, target.velocity
        if not self._follow or before is None:
            return self._no_acceleration
        acceleration = np.zeros(len(target.velocity))
        change = (target.velocity - before)[self._follow]
        acceleration[self._follow] = change / self.period
        return acceleration

    def _add_friction(self, known: Estimate, target: Target) -> None:
        """Add the friction of the joints."""
        away = None
        if self._clearance.lingers:
            away = target.position - self.dynamics.joint_positions
        off = max(self.capture.alert, float(self.feet.hasty))
        taken = self._friction.torque(off, target.velocity, known.v[BASE_DOF:], away)
        self.dynamics.bias_force[BASE_DOF:] += taken

    def _add_payload(self, known: Estimate) -> None:
        """Add the weight of what the torso carries beside the model, as estimated."""
        dynamics, mass = self.dynamics, self.robot.mass
        more = (float(known.mass_ratio) - 1.0) * mass
        weight, down = STANDARD_GRAVITY * (mass + more), -STANDARD_GRAVITY * more
        x, y = known.com_offset.tolist()
        com_x, com_y, _ = dynamics.com.tolist()
        torso_x, torso_y, _ = dynamics.pose(self._torso).translation.tolist()
        about_x = (com_y - torso_y) * down - y * weight
        about_y = x * weight - (com_x - torso_x) * down
        wrench = np.array((0.0, 0.0, down, about_x, about_y, 0.0))
        dynamics.bias_force -= wrench.dot(dynamics.jacobian(self._torso))
