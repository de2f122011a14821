"""Configuration of the documentation site."""

import re
from importlib.metadata import version as installed_version
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

from sphinx.application import Sphinx

import equipoise

project = "Equipoise"
author = "The Equipoise authors"
copyright = "2026, The Equipoise authors"
release = installed_version("equipoise")
version = release

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
templates_path = ["_templates"]
exclude_patterns = ["_templates", "_build"]

autosummary_generate = True
# A package has a page of its own; its modules stand on it.
autosummary_context = {
    "packages": [
        name
        for _, name, is_package in walk_packages(equipoise.__path__, "equipoise.")
        if is_package
    ]
}
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_format = "short"
autodoc_default_options = {
    "members": True,
    "show-inheritance": True,
    # A name is documented in the module that defines it, not again in the
    # package that re-exports it.
    "ignore-module-all": True,
}
napoleon_google_docstring = True
napoleon_numpy_docstring = False
# Fields of a dataclass are described once, by its docstring.
napoleon_use_ivar = True
# Two classes may have an attribute of the same name.
suppress_warnings = ["ref.python"]

html_theme = "furo"
html_title = "Equipoise"

CITATION_KEYS = re.findall(
    r"^## \[(\w+)\]$",
    (Path(__file__).parent / "references.md").read_text(encoding="utf-8"),
    flags=re.MULTILINE,
)
CITATION = re.compile(r"(?<!`)\[(" + "|".join(CITATION_KEYS) + r")\](?!_)")


def link_citations(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Turn `[Key]` in a docstring into a link to the page of references."""
    lines[:] = [CITATION.sub(r":ref:`[\1] <\1>`", line) for line in lines]


def skip_tuple_fields(
    app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any
) -> bool | None:
    """Leave out Python's own remark on each field of a named tuple."""
    if str(getattr(obj, "__doc__", "")).startswith("Alias for field number"):
        return True
    return None


def setup(app: Sphinx) -> None:
    """Register the handlers above."""
    app.connect("autodoc-process-docstring", link_citations)
    app.connect("autodoc-skip-member", skip_tuple_fields)
