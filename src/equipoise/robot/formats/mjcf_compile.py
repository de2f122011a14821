"""An MJCF document through MuJoCo's own compiler, quietly and with clear errors."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, tostring

import numpy as np

from equipoise.errors import EquipoiseError, RobotFileError
from equipoise.robot.mesh_files import (
    denied_files,
    in_any_case,
    is_regular_file,
    missing_files,
    other_case,
)

# A box of distinct edges that stands for a mesh, its corners in the order of
# itertools.product, its faces outwards.
STAND_IN_HALF = (3.0, 2.0, 1.0)
STAND_IN_FACES = (
    *(0, 1, 3, 0, 3, 2),
    *(4, 6, 7, 4, 7, 5),
    *(0, 4, 5, 0, 5, 1),
    *(2, 3, 7, 2, 7, 6),
    *(0, 2, 6, 0, 6, 4),
    *(1, 5, 7, 1, 7, 3),
)

# MuJoCo's log settings and Python's warning filters are global to the process.
_LOG_LOCK = threading.Lock()


@dataclass(frozen=True, eq=False)
class CompiledMjcf:
    """A document as MuJoCo compiled it.

    Attributes:
        model: ``mujoco.MjModel``.
        spec: ``mujoco.MjSpec`` that it was compiled from.
        notices: What was left out or warned of, one sentence each.
        files_of_meshes: For each mesh of the spec, the name in the document and the
            file; None for one given by its vertices.
        without_collisions: Names of bodies that lost collision geoms with their mesh.
    """

    model: Any
    spec: Any
    notices: tuple[str, ...]
    files_of_meshes: tuple[tuple[str, Path] | None, ...]
    without_collisions: frozenset[str]


def compile_mjcf(root: Element, path: Path) -> CompiledMjcf:
    """Compile a document that ``mjcf_references.check_references`` has passed.

    Static bodies and visual geoms are kept.

    The document is handed over from memory, so that MuJoCo sees what was checked.
    Textures, skins and height fields are dropped: no link needs them. Geoms whose
    mesh file is missing are dropped where the body's inertia is given explicitly.

    Raises:
        RobotFileError: If MuJoCo refuses it, or a missing mesh decides an inertia.
    """
    mujoco = import_mujoco(f"{path}: reading MJCF")
    failures = (ValueError, KeyError, mujoco.FatalError, mujoco.UnexpectedError)
    try:
        content = tostring(root)
        with quiet_mujoco(mujoco) as warned:
            with mujoco.MjVfs() as files:
                # MuJoCo goes by the ending; a name of its own shadows no include
                name = f"{path.absolute()}.document.xml"
                files[name] = content
                spec = mujoco.MjSpec.from_file(name, vfs=files)
            meshes = _find_meshes(spec)
            bare = _drop_decoration(mujoco, spec, path, meshes)
            # switch off what the compiler would merge away or compute at length
            spec.compiler.fusestatic = False
            spec.compiler.discardvisual = False
            spec.compiler.LRopt.mode = mujoco.mjtLRMode.mjLRMODE_NONE
            spec.nkey = len(spec.keys)
            files_of_meshes = _stand_in_for_meshes(mujoco, spec, meshes)
            model = spec.compile()
    except failures as error:
        raise RobotFileError(f"{path}: MuJoCo refuses it: {one_line(error)}") from error
    except (RecursionError, MemoryError) as error:
        raise RobotFileError(f"{path}: too large or too deeply nested") from error
    said = [f"MuJoCo warns: {one_line(text)}" for text in warned]
    notices = (*meshes.notices(), *said)
    return CompiledMjcf(model, spec, notices, files_of_meshes, bare)


def import_mujoco(what: str, kind: type[EquipoiseError] = RobotFileError) -> Any:
    """Return the module ``mujoco``, which is an optional dependency.

    Args:
        what: What needs it, for the message.
        kind: The error that is raised.

    Raises:
        EquipoiseError: If MuJoCo is not installed.
    """
    try:
        import mujoco
    except ImportError as error:
        raise kind(f"{what} needs MuJoCo: pip install 'equipoise[mujoco]'") from error
    return mujoco


@contextmanager
def quiet_mujoco(mujoco: Any) -> Iterator[list[str]]:
    """Keep MuJoCo from printing and from writing ``MUJOCO_LOG.TXT``.

    Yields:
        A list that holds MuJoCo's warnings once the block has ended.
    """
    messages: list[str] = []
    with _LOG_LOCK:
        before, quiet = mujoco.MjLogConfig.get(), mujoco.MjLogConfig.get()
        quiet.logto_console = quiet.logto_file = False
        mujoco.MjLogConfig.set(quiet)
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                yield messages
            messages.extend(str(warning.message) for warning in caught)
        finally:
            mujoco.MjLogConfig.set(before)


def one_line(message: object) -> str:
    """Return a message without its line breaks."""
    return " ".join(str(message).split())


@dataclass(frozen=True, eq=False)
class _Meshes:
    """The mesh files of a document, by the name of the mesh.

    Attributes:
        files: Those that are there, as the document names them and where they are.
        respelt: Which of these differ from the document in letter case.
        missing: Those that are not there, as the document names them.
        denied: Those that may not be read, likewise.
        folders: Where missing ones were looked for.
    """

    files: dict[str, tuple[str, Path]] = field(default_factory=dict)
    respelt: set[str] = field(default_factory=set)
    missing: dict[str, str] = field(default_factory=dict)
    denied: dict[str, str] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)

    def notices(self) -> list[str]:
        found = []
        if self.missing:
            looked = f"; looked in {' and '.join(sorted(self.folders))}"
            found.append(missing_files(sorted(set(self.missing.values()))) + looked)
        if self.denied:
            found.append(denied_files(sorted(set(self.denied.values()))))
        if self.respelt:
            pairs = [self.files[name] for name in sorted(self.respelt)]
            found.append(other_case(f"{name} as {file}" for name, file in pairs))
        return found


def _find_meshes(spec: Any) -> _Meshes:
    """Find the mesh files of a spec, in other letter case where need be."""
    meshes = _Meshes()
    for mesh in spec.meshes:
        if not mesh.file:
            continue
        name, meshdir = _mesh_name(mesh), _mesh_folder(spec, mesh)
        folder = Path(spec.modelfiledir, meshdir)
        inside = os.path.basename(mesh.file) if spec.strippath else mesh.file
        try:
            if is_regular_file(folder / inside):
                meshes.files[name] = mesh.file, folder / inside
                continue
        except PermissionError:
            meshes.denied[name] = mesh.file
            continue
        # the folder of the meshes may be the one that is spelt otherwise
        found = in_any_case(Path(spec.modelfiledir), os.path.join(meshdir, inside))
        if found is None:
            meshes.missing[name] = mesh.file
            meshes.folders.add(str((folder / inside).parent))
        else:
            meshes.files[name] = mesh.file, found
            meshes.respelt.add(name)
    return meshes


def _stand_in_for_meshes(
    mujoco: Any, spec: Any, meshes: _Meshes
) -> tuple[tuple[str, Path] | None, ...]:
    """Replace meshes that decide nothing by a small box, for time and memory.

    MuJoCo reads every mesh and computes its inertia and hull. Where the body's
    inertia is given, only the pose and scale of the mesh matter here; its vertices
    are read from the file when they are needed.

    Returns:
        For each mesh, its name in the document and its file.
    """
    files = tuple(
        meshes.files[_mesh_name(mesh)] if mesh.file else None for mesh in spec.meshes
    )
    needed = {
        geom.meshname
        for geom in spec.geoms
        if geom.meshname
        and (
            geom.type != mujoco.mjtGeom.mjGEOM_MESH
            or _decides_inertia(mujoco, geom, spec)
        )
    }
    respelt = bool(needed & meshes.respelt)
    for mesh in spec.meshes:
        if not mesh.file:
            continue
        mesh.name = _mesh_name(mesh)
        if mesh.name in needed:
            if respelt:  # MuJoCo would look for the name in the document
                mesh.file = str(meshes.files[mesh.name][1].absolute())
            continue
        mesh.file = ""
        mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_CONVEX
        corners = np.array(list(product((-1.0, 1.0), repeat=3))) * STAND_IN_HALF
        mesh.uservert = (corners / np.array(mesh.scale)).ravel()
        mesh.userface = STAND_IN_FACES
    if respelt:
        spec.strippath = False
    return files


def _decides_inertia(mujoco: Any, geom: Any, spec: Any) -> bool:
    always = mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_TRUE
    body = geom.parent
    explicit = body.explicitinertial and spec.compiler.inertiafromgeom != always
    weightless = geom.mass == 0.0 or geom.density == 0.0
    return not (explicit or weightless or body.name == "world")


def _drop_decoration(
    mujoco: Any, spec: Any, path: Path, meshes: _Meshes
) -> frozenset[str]:
    """Remove textures, skins, height fields and missing meshes.

    Returns:
        The bodies that lost collision geoms with a missing mesh.
    """
    for material in spec.materials:
        material.textures = [""] * len(material.textures)
    for decoration in (*spec.textures, *spec.skins):
        spec.delete(decoration)
    fields = {field.name for field in spec.hfields}
    gone = meshes.missing | meshes.denied
    bare: set[str] = set()
    for geom in list(spec.geoms):
        if geom.meshname in gone:
            lacking = geom.meshname in meshes.missing
            why = "was not found" if lacking else "cannot be read (permission denied)"
            if _decides_inertia(mujoco, geom, spec):
                raise RobotFileError(
                    f"{path}: mesh file '{gone[geom.meshname]}' {why}, and the "
                    f"inertia of body '{geom.parent.name}' depends on it"
                )
            if geom.contype or geom.conaffinity:
                bare.add(geom.parent.name)
            spec.delete(geom)
        elif geom.hfieldname in fields:
            spec.delete(geom)
    for asset in (*spec.meshes, *spec.hfields):
        if asset.name in fields or _mesh_name(asset) in gone:
            spec.delete(asset)
    return frozenset(bare)


def _mesh_name(mesh: Any) -> str:
    return str(mesh.name or Path(mesh.file).stem)


def _mesh_folder(spec: Any, mesh: Any) -> str:
    return str(mesh.compiler.meshdir or spec.compiler.meshdir or "")
