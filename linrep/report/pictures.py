"""Pictures small enough to stand in a page by the hundred."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from PIL import Image

from linrep import plotting

_COLOURS = 64
_DPI = 144  # one and a half pixels for each of the page's
_CSS_DPI = 96


@dataclass(frozen=True)
class Picture:
    """An image as a ``data:`` address, with its size on the page in CSS pixels."""

    address: str
    width: int
    height: int


def evidence(points: pd.DataFrame) -> Picture:
    """Draw what a verdict rests on."""
    buffer = io.BytesIO()
    with plotting.style():
        figure = plotting.evidence(points)
        try:
            figure.savefig(buffer, format="png", dpi=_DPI)
        finally:
            plt.close(figure)
    return _picture(Image.open(buffer), _CSS_DPI / _DPI)


def stored(path: Path, width: int, caption: str) -> Picture:
    """Return a figure's PNG without the caption under it, to be shown so wide.

    Raises
    ------
    OSError
        If it cannot be read.
    """
    with Image.open(path) as image:
        dpi = image.info.get("dpi", (_CSS_DPI, _CSS_DPI))[0]
        room = round(dpi * plotting.caption_height(caption, image.width / dpi))
        plain = image.crop((0, 0, image.width, max(image.height - room, 1)))
        return _picture(plain, width / plain.width)


def _picture(image, scale):
    """Compress an image to a palette; curves and text do not suffer."""
    buffer = io.BytesIO()
    palette = image.convert("RGB").quantize(_COLOURS, dither=Image.Dither.NONE)
    palette.save(buffer, format="png", optimize=True)
    data = base64.b64encode(buffer.getvalue()).decode("ascii")
    width, height = (round(scale * length) for length in image.size)
    return Picture(f"data:image/png;base64,{data}", width, height)
