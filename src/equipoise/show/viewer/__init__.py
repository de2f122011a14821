"""The viewer: runs and robots on a page; :func:`view` serves it."""

from equipoise.show.viewer.window import Window, view

__all__ = ["Window", "view"]
