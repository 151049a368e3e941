"""Omniglot's drawings."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from linrep.deep.data import Dataset
from linrep.deep.readers._folders import find


def omniglot(folder: str | Path) -> Dataset:
    """Read Omniglot's drawings, shrunk to 28 by 28 pixels; the owner is the alphabet.

    Parameters
    ----------
    folder : path
        With images_background or images_evaluation or both, in which drawings are at
        ``Alphabet/character/*.png``: black strokes on white, as they stay.

    Returns
    -------
    Dataset
        Without test samples. Alphabets are numbered in alphabetical order, those of the background
        set first; a class is a character of an alphabet.

    Raises
    ------
    FileNotFoundError
        If there are no drawings.
    """
    from matplotlib.image import imread

    background, evaluation = (f"images_{part}/*/*/*.png" for part in ("background", "evaluation"))
    found = find("omniglot", folder, (background, evaluation), (background,), (evaluation,))
    files = [file for part in found for file in part]
    drawings = [_shrunk(imread(file)) for file in files]
    characters = [file.parent for file in files]
    return Dataset(
        np.stack(drawings)[:, None], _number(characters), name="omniglot",
        owner=_number([character.parent for character in characters]),
    )  # fmt: skip


def _shrunk(drawing):
    """Return a drawing, values between 0 and 1, as 28 by 28 bytes: means over the new pixels."""
    grey = drawing if drawing.ndim == 2 else drawing[..., :3].mean(axis=2)
    vertical, horizontal = (_overlaps(size) for size in grey.shape)
    return np.rint(255.0 * (vertical @ grey @ horizontal.T)).astype(np.uint8)


def _overlaps(size):
    """Return the share of each of `size` pixels in each of 28 that cover them, shape (28, size)."""
    edges = np.linspace(0.0, size, 29)
    reached = np.clip(edges[:, None] - np.arange(size), 0.0, 1.0)
    return np.diff(reached, axis=0) * (28.0 / size)


def _number(values):
    """Return the place of each value among the different ones, in order of appearance."""
    place = {value: index for index, value in enumerate(dict.fromkeys(values))}
    return np.array([place[value] for value in values])
