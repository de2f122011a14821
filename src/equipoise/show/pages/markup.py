"""Pieces of HTML and SVG; every text is escaped on its way in."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence

import numpy as np

from equipoise.arrays import Array


def element(tag: str, *children: str, **attributes: object) -> str:
    """Return an element.

    Args:
        tag: Its name.
        children: Markup inside, as it is: use :func:`text` for words.
        attributes: Escaped; underscores become hyphens, a last one is dropped.
    """
    opening = tag + "".join(
        f' {name.rstrip("_").replace("_", "-")}="{text(value)}"'
        for name, value in attributes.items()
        if value is not None
    )
    return f"<{opening}>{''.join(children)}</{tag}>"


def text(value: object) -> str:
    """Return words as markup that means just them."""
    words = "".join(c if c.isprintable() or c == "\n" else " " for c in str(value))
    return html.escape(words, quote=True)


def listing(items: Iterable[str]) -> str:
    """Return texts as a list of points."""
    return element("ul", *(element("li", text(item)) for item in items))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; the first column names the row.

    Args:
        head: Words above the columns; none for no head.
        rows: Markup of the cells.
    """
    titles = "".join(element("th", text(word), scope="col") for word in head)
    lines = [
        element(
            "tr",
            element("th", row[0], scope="row"),
            *(element("td", cell) for cell in row[1:]),
        )
        for row in rows
    ]
    top = element("thead", element("tr", titles)) if head else ""
    return element(
        "div", element("table", top, element("tbody", *lines)), class_="wide"
    )


def path(points: Array) -> str:
    """Return a line through points [px], shape (n, 2), as SVG's path commands.

    Rows that are not finite are gaps.
    """
    parts, drawing = [], False
    for x, y in np.round(points, 1).tolist():
        if not math.isfinite(x + y):
            drawing = False
            continue
        parts.append(f"{'L' if drawing else 'M'}{x:g},{y:g}")
        drawing = True
    return "".join(parts)
