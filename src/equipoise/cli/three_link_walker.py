"""Options that describe a three-link biped: a name, a file, masses and lengths."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from equipoise.errors import EquipoiseError

if TYPE_CHECKING:
    from equipoise.planar.parameters import ThreeLinkParameters


@dataclass(frozen=True)
class WalkerOptions:
    """Masses and lengths of a three-link biped."""

    robot: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="WALKER")] = (
        "seed"
    )
    """seed or classic, walkers of the literature, or a TOML file with leg_length,
    torso_length, leg_mass, hip_mass, torso_mass and, if it is another, gravity."""

    leg_length: Annotated[float | None, tyro.conf.arg(metavar="M")] = None
    """Length of both legs [m]; default: that of the walker."""

    torso_length: Annotated[float | None, tyro.conf.arg(metavar="M")] = None
    """Distance from the hip to the torso's mass [m]; default: that of the walker."""

    leg_mass: Annotated[float | None, tyro.conf.arg(metavar="KG")] = None
    """Mass of each leg, half-way up [kg]; default: that of the walker."""

    hip_mass: Annotated[float | None, tyro.conf.arg(metavar="KG")] = None
    """Mass of the hip [kg]; default: that of the walker."""

    torso_mass: Annotated[float | None, tyro.conf.arg(metavar="KG")] = None
    """Mass of the torso [kg]; default: that of the walker."""

    gravity: Annotated[float | None, tyro.conf.arg(metavar="M/S2")] = None
    """Gravity [m/s²]; default: that of the walker."""


def asked_walker(options: WalkerOptions) -> tuple[str, ThreeLinkParameters]:
    """Return the name and the parameters of the biped that options ask for.

    Raises:
        EquipoiseError: If there is no such walker, or it is impossible.
    """
    from equipoise.planar.parameters import ThreeLinkParameters, walkers

    known = walkers()
    if options.robot in known:
        name, parameters = options.robot, ThreeLinkParameters.named(options.robot)
    elif Path(options.robot).suffix.lower() == ".toml":
        name, parameters = Path(options.robot).stem, _read(Path(options.robot))
    else:
        raise EquipoiseError(
            f"there is no walker '{options.robot}'; the walkers are: "
            f"{', '.join(known)}, or a TOML file"
        )
    own = {
        field.name: value
        for field in fields(ThreeLinkParameters)
        if (value := getattr(options, field.name)) is not None
    }
    if own:
        name = f"{name}, changed"
    return name, ThreeLinkParameters(**{**asdict(parameters), **own})


def _read(file: Path) -> ThreeLinkParameters:
    from equipoise.planar.parameters import PlanarModelError, ThreeLinkParameters
    from equipoise.robot.formats.settings import load_toml
    from equipoise.robot.formats.toml_table import Table

    table = Table(load_toml(file), str(file))
    names = [field.name for field in fields(ThreeLinkParameters)]
    table.check_keys(*names)
    needed = [name for name in names if name != "gravity" or name in table]
    values = {name: table.number(name) for name in needed}
    try:
        return ThreeLinkParameters(**values)
    except PlanarModelError as error:
        raise EquipoiseError(f"{file}: {error}") from error
