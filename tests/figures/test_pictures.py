"""Pictures in the repository: no text leaves the page, whatever its panel has room for."""

import math
import re
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib import font_manager, ft2font
from matplotlib.axis import Axis

import linrep
from linrep.figures import plotting
from linrep.figures.plotting.page import lay_out

ROOT = Path(linrep.__file__).parents[1]
PICTURES = sorted(
    path for home in ("figures", "docs/examples")
    for path in (ROOT / home).rglob("*.svg")
)  # fmt: skip
SVG = "{http://www.w3.org/2000/svg}"
ANCHORS = {"start": 0.0, "middle": 0.5, "end": 1.0}


@cache
def length(text):
    """Return how long a text of size 1 is, in matplotlib's own font, one of the widest."""
    font = font_manager.get_font(font_manager.findfont("DejaVu Sans"))
    font.set_size(1000, 72)
    flags = getattr(ft2font, "LoadFlags", None)  # of matplotlib 3.10
    font.set_text(text, 0.0, flags=flags.NO_HINTING if flags else ft2font.LOAD_NO_HINTING)
    return font.get_width_height()[0] / 64_000


def placed(transform):
    """Return the matrix of what stands in the attribute of an element."""
    matrix = np.eye(3)
    for kind, numbers in re.findall(r"(\w+)\(([^)]*)\)", transform or ""):
        x, *rest = map(float, re.split(r"[ ,]+", numbers.strip()))
        step = np.eye(3)
        if kind == "translate":
            step[:2, 2] = x, *rest
        elif kind == "scale":
            step[0, 0], step[1, 1] = x, rest[0] if rest else x
        else:
            assert kind == "rotate", kind
            sine, cosine = math.sin(math.radians(x)), math.cos(math.radians(x))
            step[:2, :2] = (cosine, -sine), (sine, cosine)
            if rest:
                step[:2, 2] = np.subtract(rest, step[:2, :2] @ rest)
        matrix = matrix @ step
    return matrix


def corners(node, matrix):
    """Yield the corners of the texts below an element, with the texts."""
    matrix = matrix @ placed(node.get("transform"))
    for each in node.iter() if node.tag == f"{SVG}text" else ():
        style, text = each.get("style", ""), (each.text or "").strip()
        size = re.search(r"font-size: ([\d.]+)px|font: (?:\w+ )*([\d.]+)px", style)
        if not text or size is None:
            continue
        size = float(size[1] or size[2])
        anchor = re.search(r"text-anchor: (\w+)", style)
        x, y = (float(each.get(name, "0").split()[0]) for name in "xy")
        x -= ANCHORS[anchor[1] if anchor else "start"] * size * length(text)
        for right in (x, x + size * length(text)):
            for up in (y, y - 0.73 * size):  # to the top of a capital
                yield text, (matrix @ (right, up, 1.0))[:2]
    if node.tag != f"{SVG}text":
        for child in node:
            yield from corners(child, matrix)


def outside(path):
    """Return the texts of a picture that leave its page."""
    root = ElementTree.parse(path).getroot()
    page = np.array(root.get("viewBox").split()[2:], float)
    found = list(corners(root, np.eye(3)))
    assert found, path
    return {text for text, place in found if (place < 0.0).any() or (place > page).any()}


@pytest.mark.parametrize("path", PICTURES, ids=lambda path: path.stem)
def test_no_text_of_a_picture_leaves_its_page(path):
    assert outside(path) == set()


def test_a_label_that_is_longer_than_its_panel_stays_on_the_page(tmp_path):
    label = "what is measured, in units that take long to be written out"
    with plotting.style():
        figure, panels = plt.subplots(1, 3, figsize=(plotting.PAGE_WIDTH, 4.2))
        for axes in panels:
            axes.set(xlabel=label, ylabel=label, title=label)
        figure.savefig(tmp_path / "before.svg")
        lay_out(figure, 220)
        figure.savefig(tmp_path / "after.svg")
        centred = [each.label for each in figure.findobj(Axis)]
        plt.close(figure)
    assert outside(tmp_path / "before.svg") == {label}
    assert outside(tmp_path / "after.svg") == set()
    assert centred[2].get_position()[0] == 0.5  # of the panel in the middle
