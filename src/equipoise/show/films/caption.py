"""Words on pictures: a title, the time, what the colours mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from equipoise.robot.description import Colour

INK: Colour = (38, 43, 51)
FAINT: Colour = (107, 114, 125)

# Heights of letters and the free edge, in heights of the picture; the least [px].
TITLE, TEXT, EDGE, LEAST_PX = 0.034, 0.026, 0.035, 11

# Leaves room for times.
LONGEST_TIME = "  t = 9999.99 s"

# Discs of the legend are drawn larger and made smaller, which rounds them.
FINER = 4


@dataclass(frozen=True)
class Caption:
    """Words that are the same in all pictures of a film but for the time.

    Attributes:
        title: At the upper left.
        subtitle: Beneath it, in grey.
        legend: What colours mean, at the lower left; words and a colour each.
    """

    title: str = ""
    subtitle: str = ""
    legend: Sequence[tuple[str, Colour]] = field(default=())

    def on(
        self, picture: NDArray[np.uint8], time: float | None = None
    ) -> NDArray[np.uint8]:
        """Return a copy of a picture (height, width, 3) with the words on it.

        Args:
            picture: Where they are written on.
            time: Written at the upper right [s]; None for none.
        """
        image = Image.fromarray(picture)
        draw = ImageDraw.Draw(image)
        height, width = picture.shape[:2]
        edge, text = round(EDGE * height), _font(TEXT, height)
        y = float(edge)
        title = _font(TITLE, height)
        room = width - 2 * edge - (0 if time is None else text.getlength(LONGEST_TIME))
        for line in _lines(self.title, title, room):
            draw.text((edge, y), line, INK, title, anchor="la")
            y += 1.45 * _size(TITLE, height)
        if self.subtitle:
            draw.text((edge, y), self.subtitle, FAINT, text, anchor="la")
        if time is not None:
            _write_time(draw, f"{time:.2f}", width - edge, edge, text)
        self._write_legend(image, draw, text)
        return np.asarray(image).copy()

    def _write_legend(
        self,
        image: Image.Image,
        draw: ImageDraw.ImageDraw,
        font: ImageFont.FreeTypeFont,
    ) -> None:
        width, height = image.size
        edge, size = round(EDGE * height), _size(TEXT, height)
        disc = max(4, round(0.62 * size))
        places, x, row = [], float(edge), 0
        for words, colour in self.legend:
            across = disc + 0.5 * size + font.getlength(words)
            if x > edge and x + across > width - edge:
                x, row = float(edge), row + 1
            places.append((x, row, words, colour))
            x += across + 1.2 * size
        for x, at, words, colour in places:
            middle = height - edge - round((row - at + 0.5) * 1.5 * size)
            mask = Image.new("L", (FINER * disc, FINER * disc))
            ImageDraw.Draw(mask).ellipse(
                (0, 0, FINER * disc - 1, FINER * disc - 1), 255
            )
            mask = mask.resize((disc, disc), Image.Resampling.LANCZOS)
            image.paste(colour, (round(x), middle - disc // 2), mask)
            place = (round(x) + disc + 0.5 * size, middle)
            draw.text(place, words, INK, font, anchor="lm")


def _lines(words: str, font: ImageFont.FreeTypeFont, room: float) -> list[str]:
    """Return words in lines that are no longer than the room for them [px]."""
    lines: list[str] = []
    for word in words.split():
        if lines and font.getlength(f"{lines[-1]} {word}") <= room:
            lines[-1] = f"{lines[-1]} {word}"
        else:
            lines.append(word)
    return lines


def _write_time(
    draw: ImageDraw.ImageDraw,
    digits: str,
    right: float,
    top: float,
    font: ImageFont.FreeTypeFont,
) -> None:
    """Write a time flush right, all digits equally wide: it does not jitter."""
    draw.text((right, top), " s", FAINT, font, anchor="ra")
    right -= font.getlength(" s")
    wide = max(font.getlength(digit) for digit in "0123456789")
    for letter in reversed(digits):
        step = wide if letter.isdigit() else font.getlength(letter)
        draw.text((right - 0.5 * step, top), letter, INK, font, anchor="ma")
        right -= step
    draw.text((right, top), "t = ", FAINT, font, anchor="ra")


def _size(part: float, height: int) -> int:
    return max(LEAST_PX, round(part * height))


def _font(part: float, height: int) -> ImageFont.FreeTypeFont:
    return _font_of(_size(part, height))


@lru_cache(maxsize=8)
def _font_of(size: int) -> ImageFont.FreeTypeFont:
    font = ImageFont.load_default(size)
    assert isinstance(font, ImageFont.FreeTypeFont)  # with a size, it always is
    return font
