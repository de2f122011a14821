"""Proximal policy optimisation [Schulman2017] in NumPy, for vector environments.

Policy and value are networks of two layers of 64 units; the policy's output is zero at
first. ``train`` is the whole of it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.study.environments import FleetEnv

Floats = NDArray[np.float32]

UNITS = 64
# PPO: discount of a control period and of advantages, bounds of the ratio of
# probabilities, step size of Adam, passes through the data and rows of a batch.
DISCOUNT, TRACE, CLIP, RATE, EPOCHS, BATCH = 0.99, 0.95, 0.2, 1e-3, 4, 2048
# Control periods of all robots between changes of the policy.
HORIZON = 50
# Iterations in which the scale of observations is learnt.
SCALING = 10
# Spread of actions at first (its logarithm), and what more of it is worth.
LOG_STD, ENTROPY = -1.5, 1e-3


class Network:
    """Layers of tanh, then a linear one that is zero at first."""

    def __init__(self, sizes: Sequence[int], generator: np.random.Generator) -> None:
        """Draw the weights.

        Args:
            sizes: Number of inputs, units of each layer, and outputs.
            generator: Source of random numbers.
        """
        self.parameters: list[Floats] = []
        for number, (rows, columns) in enumerate(itertools.pairwise(sizes)):
            scale = 0.0 if number == len(sizes) - 2 else 1.0 / math.sqrt(rows)
            weights = scale * generator.standard_normal((rows, columns))
            self.parameters += [weights.astype(np.float32), np.zeros(columns, "f4")]

    def layers(self, rows: Floats) -> list[Floats]:
        """Return inputs, what each layer makes of them, and outputs."""
        found = [rows]
        for at in range(0, len(self.parameters), 2):
            rows = rows @ self.parameters[at] + self.parameters[at + 1]
            if at < len(self.parameters) - 2:
                rows = np.tanh(rows)
            found.append(rows)
        return found

    def gradient(self, layers: list[Floats], slope: Floats) -> list[Floats]:
        """Return the gradient of a loss whose slope by the outputs is given."""
        found: list[Floats] = []
        for at in reversed(range(0, len(self.parameters), 2)):
            before = layers[at // 2]
            found = [before.T @ slope, slope.sum(axis=0), *found]
            slope = (slope @ self.parameters[at].T) * (1.0 - before**2)
        return found


@dataclass
class Adam:
    """Adam [Kingma2015] on some arrays, which it changes in place."""

    parameters: list[Floats]
    step: int = 0
    mean: list[Any] = field(default_factory=list)
    square: list[Any] = field(default_factory=list)

    def descend(self, gradients: list[Floats], rate: float) -> None:
        """Take one step down."""
        if not self.mean:
            self.mean = [np.zeros_like(own) for own in self.parameters]
            self.square = [np.zeros_like(own) for own in self.parameters]
        size = math.sqrt(sum(float((own**2).sum()) for own in gradients))
        self.step += 1
        for own, mean, square, gradient in zip(
            self.parameters, self.mean, self.square, gradients, strict=True
        ):
            gradient = gradient * min(1.0, 1.0 / max(size, 1e-9))
            mean += 0.1 * (gradient - mean)
            square += 1e-3 * (gradient**2 - square)
            unbiased = square / (1.0 - 0.999**self.step)
            own -= rate * (mean / (1.0 - 0.9**self.step)) / (np.sqrt(unbiased) + 1e-8)


class Policy:
    """Observations become actions."""

    def __init__(self, inputs: int, outputs: int, seed: int) -> None:
        """Begin with actions of zero."""
        generator = np.random.default_rng(seed)
        self.network = Network((inputs, UNITS, UNITS, outputs), generator)
        self.value = Network((inputs, UNITS, UNITS, 1), generator)
        self.log_std = np.full(outputs, LOG_STD, dtype=np.float32)
        # of observations: mean, variance, and how many they are of
        self.mean, self.variance = np.zeros(inputs), np.ones(inputs)
        self.seen = 1e-4

    def look(self, observations: Floats) -> None:
        """Learn mean and variance of observations."""
        count = len(observations)
        mean, variance = observations.mean(axis=0), observations.var(axis=0)
        total, off = self.seen + count, mean - self.mean
        spread = self.seen * self.variance + count * variance
        self.variance = (spread + off**2 * self.seen * count / total) / total
        self.mean = self.mean + off * count / total
        self.seen = total

    def scaled(self, observations: Floats) -> Floats:
        """Return observations of mean 0 and variance 1."""
        rows = (observations - self.mean) / np.sqrt(self.variance + 1e-8)
        return np.asarray(np.clip(rows, -10.0, 10.0), dtype=np.float32)

    def __call__(self, observations: Floats) -> Floats:
        """Return the mean of actions, shape (n, actions)."""
        return self.network.layers(self.scaled(observations))[-1]

    def save(self, path: str) -> None:
        """Write the scale of observations and the weights, layer by layer."""
        np.savez(path, *self.network.parameters, mean=self.mean, variance=self.variance)


class Rows(NamedTuple):
    """What robots did: observations, actions, their log-probability, what they won."""

    seen: Floats
    action: Floats
    likelihood: Floats
    advantage: Floats
    target: Floats


def collect(
    env: FleetEnv, policy: Policy, first: Floats, generator: np.random.Generator
) -> tuple[Rows, Floats, float]:
    """Let robots act; return what they did, the next observations, the mean reward."""
    now, shape = first, (HORIZON, env.num_envs)
    seen, acted, likely, value = [], [], [], []
    reward, ended = np.zeros(shape, "f4"), np.zeros(shape, bool)
    future = np.zeros(shape, "f4")
    for period in range(HORIZON):
        rows = policy.scaled(now)
        noise = generator.standard_normal((len(now), len(policy.log_std))).astype("f4")
        action = policy.network.layers(rows)[-1] + np.exp(policy.log_std) * noise
        seen.append(now)
        acted.append(action)
        likely.append(-(0.5 * noise**2 + policy.log_std).sum(axis=1))
        value.append(policy.value.layers(rows)[-1][:, 0])
        now, won, fell, late, info = env.step(np.clip(action, -1.0, 1.0))
        reward[period], ended[period] = won, fell | late
        if late.any():  # a time-out is no fall: what would have come is estimated
            last = policy.scaled(np.stack(list(info["final_obs"][late])))
            future[period, late] = DISCOUNT * policy.value.layers(last)[-1][:, 0]
    worth = np.array([*value, policy.value.layers(policy.scaled(now))[-1][:, 0]])
    advantage, running = np.zeros(shape, "f4"), np.zeros(env.num_envs, "f4")
    for period in reversed(range(HORIZON)):
        goes_on = 1.0 - ended[period]
        comes = future[period] + DISCOUNT * goes_on * worth[period + 1]
        error = reward[period] + comes - worth[period]
        running = error + DISCOUNT * TRACE * goes_on * running
        advantage[period] = running
    columns = (np.concatenate(part) for part in (seen, acted, likely))
    target = (advantage + worth[:-1]).ravel()
    return Rows(*columns, advantage.ravel(), target), now, float(reward.mean())


def improve(
    policy: Policy,
    rows: Rows,
    actor: Adam,
    critic: Adam,
    rate: float,
    generator: np.random.Generator,
) -> None:
    """Change policy and value by what robots did."""
    count = len(rows.seen)
    for _ in range(EPOCHS):
        order = generator.permutation(count)
        for at in range(0, count - BATCH + 1, BATCH):
            part = Rows(*(column[order[at : at + BATCH]] for column in rows))
            gain = part.advantage - part.advantage.mean()
            gain /= part.advantage.std() + 1e-8
            rows_seen = policy.scaled(part.seen)
            layers = policy.network.layers(rows_seen)
            noise = (part.action - layers[-1]) / np.exp(policy.log_std)
            likely = -(0.5 * noise**2 + policy.log_std).sum(axis=1)
            ratio = np.exp(likely - part.likelihood)
            # no more is won by going beyond the bounds
            within = np.where(gain > 0.0, ratio < 1.0 + CLIP, ratio > 1.0 - CLIP)
            slope = (-gain * ratio * within / BATCH)[:, None]
            by_mean = slope * noise / np.exp(policy.log_std)
            by_std = (slope * (noise**2 - 1.0)).sum(axis=0) - ENTROPY
            gradients = policy.network.gradient(layers, by_mean.astype("f4"))
            actor.descend([*gradients, by_std.astype("f4")], rate)
            layers = policy.value.layers(rows_seen)
            off = (layers[-1] - part.target[:, None]) / BATCH
            critic.descend(policy.value.gradient(layers, off), rate)


def train(
    env: FleetEnv,
    iterations: int,
    seed: int = 0,
    progress: Callable[[int, float, Policy], None] | None = None,
) -> Policy:
    """Return a policy trained in an environment, the same for the same seed.

    Args:
        env: Robots that learn.
        iterations: Changes of the policy.
        seed: Of weights, actions and pushes.
        progress: Is told the iteration, the mean reward and the policy now and then.
    """
    generator = np.random.default_rng(seed)
    policy = Policy(len(env.observation_names), len(env.action_names), seed)
    actor = Adam([*policy.network.parameters, policy.log_std])
    critic = Adam(policy.value.parameters)
    now, _ = env.reset(seed=seed)
    policy.look(now)
    for iteration in range(iterations):
        rows, now, reward = collect(env, policy, now, generator)
        rate = RATE * (1.0 - iteration / iterations)
        improve(policy, rows, actor, critic, rate, generator)
        if iteration < SCALING:
            policy.look(rows.seen)
        if progress is not None:
            progress(iteration, reward, policy)
    return policy
