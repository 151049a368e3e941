"""How complete a run directory is, and the warning that it is not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Completeness:
    """How complete a run directory is.

    Attributes
    ----------
    path : Path
    expected, stored, failed : int
        Replicates of all cells; those of them that are stored; those of these that failed.
    damaged : mapping of Path to str
        Files of parts that do not count, as they are damaged or foreign, and why.
    """

    path: Path
    expected: int
    stored: int
    failed: int
    damaged: Mapping[Path, str]

    @property
    def whole(self) -> bool:
        """Whether nothing is missing, has failed or is damaged."""
        return self.stored == self.expected and not self.failed and not self.damaged

    def counts(self) -> str:
        """Say how many replicates and damaged parts there are, without naming these."""
        parts = [f"{self.stored} of {self.expected} replicates"]
        if self.failed:
            parts.append(f"{self.failed} failed")
        if self.damaged:
            parts.append(f"{len(self.damaged)} damaged part(s)")
        return "; ".join(parts)

    def __str__(self):
        each = ", ".join(f"{path.name} ({why})" for path, why in self.damaged.items())
        return ": ".join(filter(None, [self.counts(), each]))


class Incomplete(UserWarning):
    """The rows that were read are not all of the sweep's rows.

    Parameters
    ----------
    completeness : Completeness
        Of the run directory.
    """

    def __init__(self, completeness: Completeness):
        self.completeness = completeness
        super().__init__(f"{completeness.path} is incomplete: {completeness}")
