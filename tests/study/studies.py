"""Studies for tests: small files, written where a test wants them."""

from __future__ import annotations

from pathlib import Path

HEAD = 'format = "equipoise study 1"\n'
# Half a second of standing: as short as a run can be.
STANDING = """\
outcomes = ["survived", "com_error_m.max", "zmp_margin_m.min"]
[run]
verb = "stand"
robot = "itu-biped"
seconds = 0.5
[vary]
torso.com.x = { from = -0.05, to = 0.05 }
friction = [0.4, 0.8]
[sampling]
method = "random"
count = 24
seed = 3
"""


def written(folder: Path, text: str = STANDING, name: str = "study.toml") -> Path:
    """Return a study's file, its format in the first line."""
    path = folder / name
    path.write_text(HEAD + text, encoding="utf-8")
    return path


def varying(vary: str, run: str = "", sampling: str = 'method = "grid"') -> str:
    """Return the text of a study of walks that varies something."""
    return (
        f'[run]\nverb = "walk"\nrobot = "itu-biped"\nsteps = 2\n{run}\n'
        f"[vary]\n{vary}\n[sampling]\n{sampling}\n"
    )
