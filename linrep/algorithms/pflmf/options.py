"""What a run of pFL^MF is asked for, and what its rounds take of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from linrep._lib import validation as check
from linrep._lib.frozen import at_least_one, not_negative, one_of, positive, read, step_count
from linrep.kernels.pflmf import Settings

AGGREGATES = ("participants", "full", "unbiased")
SAMPLINGS = ("bernoulli", "fixed")
ORDERS = ("simultaneous", "alternating")


@dataclass(frozen=True)
class Options:
    """The settings of a run, checked: what runs its rounds honours each of them, or refuses it."""

    rounds: int
    step_size: float | None  # None where it is to be found
    local_steps: int
    head_step_size: float | str | None
    participation: float
    sampling: str
    aggregate: str
    order: str
    gradient_noise: float
    batch: int | None
    stationarity: bool
    tolerance: float | None

    def __post_init__(self):
        by_rule = isinstance(self.head_step_size, str)
        read(
            self,
            step_size=positive,
            local_steps=step_count,
            head_step_size=one_of(["theorem"]) if by_rule else not_negative,
            participation=partial(check.real, above=0.0, maximum=1.0),
            sampling=one_of(SAMPLINGS),
            aggregate=one_of(AGGREGATES),
            order=one_of(ORDERS),
            gradient_noise=not_negative,
            batch=at_least_one,
            tolerance=not_negative,
        )
        if self.step_size is None and isinstance(self.head_step_size, float):
            raise ValueError("head_step_size needs a step_size that is given")

    @property
    def alternating(self) -> bool:
        """Whether U moves with gradients at the new heads."""
        return self.order == "alternating"

    @property
    def everyone(self) -> bool:
        """Whether U moves with the gradients of all clients, whoever takes part."""
        return self.aggregate == "full"

    def participants(self, n: int) -> int | None:
        """Return how many of n clients every round has, None where the number is random."""
        if self.sampling != "fixed":
            return None
        return check.count_participants(n, self.participation)

    def share(self, n: int) -> float:
        """Return the expected share of n clients that a round has."""
        participants = self.participants(n)
        return self.participation if participants is None else participants / n

    def is_exact(self, n: int) -> bool:
        """Tell whether every round takes exact gradients of all clients."""
        return self.batch is None and not self.gradient_noise and self.share(n) == 1.0

    def numbers(self, n: int) -> Settings:
        """Return what the kernels take of the settings; where the step is to be found, for 1."""
        step_size = 1.0 if self.step_size is None else self.step_size
        head_step_size = step_size if self.head_step_size is None else self.head_step_size
        if isinstance(head_step_size, str):
            head_step_size = self.share(n) * step_size / self.local_steps
        return Settings(
            step_size=step_size,
            head_step_size=head_step_size,
            head_step=head_step_size / n,
            everyone=self.everyone,
            measured=bool(self.stationarity),
        )
