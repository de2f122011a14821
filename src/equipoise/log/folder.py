"""The folder of a run: it appears complete, or not at all; its summary in JSON."""

from __future__ import annotations

import json
import math
import os
import secrets
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from equipoise.atomic_file import naming_file, write_text_atomically
from equipoise.errors import EquipoiseError
from equipoise.input_file import LARGEST_TEXT_BYTES, read_input_text
from equipoise.log.mcap_format.mcap_file import LOG_NAME
from equipoise.log.mcap_format.mcap_writer import write_mcap

if TYPE_CHECKING:
    from equipoise.log.run import Run

SUMMARY_NAME = "summary.json"
REPORT_NAME = "report.html"
FILES = (SUMMARY_NAME, LOG_NAME, REPORT_NAME)


def write_run(
    run: Run, folder: Path | str, *, report: str | None, replace: bool = False
) -> Path:
    """Write ``summary.json``, ``run.mcap`` and ``report.html``.

    All is written into a hidden folder beside, which is then given its name; after a
    failure, or Ctrl-C, everything is as it was before.

    Args:
        run: The run.
        folder: The folder to make; its parent must exist.
        report: The report's HTML; None for no report.
        replace: Whether a run that is there already may be replaced.

    Raises:
        EquipoiseError: If the folder cannot or must not be written.
    """

    def write(part: Path) -> None:
        write_text_atomically(part / SUMMARY_NAME, summary_as_json(run.summary))
        if report is not None:
            write_text_atomically(part / REPORT_NAME, report)
        with (part / LOG_NAME).open("wb") as stream:
            write_mcap(run, stream)
            stream.flush()
            os.fsync(stream.fileno())

    return write_folder(folder, write, replace=replace)


def write_folder(
    folder: Path | str,
    write: Callable[[Path], None],
    *,
    files: Collection[str] = FILES,
    replace: bool = False,
) -> Path:
    """Make a folder that appears with all of its files, or not at all.

    Args:
        folder: The folder to make; its parent must exist.
        write: Writes the files into the folder that it is given.
        files: Names that a folder of this kind holds.
        replace: Whether one that is there already may be replaced.

    Raises:
        EquipoiseError: If the folder cannot or must not be written.
    """
    folder = Path(folder)
    target = check_folder(folder, files=files, replace=replace)
    with naming_file(folder), _hidden_beside(target) as part:
        write(part)
        _put_in_place(part, target)
    return folder


def check_folder(
    folder: Path | str, *, files: Collection[str] = FILES, replace: bool = False
) -> Path:
    """Return where a folder would be written, links resolved; ask before a long run.

    An empty folder may be there; one that holds anything else is never replaced.
    Arguments and errors are those of :func:`write_folder`.
    """
    folder = Path(folder)
    with naming_file(folder):
        target = Path(os.path.realpath(folder))
        if not target.parent.is_dir():
            raise EquipoiseError(
                f"{folder}: the folder '{target.parent}' does not exist"
            )
        if not os.access(target.parent, os.W_OK | os.X_OK):
            raise EquipoiseError(
                f"{folder}: the folder '{target.parent}' cannot be written to"
            )
        if not target.exists():
            return target
        if not target.is_dir():
            raise EquipoiseError(f"{folder}: is a file, not a folder")
        inside = sorted(os.listdir(target))
    foreign = [name for name in inside if name not in files]
    if foreign:
        raise EquipoiseError(
            f"{folder}: exists and holds '{foreign[0]}', which is not part of a run; "
            "name another folder"
        )
    if inside and not replace:
        raise EquipoiseError(f"{folder}: exists already; replace=True replaces it")
    return target


@contextmanager
def _hidden_beside(target: Path) -> Iterator[Path]:
    """Make a folder beside the target, and remove what is left of it."""
    part = _hidden_name(target, "part")
    try:
        part.mkdir()
        yield part
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _put_in_place(part: Path, target: Path) -> None:
    """Give a finished folder its name; what had the name is removed."""
    if not target.exists():
        os.rename(part, target)
        return
    old = _hidden_name(target, "old")
    try:
        os.rename(target, old)
        os.rename(part, target)
    except BaseException:
        if old.exists() and not target.exists():
            os.rename(old, target)
        raise
    finally:
        if target.exists():
            with suppress(OSError):
                shutil.rmtree(old)


def _hidden_name(target: Path, ending: str) -> Path:
    return target.with_name(f".{target.name[:40]}.{secrets.token_hex(4)}.{ending}")


def plain_summary(results: Mapping[str, Any]) -> dict[str, Any]:
    """Return results as dicts, lists, texts, finite numbers, booleans and None.

    NumPy's scalars and arrays become numbers and lists.

    Raises:
        EquipoiseError: If a result is not finite or not plain data; names its key.
    """
    return {
        _key(key, "summary"): _plain(value, str(key)) for key, value in results.items()
    }


def summary_as_json(results: Mapping[str, Any]) -> str:
    """Return results as JSON: keys sorted, two spaces, so that runs can be compared."""
    text = json.dumps(
        plain_summary(results),
        allow_nan=False,
        ensure_ascii=False,
        indent=2,
        sort_keys=True,
    )
    return f"{text}\n"


def _plain(value: object, name: str) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            if not math.isfinite(value):
                raise EquipoiseError(f"summary: '{name}' is {value}")
            return value
        case Mapping():
            return {_key(k, name): _plain(v, f"{name}.{k}") for k, v in value.items()}
        case list() | tuple():
            return [_plain(item, f"{name}[{at}]") for at, item in enumerate(value)]
        case _:
            raise EquipoiseError(
                f"summary: '{name}' is a {type(value).__name__}; numbers, texts, "
                "lists and mappings can be written"
            )


def _key(key: object, owner: str) -> str:
    if not isinstance(key, str):
        raise EquipoiseError(f"{owner}: the key {key!r} is not a text")
    return key


def read_summary(folder: Path | str) -> dict[str, Any]:
    """Return the results of the run in a folder.

    Raises:
        EquipoiseError: If it is not the folder of a run, or the file is damaged.
    """
    file = Path(folder) / SUMMARY_NAME
    if not file.exists():
        raise EquipoiseError(
            f"{folder}: is not the folder of a run: it has no {SUMMARY_NAME}"
        )
    try:
        results = json.loads(read_input_text(file, LARGEST_TEXT_BYTES))
    except (ValueError, RecursionError) as error:
        raise EquipoiseError(f"{file}: is not JSON ({error})") from error
    if not isinstance(results, dict):
        raise EquipoiseError(f"{file}: holds no mapping of results")
    return results


def summary_beside(file: Path, *, salvage: bool) -> dict[str, Any]:
    """Return the results beside a run's log; none beside other logs.

    Args:
        file: The log.
        salvage: Whether a broken file becomes a notice instead of an error.
    """
    if file.name != LOG_NAME or not file.with_name(SUMMARY_NAME).is_file():
        return {}
    try:
        return read_summary(file.parent)
    except EquipoiseError as error:
        if not salvage:
            raise
        return {"notices": [f"{error}; it is left out"]}
