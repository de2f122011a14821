"""Runs made to order for the tests: a robot that sways on its feet."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pinocchio as pin

from equipoise.kinematics.com import com
from equipoise.log.run import Event, FootSensorPlace, Measured, Run
from equipoise.robot.joint_coordinates import joint_positions
from equipoise.robot.load import load
from equipoise.robot.model import Robot

GRAVITY = 9.80665
JOINT_REFERENCES = ("position", "velocity", "torque")


def swaying(
    robot: Robot | None = None,
    seconds: float = 1.0,
    rate: float = 100.0,
    **changes: Any,
) -> Run:
    """Return a run in which the base sways and the joints wave a little.

    Forces are made up, but sum to the weight. For two tenths of the time, from the
    middle on, nothing carries the robot.

    Args:
        robot: ``humanoid`` by default.
        seconds: Duration [s].
        rate: Rows a second [Hz].
        changes: Fields of the run to replace.
    """
    robot = robot or load("humanoid")
    rng = np.random.default_rng(7)
    rows, joints = round(seconds * rate) + 1, robot.nv - 6
    time = np.arange(rows) / rate
    wave = np.sin(2.0 * np.pi * 0.5 * time)
    tangent = 0.02 * wave[:, None] * rng.standard_normal(robot.nv)
    q = np.array([_moved(robot, step) for step in tangent])
    v = rng.standard_normal((rows, robot.nv))
    supported = ~((time > 0.5 * seconds) & (time < 0.7 * seconds))
    contacts = tuple(f"{side}_sole_{n}" for side in robot.soles for n in range(4))
    force = np.zeros((rows, len(contacts), 3))
    if contacts:
        share = robot.mass * GRAVITY / len(contacts)
        force[..., 2] = share * (1.0 + 0.2 * wave[:, None])
        force[~supported] = 0.0
    wrench = rng.standard_normal((rows, 6))
    wrench[:, 2] = 4.0 * force[:, 0, 2] if contacts else 0.0
    centre = np.array([com(robot, row) for row in q])
    zmp = centre * [1.0, 1.3, 0.0]
    fields: dict[str, Any] = {
        "robot": robot,
        "time": time,
        "q": q,
        "v": v,
        "a": rng.standard_normal((rows, robot.nv)),
        "torque": 20.0 * wave[:, None] * rng.standard_normal(joints),
        "contact_names": contacts,
        "contact_position": rng.standard_normal(force.shape),
        "contact_force": force,
        "foot_wrench": dict.fromkeys(robot.soles, wrench),
        "com": centre,
        "zmp": zmp,
        "supported": supported,
        "zmp_margin": 0.03 + 0.01 * wave,
        "references": {
            "com": np.tile(centre[0], (rows, 1)),
            "com_velocity": np.zeros((rows, 3)),
            "joint_position": rng.standard_normal((rows, joints)),
            "gain": rng.standard_normal((rows, 2, 2)),
        },
        "boxes": np.tile([1.0, 0.0, 0.1, 0.0, 0.0, 0.0, 1.0], (rows, 2, 1)),
        "events": (Event(0.5 * seconds, "left the ground"), Event(0.0, "start")),
        "summary": figures(robot, seconds),
    }
    return Run(**{**fields, **changes})


def sensing(run: Run, at: FootSensorPlace = "ankle", *, estimator: bool = False) -> Run:
    """Return a run with commands, sensors, and all that may be wanted.

    Numbers are made up; measurements are 4 ms old.

    Args:
        run: The run, from time zero on.
        at: Where the foot sensors are.
        estimator: Whether there are estimates, too.
    """
    robot, rows = run.robot, len(run.time)
    rng = np.random.default_rng(11)
    joints = (rows, robot.nv - 6)
    turns = rng.standard_normal((rows, 4))
    turns /= np.linalg.norm(turns, axis=1, keepdims=True)
    tilt = pin.SE3(pin.exp3(np.array([0.3, -1.0, 2.0])), np.array([0.1, 0.2, -0.3]))
    measured = Measured(
        time=np.maximum(run.time - 0.004, 0.0).round(9),
        position=joint_positions(robot, run.q) + rng.normal(0.0, 1e-3, joints),
        velocity=run.v[:, 6:] + rng.normal(0.0, 1e-3, joints),
        feet={
            side: wrench + rng.standard_normal((rows, 6))
            for side, wrench in run.foot_wrench.items()
        },
        feet_at=at,
        angular_velocity=rng.standard_normal((rows, 3)),
        specific_force=rng.standard_normal((rows, 3)),
        orientation=turns,
        imu_frame=robot.description.root,
        transform_imu_to_frame=np.array(tilt.homogeneous),
    )
    wanted = {
        **run.references,
        **{f"joint_{name}": rng.standard_normal(joints) for name in JOINT_REFERENCES},
        **{
            name: rng.standard_normal((rows, 3))
            for name in ("com_velocity", "com_acceleration", "dcm", "zmp")
        },
        "left_sole": np.hstack([rng.standard_normal((rows, 3)), turns]),
        "left_sole_twist": rng.standard_normal((rows, 6)),
        "support": rng.integers(0, 3, rows).astype(float),
        "torso": turns,
    }
    wanted["zmp"][: rows // 2] = np.nan
    near = np.array([_moved(robot, step) for step in rng.normal(0, 0.01, run.v.shape)])
    return replace(
        run,
        references=wanted,
        commands={name: rng.standard_normal(joints) for name in JOINT_REFERENCES},
        measured=measured,
        estimates={"q": near, "v": run.v + 0.01} if estimator else {},
    )


def figures(robot: Robot, seconds: float) -> dict[str, Any]:
    """Return a summary with all that a report shows."""
    return {
        "verb": "stand",
        "robot": robot.name,
        "engine": "native",
        "sentence": f"{robot.name} stood for {seconds:g} s.",
        "achieved": True,
        "fell_at_s": None,
        "duration_s": seconds,
        "dt_s": 0.001,
        "wall_s": 0.4321,
        "realtime_factor": 23.1,
        "com_error_m": {"mean": 0.0011, "max": 0.0029},
        "zmp_margin_m": {"min": 0.021, "mean": 0.034},
        "seed": 0,
        "versions": {"equipoise": "0.1.0", "numpy": "2.4"},
        "checks": [
            {
                "name": "CoM error",
                "value": 0.0029,
                "limit": 0.005,
                "unit": "m",
                "passed": True,
            },
            {
                "name": "vertical force",
                "value": 0.04,
                "limit": 0.03,
                "unit": "",
                "passed": False,
            },
        ],
        "warnings": ["the first step took long"],
    }


def joints_only(seconds: float = 1.0, **changes: Any) -> Run:
    """Return the same as a log of joints tells it: no contacts, wrenches or ZMP.

    Args:
        seconds: Duration [s].
        changes: Fields of the run to replace.
    """
    rows = len(swaying(seconds=seconds).time)
    nothing = np.zeros((rows, 0, 3))
    return swaying(
        seconds=seconds,
        contact_names=(),
        contact_position=nothing,
        contact_force=nothing,
        foot_wrench={},
        supported=np.zeros(rows, dtype=bool),
        **changes,
    )


def _moved(robot: Robot, step: np.ndarray) -> np.ndarray:
    return np.asarray(pin.integrate(robot.model, np.array(robot.standing), step))
