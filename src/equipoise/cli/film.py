"""``equipoise film``: a run as a film or a picture, without a display."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from equipoise.cli.console import check_out, print_notices, printable, progress
from equipoise.cli.long_work import film_seconds, refuse_long

if TYPE_CHECKING:
    from equipoise.show.films.encode import Picture

STILL = ".png"


@dataclass(frozen=True)
class Film:
    """Film a run: GIF or MP4, or one picture as PNG. Needs no display."""

    log: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """Folder of a run, its MCAP file, or a robot's own log."""

    out: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """File to write: FILE.gif, FILE.mp4, or FILE.png for one picture."""

    robot: Annotated[str | None, tyro.conf.arg(metavar="ROBOT")] = None
    """The robot of a log that does not describe it: a name or a file."""

    settings: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """TOML to use instead of the one beside the robot file."""

    view: Literal["corner", "side", "front", "back", "top"] = "corner"
    """Where the camera looks from."""

    size: Annotated[tuple[int, int], tyro.conf.arg(metavar="W H")] = (960, 540)
    """Width and height of the pictures [px]."""

    fps: Annotated[float | None, tyro.conf.arg(metavar="HZ")] = None
    """Pictures a second; 20 in a GIF and 30 in an MP4 unless given."""

    speed: Annotated[float, tyro.conf.arg(metavar="X")] = 1.0
    """Seconds of the run in one second of the film."""

    begin: Annotated[float, tyro.conf.arg(name="from", metavar="S")] = 0.0
    """Start of the part that is filmed [s]."""

    end: Annotated[float, tyro.conf.arg(name="to", metavar="S")] = math.inf
    """End of the part that is filmed [s]."""

    at: Annotated[float | None, tyro.conf.arg(metavar="S")] = None
    """When a single picture is taken [s]; in the middle unless given."""

    still: bool = False
    """Keep the camera in place instead of following the robot."""

    see_through: bool = False
    """Draw the robot translucent."""

    title: Annotated[str | None, tyro.conf.arg(metavar="WORDS")] = None
    """Caption; default: what happened in the run."""

    long: bool = False
    """Do it even if it takes more than ten minutes."""

    force: bool = False
    """Replace a file that exists."""

    def run(self) -> int:
        """Read, draw, write."""
        out = self._checked_out()
        from equipoise.log.open_run import open_run
        from equipoise.robot.load import load
        from equipoise.show.films import film
        from equipoise.show.films.encode import film_writer, write_png
        from equipoise.show.space.scene import RunScene

        robot = None if self.robot is None else load(self.robot, self.settings)
        style = film.FilmStyle(
            *self.size,
            view=self.view,
            follow=not self.still,
            see_through=self.see_through,
            title=self.title,
        )
        scene = RunScene(open_run(self.log, robot))
        print_notices(scene.run.summary)
        if out.suffix.lower() == STILL:
            when = film.picture_time(scene, self.at)
            write_png(out, film.Film(scene, style).picture(when))
        else:
            writer = film_writer(out)
            usual = 20.0 if out.suffix.lower() == ".gif" else 30.0
            fps = usual if self.fps is None else self.fps
            asked = (fps, self.speed, self.begin, self.end)
            count = len(film.picture_times(scene, *asked))
            seconds = film_seconds(count, *self.size)
            refuse_long(seconds, f"a film of {count} pictures", self.long)
            pictures = film.Film(scene, style).pictures(*asked)
            writer(out, _with_progress(pictures, count, printable(out.name)), fps)
        print(f"written: {printable(str(out))}")
        return 0

    def _checked_out(self) -> Path:
        from equipoise.errors import EquipoiseError
        from equipoise.show.films.encode import film_writer

        if self.out is None:
            raise EquipoiseError("--out FILE is needed: FILE.gif, FILE.mp4 or FILE.png")
        if self.out.suffix.lower() != STILL:
            film_writer(self.out)
            if self.at is not None:
                raise EquipoiseError("--at is for one picture: --out FILE.png")
        check_out(self.out, self.force)
        return self.out


def _with_progress(
    pictures: Iterable[Picture], count: int, title: str
) -> Iterator[Picture]:
    """Yield pictures; a terminal shows how many are still to come."""
    with progress(count, title) as show_progress:
        for done, picture in enumerate(pictures, start=1):
            yield picture
            show_progress(done)
