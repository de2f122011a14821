"""An MJCF document through MuJoCo's own compiler, quietly and with clear errors."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, tostring

import numpy as np

from equipoise.errors import EquipoiseError, RobotFileError

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
    """What MuJoCo made of a document.

    Attributes:
        model: ``mujoco.MjModel``.
        spec: ``mujoco.MjSpec`` that it was compiled from.
        notices: What was left out or warned of, one sentence each.
        files_of_meshes: For each mesh of the spec, the name in the document and the
            file; None for one given by its vertices.
    """

    model: Any
    spec: Any
    notices: tuple[str, ...]
    files_of_meshes: tuple[tuple[str, Path] | None, ...]


def compile_mjcf(root: Element, path: Path) -> CompiledMjcf:
    """Compile a document with static bodies and visual geoms kept.

    The document is handed over from memory, so that MuJoCo sees what was checked.
    Textures, skins and height fields are dropped: no link needs them. Geoms whose
    mesh file is missing are dropped where the body's inertia is given explicitly.

    Args:
        root: The ``<mujoco>`` element, checked by
            :func:`~equipoise.robot.formats.mjcf_files.check_references`.
        path: Where it came from: for messages and relative paths.

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
            dropped = _drop_decoration(mujoco, spec, path)
            _keep_everything_else(mujoco, spec)
            files_of_meshes = _stand_in_for_meshes(mujoco, spec)
            model = spec.compile()
    except failures as error:
        raise RobotFileError(f"{path}: MuJoCo refuses it: {one_line(error)}") from error
    except (RecursionError, MemoryError) as error:
        raise RobotFileError(f"{path}: too large or too deeply nested") from error
    notices = [*dropped, *(f"MuJoCo warns: {one_line(text)}" for text in warned)]
    return CompiledMjcf(model, spec, tuple(notices), files_of_meshes)


def import_mujoco(what: str, kind: type[EquipoiseError] = RobotFileError) -> Any:
    """Return the module ``mujoco``, which is an optional dependency.

    Args:
        what: That needs it: for the message.
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

    Args:
        mujoco: The module.

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


def _keep_everything_else(mujoco: Any, spec: Any) -> None:
    """Switch off what the compiler would merge away or compute at length."""
    spec.compiler.fusestatic = False
    spec.compiler.discardvisual = False
    spec.compiler.LRopt.mode = mujoco.mjtLRMode.mjLRMODE_NONE
    spec.nkey = len(spec.keys)


def _stand_in_for_meshes(mujoco: Any, spec: Any) -> tuple[tuple[str, Path] | None, ...]:
    """Replace meshes that decide nothing by a small box, for time and memory.

    MuJoCo reads every mesh and computes its inertia and hull. Where the body's
    inertia is given, only the pose and scale of the mesh matter here; its vertices
    are read from the file when they are needed.

    Returns:
        For each mesh, its name in the document and its file.
    """
    files = tuple(
        (mesh.file, _mesh_path(spec, mesh)) if mesh.file else None
        for mesh in spec.meshes
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
    for mesh in spec.meshes:
        if not mesh.file or (mesh.name or Path(mesh.file).stem) in needed:
            continue
        mesh.name = mesh.name or Path(mesh.file).stem
        mesh.file = ""
        mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_CONVEX
        corners = np.array(list(product((-1.0, 1.0), repeat=3))) * STAND_IN_HALF
        mesh.uservert = (corners / np.array(mesh.scale)).ravel()
        mesh.userface = STAND_IN_FACES
    return files


def _decides_inertia(mujoco: Any, geom: Any, spec: Any) -> bool:
    always = mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_TRUE
    body = geom.parent
    explicit = body.explicitinertial and spec.compiler.inertiafromgeom != always
    weightless = geom.mass == 0.0 or geom.density == 0.0
    return not (explicit or weightless or body.name == "world")


def _drop_decoration(mujoco: Any, spec: Any, path: Path) -> list[str]:
    """Remove textures, skins, height fields and missing meshes; say what matters."""
    for material in spec.materials:
        material.textures = [""] * len(material.textures)
    for decoration in (*spec.textures, *spec.skins):
        spec.delete(decoration)
    fields = {field.name for field in spec.hfields}
    missing = {
        mesh.name or Path(mesh.file).stem: mesh.file
        for mesh in spec.meshes
        if mesh.file and not _mesh_path(spec, mesh).is_file()
    }
    left_out: set[str] = set()
    for geom in list(spec.geoms):
        if geom.meshname in missing:
            file = missing[geom.meshname]
            _refuse_if_inertia_needs(mujoco, geom, file, spec, path)
            left_out.add(file)
            spec.delete(geom)
        elif geom.hfieldname in fields:
            spec.delete(geom)
    for asset in (*spec.meshes, *spec.hfields):
        if asset.name in fields or (asset.name or Path(asset.file).stem) in missing:
            spec.delete(asset)
    if not left_out:
        return []
    some = ", ".join(sorted(left_out)[:3]) + (", …" if len(left_out) > 3 else "")
    return [f"{len(left_out)} mesh files were not found and left out: {some}"]


def _mesh_path(spec: Any, mesh: Any) -> Path:
    name = os.path.basename(mesh.file) if spec.strippath else mesh.file
    folder = mesh.compiler.meshdir or spec.compiler.meshdir or ""
    return Path(spec.modelfiledir, folder, name)


def _refuse_if_inertia_needs(
    mujoco: Any, geom: Any, file: str, spec: Any, path: Path
) -> None:
    if _decides_inertia(mujoco, geom, spec):
        raise RobotFileError(
            f"{path}: mesh file '{file}' was not found, and the inertia of body "
            f"'{geom.parent.name}' depends on it"
        )
