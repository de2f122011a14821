"""Files of what was identified for other programs: mjlab, Isaac Lab, and plain JSON."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from equipoise.errors import EquipoiseError, NameNotFoundError
from equipoise.identification.posterior import Posterior
from equipoise.identification.randomisation import (
    BodyRange,
    link_ranges,
    merged_ranges,
)
from equipoise.identification.statics import PER_LINK, links_with_mass
from equipoise.input_file import LARGEST_TEXT_BYTES, read_input_text
from equipoise.log.folder import read_summary
from equipoise.robot.model import Robot

if TYPE_CHECKING:
    from equipoise.identification.identified import Identified

EXPORT_FILES: dict[str, str] = {
    "mjlab": "identified_mjlab.py",
    "isaaclab": "identified_isaaclab.py",
    "json": "identified_posterior.json",
}
PARAMETERS = ("mass_kg", "mx_kg_m", "my_kg_m", "mz_kg_m")
CORRELATIONS = (
    "Ranges are 95 % intervals of each link by itself and ignore that links are "
    "correlated: drawn independently, the whole robot may vary more than the "
    "measurements leave open. The JSON export has the full covariance, and "
    "found.sample(n) of equipoise draws from it."
)
INERTIA = (
    "Rotational inertia is not identified by standing still: about the centre of mass "
    "it is the model's, and grows with the mass."
)
PRIOR_ONLY = (
    "The data determine the centres of mass of these links little better than the "
    "prior assumes, so that their ranges are mostly the prior's:"
)


def export_text(
    found: Identified,
    kind: str,
    *,
    robot_file: Path | str | None = None,
) -> str:
    """Return the posterior as a file for another program.

    Args:
        found: What was identified.
        kind: ``"mjlab"`` or ``"isaaclab"``, a Python module with a function that
            returns event terms; or ``"json"``, with the full covariance.
        robot_file: The identified robot's file; its hash is kept, as offsets are
            relative to the centres of mass in it.

    Raises:
        NameNotFoundError: If there is no such kind.
    """
    writers: dict[str, Callable[[Identified, dict[str, Any]], str]] = {
        "mjlab": _mjlab,
        "isaaclab": _isaaclab,
        "json": _json,
    }
    if kind not in writers:
        raise NameNotFoundError("export", kind, writers, "identify")
    original = found.original.source
    source = {
        "robot": found.original.name,
        "original_sha256": _hash(original),
        "identified_sha256": _hash(None if robot_file is None else Path(robot_file)),
        "poses": len(found.poses),
        "confirmed": found.improved,
        "sentence": found.sentence,
    }
    return writers[kind](found, source)


def read_posterior(folder: Path, robot: Robot) -> Posterior:
    """Return what the folder of an identification leaves possible.

    Args:
        folder: What ``equipoise identify --out DIR --export json`` wrote.
        robot: The robot that was identified, as its file describes it.

    Raises:
        EquipoiseError: If the folder is not such a one, or another robot's.
    """
    file = folder / EXPORT_FILES["json"]
    if not file.is_file():
        raise EquipoiseError(
            f"{folder}: has no {file.name}: identify with --export json, or give the "
            "log itself"
        )
    links = links_with_mass(robot)
    names = [f"{link}.{part}" for link in links for part in PARAMETERS]
    try:
        plain = json.loads(read_input_text(file, LARGEST_TEXT_BYTES))
        found = read_summary(folder)["links"]
        same = plain["parameters"] == names and all(
            math.isclose(found[name]["mass_before_kg"], own.mass, rel_tol=1e-9)
            and np.allclose(found[name]["com_before_m"], own.com_in_link, atol=1e-9)
            for name, own in links.items()
        )
        best = [
            found[name]["mass_kg"] * np.array([1.0, *found[name]["com_m"]])
            for name in (links if same else ())
        ]
        mean = np.array(plain["mean"], dtype=np.float64)
        covariance = np.array(plain["covariance"], dtype=np.float64)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise EquipoiseError(f"{file}: is not what identify wrote ({error})") from error
    if not same:
        raise EquipoiseError(f"{folder}: is the identification of another robot")
    if mean.shape != (len(names),) or covariance.shape != (len(names), len(names)):
        raise EquipoiseError(f"{file}: has numbers of another number of links")
    return Posterior(robot, mean, covariance, np.array(best).ravel())


def _hash(file: Path | None) -> str | None:
    if file is None or not file.is_file():
        return None
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _json(found: Identified, source: dict[str, Any]) -> str:
    size, links = PER_LINK * len(found.links), link_ranges(found)
    names = [f"{link.link}.{part}" for link in found.links for part in PARAMETERS]
    plain = {
        **source,
        "notes": [CORRELATIONS, INERTIA],
        "links": {own.name: _plain(own) for own in links},
        "bodies_with_fixed_joints_merged": {
            own.name: {"links": list(own.links), **_plain(own)}
            for own in merged_ranges(found, links)
        },
        "parameters": names,
        "mean": found.estimate.mean[:size].tolist(),
        "covariance": found.estimate.covariance[:size, :size].tolist(),
    }
    rows = (f"{json.dumps(key)}: {json.dumps(value)}" for key, value in plain.items())
    return "{\n" + ",\n".join(rows) + "\n}\n"


def _plain(own: BodyRange) -> dict[str, Any]:
    return {
        "mass_kg": own.mass,
        "mass_range_95_kg": list(own.mass_range),
        "mass_scale_range_95": list(own.mass_scale_range),
        "com_m": own.com.tolist(),
        "com_offset_range_95_m": dict(zip("xyz", own.com_range.tolist(), strict=True)),
        "pseudo_inertia": {
            "alpha_range": list(own.alpha_range),
            **{f"t{axis + 1}_range": own.com_range[axis].tolist() for axis in range(3)},
        },
        "determined_by_data": own.determined,
        "pseudo_inertia_positive_definite": own.definite,
    }


def _mjlab(found: Identified, source: dict[str, Any]) -> str:
    links = link_ranges(found)
    bodies = merged_ranges(found, links)
    singular = sorted({own.name for own in (*links, *bodies) if not own.definite})

    def row(own: BodyRange) -> str:
        shifts = (
            f'"t{axis + 1}_range": {_pair(own.com_range[axis])}' for axis in (0, 1, 2)
        )
        return f'{{"alpha_range": {_pair(own.alpha_range)}, {", ".join(shifts)}}}'

    return _module(
        found,
        source,
        "mjlab",
        "cfg.events.update(inertial_events())",
        (
            "Mass and inertia grow by exp(2 alpha), the centre of mass moves by t "
            "(dr.pseudo_inertia): inertias stay possible. Stretches d and shears s are "
            "left out, as they would move the centre of mass as well.",
            "For mjlab from 1.2 on.",
            "MuJoCo merges links that fixed joints connect when it reads a URDF: use "
            "inertial_events(merged=True) then.",
        ),
        (
            "import math",
            "import re",
            "",
            "from mjlab.envs.mdp import dr",
            "from mjlab.managers.event_manager import EventTermCfg",
            "from mjlab.managers.scene_entity_config import SceneEntityCfg",
        ),
        _tables(links, bodies, row),
        f"""
# Pseudo-inertias of these are not positive definite: mass and offset apart.
SINGULAR = {singular!r}


def inertial_events(entity="robot", mode="startup", merged=False):
    \"\"\"Return an event term for each link, by name.\"\"\"
    events = {{}}
    for link, ranges in (BODIES if merged else LINKS).items():
        asset = SceneEntityCfg(entity, body_names=(re.escape(link),))
        name = "identified_" + re.sub(r"\\W", "_", link)
        if link not in SINGULAR:
            events[name] = EventTermCfg(
                func=dr.pseudo_inertia,
                mode=mode,
                params={{"asset_cfg": asset, **ranges}},
            )
            continue
        scale = tuple(math.exp(2.0 * alpha) for alpha in ranges["alpha_range"])
        events[name + "_mass"] = EventTermCfg(
            func=dr.body_mass,
            mode=mode,
            params={{"asset_cfg": asset, "ranges": scale, "operation": "scale"}},
        )
        offsets = {{axis: ranges[f"t{{axis + 1}}_range"] for axis in range(3)}}
        events[name + "_com"] = EventTermCfg(
            func=dr.body_com_offset,
            mode=mode,
            params={{"asset_cfg": asset, "ranges": offsets, "operation": "add"}},
        )
    return events
""",
    )


def _isaaclab(found: Identified, source: dict[str, Any]) -> str:
    links = link_ranges(found)

    def row(own: BodyRange) -> str:
        offsets = (
            f'"{axis}": {_pair(own.com_range[at])}' for at, axis in enumerate("xyz")
        )
        scale = _pair(own.mass_scale_range)
        return f'{{"mass_scale": {scale}, "com_range": {{{", ".join(offsets)}}}}}'

    return _module(
        found,
        source,
        "isaaclab",
        "for name, term in inertial_events().items(): setattr(cfg.events, name, term)",
        (
            "Masses are scaled and inertias with them, so that these stay possible; "
            "centres of mass move by com_range. Use mode 'startup': some versions add "
            "com_range again at every call.",
            "The URDF importer merges links that fixed joints connect unless "
            "merge_fixed_joints is False: use inertial_events(merged=False) then.",
        ),
        (
            "import re",
            "",
            "import isaaclab.envs.mdp as mdp",
            "from isaaclab.managers import EventTermCfg, SceneEntityCfg",
        ),
        _tables(links, merged_ranges(found, links), row),
        """

def inertial_events(asset="robot", mode="startup", merged=True):
    \"\"\"Return two event terms for each link, by name.\"\"\"
    events = {}
    for link, ranges in (BODIES if merged else LINKS).items():
        name = "identified_" + re.sub(r"\\W", "_", link)
        events[name + "_mass"] = EventTermCfg(
            func=mdp.randomize_rigid_body_mass,
            mode=mode,
            params={
                "asset_cfg": SceneEntityCfg(asset, body_names=[re.escape(link)]),
                "mass_distribution_params": ranges["mass_scale"],
                "operation": "scale",
                "distribution": "uniform",
                "recompute_inertia": True,
            },
        )
        events[name + "_com"] = EventTermCfg(
            func=mdp.randomize_rigid_body_com,
            mode=mode,
            params={
                "asset_cfg": SceneEntityCfg(asset, body_names=[re.escape(link)]),
                "com_range": ranges["com_range"],
            },
        )
    return events
""",
    )


def _tables(
    links: Sequence[BodyRange],
    bodies: Sequence[BodyRange],
    row: Callable[[BodyRange], str],
) -> str:
    def table(name: str, ranges: Sequence[BodyRange]) -> str:
        rows = (f"    {json.dumps(own.name)}: {row(own)},\n" for own in ranges)
        return f"{name} = {{\n{''.join(rows)}}}\n"

    merged = [own for own in bodies if own.links != (own.name,)]
    if not merged:
        return table("LINKS", links) + "BODIES = LINKS\n"
    joined = "".join(
        f"#   {json.dumps(own.name)}: {json.dumps(own.links)}\n" for own in merged
    )
    apart = sorted({link for own in merged for link in own.links})
    return (
        table("LINKS", links)
        + f"# Links that fixed joints connect, as one body:\n{joined}"
        + table("BODIES", merged)
        + f"FIXED = {apart!r}\n"
        + "BODIES |= {name: own for name, own in LINKS.items() if name not in FIXED}\n"
    )


def _module(
    found: Identified,
    source: dict[str, Any],
    program: str,
    use: str,
    notes: Sequence[str],
    imports: Sequence[str],
    tables: str,
    functions: str,
) -> str:
    open_links = [link.link for link in found.links if not link.seen]
    verdict = "confirmed" if source["confirmed"] else "NOT confirmed"
    words = [
        f"Domain randomisation of {found.original.name} for {program}, from "
        "measurements.",
        f"Identified by equipoise from {source['poses']} poses; "
        f"{verdict}: {source['sentence']}",
        f"Offsets are relative to the identified robot file (SHA-256 "
        f"{source['identified_sha256'] or 'not known'}), ranges in kg and m.",
        CORRELATIONS,
        INERTIA,
        *notes,
    ]
    if open_links:
        words.append(f"{PRIOR_ONLY} {', '.join(open_links)}")
    text = "\n#\n".join(_wrapped(word) for word in words)
    return (
        f"{text}\n#\n# Use: {use}\n\n" + "\n".join(imports) + f"\n\n{tables}{functions}"
    )


def _wrapped(words: str) -> str:
    import textwrap

    plain = " ".join(words.split())
    return textwrap.fill(
        plain, 88, initial_indent="# ", subsequent_indent="# ", break_long_words=False
    )


def _pair(values: Sequence[float] | np.ndarray) -> str:
    low, high = (f"{float(value):.6g}" for value in values)
    return f"({low}, {high})"
