"""The geoms of a compiled MJCF model as shapes of links."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np

from equipoise.arrays import Array, frozen_array
from equipoise.robot.description import Colour, Shape, colour_from_fractions
from equipoise.robot.formats.mjcf_compile import CompiledMjcf, import_mujoco
from equipoise.robot.formats.mujoco_state import rotation_from_mujoco
from equipoise.rotations import transform

# Geoms without extent on a robot: nothing is lost by leaving them out.
IGNORED = ("PLANE", "HFIELD")
DEFAULT_RGBA = (0.5, 0.5, 0.5, 1.0)


class ShapeReader:
    """Reads the geoms of bodies, counting those that no shape can stand for."""

    def __init__(self, compiled: CompiledMjcf, path: Path) -> None:
        self.mujoco = import_mujoco(f"{path}: reading MJCF")
        self.model = model = compiled.model
        self.meshes = list(compiled.spec.meshes)
        self.files = compiled.files_of_meshes
        self.paired = {int(g) for g in (*model.pair_geom1, *model.pair_geom2)}
        self.lost: Counter[str] = Counter()

    def of_body(self, body: int) -> tuple[tuple[Shape, ...], tuple[Shape, ...]]:
        """Return the collision and the visual shapes of a body.

        A geom that can touch anything by its ``contype`` and ``conaffinity``, or by
        an explicit contact pair, is a collision shape, any other a visual one.
        """
        model = self.model
        collisions: list[Shape] = []
        visuals: list[Shape] = []
        for geom in np.flatnonzero(model.geom_bodyid == body):
            shape = self.shape(int(geom))
            if shape is None:
                continue
            shape = replace(shape, colour=self.colour(int(geom)))
            touches = model.geom_contype[geom] | model.geom_conaffinity[geom]
            solid = bool(touches) or int(geom) in self.paired
            (collisions if solid else visuals).append(shape)
        return tuple(collisions), tuple(visuals)

    def colour(self, geom: int) -> Colour | None:
        """Return the colour of a geom or of its material; None for MuJoCo's grey."""
        model, material = self.model, int(self.model.geom_matid[geom])
        rgba = model.geom_rgba[geom] if material < 0 else model.mat_rgba[material]
        if material < 0 and np.allclose(rgba, DEFAULT_RGBA):
            return None
        return colour_from_fractions(rgba[:3].tolist())

    def notices(self) -> list[str]:
        """Return sentences on the geoms that were left out."""
        return [
            f"{count} shapes left out: {what}"
            for what, count in sorted(self.lost.items())
        ]

    def shape(self, geom: int) -> Shape | None:
        """Return a geom as a shape, or None where there is none like it."""
        model = self.model
        kind = self.mujoco.mjtGeom(int(model.geom_type[geom])).name.removeprefix(
            "mjGEOM_"
        )
        size = [float(value) for value in model.geom_size[geom]]
        placed = transform(
            rotation_from_mujoco(model.geom_quat[geom]), model.geom_pos[geom]
        )
        match kind:
            case "BOX":
                return Shape("box", tuple(2.0 * half for half in size), placed)
            case "SPHERE":
                return Shape("sphere", (size[0],), placed)
            case "CYLINDER":
                return Shape("cylinder", (size[0], 2.0 * size[1]), placed)
            case "CAPSULE":
                return Shape("capsule", (size[0], 2.0 * size[1]), placed)
            case "MESH":
                return self.mesh(geom, placed)
        if kind not in IGNORED:
            self.lost[f"type {kind.lower()} is not supported"] += 1
        return None

    def mesh(self, geom: int, placed: Array) -> Shape | None:
        """Return a mesh such that its transform applies to the file's own vertices.

        MuJoCo turns a vertex v of the file into s = scale ∘ R(refquat)ᵀ (v − refpos)
        and then s into R(mesh_quat)ᵀ (s − mesh_pos); the geom's pose belongs to the
        latter.
        """
        model, index = self.model, int(self.model.geom_dataid[geom])
        spec_mesh, named = self.meshes[index], self.files[index]
        if named is None:
            self.lost["meshes given by vertices in the file are not supported"] += 1
            return None
        centred = np.eye(4)
        centred[:3, :3] = rotation_from_mujoco(model.mesh_quat[index])
        centred[:3, 3] = model.mesh_pos[index]
        scale = np.array(model.mesh_scale[index])
        turn = rotation_from_mujoco(spec_mesh.refquat).T
        if not np.allclose(turn, np.eye(3)) and np.ptp(scale) > 0.0:
            self.lost["meshes with refquat and uneven scale are not supported"] += 1
            return None
        referred = transform(turn, -scale * (turn @ spec_mesh.refpos))
        name, file = named
        return Shape(
            "mesh",
            (float(scale[0]), float(scale[1]), float(scale[2])),
            frozen_array(placed @ np.linalg.inv(centred) @ referred),
            file,
            name,
        )
