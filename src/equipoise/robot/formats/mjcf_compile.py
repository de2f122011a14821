"""An MJCF document through MuJoCo's own compiler, quietly and with clear errors."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, tostring

from equipoise.errors import RobotFileError

# MuJoCo's log settings and Python's warning filters are global to the process.
_LOG_LOCK = threading.Lock()


@dataclass(frozen=True, eq=False)
class CompiledMjcf:
    """What MuJoCo made of a document.

    Attributes:
        model: ``mujoco.MjModel``.
        spec: ``mujoco.MjSpec`` that it was compiled from.
        notices: What was left out or warned of, one sentence each.
    """

    model: Any
    spec: Any
    notices: tuple[str, ...]


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
    mujoco = import_mujoco(path)
    failures = (ValueError, KeyError, mujoco.FatalError, mujoco.UnexpectedError)
    try:
        content = tostring(root)
        with quiet_mujoco(mujoco) as warned:
            with mujoco.MjVfs() as files:
                # MuJoCo goes by the ending; a name of its own shadows no include
                name = f"{path.absolute()}.document.xml"
                files[name] = content
                spec = mujoco.MjSpec.from_file(name, vfs=files)
            dropped = _drop_decoration(spec, path)
            _keep_everything_else(mujoco, spec)
            model = spec.compile()
    except failures as error:
        raise RobotFileError(f"{path}: MuJoCo refuses it: {one_line(error)}") from error
    except (RecursionError, MemoryError) as error:
        raise RobotFileError(f"{path}: too large or too deeply nested") from error
    notices = [*dropped, *(f"MuJoCo warns: {one_line(text)}" for text in warned)]
    return CompiledMjcf(model, spec, tuple(notices))


def import_mujoco(path: Path) -> Any:
    """Return the module ``mujoco``, which is an optional dependency.

    Args:
        path: The file that needs it: for the message.

    Raises:
        RobotFileError: If MuJoCo is not installed.
    """
    try:
        import mujoco
    except ImportError as error:
        raise RobotFileError(
            f"{path}: reading MJCF needs MuJoCo: pip install 'equipoise[mujoco]'"
        ) from error
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


def _drop_decoration(spec: Any, path: Path) -> list[str]:
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
            _refuse_if_inertia_needs(geom, file, spec, path)
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


def _refuse_if_inertia_needs(geom: Any, file: str, spec: Any, path: Path) -> None:
    mujoco = import_mujoco(path)
    always = mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_TRUE
    body = geom.parent
    explicit = body.explicitinertial and spec.compiler.inertiafromgeom != always
    if explicit or body.name == "world" or geom.mass == 0.0 or geom.density == 0.0:
        return
    raise RobotFileError(
        f"{path}: mesh file '{file}' was not found, and the inertia of body "
        f"'{body.name}' depends on it"
    )
