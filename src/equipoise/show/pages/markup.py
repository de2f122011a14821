"""HTML by hand: elements, tables, and the page around a report.

Every text is escaped on its way in. A page is one file without network, light or dark
as its reader's system.
"""

from __future__ import annotations

import base64
import hashlib
import html
import math
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any

import numpy as np

from equipoise.arrays import Array
from equipoise.show.palette import DARK, LIGHT, style_sheet_colours

COLOURS = f"""
:root{{color-scheme:light dark;{style_sheet_colours(LIGHT)}}}
@media (prefers-color-scheme:dark){{:root{{{style_sheet_colours(DARK)}}}}}"""
STYLE = "page.css"
# Longer lists, and longer tables among others, are folded.
MOST_UNFOLDED, MOST_ROWS = 6, 16


def element(tag: str, *children: str, **attributes: object) -> str:
    """Return an element with markup inside as it is: use :func:`text` for words.

    Attributes are escaped; underscores become hyphens, a last one is dropped.
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


def titled(words: str, *children: str) -> str:
    """Return a group of a drawing, with words that appear when it is pointed at."""
    return element("g", element("title", text(words)), *children)


def stroke(points: Array, style: str) -> str:
    """Return a line of a drawing through points [px], shape (n, 2)."""
    return element("path", d=path(points), class_=style)


def listing(items: Iterable[str]) -> str:
    """Return texts as a list of points."""
    return element("ul", *(element("li", text(item)) for item in items))


def folded(items: Sequence[str], what: str) -> str:
    """Return texts as a list; if they are many, folded below how many of what."""
    if len(items) <= MOST_UNFOLDED:
        return listing(items) if items else ""
    return details(f"{len(items)} {what}", listing(items))


def details(summary: str, *body: str) -> str:
    """Return markup that is folded below a few words."""
    return element("details", element("summary", text(summary)), *body)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of cells of markup, with words above the columns, if any.

    The first column names the row.
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


def result_tables(groups: Mapping[str, str]) -> str:
    """Return tables below their headings, in two columns where there is space."""
    return element(
        "div",
        *(
            element("div", element("h3", text(heading)), content)
            for heading, content in groups.items()
            if content
        ),
        class_="results",
    )


def value_table(rows: Sequence[tuple[str, object]]) -> str:
    """Return a table of labels and values; folded if it is long, none if empty."""
    shown = table((), [(text(label), text(value)) for label, value in rows])
    if len(rows) > MOST_ROWS:
        return details(f"{len(rows)} values", shown)
    return shown if rows else ""


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


def page(title: str, *body: str, style: str = "", script: str = "") -> str:
    """Return a whole HTML document that fetches nothing from anywhere.

    The script is a module that runs when the page is loaded; browsers run no other.
    """
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    if script:
        digest = hashlib.sha256(script.encode()).digest()
        policy += f"; script-src 'sha256-{base64.b64encode(digest).decode('ascii')}'"
        body = (*body, element("script", script, type="module"))
    head = "".join(
        [
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            element("title", text(title)),
            element("style", COLOURS, "\n", resource(STYLE), style),
        ]
    )
    document = element(
        "html",
        element("head", head),
        "\n",
        element("body", element("main", *body)),
        lang="en",
    )
    return f"<!DOCTYPE html>\n{document}\n"


def section(heading: str, *body: str) -> str:
    """Return a part of the page, or nothing if there is nothing in it."""
    content = "".join(body)
    return element("section", element("h2", text(heading)), content) if content else ""


def plots(*drawings: str) -> str:
    """Return drawings beside each other."""
    return element("div", *drawings, class_="plots")


def how_to_reproduce(results: Mapping[str, Any], command: str) -> str:
    """Return a command, and the ``versions`` and ``seed`` of results, as markup."""
    parts = [element("pre", element("code", text(command)))]
    versions = results.get("versions") or {}
    programs = ", ".join(f"{name} {number}" for name, number in versions.items())
    if programs:
        parts.append(element("p", text(f"Made with {programs}.")))
    if results.get("seed") is not None:
        parts.append(element("p", text(f"Seed {results['seed']}.")))
    return "".join(parts)


def resource(name: str) -> str:
    """Return the text of a script or style sheet beside this file."""
    return files("equipoise.show.pages").joinpath(name).read_text(encoding="utf-8")
