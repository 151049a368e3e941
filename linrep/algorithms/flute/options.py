"""What a run of FLUTE is asked for, and what its rounds take of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from linrep._lib import validation as check
from linrep._lib.frozen import moderate, not_negative, one_of, positive, read
from linrep.algorithms.step_sizes import require_stored
from linrep.kernels import flute as kernel
from linrep.problems.low_rank import BestModel

BATCHES = ("fixed", "fresh", "population")
LOSSES = {"half": 1.0, "full": 2.0}
AGGREGATES = ("sum", "mean")


class Weights(NamedTuple):
    """What multiplies the clients' half mean squared errors, and the regularizer's two parts.

    The objective is ``data sum_i L_i - first ||B W'||^2 / 2 + second (||B'B||^2 + ||W'W||^2) / 4``.
    A run that finds its steps ends after a change of at most the tolerance.
    """

    data: float
    first: float
    second: float
    tolerance: float

    def regularizer(self, BT, W):
        """Return the value of its two parts, and the gradients in BT and W."""
        C, D = BT @ BT.T, W.T @ W
        value = 0.25 * self.second * ((C * C).sum() + (D * D).sum())
        value -= 0.5 * self.first * (C * D).sum()
        return (
            value,
            (self.second * C - self.first * D) @ BT,
            W @ (self.second * D - self.first * C),
        )


@dataclass(frozen=True)
class Options:
    """The settings of a run, checked: what runs its rounds honours each of them, or refuses it."""

    rounds: int
    batches: str
    step_size: float | str | None  # None where it is to be found
    regularizer_step_size: float | None
    gamma1: float
    gamma2: float
    loss: str
    aggregate: str
    tolerance: float

    def __post_init__(self):
        read(
            self,
            batches=one_of(BATCHES),
            loss=one_of(LOSSES),
            aggregate=one_of(AGGREGATES),
            gamma1=moderate,
            gamma2=moderate,
            regularizer_step_size=not_negative,
            step_size=one_of(["theorem"]) if isinstance(self.step_size, str) else positive,
            tolerance=not_negative,
        )
        if self.step_size is None:
            if self.regularizer_step_size:
                raise ValueError(
                    "regularizer_step_size other than 0 needs a step_size that is given"
                )
            require_stored(self.batches)

    @property
    def rule(self) -> str:
        """How a step that does not have to be found is known."""
        return "theorem" if isinstance(self.step_size, str) else "given"

    def step_sizes(self, best: BestModel | None) -> tuple[float, float]:
        """Return eta_l and eta_r; where the step is to be found, 1 and what eta_r is beside it."""
        size = 1.0 if self.step_size is None else self.step_size
        if isinstance(size, str):
            size = check.real("step_size", prescribe(best), above=0.0)
        return size, size if self.regularizer_step_size is None else self.regularizer_step_size

    def steps(self, sizes: tuple[float, float], n: int, participants: int) -> kernel.Steps:
        """Return what a round with these eta_l and eta_r multiplies gradients with."""
        data_step, regularizer_step = sizes[0] * self._share(n), sizes[1]
        return kernel.Steps(
            data_step=data_step,
            weight=data_step * n / participants,
            first=2.0 * self.gamma1 * regularizer_step,
            second=4.0 * self.gamma2 * regularizer_step,
            tolerance=self.tolerance,
        )

    def weights(self, regularizer_step: float, n: int, square: float) -> Weights:
        """Return the weights of the objective that is descended on by steps that are found.

        The regularizer is multiplied by the covariates' mean square.
        """
        return Weights(
            data=self._share(n),
            first=2.0 * self.gamma1 * regularizer_step * square,
            second=4.0 * self.gamma2 * regularizer_step * square,
            tolerance=self.tolerance,
        )

    def _share(self, n):
        """Return what half mean squared errors are multiplied by in the sum over clients."""
        return LOSSES[self.loss] / (n if self.aggregate == "mean" else 1)


def prescribe(best: BestModel | None) -> float:
    """Return the largest step of Theorem 5.1."""
    if best is None or not best.gap > 0.0:
        raise ValueError("step_size='theorem' needs a known truth with a gap after k")
    return best.gap**2 / (228.0 * float(best.singular_values[0]) ** 3)
