"""The folder of a run: it appears complete, or not at all; its summary in JSON."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from equipoise.atomic_file import naming_file, write_text_atomically
from equipoise.errors import EquipoiseError
from equipoise.input_file import LARGEST_TEXT_BYTES, read_input_text
from equipoise.log.mcap_format.mcap_file import LOG_NAME
from equipoise.log.mcap_format.mcap_writer import is_own_log, write_mcap
from equipoise.staging import NEW, put_in_place, remove_leftovers, staging_folder

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
    failure, or Ctrl-C, everything is as it was before. After a kill the next command
    that writes beside it makes it so.

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
    with naming_file(folder), staging_folder(target.parent, target.name) as staging:
        new = staging / NEW
        new.mkdir()
        write(new)
        # writing takes a while, in which others may have written there
        check_folder(folder, files=files, replace=replace)
        put_in_place(staging, target)
    return folder


def check_folder(
    folder: Path | str, *, files: Collection[str] = FILES, replace: bool = False
) -> Path:
    """Return where a folder would be written, links resolved; ask before a long run.

    An empty folder may be there; one that holds anything that Equipoise did not write
    is never replaced. What a killed process left beside it is removed, and a folder
    that it had taken away is put back. Arguments and errors are those of
    :func:`write_folder`.
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
        remove_leftovers(target.parent)
        if not target.exists():
            return target
        if not target.is_dir():
            raise EquipoiseError(f"{folder}: is a file, not a folder")
        foreign = _why_foreign(target, files)
        inside = os.listdir(target)
    if foreign is not None:
        raise EquipoiseError(
            f"{folder}: exists and holds {foreign}; name another folder"
        )
    if inside and not replace:
        raise EquipoiseError(f"{folder}: exists already; replace=True replaces it")
    return target


def _why_foreign(folder: Path, files: Collection[str]) -> str | None:
    """Return what in a folder was not written by Equipoise; None if all of it was.

    Summary and log are known by their contents; whatever else has a name of its own
    kind and is a plain file belongs to them.
    """
    entries = {entry.name: entry for entry in os.scandir(folder)}
    for name in sorted(entries):
        if name not in files:
            return f"'{name}', which is not part of a run"
        if not entries[name].is_file(follow_symlinks=False):
            return f"'{name}', which is not a plain file"
    if entries and SUMMARY_NAME not in entries:
        return f"no {SUMMARY_NAME}: it is not a folder that Equipoise wrote"
    for name, is_ours in ((SUMMARY_NAME, _is_our_summary), (LOG_NAME, is_own_log)):
        if name in entries and not is_ours(folder / name):
            return f"'{name}', which Equipoise did not write"
    return None


def _is_our_summary(file: Path) -> bool:
    """Return whether a file is JSON exactly as :func:`summary_as_json` writes it."""
    try:
        text = file.read_text(encoding="utf-8")
        return summary_as_json(json.loads(text)) == text
    except (ValueError, AttributeError, RecursionError, EquipoiseError):
        return False


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
