"""``equipoise three-link``: the three-link biped, from its equations to a gait."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from equipoise.cli.console import (
    check_out,
    drop_output,
    make_console,
    printable,
    progress,
)
from equipoise.cli.long_work import refuse_long
from equipoise.cli.three_link_tables import (
    WALK_COLUMNS,
    classic_lines,
    sweep_lines,
    sweep_row,
    walk_lines,
    walk_rows,
    write_csv,
)
from equipoise.cli.three_link_walker import WalkerOptions, asked_walker
from equipoise.cli.world_options import command_line
from equipoise.errors import EquipoiseError

if TYPE_CHECKING:
    from equipoise.planar.gait import PlanarGait
    from equipoise.planar.gait_search import GaitLimits
    from equipoise.planar.hybrid import Walk
    from equipoise.planar.poincare import Basin

FILM_NAME, WALK_NAME, SWEEP_NAME = "walk.gif", "walk.csv", "sweep.csv"
PICTURE_NAME = "walk.png"
# Default speed: this fraction of √(g r), which is natural for the leg.
NATURAL = 0.25
STEPS, SPEEDS = 20, 9
# On one core: a gait that is searched, a step, the basin of attraction [s].
SEARCH_SECONDS, STEP_SECONDS = 4.0, 0.1
MODES = ("equations", "classic", "gait", "sweep")
# Which options go with which mode; those of no mode go with all.
OF_GAIT = ("speed", "steps", "perturb", "basin")
OF_SEARCH = ("friction", "torque_limit", "eigenvalue")
OPTIONS = {
    "equations": ("coordinates",),
    "classic": ("json",),
    "gait": (*OF_GAIT, *OF_SEARCH, "json", "long"),
    "sweep": ("speeds", *OF_SEARCH, "json", "long"),
}


@dataclass(frozen=True)
class ThreeLink(WalkerOptions):
    """Derive the three-link biped's equations; find, walk and analyse its gaits."""

    equations: bool = False
    """Print Eq. 1 to 20 of the pinned and the unpinned model as LaTeX; with --out
    FILE.tex, as a document."""

    classic: bool = False
    """Analyse both gaits of the classic walker by the full model and by the zero
    dynamics: fixed point, step time, speed, slope of the Poincaré map and cost."""

    gait: bool = False
    """Find the gait of a speed and walk; this is the default."""

    sweep: Annotated[tuple[float, float] | None, tyro.conf.arg(metavar="M/S M/S")] = (
        None
    )
    """Find gaits from one speed to another [m/s]."""

    speed: Annotated[float | None, tyro.conf.arg(metavar="M/S")] = None
    """Mean walking speed [m/s]; default: a quarter of the square root of gravity times
    leg length, 0.78 m/s for a leg of 1 m."""

    steps: Annotated[int, tyro.conf.arg(metavar="N")] = STEPS
    """Number of steps to walk."""

    perturb: Annotated[float, tyro.conf.arg(metavar="FRACTION")] = 0.0
    """Start with all angles and rates changed by this fraction, 0.1 for 10 % more."""

    basin: bool = False
    """Walk from a grid of starts, too: the basin of attraction."""

    speeds: Annotated[int, tyro.conf.arg(metavar="N")] = SPEEDS
    """Number of speeds of a sweep, both ends included."""

    friction: Annotated[float | None, tyro.conf.arg(metavar="MU")] = None
    """Coefficient of friction that a gait may need; default: 0.6."""

    torque_limit: Annotated[float | None, tyro.conf.arg(metavar="NM")] = None
    """Largest torque that a gait may need [Nm]; default: no limit."""

    eigenvalue: Annotated[float | None, tyro.conf.arg(metavar="X")] = None
    """Largest eigenvalue that a gait may have, below 1; default: 0.75."""

    coordinates: Literal["absolute", "relative"] = "absolute"
    """Angles of --equations: from the vertical, or those of the report."""

    out: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None
    """Folder for summary.json, report.html and, of a walk, walk.csv, walk.png and
    walk.gif; of --equations FILE.tex. Without it nothing is kept."""

    json: bool = False
    """Print all results as JSON, for machines."""

    long: bool = False
    """Do it even if it takes more than ten minutes."""

    force: bool = False
    """Replace what is there already."""

    def run(self) -> int:
        """Do what is asked for; 0 if it walked, and the gait is stable."""
        mode = self._mode()
        if mode == "equations":
            return self._print_equations()
        if self.out is not None:
            from equipoise.log.folder import check_folder

            check_folder(self.out, files=_files(), replace=self.force)
        if mode == "classic":
            return self._analyse_classic()
        return self._sweep() if mode == "sweep" else self._walk()

    def _mode(self) -> str:
        """Return what is to be done; refuse options that go with something else."""
        chosen = [name for name in MODES if getattr(self, name) not in (False, None)]
        if len(chosen) > 1:
            words = " and ".join(f"--{name}" for name in chosen)
            raise EquipoiseError(f"{words} cannot be given together: choose one")
        mode = chosen[0] if chosen else "gait"
        walker = {option.name for option in fields(WalkerOptions)}
        for option in fields(self):
            given = getattr(self, option.name) != option.default
            owners = [name for name in MODES if option.name in OPTIONS[name]]
            if option.name in walker:
                owners = ["gait", "sweep"]
            if given and owners and mode not in owners:
                word = option.name.replace("_", "-")
                what = "another robot" if option.name == "robot" else f"--{word}"
                goes = " or ".join(f"--{name}" for name in owners)
                raise EquipoiseError(f"{what} goes with {goes}, not with --{mode}")
        return mode

    def _limits(self) -> GaitLimits:
        from equipoise.planar.gait_search import GaitLimits

        asked = {
            "friction": self.friction,
            "torque": self.torque_limit,
            "eigenvalue": self.eigenvalue,
        }
        given: dict[str, Any] = {k: v for k, v in asked.items() if v is not None}
        return GaitLimits(**given)

    def _print_equations(self) -> int:
        from equipoise.atomic_file import write_text_atomically
        from equipoise.planar.equation_document import equation_document, equation_text

        if self.out is None:
            print(equation_text(self.coordinates), end="")
            return 0
        if self.out.suffix.lower() != ".tex":
            raise EquipoiseError(f"{self.out}: equations are written to FILE.tex")
        check_out(self.out, self.force)
        write_text_atomically(self.out, equation_document(self.coordinates))
        print(f"written: {printable(str(self.out))}")
        return 0

    def _walk(self) -> int:
        """Find a gait, walk, print, write."""
        from equipoise.planar.gait_search import find_gait
        from equipoise.planar.gait_summary import (
            basin_summary,
            gait_summary,
            walk_if_it_can,
            walk_summary,
        )

        name, parameters = asked_walker(self)
        limits, speed = self._limits(), self.speed
        if speed is None:
            natural = NATURAL * math.sqrt(parameters.gravity * parameters.leg_length)
            speed = float(f"{natural:.2g}")
        if self.steps < 1:
            raise EquipoiseError(f"--steps {self.steps}; there must be 1 or more")
        if not math.isfinite(self.perturb):
            raise EquipoiseError("--perturb must be finite")
        refuse_long(STEP_SECONDS * self.steps, f"{self.steps} steps", self.long)
        if self.out is not None:
            from equipoise.show.films.encode import film_writer

            film_writer(self.out.absolute().parent / FILM_NAME)  # it needs ffmpeg
        began = time.perf_counter()
        with progress(4, f"three-link, {speed:.3g} m/s") as told:
            gait = find_gait(parameters, speed, limits)
            told(1)
            walk = walk_if_it_can(gait, self.steps, (1.0 + self.perturb) * gait.start)
            told(2)
            results = {**gait_summary(gait), **walk_summary(gait, walk, self.steps)}
            told(3)
            basin = gait.basin() if self.basin else None
            told(4)
        results |= self._common(name, time.perf_counter() - began)
        results |= {
            "title": f"three-link, {name}: a gait at {speed:.3g} m/s",
            "perturbation_fraction": self.perturb,
            "realtime_factor": results["duration_s"] / results["wall_s"],
        }
        if basin is not None:
            results["basin"] = basin_summary(basin)
        if self.out is not None:
            self._write_walk(self.out, gait, walk, basin, results)
        self._tell(results, walk_lines(results))
        return 0 if results["achieved"] else 1

    def _write_walk(
        self,
        out: Path,
        gait: PlanarGait,
        walk: Walk,
        basin: Basin | None,
        results: Mapping[str, Any],
    ) -> None:
        from equipoise.show.charts.paper_figures import write_figure
        from equipoise.show.charts.planar_walk import walk_charts
        from equipoise.show.films.encode import write_gif
        from equipoise.show.films.stick_film import FPS, picture_count, stick_pictures
        from equipoise.show.pages.planar_report import planar_report

        page = planar_report(gait, walk, results, command_line(), basin)

        def write(part: Path) -> None:
            if not walk.steps:
                return
            write_csv(part / WALK_NAME, WALK_COLUMNS, walk_rows(walk))
            write_figure(part / PICTURE_NAME, walk_charts(walk))
            with progress(picture_count(walk), FILM_NAME) as told:
                pictures = stick_pictures(walk, results["title"])
                write_gif(part / FILM_NAME, _counted(pictures, told), FPS)

        self._write(out, results, page, write)

    def _sweep(self) -> int:
        """Find gaits of several speeds, print, write."""
        import numpy as np

        from equipoise.planar.gait_search import find_gaits
        from equipoise.planar.gait_summary import gait_summary, parameters_summary

        assert self.sweep is not None
        name, parameters = asked_walker(self)
        first, last = self.sweep
        if self.speeds < 2:
            raise EquipoiseError(f"--speeds {self.speeds}; there must be 2 or more")
        if first == last:
            raise EquipoiseError("--sweep needs two speeds, not twice the same")
        refuse_long(SEARCH_SECONDS * self.speeds, f"{self.speeds} speeds", self.long)
        began = time.perf_counter()
        speeds = np.linspace(first, last, self.speeds)
        with progress(2, f"three-link, {self.speeds} speeds") as told:
            gaits = find_gaits(parameters, speeds, self._limits())
            told(1)
            found = [gait_summary(gait) for gait in gaits]
            told(2)
        largest = max(gait["full_model"]["largest_eigenvalue"] for gait in found)
        results = {
            "title": f"three-link, {name}: gaits from {first:g} to {last:g} m/s",
            "sentence": (
                f"The three-link biped has gaits at all {len(found)} speeds from "
                f"{first:g} to {last:g} m/s; the largest eigenvalue of their Poincaré "
                f"maps is {largest:.3f}, by the full model."
            ),
            "achieved": largest < 1.0,
            "parameters": parameters_summary(parameters),
            "gaits": found,
            **self._common(name, time.perf_counter() - began),
        }
        if self.out is not None:
            from equipoise.show.pages.planar_report import sweep_report

            rows = [sweep_row(gait) for gait in found]
            self._write(
                self.out,
                results,
                sweep_report(gaits, results, command_line()),
                lambda part: write_csv(
                    part / SWEEP_NAME, list(rows[0]), [list(r.values()) for r in rows]
                ),
            )
        self._tell(results, sweep_lines(found))
        return 0 if results["achieved"] else 1

    def _analyse_classic(self) -> int:
        """Analyse both classic gaits, print, write."""
        from dataclasses import asdict

        from equipoise.planar.classic import classic
        from equipoise.show.pages.planar_report import classic_notes

        began = time.perf_counter()
        with progress(None, "three-link, classic gaits"):
            gaits = classic()
        results = {
            "title": "three-link, classic: the gaits of [Grizzle2001]",
            "sentence": (
                "Both classic gaits are stable: the slopes of their Poincaré maps are "
                + " and ".join(f"{gait.full_model.slope:.3f}" for gait in gaits)
                + ", by the full model."
            ),
            "achieved": all(abs(gait.full_model.slope) < 1.0 for gait in gaits),
            "gaits": {
                gait.name: {
                    "full_model": asdict(gait.full_model),
                    "zero_dynamics": asdict(gait.zero_dynamics),
                    "output_error_rad": gait.output_error.tolist(),
                    "output_rate_error_radps": gait.output_rate_error.tolist(),
                    "notes": classic_notes(gait),
                }
                for gait in gaits
            },
            **self._common("classic", time.perf_counter() - began),
        }
        if self.out is not None:
            from equipoise.show.pages.planar_report import classic_report

            page = classic_report(gaits, results, command_line())
            self._write(self.out, results, page)
        self._tell(results, classic_lines(gaits))
        return 0 if results["achieved"] else 1

    def _common(self, robot: str, seconds: float) -> dict[str, Any]:
        from equipoise.simulation.summary import versions

        return {
            "verb": "three-link",
            "robot": robot,
            "seed": None,
            "dt_s": None,
            "wall_s": seconds,
            "versions": versions(),
            "command": command_line(),
        }

    def _write(
        self, out: Path, results: Mapping[str, Any], page: str, more: Any = None
    ) -> None:
        """Write the folder of the results."""
        from equipoise.atomic_file import write_text_atomically
        from equipoise.log.folder import (
            REPORT_NAME,
            SUMMARY_NAME,
            summary_as_json,
            write_folder,
        )

        def write(part: Path) -> None:
            write_text_atomically(part / SUMMARY_NAME, summary_as_json(results))
            write_text_atomically(part / REPORT_NAME, page)
            if more is not None:
                more(part)

        write_folder(out, write, files=_files(), replace=self.force)

    def _tell(self, results: Mapping[str, Any], lines: Iterator[Any]) -> None:
        """Print the results; where nobody reads on, what was written is kept."""
        from equipoise.log.folder import summary_as_json

        try:
            if self.json:
                print(summary_as_json(results), end="", flush=True)
                return
            console = make_console()
            console.print(printable(results["sentence"]), style="bold", soft_wrap=True)
            for line in lines:
                console.print(line, soft_wrap=isinstance(line, str))
            if self.out is not None:
                print(f"written: {printable(str(self.out))}", flush=True)
        except BrokenPipeError:
            drop_output()


def _files() -> tuple[str, ...]:
    from equipoise.log.folder import REPORT_NAME, SUMMARY_NAME

    own = (WALK_NAME, PICTURE_NAME, FILM_NAME, SWEEP_NAME)
    return (SUMMARY_NAME, REPORT_NAME, *own)


def _counted(pictures: Iterator[Any], told: Any) -> Iterator[Any]:
    for done, picture in enumerate(pictures, start=1):
        yield picture
        told(done)
