"""The derivation of the three-link biped as a document for LaTeX."""

from __future__ import annotations

from equipoise.planar.equations import Coordinates, derive

MODELS = {
    "Pinned model: the stance foot is a pivot": True,
    "Unpinned model: the stance foot is the point $p_e = (x_e, z_e)$": False,
}
# Kinetic energy and Coriolis matrix of the unpinned model are one line each: pages are
# as wide as they need.
HEAD = r"""\documentclass{article}
\usepackage[paperwidth=1100mm,paperheight=600mm,margin=15mm]{geometry}
\usepackage{amsmath}
\allowdisplaybreaks
\setcounter{MaxMatrixCols}{20}
\begin{document}
"""
MEANING = {
    "absolute": (
        r"Angles $\theta_1$, $\theta_2$, $\theta_3$ of stance leg, swing leg and torso "
        "from the vertical, positive when leaning forwards, each leg taken from its "
        "foot to the hip."
    ),
    "relative": (
        "The stance leg's angle $q_1$ from the vertical, and the angles $q_2$, $q_3$ "
        "from it to the swing leg and to the torso."
    ),
}
NUMBERS = "Numbers are those of the report; where it is misprinted, this is right."


def equation_text(coordinates: Coordinates = "absolute") -> str:
    """Return Eq. (1) to (20) of both models as LaTeX, without a document around them.

    Args:
        coordinates: ``"absolute"`` or ``"relative"``.
    """
    parts = []
    for title, pinned in MODELS.items():
        latex = derive(coordinates, pinned=pinned).latex()
        parts.append(f"\\section*{{{title}}}\n{latex}\n")
    return "\n".join(parts)


def equation_document(coordinates: Coordinates = "absolute") -> str:
    """Return the same as a document that LaTeX compiles; arguments are the same."""
    return (
        f"{HEAD}{MEANING[coordinates]} {NUMBERS}\n\n{equation_text(coordinates)}"
        "\\end{document}\n"
    )
