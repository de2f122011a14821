"""Force sensors in the hands, beside the sensors that every robot has."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pinocchio as pin

from equipoise.balance.whole_body.hands import Hand
from equipoise.control.signals import Measurement, State
from equipoise.simulation.noise import Channels, Noise
from equipoise.simulation.sensors import SensorSuite


class HandForceSensors(SensorSuite):
    """Sensors of a robot whose hands feel what they touch.

    Each measures the force of the world on all contact points of its hand, in axes of
    the hand's link; weight and inertia of the hand are no part of it.

    Args:
        others: The sensors beside these.
        hands: Hands that feel.
        force: Noise of the forces [N].
    """

    def __init__(
        self, others: SensorSuite, hands: Iterable[Hand], force: Noise | None = None
    ) -> None:
        self._hands = tuple(hands)
        self.hand_force = force or Noise()
        world = others.world
        robot = world.robot
        self._data = robot.model.createData()
        self._frames = [robot.frame_id(hand.link) for hand in self._hands]
        bodies = [robot.model.frames[frame].parentJoint for frame in self._frames]
        of_point = np.array(
            [world.in_body(p.link, p.position_in_link)[0] for p in world.contacts]
        )
        self._own = [of_point == body for body in bodies]
        super().__init__(world, others.encoders, others.feet, others.imu, others.seed)

    def reset(self) -> None:
        """Begin anew: the same random numbers, no measurements to wait for."""
        super().reset()
        # a seed of its own, so that the other sensors measure as they do without hands
        seed = int(np.random.default_rng(self.seed).integers(2**31))
        noises = {str(hand.side): (self.hand_force, 3) for hand in self._hands}
        self._felt = Channels(noises, Noise(), seed)

    def measure(self, state: State) -> Measurement:
        """Return what the sensors say; call it once for each step of the loop."""
        model = self.world.robot.model
        pin.forwardKinematics(model, self._data, state.q)
        forces = []
        for frame, own in zip(self._frames, self._own, strict=True):
            pose = pin.updateFramePlacement(model, self._data, frame)
            force = state.contact_force[own].sum(axis=0)
            forces.append(pose.rotation.T @ force)
        sample = self._felt.disturbed(np.concatenate(forces), pin.SE3.Identity())
        found = self._felt.delayed(state.time, sample)
        hands = {hand.side: found[self._felt.slices[hand.side]] for hand in self._hands}
        return replace(super().measure(state), hands=hands)
