"""LEAF's json files: FEMNIST, and Sent140 with GloVe's vectors."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from linrep._lib import validation as check
from linrep.deep.data import Dataset

#: LEAF's files, for training and, if there are, for testing; and GloVe's.
LEAF = (("train/*.json", "test/*.json"), ("*.json",))
GLOVE = (("glove*.txt",),)
_WORD = re.compile(r"[\w']+|[^\w\s]")


def femnist(folder: str | Path) -> Dataset:
    """Read LEAF's FEMNIST: 28 by 28 pixels, grey, 62 classes; the owner is the writer.

    Parameters
    ----------
    folder : path
        With ``train/*.json`` and ``test/*.json``, or with ``*.json``, then without test samples.
        The users' samples are rows of 784 numbers between 0 and 1, which become bytes again.

    Raises
    ------
    FileNotFoundError
        If files are missing.
    ValueError
        If a file has another form.
    """
    (x, y, owner), (x_test, y_test, owner_test) = _leaf("femnist", folder, _pixels)
    shape = (-1, 1, 28, 28)
    return Dataset(
        np.array(x, dtype=np.uint8).reshape(shape), y,
        np.array(x_test, dtype=np.uint8).reshape(shape), y_test,
        classes=62, name="femnist", owner=owner, owner_test=owner_test,
    )  # fmt: skip


def sent140(folder: str | Path, glove: str | Path | None = None, *, words: int = 25) -> Dataset:
    """Read LEAF's Sent140 as tokens with GloVe's vectors; the owner is the writer.

    Parameters
    ----------
    folder : path
        With ``train/*.json`` and ``test/*.json``, or with ``*.json``, then without test samples. A
        sample is a tweet, or a list whose last entry is one, its label 0 or 1.
    glove : path, optional
        Text file of a word and its vector in each line; by default the largest
        ``glove*.txt`` in the folder.
    words : int
        Length of a sample: tweets are cut, or filled up with token 0.

    Returns
    -------
    Dataset
        Token 0 is no word, token 1 an unknown word, both with vector 0; the others are the words,
        in lower case, and signs that occur in the tweets and have a vector.

    Raises
    ------
    FileNotFoundError
        If files are missing.
    ValueError
        If a file has another form.
    """
    words = check.integer("words", words, minimum=1)
    train, test = _leaf("sent140", folder, _words)
    if glove is None:
        (files,) = find("sent140", folder, *GLOVE)
        glove = max(files, key=lambda file: file.stat().st_size)
    tweets, tweets_test = ([tweet[:words] for tweet in part[0]] for part in (train, test))
    number, embedding = _glove(Path(glove), {word for t in (*tweets, *tweets_test) for word in t})
    return Dataset(
        _tokens(tweets, number, words), train[1], _tokens(tweets_test, number, words), test[1],
        classes=2, name="sent140", owner=train[2], owner_test=test[2], embedding=embedding,
    )  # fmt: skip


def find(name: str, folder: str | Path, *layouts: tuple[str, ...]) -> list[list[Path]]:
    """Return the files of the first layout that has some for each of its patterns."""
    for layout in layouts:
        for inside in (Path(folder), Path(folder) / "data"):
            files = [sorted(inside.glob(pattern)) for pattern in layout]
            if all(files):
                return files
    wanted = ", or ".join(" and ".join(layout) for layout in layouts)
    raise FileNotFoundError(f"{name} is not in {folder}: looked there and in data for {wanted}")


def _leaf(name, folder, convert):
    """Return samples, labels and owners of LEAF's users, for training and for testing.

    Samples are converted user by user, since as json they take many times their room.
    """
    splits = find(name, folder, *LEAF)
    users: dict[str, int] = {}
    parts = []
    for files in (*splits, [])[:2]:
        x: list[Any] = []
        y: list[int] = []
        owner: list[int] = []
        for file in files:
            try:
                content = json.loads(file.read_text(encoding="utf-8"))["user_data"]
                for user, samples in content.items():
                    labels = [int(label) for label in samples["y"]]
                    x += convert(samples["x"])
                    y += labels
                    owner += [users.setdefault(user, len(users))] * len(labels)
            except (AttributeError, KeyError, TypeError, ValueError) as error:
                raise ValueError(
                    f"{file} must hold samples of {name} as LEAF writes them"
                ) from error
            if len(x) != len(y):
                raise ValueError(f"{file} must hold a label for each sample")
        parts.append((x, y, owner))
    return parts


def _pixels(rows):
    """Return rows of 784 numbers between 0 and 1 as bytes."""
    levels = np.array(rows, dtype=np.float64).reshape(-1, 784)
    if not ((levels >= 0.0) & (levels <= 1.0)).all():
        raise ValueError("pixels must be between 0 and 1")
    return list(np.rint(255.0 * levels).astype(np.uint8))


def _words(tweets):
    """Return the words and signs of each tweet, the last entry of its row, in lower case."""
    return [
        _WORD.findall((tweet if isinstance(tweet, str) else tweet[-1]).lower()) for tweet in tweets
    ]


def _glove(path, wanted):
    """Return the numbers of wanted words that have vectors, from 2 on, and the vectors."""
    number: dict[str, int] = {}
    vectors: list[list[str]] = []
    size = 0
    with open(path, encoding="utf-8", newline="\n") as file:
        for line in file:
            parts = line.rstrip("\r\n ").split(" ")
            size = size or max(1, len(parts) - 1)
            word = " ".join(parts[:-size])  # a few words of GloVe have blanks
            if word in wanted and word not in number:
                number[word] = len(number) + 2
                vectors.append(parts[-size:])
    if not vectors:
        raise ValueError(f"{path} must hold vectors of words that occur, it has none of them")
    try:
        return number, np.vstack([np.zeros((2, size)), np.array(vectors, dtype=float)])
    except ValueError as error:
        raise ValueError(f"{path} must hold a word and numbers in each line: {error}") from None


def _tokens(tweets, number, length):
    """Return rows of tokens, filled up with 0 at the end; a word without a number is 1."""
    tokens = np.zeros((len(tweets), length), dtype=np.int64)
    for row, tweet in zip(tokens, tweets, strict=True):
        row[: len(tweet)] = [number.get(word, 1) for word in tweet]
    return tokens
