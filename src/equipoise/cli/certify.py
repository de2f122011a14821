"""``equipoise certify``: whether balancing gains are stable, and what they allow."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from equipoise.cli.console import check_out, make_console, make_table, printable

if TYPE_CHECKING:
    from equipoise.control.certificate import Certificate, Gains


@dataclass(frozen=True)
class Certify:
    """Prove that gains of the balancing controller are stable, or propose some."""

    robot: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="ROBOT")]
    """Catalogue name, path to a URDF, MJCF or DH (TOML) file, or a name of the package
    robot_descriptions, for example g1_description."""

    kp: Annotated[float | None, tyro.conf.arg(metavar="1/S")] = None
    """Gain of the ZMP error [1/s]; proposed if neither gain is given."""

    kc: Annotated[float | None, tyro.conf.arg(metavar="1/S")] = None
    """Gain of the CoM error [1/s]."""

    disturbance: Annotated[float, tyro.conf.arg(metavar="M/S")] = 0.01
    """Largest difference of the CoM's velocity from the commanded one [m/s]."""

    disturbance_rate: Annotated[float, tyro.conf.arg(metavar="M/S2")] = 0.1
    """Largest rate of that difference [m/s²]."""

    zmp_error: Annotated[float | None, tyro.conf.arg(metavar="M")] = None
    """ZMP error that proposed gains keep [m]; the smallest that can be if not given."""

    delay: Annotated[float, tyro.conf.arg(metavar="S")] = 0.0
    """Delay of the measured CoM and ZMP [s]."""

    lag: Annotated[float, tyro.conf.arg(metavar="S")] = 0.0
    """Time constant of their low-pass filter [s]."""

    out: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Draw the stable gains: FILE.png, FILE.svg or FILE.pdf."""

    force: bool = False
    """Show what is known of unstable gains, too, and replace a file that exists."""

    settings: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """TOML to use instead of the one beside the robot file."""

    def run(self) -> int:
        """Certify, print, draw; 0 if the gains are stable."""
        from equipoise.control.certificate import Gains, certify, design
        from equipoise.errors import EquipoiseError
        from equipoise.kinematics.com import com
        from equipoise.robot.load import load
        from equipoise.show.charts.paper_figures import check_format

        if (self.kp is None) != (self.kc is None):
            raise EquipoiseError("--kp and --kc are given together, or neither is")
        if self.kp is not None and self.zmp_error is not None:
            raise EquipoiseError("--zmp-error is for gains that are proposed")
        if self.out is not None:
            check_format(self.out)
            check_out(self.out, self.force)
        robot = load(self.robot, self.settings)
        gravity = abs(float(robot.model.gravity.linear[2]))
        height = float(com(robot, robot.standing)[2])
        omega = math.sqrt(gravity / height)
        bounds = self.disturbance, self.disturbance_rate
        if self.kp is None or self.kc is None:
            done = design(
                omega,
                *bounds,
                zmp_error=self.zmp_error,
                delay=self.delay,
                lag=self.lag,
            )
        else:
            gains = Gains(self.kp, self.kc, omega, self.delay, self.lag)
            if not gains.stable and not self.force:
                raise EquipoiseError(_refusal(gains))
            done = certify(gains, *bounds)
        _print(done, robot.name, height)
        if self.out is not None:
            from equipoise.show.charts.gain_region import write_gain_region

            write_gain_region(self.out, done.gains)
            print(f"written: {printable(str(self.out))}")
        return 0 if done.gains.stable else 1


def _refusal(gains: Gains) -> str:
    from equipoise.control.certificate import nearest_stable

    near = nearest_stable(gains)
    exact = [c for c in gains.conditions if c.name.startswith("exact")]
    failed = next(condition for condition in exact if not condition.holds)
    lag = f" --lag {near.lag:.4g}" if near.lag != gains.lag else ""
    return (
        f"k_p = {gains.zmp_gain:g}/s, k_c = {gains.com_gain:g}/s are not stable: "
        f"{failed.text} does not hold; stable ones near to them are --kp "
        f"{near.zmp_gain:.4g} --kc {near.com_gain:.4g}{lag}; --force shows the rest"
    )


def _print(done: Certificate, robot: str, height: float) -> None:
    gains = done.gains
    console = make_console()
    verdict = "stable" if gains.stable else "NOT stable"
    console.print(
        printable(
            f"{robot}, CoM {height:.3f} m high: k_p = {gains.zmp_gain:.4g}/s and "
            f"k_c = {gains.com_gain:.4g}/s are {verdict}."
        ),
        style="bold",
        soft_wrap=True,
    )
    conditions = make_table("condition", "on the gains", "holds")
    for condition in gains.conditions:
        holds = "yes" if condition.holds else "no"
        conditions.add_row(condition.name, condition.text, holds)
    console.print(conditions)
    if done.bound is None or done.reached is None:
        return
    numbers = ("CoM [mm]", "ZMP [mm]")
    table = make_table("largest error", *numbers, numbers=numbers)
    rows = [
        ("bound", done.bound),
        ("one disturbance reaches", done.reached),
        ("bound of Eq. 30 and 31", done.paper_bound),
    ]
    for name, bound in rows:
        if bound is not None:
            table.add_row(name, f"{1e3 * bound.com:.2f}", f"{1e3 * bound.zmp:.2f}")
    console.print(table)
    console.print(
        f"for velocity errors up to {done.disturbance:g} m/s that change by at most "
        f"{done.disturbance_rate:g} m/s², from rest",
        soft_wrap=True,
    )
