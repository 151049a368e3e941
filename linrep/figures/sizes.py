"""The sizes of a figure: the choices, the defaults, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, asdict, dataclass, field, fields, replace
from typing import Any, Self

from linrep._lib import validation as check
from linrep._lib.suggest import unknown


def size(
    default: Any,
    what: str,
    *,
    quick: Any = None,
    least: int = 1,
    most: int | None = None,
    because: Mapping[str, str] | None = None,
    **bounds: Any,
) -> Any:
    """Return a field of :class:`Sizes`.

    Parameters
    ----------
    default : int, float, str, or tuple of these
        A tuple is an axis: panels, lines or points of the picture. Anything else has one value.
    what : str
        One line, for the help.
    quick : optional
        The value with ``--quick``, by default the same.
    least : int, default 1
        So many values of an axis the picture needs: two to find between which something changes.
    most : int, optional
        So many values of an axis the picture has room for.
    because : mapping of str to str, optional
        Of bounds, by name: why they are there, where what the size is does not say so. A refusal
        ends with it.
    **bounds
        ``minimum``, ``maximum`` and, of numbers that need not be whole, ``above`` and ``below``;
        ``among``, the words that are known. Integers are at least 1 unless bounds are given.
    """
    metadata = {
        "what": what, "quick": quick, "least": least, "most": most, "bounds": bounds,
        "because": because or {},
    }  # fmt: skip
    return field(default=default, metadata=metadata)


@dataclass(frozen=True)
class Sizes:
    """Base of the sizes of a figure, whose fields are made by :func:`size`.

    Lists become tuples, whole floats integers where integers are asked for.

    Raises
    ------
    ValueError, TypeError
        If a value cannot be one; the message begins with the name.
    """

    def __post_init__(self):
        for each in fields(self):
            object.__setattr__(self, each.name, _read(each, getattr(self, each.name)))
        self.check()

    def check(self) -> None:
        """Raise ValueError for incompatible sizes; the message begins with a name."""

    def remarks(self) -> list[str]:
        """Return a line for each choice that these sizes leave open, with the value taken."""
        return []

    @property
    def standard(self) -> bool:
        """Whether these are the default sizes, or those of ``--quick``."""
        default = type(self)()
        return self in (default, default.quick())

    def changed(self, given: Mapping[str, Any]) -> Self:
        """Return these sizes with some of them replaced.

        Parameters
        ----------
        given : mapping

        Raises
        ------
        ValueError, TypeError
            If there is no such size, or it cannot be.
        """
        known = [each.name for each in fields(self)]
        for name in given:
            if name not in known:
                raise ValueError(unknown("this figure has no size", name, known, prefix="--"))
        return replace(self, **given)

    def lines(self) -> dict[str, str]:
        """Return a line on each size: what it is, and its default value."""
        return {
            each.name: f"{each.metadata['what']}  [default: {listed(each.default, ',')}]"
            for each in fields(self)
        }

    def quick(self) -> Self:
        """Return the sizes of ``--quick``."""
        quick = {each.name: each.metadata["quick"] for each in fields(self)}
        return replace(self, **{name: value for name, value in quick.items() if value is not None})

    def other_than(self, default: Sizes) -> dict[str, Any]:
        """Return those that differ from others of the same figure.

        Parameters
        ----------
        default : Sizes
        """
        before = asdict(default)
        return {name: value for name, value in asdict(self).items() if value != before[name]}


def listed(values: Any, between: str = ", ") -> str:
    """Return one value, or several, as a caption has them.

    Parameters
    ----------
    values : value or tuple of values
    between : str, default ", "
        What stands between them.
    """
    return between.join(map(_short, values)) if isinstance(values, tuple) else _short(values)


def _short(value):
    return f"{value:g}" if isinstance(value, float) else str(value)


def _read(each: Field, value: Any) -> Any:
    """Return the value of a field, checked."""
    several = isinstance(each.default, tuple)
    values = list(value) if isinstance(value, list | tuple) else [value]
    if not values:
        raise ValueError(f"{each.name} must have at least one value")
    if not several and len(values) > 1:
        got = ", ".join(map(str, values))
        raise ValueError(f"{each.name} must be one value, the picture shows no more; got {got}")
    least, most = each.metadata["least"], each.metadata["most"]
    wanted = ""
    if len(values) < least:
        wanted = f"at least {least} values, between which something changes"
    if most is not None and len(values) > most:
        wanted = f"at most {most} values, the picture has no room for more"
    if wanted:
        raise ValueError(f"{each.name} must have {wanted}; got {len(values)}")
    default: Any = each.default
    kind = type(default[0] if several else default)
    read = tuple(_read_one(each, kind, item) for item in values)
    if len(set(read)) < len(read):
        raise ValueError(f"{each.name} must not repeat a value, got {values}")
    return read if several else read[0]


def _read_one(each, kind, value):
    bounds = each.metadata["bounds"]
    if kind is str:
        return check.choice(each.name, value, bounds["among"])
    if isinstance(value, float) and value.is_integer() and kind is int:
        value = int(value)
    try:
        if kind is float:
            return check.real(each.name, value, **bounds)
        return check.integer(each.name, value, **{"minimum": 1, **bounds})
    except ValueError as error:
        default = max(each.default) if isinstance(each.default, tuple) else each.default
        ends = ("maximum", "below") if value > default else ("minimum", "above")
        why = "".join(each.metadata["because"].get(end, "") for end in ends)
        raise ValueError(f"{error}: {why}" if why else str(error)) from None
