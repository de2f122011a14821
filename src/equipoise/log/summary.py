"""The summary of a run: results as plain data, in JSON beside its log."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.errors import EquipoiseError
from equipoise.log.mcap_format.mcap_file import LOG_NAME

SUMMARY_NAME = "summary.json"


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
    try:
        results = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise EquipoiseError(
            f"{folder}: is not the folder of a run: it has no {SUMMARY_NAME}"
        ) from error
    except OSError as error:
        raise EquipoiseError(f"{file}: cannot be read ({error.strerror})") from error
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
