"""PerFedSI's synthetic figure: sizes, what each model knows, starts, and the runs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import linrep as lr
from linrep._lib import validation as check
from linrep.figures.sizes import Sizes, size
from linrep.trace import Trace

#: With Z; without, where V has a row per client; without, where all share one vector of ratings.
MODELS = ("side", "one-hot", "one model")
#: Deviations of a random start's entries, and of a near one's around the truth's factors.
STARTS = {"random": 0.3, "near": 0.03}


@dataclass(frozen=True)
class Figure3(Sizes):
    """Figure 3: federated averaging on a few entries a client, with and without Z."""

    n: int = size(20, "Clients.")
    d: int = size(16, "Items.")
    p: int = size(4, "Columns of the side information Z.")
    k: int = size(2, "Rank of the matrix, r.")
    per_client: int = size(5, "Fixed entries of each client.")
    rounds: int = size(20_000, "Rounds.", quick=2000)
    step_size: float = size(0.3, "Step size.", above=0.0)
    local_steps: int = size(5, "Local steps of a participant.")
    participants: int = size(4, "Participants of a round, drawn with replacement.")

    def check(self) -> None:
        """Refuse ranks beyond the sizes, and more entries than there are."""
        for name in ("d", "p"):
            if self.k > getattr(self, name):
                raise ValueError(f"k must be at most {name} = {getattr(self, name)}, got {self.k}")
        if self.p > self.n:
            raise ValueError(f"p must be at most n = {self.n}, got {self.p}")
        if self.per_client > self.d:
            raise ValueError(f"per_client must be at most d = {self.d}, got {self.per_client}")

    def truth(self, rng: Any) -> lr.SideInformationCompletion:
        """Draw the matrix of Appendix C.4."""
        return lr.SideInformationCompletion.random(
            n=self.n, d=self.d, p=self.p, k=self.k, side="unit", rng=rng
        )

    def descend(
        self, seen: lr.Observations, model: str, start: str, *, near: Any, seed: int, record: int
    ) -> Trace:
        """Run federated averaging on entries.

        Parameters
        ----------
        seen : Observations
            With the side information.
        model : str
            Of `MODELS`. The global model ("one model") has rank 1, and no truth to start near.
        start : str
            Of `STARTS`.
        near : Generator
            Draws how far from the truth's factors a near start is.
        seed : int
        record : int
            Rounds from one recorded error to the next.
        """
        check.choice("start", start, STARTS)
        options: dict[str, Any] = {"start": "random", "scale": STARTS["random"]}
        if start == "near":
            if seen.truth is None:
                raise ValueError("start must be random where no truth is known")
            truth = seen.truth if model == "side" else seen.truth.without_side_information()
            options = {
                "start": tuple(
                    F + STARTS["near"] * near.standard_normal(F.shape) for F in (truth.U, truth.V)
                )
            }
        return lr.perfedsi(
            view(seen, model),
            k=1 if model == "one model" else self.k,
            rounds=self.rounds,
            step_size=self.step_size,
            local_steps=self.local_steps,
            participants=self.participants,
            record=record,
            rng=seed,
            **options,
        )


def view(seen: lr.Observations, model: str) -> lr.Observations:
    """Return the entries as a model knows them: with Z, a basis vector per client, or a one.

    Parameters
    ----------
    seen : Observations
    model : str
        Of `MODELS`.
    """
    check.choice("model", model, MODELS)
    if model == "one-hot":
        return seen.without_side_information()
    return seen if model == "side" else replace(seen, Z=np.ones((seen.n, 1)))
