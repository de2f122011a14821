"""Figures of a run as plain data that JSON can hold."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from equipoise.errors import EquipoiseError


def plain_figures(figures: Mapping[str, Any]) -> dict[str, Any]:
    """Return figures as dicts, lists, texts, finite numbers, booleans and None.

    NumPy's scalars and arrays become numbers and lists.

    Raises:
        EquipoiseError: If a figure is not finite or no plain data; names its key.
    """
    return {
        _key(key, "summary"): _plain(value, str(key)) for key, value in figures.items()
    }


def figures_as_json(figures: Mapping[str, Any]) -> str:
    """Return figures as JSON: keys sorted, two spaces, so that runs can be compared."""
    text = json.dumps(
        plain_figures(figures),
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
        raise EquipoiseError(f"{owner}: the key {key!r} is no text")
    return key
