"""Random streams by purpose."""

import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.random import BitGenerator, Generator, SeedSequence
from numpy.typing import NDArray

from linrep._lib.validation import seed_sequence

__all__ = ["streams"]

#: What ``numpy.random.default_rng`` takes (SPEC 7), but for RandomState.
RNGLike: TypeAlias = (
    Generator
    | BitGenerator
    | SeedSequence
    | int
    | np.integer[Any]
    | Sequence[int]
    | NDArray[np.integer[Any]]
    | None
)


def streams(rng: RNGLike, *purposes: str) -> list[np.random.Generator]:
    """Return one independent generator per purpose.

    The algorithms of linrep draw from those of ``"data"``, ``"participation"`` and ``"start"``, in
    this order: an algorithm of your own that asks for the same three gets the same data,
    participants and starts, whatever `rng` is.

    Parameters
    ----------
    rng : optional
        Anything `numpy.random.default_rng` takes.
    *purposes : str
        What each is for.

    Returns
    -------
    list of numpy.random.Generator

    Notes
    -----
    From a seed (None, integers, a SeedSequence) each stream is keyed by the name of its purpose, so
    that two functions handed the same seed share a stream where the purpose is the same and are
    independent where it is not. A Generator is the caller's own stream: it is used as it is for a
    single purpose, and spawns children, in order, for several.

    Examples
    --------
    >>> import linrep as lr
    >>> data, participation, start = lr.streams(1, "data", "participation", "start")
    >>> truth = lr.SharedRepresentation.random(n=6, d=4, k=2, rng=0)
    >>> fitted = lr.fedrep(truth.draw(5, rng=data), k=2, start="random", rounds=1, rng=1)
    >>> same = lr.fedrep(truth, m=5, batches="fixed", start="random", rounds=1, rng=1)
    >>> bool((fitted["loss"][1] == same["loss"][1]).all())
    True
    """
    if isinstance(rng, Generator | BitGenerator):
        generator = np.random.default_rng(rng)
        return [generator] if len(purposes) == 1 else generator.spawn(len(purposes))
    if not isinstance(rng, SeedSequence):
        rng = seed_sequence(rng)
    return [keyed(rng, purpose) for purpose in purposes]


def generator(rng: RNGLike) -> Generator:
    """Return the caller's generator, or that of a seed, whatever it is for."""
    if not isinstance(rng, Generator | BitGenerator | SeedSequence):
        rng = seed_sequence(rng)
    return np.random.default_rng(rng)


def stream(rng: RNGLike, purpose: str) -> np.random.Generator:
    """Return the generator of a single purpose; see :func:`streams`."""
    return streams(rng, purpose)[0]


class Seed(NamedTuple):
    """What a generator was made of; unlike the generator, it is the same after pickling."""

    kind: type[BitGenerator]
    entropy: Any
    spawn_key: tuple[int, ...]
    pool_size: int


def seed_of(generator: Generator) -> Seed:
    """Return the seed that a generator was made from."""
    bits = generator.bit_generator
    seed = bits.seed_seq
    assert isinstance(seed, SeedSequence)
    return Seed(type(bits), seed.entropy, tuple(seed.spawn_key), seed.pool_size)


def renewed(seed: Seed) -> Generator:
    """Return a generator as it was before anything was drawn from it."""
    again = SeedSequence(seed.entropy, spawn_key=seed.spawn_key, pool_size=seed.pool_size)
    return Generator(seed.kind(again))


def keyed(seed: SeedSequence, purpose: str, *key: int) -> np.random.Generator:
    """Return the stream of a purpose, round, client and so on, whatever was drawn before."""
    spawn_key = (*seed.spawn_key, zlib.crc32(purpose.encode()), *key)
    return np.random.default_rng(SeedSequence(seed.entropy, spawn_key=spawn_key))
