"""The viewer: runs and robots on a page; :func:`view` serves it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from equipoise.show.viewer.window import Window, view

__all__ = ["Window", "view"]


def __getattr__(name: str) -> Any:
    """Import the page's server only when somebody wants to look."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from equipoise.show.viewer import window

    return getattr(window, name)
