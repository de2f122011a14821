"""Equipoise: the centre-of-mass toolkit for biped and humanoid robots."""

import ast
from importlib import import_module
from pathlib import Path
from typing import Any

__version__ = "0.1.0"

# The module of each public name, from the stub beside this file. Names are imported on
# first use, so that `import equipoise` and `equipoise --help` do not wait for Pinocchio
# and Warp.
_MODULE_OF = {
    name.name: str(statement.module)
    for statement in ast.parse(Path(__file__).with_suffix(".pyi").read_text()).body
    if isinstance(statement, ast.ImportFrom)
    for name in statement.names
}
__all__ = list(_MODULE_OF)


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'equipoise' has no attribute '{name}'")
    found = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = found  # so that controllers find it at once the next time
    return found


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
