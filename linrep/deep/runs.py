"""Runs of a method on a federation: rounds, evaluation over all clients, checkpoints."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.random import SeedSequence
from numpy.typing import NDArray
from torch import nn

from linrep import _validation as check
from linrep.deep import models
from linrep.deep.collapse import neural_collapse
from linrep.deep.data import FederatedData
from linrep.deep.federation import Federation, State
from linrep.deep.methods import METHODS, FedAvg
from linrep.deep.training import SGD
from linrep.trace import Trace, read_record

_FORMAT = 1


def run(
    data: FederatedData,
    method: FedAvg | str,
    *,
    rng: Any = None,
    **settings: Any,
) -> Trace:
    """Train with a method; the same as :func:`run_seeds` with one seed.

    Parameters
    ----------
    data : FederatedData
        Samples of the clients.
    method : FedAvg or str
        An object of :mod:`linrep.deep.methods`, or derived from one; or its name.
    rng : None, int, SeedSequence, Generator
        Root of the streams of weights, participants, batches and dropout.
    **settings
        See :func:`run_seeds`.

    Returns
    -------
    Trace
    """
    if isinstance(rng, np.random.Generator):
        rng = SeedSequence(rng.integers(2**32, size=4).tolist())
    return run_seeds(data, method, seeds=[SeedSequence(rng) if _is_seed(rng) else rng], **settings)[0]


def _is_seed(rng):
    return not isinstance(rng, SeedSequence)


def run_seeds(
    data: FederatedData | Sequence[FederatedData],
    method: FedAvg | str,
    *,
    seeds: Sequence[int | SeedSequence],
    model: str | Callable[[], nn.Module] | nn.Module = "cnn",
    rounds: int = 100,
    participation: float = 0.1,
    lr: float = 0.01,
    momentum: float = 0.5,
    weight_decay: float = 0.0,
    batch_size: int = 10,
    record: int | Sequence[int] = 1,
    checkpoint: str | Path | None = None,
    checkpoint_every: int = 10,
    device: str = "auto",
    dtype: str = "float32",
    engine: str = "auto",
    chunk: int = 64,
    cache: bool | str = "auto",
    mixed_precision: bool = False,
    progress: bool = False,
) -> list[Trace]:
    """Train with a method from several seeds at once.

    A run does not depend on those beside it, up to rounding; on a processor without them it is
    the same bit by bit.

    Parameters
    ----------
    data : FederatedData, or one for each seed
        Samples of the clients.
    method : FedAvg or str
        An object of :mod:`linrep.deep.methods`, or derived from one; or its name.
    seeds : sequence of int or SeedSequence
        Roots of the streams of weights, participants, batches and dropout.
    model : str, callable or Module
        A name of :func:`linrep.deep.models.build`; a function without arguments that makes the
        network, with new weights for each seed; or a network, whose weights all runs start from.
    rounds : int
        Rounds of communication.
    participation : float
        Share of the clients in a round, drawn without replacement.
    lr, momentum, weight_decay, batch_size : float and int
        See :class:`linrep.deep.training.SGD`.
    record : int or sequence of int
        Rounds after which all clients are evaluated: every so many, or a list.
    checkpoint : path, optional
        A file written every `checkpoint_every` rounds and at the end; if it exists, the run goes on
        from it, bit by bit as if it had never stopped on a processor. `rounds` may be more.
    checkpoint_every : int
        Rounds.
    device, dtype, engine, chunk, cache, mixed_precision
        See :class:`linrep.deep.federation.Federation`.
    progress : bool
        Show a bar on a terminal.

    Returns
    -------
    list of Trace
        One for each seed. Metrics, each after evaluation of *all* clients on their own test
        samples by the models that the method gives them:

        - ``accuracy``: mean over clients of the share of right answers; ``weighted_accuracy``:
          share of all right answers; NaN for real labels;
        - ``test_loss``: mean over clients of the mean loss;
        - ``fine_tuned``: accuracy after the fine-tuning that the method's `ft` asks for, in the
          last row;
        - ``nc2_global``, ``nc2_local``: mean over clients of the neural collapse of linear heads,
          see :func:`linrep.deep.collapse.neural_collapse`;
        - ``floats_up``, ``floats_down``: numbers sent to the server and to the clients so far.

        ``state`` holds the final parameters as ``shared.<name>`` and ``personal.<name>``, and
        ``accuracies``, those of each client.

    Raises
    ------
    ValueError, TypeError
        If a setting is out of range, or the checkpoint is of another run or no checkpoint.
    """
    began = time.perf_counter()
    method = _method(method)
    rounds = check.integer("rounds", rounds, minimum=0)
    checkpoint_every = check.integer("checkpoint_every", checkpoint_every, minimum=1)
    recorded = read_record(record, rounds)
    federation = Federation(
        data, method.network(_maker(model, data)), sgd=SGD(lr, momentum, weight_decay, batch_size),
        seeds=seeds, device=device, dtype=dtype, engine=engine, chunk=chunk, cache=cache,
        mixed_precision=mixed_precision,
    )  # fmt: skip
    count = check.count_participants(federation.n, participation)
    if federation.device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(federation.device)
    settings = {
        "method": type(method).__name__, **asdict(method), "participants": count,
        **asdict(federation.sgd), "dtype": dtype, "mixed_precision": mixed_precision,
    }  # fmt: skip
    identity = _identity(federation, settings)
    state, history = method.start(federation), _History()
    if checkpoint is not None and os.path.exists(checkpoint):
        history = _load(Path(checkpoint), identity, state, federation)
    already = history.seconds
    while True:
        if state.round in recorded and not history.has(state.round):
            history.add(state.round, _evaluate(federation, method, state, count))
        history.seconds = already + time.perf_counter() - began
        if checkpoint is not None and (
            state.round == rounds or (state.round and state.round % checkpoint_every == 0)
        ):
            _save(Path(checkpoint), identity, state, history, federation)
        if state.round >= rounds:
            break
        method.round(federation, state, federation.sample("participation", state.round, count))
    last = _last(federation, method, state)
    return [
        _trace(run, federation, method, state, history, last, settings) for run in range(len(seeds))
    ]


def _method(method):
    if isinstance(method, str):
        check.choice("method", method, METHODS)
        return METHODS[method]()
    if not isinstance(method, FedAvg):
        raise TypeError(f"method must be a name or derive from FedAvg, got {method!r}")
    return method


def _maker(model, data):
    if not isinstance(model, str):
        return model if not isinstance(model, nn.Module) else lambda: model
    first = data if isinstance(data, FederatedData) else data[0]
    settings: dict[str, Any] = {}
    if model in models.WITH_SIDE_INFORMATION:
        if first.side is None:
            raise ValueError(f"model {model} needs side information, the data have none")
        settings["side"] = first.side.shape[1]
    if first.embedding is not None:
        settings["embedding"] = first.embedding
    return lambda: models.build(model, first.x.shape[1:], first.classes, **settings)
