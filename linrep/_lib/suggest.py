"""What somebody may have meant by a name that there is not; loads nothing heavy."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_FEW = 30  # names that are listed


def unknown(
    what: str,
    name: str,
    known: Iterable[str],
    *,
    of: str = "",
    otherwise: str | None = None,
    prefix: str = "",
) -> str:
    """Return a line: there is no such name, and what is near, or else what there is.

    The line begins with `what`, such as "no column", and may say `of` what, such as "of fedrep".
    Where nothing is near, the known names follow, if they are few, or what is said `otherwise`.
    Names that are proposed have a prefix, such as "--".
    """
    known = [str(each) for each in known]
    if candidates := near(name, known):
        otherwise = propose(prefix + each for each in candidates)
    elif otherwise is None:
        more = f" and {len(known) - _FEW} more" if len(known) > _FEW else ""
        otherwise = f"there are {', '.join(known[:_FEW]) or 'none'}{more}"
    return f"{' '.join(filter(None, [what, repr(name), of]))}; {otherwise}"


def propose(names: Iterable[str]) -> str:
    """Return the question whether one of some names is meant."""
    return f"did you mean {' or '.join(names)}?"


def near(name: str, known: Iterable[str]) -> list[str]:
    """Return the at most three names that are most like one, whatever its capitals and blanks.

    Those come first that begin with it, or whose part behind the first dot does: a paper's.
    """
    folded: dict[str, str] = {}
    for each in known:
        folded.setdefault(each.casefold(), each)
    start = "".join(name.casefold().split())
    begun = [low for low in folded if len(start) > 2 and low.startswith(start)]
    inside = [low for low in folded if len(start) > 2 and low.partition(".")[2].startswith(start)]
    inside.sort(key=lambda low: len(low.partition(".")[2]))
    matches = get_close_matches(name.casefold(), folded, n=3, cutoff=0.65)
    matching = dict.fromkeys([*sorted(begun, key=len), *inside, *matches])
    return [folded[low] for low in matching][:3]
