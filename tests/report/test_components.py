"""The colours of verdicts: readable, and apart for the colour-blind."""

import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import linrep.report

CSS = Path(linrep.report.__file__).with_name("templates") / "components.css"
VERDICTS = ("holds", "misprint", "depends", "fails", "vacuous", "undecided")
# Machado, Oliveira and Fernandes (2009), severity 1.
SEEN = {
    "all": np.eye(3),
    "deuteranopia": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "protanopia": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "tritanopia": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}
XYZ = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]


def colours(theme):
    found = re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\);", CSS.read_text("utf-8"))
    return {name: linear((light, dark)[theme == "dark"]) for name, light, dark in found}


def linear(colour):
    parts = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    x, y, z = np.cbrt(np.array(XYZ) @ np.clip(rgb, 0, 1) / [0.9505, 1.0, 1.089])
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def contrast(one, other):
    dark, light = sorted(np.array(XYZ[1]) @ colour for colour in (one, other))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_words_can_be_read_on_their_grounds(theme):
    found = colours(theme)
    for name in (*VERDICTS, "error"):
        for ground in (f"{name}-ground", "ground", "raised"):
            assert contrast(found[name], found[ground]) >= 4.5, (name, ground)
    for name in ("ink", "faint", "link"):
        assert contrast(found[name], found["raised"]) >= 4.5, name


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("eyes", SEEN)
def test_verdicts_are_apart(theme, eyes):
    found = {name: lab(SEEN[eyes] @ colours(theme)[name]) for name in VERDICTS}
    for one, other in combinations(VERDICTS, 2):
        assert np.linalg.norm(found[one] - found[other]) > 15, (one, other)
