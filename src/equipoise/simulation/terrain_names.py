"""Terrain from a few words, as the command line gives it."""

from __future__ import annotations

import math
import os
import warnings
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError, suggest
from equipoise.input_file import LARGEST_TABLE_BYTES, open_input
from equipoise.kinematics.blocks import Blocks, blocks
from equipoise.kinematics.com import com
from equipoise.kinematics.frames import frame_pose
from equipoise.kinematics.terrain import (
    Flat,
    HeightField,
    Slope,
    Stairs,
    Terrain,
    rough,
)
from equipoise.robot.model import Robot

CHOICES = {
    "flat": "flat",
    "slope": "slope:PITCH[,ROLL] in degrees",
    "stairs": "stairs:RISE,TREAD,COUNT[,START] in m",
    "rough": "rough:AMPLITUDE[,WAVELENGTH] in m",
    "blocks": "blocks:STEP[,SLOPE[,SIZE]] in m, degrees and m",
    "field": "field:FILE[,CELL] in m, FILE being .npy or .csv",
}
EXAMPLES = "slope:5, stairs:0.1,0.3,5, rough:0.02, blocks:0.02,4, field:ground.npy,0.05"
FILE_ENDINGS = (".npy", ".csv")

DEFAULT_SLOPE = 5.0
# Largest tilt of blocks [degrees].
DEFAULT_TILT = 4.0
DEFAULT_STEPS = 5
DEFAULT_CELL = 0.05
# Shares of the leg's length: easy stairs, roughness that a sole can still lie on.
RISE_PER_LEG = 0.1
ROUGHNESS_PER_LEG = 0.01
STEP_PER_LEG = 0.02
EXTENT_PER_LEG = 15.0
# Of the sole's length; a foot fits on a tread, on a block and on a bump.
TREAD_PER_SOLE = 1.5
BLOCK_PER_SOLE = 2.0
WAVELENGTH_PER_SOLE = 2.0
# Where there is no sole, or only a point, its length is this share of the leg's.
SOLE_PER_LEG = 0.25


def terrain_named(text: str, robot: Robot, seed: int = 0) -> Terrain:
    """Return terrain from a few words; sizes not given suit the robot.

    Args:
        text: ``flat``; ``slope``, ``slope:5`` or ``slope:5,2`` (pitch and roll in
            degrees); ``stairs``, ``stairs:0.1,0.3,5`` (rise, tread, number) or with a
            fourth number where the first riser is (else just before the toes of the
            standing robot); ``rough``, ``rough:0.02`` or ``rough:0.02,0.4``
            (amplitude, wavelength), flat under the standing robot; ``blocks``,
            ``blocks:0.02``, ``blocks:0.02,4`` or ``blocks:0.02,4,0.5`` (largest height
            or depth, largest tilt in degrees, edge length), the same;
            ``field:FILE,CELL``, or just a file, for heights in a NumPy or CSV file
            [m] around the origin, rows along y, with a node every CELL or 0.05 m.
        robot: Who shall stand on it.
        seed: Seed of random roughness and of blocks.

    Raises:
        EquipoiseError: If there is no such terrain, or a figure or file is bad.
    """
    name, colon, rest = text.strip().partition(":")
    if name == "field" and rest.strip():
        return _field(rest, text)
    if text.strip().lower().endswith(FILE_ENDINGS):
        return _height_field(Path(text.strip()), DEFAULT_CELL)
    if name in CHOICES and not rest.strip() and (colon or name == "field"):
        raise EquipoiseError(
            f"terrain '{text}': numbers are missing: {CHOICES[name]} (for example "
            f"{EXAMPLES})"
        )
    if name not in CHOICES:
        raise EquipoiseError(
            f"there is no terrain '{text}'{suggest(name, CHOICES)}; "
            f"the choices are: {'; '.join(CHOICES.values())} (for example {EXAMPLES})"
        )
    numbers = _numbers(rest, text) if colon else []
    most = {"flat": 0, "slope": 2, "stairs": 4, "rough": 2, "blocks": 3}[name]
    if len(numbers) > most:
        raise EquipoiseError(
            f"terrain '{text}': too many numbers, '{name}' takes "
            f"{most or 'none'}: {CHOICES[name]}"
        )
    if name == "slope":
        pitch, *roll = numbers or [DEFAULT_SLOPE]
        return Slope(math.radians(pitch), math.radians(roll[0] if roll else 0.0))
    if name == "stairs":
        return _stairs(numbers, robot)
    if name == "rough":
        return _rough(numbers, robot, seed)
    if name == "blocks":
        return _blocks(numbers, robot, seed)
    return Flat()


def _numbers(rest: str, text: str) -> list[float]:
    try:
        numbers = [float(part) for part in rest.split(",")]
    except ValueError as error:
        raise EquipoiseError(
            f"terrain '{text}': '{rest}' must be numbers between commas"
        ) from error
    if not np.isfinite(numbers).all():
        raise EquipoiseError(f"terrain '{text}': its numbers must be finite")
    return numbers


def _stairs(numbers: list[float], robot: Robot) -> Stairs:
    leg, sole, feet = _sizes(robot)
    start = float(feet[:, 0].max(initial=0.0)) + 0.5 * sole
    usual = [RISE_PER_LEG * leg, TREAD_PER_SOLE * sole, DEFAULT_STEPS, start]
    rise, tread, count, start = numbers + usual[len(numbers) :]
    if count != int(count):
        raise EquipoiseError(f"stairs of {count:g} steps; there must be a whole number")
    return Stairs(rise, tread, int(count), start)


def _rough(numbers: list[float], robot: Robot, seed: int) -> HeightField:
    leg, sole, feet = _sizes(robot)
    usual = [ROUGHNESS_PER_LEG * leg, WAVELENGTH_PER_SOLE * sole]
    amplitude, wavelength = numbers + usual[len(numbers) :]
    reach = float(np.hypot(*feet.T).max(initial=0.0)) + 0.1 * sole
    return rough(amplitude, seed, wavelength, reach, EXTENT_PER_LEG * leg)


def _blocks(numbers: list[float], robot: Robot, seed: int) -> Blocks:
    leg, sole, feet = _sizes(robot)
    usual = [STEP_PER_LEG * leg, DEFAULT_TILT, BLOCK_PER_SOLE * sole]
    step, tilt, size = numbers + usual[len(numbers) :]
    reach = float(np.hypot(*feet.T).max(initial=0.0)) + 0.1 * sole
    return blocks(step, seed, math.radians(tilt), size, reach, EXTENT_PER_LEG * leg)


def _sizes(robot: Robot) -> tuple[float, float, Array]:
    """Return lengths of leg and sole [m], and the corners of the soles, (k, 2)."""
    legs = [limb.length for limb in robot.limbs.values() if limb.kind == "leg"]
    leg = max(legs, default=0.0) or abs(float(com(robot, robot.standing)[2])) or 1.0
    sole = max((sole.size[0] for sole in robot.soles.values()), default=0.0)
    corners = [np.zeros((0, 3))]
    for foot in robot.soles.values():
        pose = frame_pose(robot, robot.standing, foot.link)
        corners.append(foot.corners_in_link @ pose[:3, :3].T + pose[:3, 3])
    sole = sole if sole > 0.01 * leg else SOLE_PER_LEG * leg
    return leg, sole, np.concatenate(corners)[:, :2]


def _field(rest: str, text: str) -> HeightField:
    name, comma, cell = rest.rpartition(",")
    if not comma or rest.lower().endswith(FILE_ENDINGS):
        return _height_field(Path(rest.strip()), DEFAULT_CELL)
    (size,) = _numbers(cell, text)
    return _height_field(Path(name.strip()), size)


def _height_field(path: Path, cell: float) -> HeightField:
    """Return the heights in a file, centred on the origin."""
    if path.suffix.lower() not in FILE_ENDINGS:
        raise EquipoiseError(f"height field {path}: must be a .npy or a .csv file")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # an empty file is a warning to NumPy
            with open_input(path, LARGEST_TABLE_BYTES) as file:
                if path.suffix.lower() == ".npy":
                    values = _npy_array(file)
                else:
                    values = np.loadtxt(file, delimiter=",", ndmin=2, encoding="utf-8")
            heights = np.asarray(values, dtype=np.float64)
    except EquipoiseError as error:
        raise EquipoiseError(f"height field {error}") from error
    # a broken file can make NumPy fail in any way
    except Exception as error:
        reason = " ".join(str(error).split())
        raise EquipoiseError(
            f"height field {path}: no heights can be read from it ({reason})"
        ) from error
    ny, nx = (*heights.shape, 0, 0)[:2]
    origin = -0.5 * cell * np.array([nx - 1.0, ny - 1.0])
    return HeightField(heights, cell, origin, f"height field {path}")


def _npy_array(file: BinaryIO) -> NDArray[Any]:
    """Return the array of a .npy file, if the file is as long as its header says."""
    version = np.lib.format.read_magic(file)
    readers = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    if version not in readers:
        raise ValueError(f"version {version} of its format is not supported")
    shape, _, dtype = readers[version](file)
    promised = math.prod(shape) * dtype.itemsize
    held = os.fstat(file.fileno()).st_size - file.tell()
    if dtype.hasobject or promised > held:
        raise ValueError(f"its header promises {promised} bytes, it holds {held}")
    file.seek(0)
    return np.lib.format.read_array(file, allow_pickle=False)
