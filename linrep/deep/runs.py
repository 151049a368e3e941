"""Runs of a method on clients: rounds, evaluations, step sizes, new clients."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.random import SeedSequence
from torch import Tensor, nn

from linrep._lib import validation as check
from linrep._lib.progress import progress_bar
from linrep._lib.validation import seed_sequence
from linrep.deep import _checkpoints as checkpoints
from linrep.deep import layers, models, partitions
from linrep.deep._course import Course
from linrep.deep.data import FederatedData
from linrep.deep.federation import Federation
from linrep.deep.methods import HEAD, METHODS, FedAvg
from linrep.deep.training import SGD, Phase, belongs, check_blocks
from linrep.trace import MOST_ROUNDS, Trace, last_rounds, read_record


def run(
    data: FederatedData,
    method: FedAvg | str,
    *,
    rng: Any = None,
    model: str | Callable[[], nn.Module] | nn.Module = "cnn",
    rounds: int = 100,
    participation: float = 0.1,
    lr: float = 0.01,
    momentum: float = 0.5,
    weight_decay: float = 0.0,
    batch_size: int | None = 10,
    augment: Callable[[Tensor], Tensor] | None = None,
    head: str | None = None,
    record: int | Sequence[int] = 1,
    checkpoint: str | Path | None = None,
    checkpoint_every: float = 10.0,
    callback: Callable[[int, Mapping[str, Any]], None] | None = None,
    progress: bool | None = None,
    device: str = "auto",
    dtype: str = "float32",
    chunk: int = 64,
    cache: bool = True,
) -> Trace:
    """Train with a method.

    Parameters
    ----------
    data : FederatedData
        Samples of the clients.
    method : FedAvg or str
        An object of :mod:`linrep.deep.methods`, or derived from one; or its name.
    rng : None, int, SeedSequence, Generator
        Root of the streams of weights, participants, batches and dropout.
    model : str, callable or Module
        A name of :func:`linrep.deep.models.build`; a function without arguments that makes the
        network, with new weights; or a network, from whose weights the run starts.
        Torch's batch normalization and dropout are replaced by those of
        :mod:`linrep.deep.layers`, see :func:`linrep.deep.layers.converted`.
    rounds : int
        Rounds of communication.
    participation : float
        Share of the clients in a round, drawn without replacement.
    lr, momentum, weight_decay, batch_size, augment
        See :class:`linrep.deep.training.SGD`.
    head : str, optional
        Name of the network's head, such as "fc", where its parts are not called representation and
        head: blocks are then named by these, see :func:`linrep.deep.models.split`.
    record : int or sequence of int
        Rounds after which all clients are evaluated: every so many, or a list.
    checkpoint : path, optional
        A file written as the run goes and at its end; if it exists, the run goes on from it, bit by
        bit as if it had never stopped on a processor. `rounds` may be more.
    checkpoint_every : float
        Seconds from one writing to the next, twenty times as many as one takes at least; 0 for
        every round.
    callback : callable, optional
        ``callback(round, metrics)``, called at the start and after each round: with the metrics
        where the round is recorded, and else with none.
    progress : bool, optional
        Show rounds, accuracy so far and time left; by default on a terminal and in a notebook.
    device, dtype, chunk, cache
        See :class:`linrep.deep.federation.Federation`.

    Returns
    -------
    Trace
        Metrics, each after evaluation of *all* clients on their own test
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
        ``accuracies``, those of each client; ``settings`` also the device, the engine, "vmap"
        where clients were trained together and else "loop", how many samples a second went through
        steps, and, on CUDA, what is multiplied in TensorFloat-32.
    """
    began = time.perf_counter()
    method = _method(method)
    rounds = check.count("rounds", rounds, minimum=0, most=MOST_ROUNDS)
    checkpoint_every = check.real("checkpoint_every", checkpoint_every, minimum=0.0)
    recorded = read_record(record, rounds)
    federation = Federation(
        data, method.network(_maker(model, data, head)),
        sgd=SGD(lr, momentum, weight_decay, batch_size, augment), seed=_root(rng), device=device,
        dtype=dtype, chunk=chunk, cache=cache,
    )  # fmt: skip
    count = check.count_participants(federation.n, 1.0 if method.everyone else participation)
    if method.ft == "head":
        check_blocks(HEAD, federation.parameters)
    settings = {
        "method": type(method).__name__, **asdict(method), "participants": count,
        **federation.sgd.settings, "dtype": dtype,
        "model": model if isinstance(model, str) else type(federation.model).__name__,
    }  # fmt: skip
    course, file = Course(federation, method, count, began), None
    state = course.state
    if checkpoint is not None:
        identity = checkpoints.identity(federation, method, settings)
        file = checkpoints.Checkpoint(checkpoint, checkpoint_every, identity)
        file.resume(course)
        if state.round > rounds:
            raise ValueError(f"rounds must be at least {state.round}, as in the checkpoint")
    name = type(method).__name__
    with progress_bar(progress, initial=state.round, total=rounds, desc=name, unit="round") as bar:
        while True:
            metrics: dict[str, Any] = {}
            if state.round in recorded and state.round not in course.rounds:
                metrics = course.record()
                bar.set_postfix_str(f"accuracy {metrics['accuracy']:.3f}")
            if callback is not None:
                callback(state.round, {name: float(value) for name, value in metrics.items()})
            if file is not None:
                file.save(course, last=state.round == rounds)
            if state.round >= rounds:
                break
            course.step()
            bar.update()
    return course.trace(settings)


def choose_lr(
    data: FederatedData,
    method: Callable[[float], FedAvg | str],
    lrs: Sequence[float],
    *,
    share: float = 0.25,
    rng: int | Sequence[int] | SeedSequence = 0,
    rounds: int = 100,
    **settings: Any,
) -> float:
    """Return the step size, the first of the best on training samples that are held out.

    By accuracy, if that of some step size exceeds by two standard errors the accuracy of always
    answering the one best class; else, and for real labels, by loss.

    Parameters
    ----------
    data : FederatedData
        Samples of the clients; those for testing are not looked at.
    method : callable
        ``method(lr)`` is the method, as in :func:`run`: it may have step sizes of its own.
    lrs : sequence of float
        Step sizes, each of which a run is made with.
    share : float
        See :func:`linrep.deep.partitions.hold_out`.
    rng : int, sequence of int or SeedSequence
        Of the split and of all runs.
    rounds : int
        Of each run.
    **settings
        See :func:`run`; the accuracy that is compared is the mean over those of the last ten
        rounds that are in `record`, by default all of them. To the name of a `checkpoint` each run
        adds its step size.
    """
    if not len(lrs):
        raise ValueError("lrs must hold one step size at least")
    data = partitions.hold_out(data, share, rng=rng)
    settings = {"record": last_rounds(rounds)} | settings
    path = settings.pop("checkpoint", None)
    traces = [
        run(
            data, method(lr), lr=lr, rounds=rounds, rng=rng,
            checkpoint=None if path is None else f"{path}.{float(lr)!r}", **settings,
        )
        for lr in lrs
    ]  # fmt: skip
    scores = np.array([trace.mean_of_last("accuracy") for trace in traces])
    if not (scores > _chance(data)).any():
        scores = -np.array([trace.mean_of_last("test_loss") for trace in traces])
    if not np.isfinite(scores).any():
        raise ValueError(f"lrs must hold a step size with finite losses, all of {lrs} diverge")
    return lrs[int(np.argmax(np.where(np.isfinite(scores), scores, -np.inf)))]


def _chance(data):
    """Return the accuracy of always answering the best class, and two standard errors of it."""
    if data.y.dtype.kind == "f":
        return np.inf
    labels = [data.y[test] for test in data.test if len(test)]
    if not labels:
        return np.inf
    counts = np.array([np.bincount(each, minlength=data.y.max() + 1) for each in labels])
    sizes = counts.sum(1)
    best = (counts / sizes[:, None]).mean(0).max()
    return best + 2.0 * math.sqrt(best * (1.0 - best) * (1.0 / sizes).sum()) / len(sizes)


@dataclass(frozen=True)
class _FineTuning(FedAvg):
    """Every client trains a head of its own, and nothing is sent."""

    personal = HEAD

    def phases(self):
        return (Phase(HEAD, epochs=self.epochs),)

    def floats(self, state):
        return 0


def fine_tune(
    data: FederatedData,
    trained: Trace,
    *,
    rng: Any = None,
    model: str | Callable[[], nn.Module] | nn.Module = "cnn",
    head: str | None = None,
    epochs: int = 10,
    **settings: Any,
) -> Trace:
    """Train heads of clients that took no part in a run, each for itself; FedRep, Figure 6.

    Parameters
    ----------
    data : FederatedData
        Samples of the new clients. Images should have the `mean` and `std` of the run's.
    trained : Trace
        The run, which has left its parameters in ``state``.
    rng : None, int, SeedSequence, Generator
        Root of the streams of weights and batches.
    model, head : str, callable or Module, and str
        The run's network, see :func:`run`. The head starts anew, the same for all clients;
        everything else is frozen as the run has left it: what its clients shared, and the mean over
        them of what each had of its own.
    epochs : int
        Passes over each client's samples, against which the trace is; momentum restarts in each.
    **settings
        See :func:`run`.
    """
    make = _maker(model, data, head)
    left: dict[str, Tensor] = {}
    for name, value in trained.state.items():
        kind, _, name = name.partition(".")
        if not belongs(name, HEAD) and kind in ("shared", "personal"):
            left.setdefault(name, torch.as_tensor(value if kind == "shared" else value.mean(0)))

    def left_behind():
        network = layers.converted(make())
        for name, value in [*network.named_parameters(), *layers.statistics(network).items()]:
            found = None if belongs(name, HEAD) else left.get(name, torch.empty(0))
            if found is not None and found.shape != value.shape:
                raise ValueError(
                    f"trained must hold {name} of the network, of shape {list(value.shape)}"
                )
        network.load_state_dict(left, strict=False)
        return network

    return run(
        data, _FineTuning(), model=left_behind, participation=1.0,
        rounds=check.integer("epochs", epochs, minimum=0), rng=rng, **settings,
    )  # fmt: skip


def _root(rng):
    """Return the root of a run's streams."""
    if isinstance(rng, np.random.Generator):
        rng = rng.integers(2**32, size=4).tolist()
    return rng if isinstance(rng, SeedSequence) else seed_sequence(rng)


def _method(method: FedAvg | str) -> FedAvg:
    if isinstance(method, str):
        return METHODS[check.choice("method", method, METHODS)]()
    if not isinstance(method, FedAvg):
        raise TypeError(f"method must be a name or derive from FedAvg, got {method!r}")
    return method


def _maker(model, data, head=None):
    """Return what makes the network, with its head apart."""
    if isinstance(model, str):
        if head is not None:
            raise ValueError(f"head must not be given for linrep's own network {model}")
        return partial(models.fitting, model, data)
    if not callable(model):
        raise TypeError(f"model must be a name, a function or a Module, got {model!r}")

    def ready():
        made = layers.converted(copy.deepcopy(model) if isinstance(model, nn.Module) else model())
        return made if head is None else models.split(made, head)

    return ready
