"""Pictures small enough to stand in a page by the hundred."""

from __future__ import annotations

import base64
import gzip
import io
import re
from dataclasses import dataclass
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from PIL import Image

from linrep.figures import plotting
from linrep.figures.plotting.page import lay_out

_COLOURS = 32
_DPI = 132  # more than a pixel for each of the page's, for letters
_CSS_DPI = 96
_POINTS = 72  # an inch
#: How a figure's SVG begins, up to its size.
_ROOT = re.compile(r'<svg[^>]*? width="([\d.]+)pt" height="([\d.]+)pt"')

#: Numbers with more digits than can be seen.
_DIGITS = re.compile(r"-?\b\d+\.\d{3,}\b")


@dataclass(frozen=True)
class Picture:
    """An image with its size on the page in CSS pixels.

    Attributes
    ----------
    content : str
        Of an image in pixels its ``data:`` address; of a drawing the SVG, compressed by gzip and
        written in base64, which the page's script unpacks.
    width, height : int
    """

    content: str
    width: int
    height: int


def evidence(points: pd.DataFrame) -> Picture:
    """Draw what a verdict rests on."""
    buffer = io.BytesIO()
    with plotting.style():
        figure = plotting.evidence(points)
        try:
            lay_out(figure, _DPI)
            figure.savefig(buffer, format="png", dpi=_DPI)
        finally:
            plt.close(figure)
    return _picture(Image.open(buffer), _CSS_DPI / _DPI)


def stored(path: Path, content: bytes) -> Picture:
    """Return the SVG of a figure with a manifest at a path, in its natural size.

    A ValueError says that it is none.
    """
    text = content.decode("utf-8", errors="replace")
    root = _ROOT.search(text)
    if root is None:
        raise ValueError(f"{path} has no SVG of a figure")
    across, down = float(root[1]), float(root[2])
    drawing = _DIGITS.sub(lambda number: f"{float(number.group()):.2f}", text)
    packed = base64.b64encode(gzip.compress(drawing.encode(), mtime=0)).decode("ascii")
    scale = _CSS_DPI / _POINTS
    return Picture(packed, round(scale * across), round(scale * down))


def _picture(image, scale):
    """Compress an image to a palette; curves and text do not suffer."""
    buffer = io.BytesIO()
    palette = image.convert("RGB").quantize(_COLOURS, dither=Image.Dither.NONE)
    palette.save(buffer, format="png", optimize=True)
    data = base64.b64encode(buffer.getvalue()).decode("ascii")
    width, height = (round(scale * length) for length in image.size)
    return Picture(f"data:image/png;base64,{data}", width, height)
