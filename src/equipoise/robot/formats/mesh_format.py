"""Which mesh files MuJoCo can read."""

from __future__ import annotations

from pathlib import Path

STL_HEADER_BYTES = 84
STL_TRIANGLE_BYTES = 50
MOST_STL_TRIANGLES = 200_000


def mujoco_reads(mesh: Path) -> bool:
    """Whether MuJoCo reads a mesh file: OBJ, its own MSH, and binary STL.

    Text STL and COLLADA are what robot files often name and MuJoCo refuses.
    """
    suffix = mesh.suffix.lower()
    if suffix != ".stl":
        return suffix in (".obj", ".msh")
    try:
        with mesh.open("rb") as file:
            header = file.read(STL_HEADER_BYTES)
        if len(header) < STL_HEADER_BYTES:
            return False
        count = int.from_bytes(header[-4:], "little")
        size = mesh.stat().st_size
    except OSError:
        return False
    whole = size == STL_HEADER_BYTES + STL_TRIANGLE_BYTES * count
    return whole and 0 < count <= MOST_STL_TRIANGLES
