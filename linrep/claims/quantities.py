"""Numbers worth reporting, and what each is of the quantity that it is named after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, TypeAlias

from linrep._lib import validation as check

#: What a number is of the quantity that it is named after: it itself, or a bound of it.
VALUE, LOWER, UPPER = TYPES = "value", "lower bound", "upper bound"

Number: TypeAlias = Any  # or a text; NaN where there is none


@dataclass(frozen=True)
class Fact:
    """A number worth reporting that decides nothing.

    Attributes
    ----------
    name, unit : str
    value : float or str
    value_is : {"value", "lower bound", "upper bound"}
        Of what is named. The largest or smallest of the instances tried is a value.
    setting : mapping of str to float or str
        Where the number was taken, in the paper's letters: numbers of one name at several settings
        are shown as a table.

    Examples
    --------
    >>> from linrep.claims import Fact
    >>> Fact("rounds to 1e-3", 42, setting={"d": 20}).setting
    {'d': 20}
    """

    name: str
    value: Number
    unit: str = ""
    value_is: str = VALUE
    setting: Mapping[str, Any] = field(default_factory=dict, kw_only=True)

    def __post_init__(self):
        check.instance("value", self.value, Real, str)
        # Of arrays of sizes, too; a ledger holds plain numbers.
        plain = {name: getattr(x, "item", lambda x=x: x)() for name, x in self.setting.items()}
        object.__setattr__(self, "setting", plain)
