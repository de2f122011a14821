"""Is it one tree, and is every mass possible? Checked before any model is built."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from equipoise.errors import NameNotFoundError, RobotFileError
from equipoise.robot.description import Description, Inertial, Joint, Link

# No length, mass or limit of a robot comes near it, and its square does not overflow.
LARGEST = 1e12

# A workspace of Pinocchio holds four arrays of nv³ numbers: half a gigabyte at this
# many degrees of freedom, and robots with two five-fingered hands have below 100.
MOST_DEGREES_OF_FREEDOM = 200
MOST_LINKS = 5_000
DEEPEST_CHAIN = 200  # links from the root outwards: documents are written recursively
DEGREES_OF_FREEDOM = {"fixed": 0, "spherical": 3, "floating": 6}  # else 1

# Principal moments below zero by no more than this are rounding in the file, as in
# released iCub and ANYmal files: a share of the largest moment, and the moment of
# the link's mass at a radius of 0.03 mm.
RELATIVE_ROUNDING = 1e-3
ROUNDING_RADIUS_SQUARED = 1e-9
JOINT_MAGNITUDES = (
    "velocity_limit",
    "effort_limit",
    "damping",
    "friction",
    "armature",
)


def check_tree(links: Sequence[Link], joints: Sequence[Joint], source: str) -> str:
    """Check that links and joints form one tree of possible bodies.

    Args:
        links: All links.
        joints: All joints.
        source: Named in messages.

    Returns:
        The name of the root link.

    Raises:
        RobotFileError: For names that are empty, doubled or hold control characters,
            unknown links, several roots, loops, trees that are too large, negative
            limits or friction, and impossible masses or inertias.
    """
    if not links:
        raise RobotFileError(f"{source}: has no links")
    for link in links:
        checked_name("link", link.name, source)
    for joint in joints:
        checked_name("joint", joint.name, source)
    _refuse_large(links, joints, source)
    _refuse_doubles("link", (link.name for link in links), source)
    _refuse_doubles("joint", (joint.name for joint in joints), source)
    names = {link.name for link in links}
    above: dict[str, Joint] = {}
    for joint in joints:
        for end in (joint.parent, joint.child):
            if end not in names:
                raise RobotFileError(
                    f"{source}: joint '{joint.name}' names link '{end}', "
                    "which does not exist"
                )
        _refuse_impossible(joint, source)
        if joint.child in above:
            raise RobotFileError(
                f"{source}: link '{joint.child}' hangs on two joints "
                f"('{above[joint.child].name}' and '{joint.name}'): "
                "closed loops are not supported"
            )
        above[joint.child] = joint
    roots = [link.name for link in links if link.name not in above]
    if not roots:
        raise RobotFileError(f"{source}: the joints form a loop, there is no root link")
    if len(roots) > 1:
        raise RobotFileError(
            f"{source}: has several root links ({', '.join(roots[:5])}); "
            "one tree is needed"
        )
    _refuse_loops(links, above, source)
    _refuse_deep(links, above, source)
    for link in links:
        if link.inertial is not None:
            check_inertial(link.inertial, f"{source}: link '{link.name}'")
    if not any(link.inertial is not None and link.inertial.mass > 0 for link in links):
        raise RobotFileError(f"{source}: no link has a mass")
    return roots[0]


def checked_name(kind: str, name: str, source: str) -> str:
    """Return a name that can be printed on one line.

    Args:
        kind: What it names, e.g. ``"joint"``.
        name: The name.
        source: Named in messages.

    Raises:
        RobotFileError: If it is empty or blank, or holds control characters, line
            breaks or other characters that cannot be seen.
    """
    if not name.strip():
        raise RobotFileError(f"{source}: a {kind} has an empty name")
    if not name.isprintable():
        raise RobotFileError(
            f"{source}: the {kind} name {name!r} holds characters that cannot be "
            "printed"
        )
    return name


def check_inertials(
    description: Description, inertials: Mapping[str, Inertial], owner: str
) -> None:
    """Refuse masses for links that do not exist, or that no body can have.

    Raises:
        NameNotFoundError: If there is no link of a name.
        RobotFileError: If a mass or inertia is not possible.
    """
    known = description.link_by_name
    for name, inertial in inertials.items():
        if name not in known:
            raise NameNotFoundError("link", name, known, owner)
        check_inertial(inertial, f"{owner}: link '{name}'")


def check_inertial(inertial: Inertial, where: str) -> None:
    """Refuse a mass or inertia that no body can have.

    Zero and very slightly negative principal moments pass: files of real robots
    have them; :mod:`equipoise.robot.anatomy.checks` warns of them.
    """
    if not np.isfinite(inertial.mass) or inertial.mass < 0.0:
        raise RobotFileError(f"{where} has an impossible mass of {inertial.mass:g} kg")
    if not (
        np.isfinite(inertial.com_in_link).all()
        and np.isfinite(inertial.inertia_in_link).all()
    ):
        raise RobotFileError(f"{where} has an inertial entry that is not finite")
    moments = np.linalg.eigvalsh(inertial.inertia_in_link)
    rounding = RELATIVE_ROUNDING * max(moments[2], 0.0)
    rounding += ROUNDING_RADIUS_SQUARED * inertial.mass
    if moments[0] < -rounding:
        raise RobotFileError(
            f"{where} has an inertia that is not positive definite "
            f"(smallest principal moment {moments[0]:.3g} kg m²)"
        )


def _refuse_impossible(joint: Joint, source: str) -> None:
    for name in JOINT_MAGNITUDES:
        value = getattr(joint, name)
        if not value >= 0.0:
            raise RobotFileError(
                f"{source}: joint '{joint.name}' has {name.replace('_', ' ')} "
                f"{value:g}, which must not be negative"
            )
    if joint.lower == np.inf or joint.upper == -np.inf:
        raise RobotFileError(
            f"{source}: joint '{joint.name}' has limits {joint.lower:g} and "
            f"{joint.upper:g}, between which there is no position"
        )
    if not joint.lower <= joint.upper:
        raise RobotFileError(
            f"{source}: joint '{joint.name}' has its lower limit {joint.lower:g} "
            f"above its upper limit {joint.upper:g}"
        )


def _refuse_doubles(kind: str, names: Iterable[str], source: str) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            raise RobotFileError(f"{source}: {count} {kind}s are named '{name}'")


def _refuse_large(links: Sequence[Link], joints: Sequence[Joint], source: str) -> None:
    if len(links) > MOST_LINKS:
        raise RobotFileError(
            f"{source}: has {len(links)} links, at most {MOST_LINKS} are supported"
        )
    freedom = sum(DEGREES_OF_FREEDOM.get(joint.kind, 1) for joint in joints)
    if freedom > MOST_DEGREES_OF_FREEDOM:
        raise RobotFileError(
            f"{source}: its joints have {freedom} degrees of freedom, at most "
            f"{MOST_DEGREES_OF_FREEDOM} are supported"
        )


def _refuse_deep(links: Sequence[Link], above: dict[str, Joint], source: str) -> None:
    depths: dict[str, int] = {}
    for link in links:
        path: list[str] = []
        name = link.name
        while name in above and name not in depths:
            path.append(name)
            name = above[name].parent
        depth = depths.setdefault(name, 0)
        for below in reversed(path):
            depth += 1
            depths[below] = depth
    deepest = max(depths, key=lambda name: depths[name])
    if depths[deepest] > DEEPEST_CHAIN:
        raise RobotFileError(
            f"{source}: link '{deepest}' is {depths[deepest]} joints away from the "
            f"root, at most {DEEPEST_CHAIN} are supported"
        )


def _refuse_loops(links: Sequence[Link], above: dict[str, Joint], source: str) -> None:
    reaches_root: set[str] = set()
    for link in links:
        path: list[str] = []
        name = link.name
        while name in above and name not in reaches_root:
            if name in path:
                raise RobotFileError(
                    f"{source}: the joints above link '{name}' form a loop"
                )
            path.append(name)
            name = above[name].parent
        reaches_root.update(path)
