"""Equipoise: the centre-of-mass toolkit for biped and humanoid robots."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from equipoise.control.blocks import (
        Controller,
        Estimator,
        Hold,
        OpenLoop,
        Plant,
        Reference,
    )
    from equipoise.control.signals import (
        Command,
        Measurement,
        State,
        Target,
        Wrench,
    )
    from equipoise.dynamics.forward import forward_dynamics
    from equipoise.errors import EquipoiseError
    from equipoise.gait.fit import fit_walk
    from equipoise.gait.gait import Gait
    from equipoise.gait.motion import Motion, solve
    from equipoise.gait.plan import plan_walk
    from equipoise.identification.identified import Identified
    from equipoise.identification.identify import identify, identify_poses
    from equipoise.identification.measuring.log_poses import measured_poses
    from equipoise.identification.noise import SensorNoise
    from equipoise.identification.posing.candidates import pose_candidates
    from equipoise.identification.posing.design import choose_poses
    from equipoise.identification.prior import Prior, default_prior
    from equipoise.identification.statics import MeasuredPoses
    from equipoise.kinematics.com import (
        centroidal_momentum,
        com,
        com_and_jacobian,
        com_jacobian,
        com_jacobian_rate,
        com_velocity,
    )
    from equipoise.kinematics.com_legs import solve_com
    from equipoise.kinematics.com_targets import com_targets
    from equipoise.kinematics.frames import frame_jacobian, frame_pose
    from equipoise.kinematics.limb_com import (
        limb_com_contribution,
        limb_com_contribution_and_jacobian,
        limb_com_jacobian,
    )
    from equipoise.kinematics.support import polygon_margin, support_polygon
    from equipoise.kinematics.terrain import Flat, HeightField, Slope, Stairs, rough
    from equipoise.log.mcap_format.mcap_reader import read_run
    from equipoise.log.open_run import open_run, read_recording
    from equipoise.log.recordings.recording import Recording
    from equipoise.log.run import Run
    from equipoise.robot.catalogue import catalogue_names
    from equipoise.robot.formats.write import export_robot, write_mjcf, write_urdf
    from equipoise.robot.joint_coordinates import joint_positions
    from equipoise.robot.load import load
    from equipoise.robot.model import Robot
    from equipoise.show.pages.report import report
    from equipoise.show.viewer.window import view
    from equipoise.simulation.actuation import Actuation, actuation_of
    from equipoise.simulation.contacts import (
        ContactPoint,
        Material,
        contact_point,
        default_material,
        sole_points,
    )
    from equipoise.simulation.engine import DivergedError, Trace
    from equipoise.simulation.fleet import Fleet
    from equipoise.simulation.fleet_states import FleetState
    from equipoise.simulation.mujoco_engine import MujocoEngine
    from equipoise.simulation.native import NativeEngine
    from equipoise.simulation.noise import Noise
    from equipoise.simulation.obstacles import Box, Wall
    from equipoise.simulation.sensors import Encoders, FootSensors, Imu, SensorSuite
    from equipoise.simulation.simulate import simulate
    from equipoise.simulation.start import body_points, stance_on
    from equipoise.simulation.trials import drop, stand
    from equipoise.simulation.variation import Variation
    from equipoise.simulation.walk import walk
    from equipoise.simulation.world import Push, World, make_world, with_payload

__version__ = "0.1.0"

# Where each public name lives. Imported on first use, so that `import equipoise`
# and `equipoise --help` do not wait for Pinocchio and Warp.
_HOMES = {
    "Actuation": "simulation.actuation",
    "Box": "simulation.obstacles",
    "Command": "control.signals",
    "ContactPoint": "simulation.contacts",
    "Controller": "control.blocks",
    "DivergedError": "simulation.engine",
    "Encoders": "simulation.sensors",
    "EquipoiseError": "errors",
    "Estimator": "control.blocks",
    "Flat": "kinematics.terrain",
    "Fleet": "simulation.fleet",
    "FleetState": "simulation.fleet_states",
    "FootSensors": "simulation.sensors",
    "Gait": "gait.gait",
    "HeightField": "kinematics.terrain",
    "Hold": "control.blocks",
    "Identified": "identification.identified",
    "Imu": "simulation.sensors",
    "Material": "simulation.contacts",
    "MeasuredPoses": "identification.statics",
    "Measurement": "control.signals",
    "Motion": "gait.motion",
    "MujocoEngine": "simulation.mujoco_engine",
    "NativeEngine": "simulation.native",
    "Noise": "simulation.noise",
    "OpenLoop": "control.blocks",
    "Plant": "control.blocks",
    "Prior": "identification.prior",
    "Push": "simulation.world",
    "Recording": "log.recordings.recording",
    "Reference": "control.blocks",
    "Robot": "robot.model",
    "Run": "log.run",
    "SensorNoise": "identification.noise",
    "SensorSuite": "simulation.sensors",
    "Slope": "kinematics.terrain",
    "Stairs": "kinematics.terrain",
    "State": "control.signals",
    "Target": "control.signals",
    "Trace": "simulation.engine",
    "Variation": "simulation.variation",
    "Wall": "simulation.obstacles",
    "World": "simulation.world",
    "Wrench": "control.signals",
    "actuation_of": "simulation.actuation",
    "body_points": "simulation.start",
    "catalogue_names": "robot.catalogue",
    "centroidal_momentum": "kinematics.com",
    "choose_poses": "identification.posing.design",
    "com": "kinematics.com",
    "com_and_jacobian": "kinematics.com",
    "com_jacobian": "kinematics.com",
    "com_jacobian_rate": "kinematics.com",
    "com_targets": "kinematics.com_targets",
    "com_velocity": "kinematics.com",
    "contact_point": "simulation.contacts",
    "default_material": "simulation.contacts",
    "default_prior": "identification.prior",
    "drop": "simulation.trials",
    "export_robot": "robot.formats.write",
    "fit_walk": "gait.fit",
    "forward_dynamics": "dynamics.forward",
    "frame_jacobian": "kinematics.frames",
    "frame_pose": "kinematics.frames",
    "identify": "identification.identify",
    "identify_poses": "identification.identify",
    "joint_positions": "robot.joint_coordinates",
    "limb_com_jacobian": "kinematics.limb_com",
    "limb_com_contribution": "kinematics.limb_com",
    "limb_com_contribution_and_jacobian": "kinematics.limb_com",
    "load": "robot.load",
    "make_world": "simulation.world",
    "measured_poses": "identification.measuring.log_poses",
    "open_run": "log.open_run",
    "plan_walk": "gait.plan",
    "polygon_margin": "kinematics.support",
    "pose_candidates": "identification.posing.candidates",
    "read_recording": "log.open_run",
    "read_run": "log.mcap_format.mcap_reader",
    "report": "show.pages.report",
    "rough": "kinematics.terrain",
    "simulate": "simulation.simulate",
    "sole_points": "simulation.contacts",
    "solve": "gait.motion",
    "solve_com": "kinematics.com_legs",
    "stance_on": "simulation.start",
    "stand": "simulation.trials",
    "support_polygon": "kinematics.support",
    "view": "show.viewer.window",
    "walk": "simulation.walk",
    "with_payload": "simulation.world",
    "write_mjcf": "robot.formats.write",
    "write_urdf": "robot.formats.write",
}

__all__ = [  # noqa: RUF022 (in the order of the road)
    "EquipoiseError",
    "Robot",
    "catalogue_names",
    "load",
    "export_robot",
    "write_mjcf",
    "write_urdf",
    "com",
    "com_velocity",
    "com_jacobian",
    "com_and_jacobian",
    "com_jacobian_rate",
    "centroidal_momentum",
    "frame_pose",
    "frame_jacobian",
    "limb_com_contribution",
    "limb_com_jacobian",
    "limb_com_contribution_and_jacobian",
    "support_polygon",
    "polygon_margin",
    "joint_positions",
    "World",
    "make_world",
    "with_payload",
    "Material",
    "default_material",
    "ContactPoint",
    "contact_point",
    "sole_points",
    "body_points",
    "Flat",
    "Slope",
    "Stairs",
    "HeightField",
    "rough",
    "Wall",
    "Box",
    "Push",
    "Actuation",
    "actuation_of",
    "NativeEngine",
    "MujocoEngine",
    "Fleet",
    "FleetState",
    "Variation",
    "State",
    "Measurement",
    "Wrench",
    "Target",
    "Command",
    "Reference",
    "Estimator",
    "Controller",
    "Plant",
    "Hold",
    "OpenLoop",
    "Trace",
    "DivergedError",
    "SensorSuite",
    "Encoders",
    "FootSensors",
    "Imu",
    "Noise",
    "stance_on",
    "simulate",
    "stand",
    "drop",
    "Run",
    "read_run",
    "open_run",
    "Recording",
    "read_recording",
    "report",
    "view",
    "forward_dynamics",
    "com_targets",
    "solve_com",
    "Gait",
    "plan_walk",
    "fit_walk",
    "Motion",
    "solve",
    "walk",
    "identify",
    "identify_poses",
    "Identified",
    "MeasuredPoses",
    "measured_poses",
    "SensorNoise",
    "Prior",
    "default_prior",
    "pose_candidates",
    "choose_poses",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module 'equipoise' has no attribute '{name}'")
    found = getattr(import_module(f"equipoise.{_HOMES[name]}"), name)
    globals()[name] = found  # so that controllers find it at once the next time
    return found


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
