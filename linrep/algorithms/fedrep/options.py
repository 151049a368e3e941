"""What a run of FedRep is asked for, and the step that comes of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from linrep._lib import validation as check
from linrep._lib.frozen import one_of, positive, read, step_count
from linrep.algorithms._setup import BATCHES, Setup
from linrep.kernels import rounds as kernel

NORMALIZATIONS = ("theorem", "published")


@dataclass(frozen=True)
class Options:
    """The settings of a run, checked: what runs its rounds honours each of them, or refuses it."""

    rounds: int
    batches: str = "fixed"
    local_steps: int | None = None  # None for exact heads
    head_step_size: float | None = None
    normalization: str = "theorem"
    orthonormal: bool = True
    tolerance: float | None = None
    #: Whether heads see one half of a client's samples, the gradient the other.
    in_halves: ClassVar[bool] = False

    def __post_init__(self):
        read(
            self,
            batches=one_of(BATCHES),
            normalization=one_of(NORMALIZATIONS),
            local_steps=step_count,
        )
        if self.simulated and not self.orthonormal:
            raise ValueError(f"batches={self.batches!r} needs orthonormal=True")
        if self.head_step_size is not None and self.local_steps is None:
            raise ValueError("head_step_size needs local_steps: exact heads take no step")
        read(self, head_step_size=positive)
        if self.tolerance is not None:
            check.real("tolerance", self.tolerance, minimum=0.0)

    @property
    def simulated(self) -> bool:
        """Whether batches are simulated by their sufficient statistics."""
        return self.batches.startswith("gram")

    @property
    def split(self) -> bool:
        """Whether a round has a second batch for the gradient."""
        return self.batches in ("split", "gram_split")

    @property
    def averaged(self) -> bool:
        """Whether the clients' gradients are averaged, and not summed."""
        return self.normalization == "theorem"

    @property
    def may_adapt(self) -> bool:
        """Whether the adaptive step is defined."""
        fixed = self.batches == "fixed" and not self.in_halves
        return fixed and self.orthonormal and self.averaged

    @property
    def algorithm(self) -> str:
        """What the authors call FedRep with so many local steps."""
        if self.local_steps is None:
            return "FedRep"
        return "GD-GD" if self.local_steps == 1 else f"{self.local_steps}GD-GD"

    def numbers(self, setup: Setup, step: Step) -> kernel.Settings:
        """Return what the kernels take of the settings."""
        if self.tolerance is not None and setup.truth is None:
            raise ValueError("tolerance needs a known truth to measure the distance to")
        return kernel.Settings(
            step_size=step.size,
            averaged=self.averaged,
            local_steps=kernel.EXACT if self.local_steps is None else self.local_steps,
            head_step_size=0.0 if self.head_step_size is None else self.head_step_size,
            orthonormal=bool(self.orthonormal),
            tolerance=-1.0 if self.tolerance is None else self.tolerance,
        )


@dataclass(frozen=True)
class Step:
    """The step of the representation: its size, and how it was found."""

    size: float
    rule: str = "given"
    prescribed: float | None = None  # by the theorem
    whitened: bool = False  # in coordinates in which pooled covariates have second moment I

    @property
    def adaptive(self) -> bool:
        """Whether the length of every round's step is found in that round."""
        return self.rule == "adaptive"
