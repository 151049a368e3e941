"""LaTeX as a tree of MathML, and as plain text for terminals."""

from __future__ import annotations

import re
from functools import cache
from html import unescape
from unicodedata import normalize
from xml.etree.ElementTree import Element, fromstring

from math_core import LatexError, LatexToMathML

RELATIONS = frozenset("=≤≥<>∈∼≈≪≫→⇒⟹⟺⇔≠∝⪯")
SIGNED = frozenset("+−")
COMMAS = frozenset(",;:")
OPEN, CLOSE = frozenset("([{⌈⟨"), frozenset(")]}⌉⟩")
_BINARY = SIGNED | frozenset("⋅×±∘")
_ACCENTS = {
    "ˆ": "\u0302",
    "^": "\u0302",
    "˜": "\u0303",
    "~": "\u0303",
    "¯": "\u0304",
    "→": "\u20d7",
}
_RAISED = dict(zip("0123456789+−()nitkdmprs⊤*⋆′†", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ⁿⁱᵗᵏᵈᵐᵖʳˢᵀ*⋆′†", strict=True))
_LOWERED = dict(zip("0123456789+−()ijkmnrst", "₀₁₂₃₄₅₆₇₈₉₊₋₍₎ᵢⱼₖₘₙᵣₛₜ", strict=True))
_SOFT = "\0"  # a blank where a letter follows
_WIDE = 0.2  # em
_MARKS = "[\u0300-\u036f]?[*⋆′₀-₉₊₋ᵢⱼₖₘₙᵣₛₜ⁰¹²³⁴-⁹⁺⁻ᵗᵏᵈ]*"
_SYMBOL = rf"\d+|[^\W\d]{_MARKS}"  # what needs no brackets below a line, and above it
_PRODUCT = rf"(?:√?(?:\d|[^\W\d]{_MARKS}))+"


class Unreadable(ValueError):
    """LaTeX that cannot be converted."""


@cache
def _converter():
    return LatexToMathML(fancy_error=False)


def tree(latex: str) -> Element:
    """Return a displayed formula as MathML."""
    try:
        text = _converter().convert_with_local_state(latex, displaystyle=True)
    except LatexError as error:
        raise Unreadable(f"{latex!r} cannot be converted: {error}") from None
    return fromstring(re.sub(r"&(?!amp;|lt;|gt;|#)\w+;", lambda name: unescape(name[0]), text))


def text(latex: str) -> str:
    r"""Return a formula in one line of plain letters, the source where it cannot be converted.

    Examples
    --------
    >>> text(r"\eta \le \frac{1}{4\bar\sigma_1^2}")
    'η ≤ 1/(4σ̄₁²)'
    """
    try:
        line = _row(list(tree(latex)))
    except Unreadable:
        return latex
    line = re.sub(rf"{_SOFT}+(?=[\w√∑∏∇])", " ", line).replace(_SOFT, "")
    line = re.sub(r"\s+", " ", line)
    return re.sub(r"(?<=[(\[]) | (?=[)\],;:])", "", line).strip()


def _row(nodes, spaced=True):
    """Return nodes beside each other, with blanks around relations if it is spaced."""
    parts, last = [], ""
    for node in nodes:
        part = _plain(node, spaced)
        sign = part.strip(_SOFT)
        if spaced and sign in RELATIONS:
            part = f" {sign} "
        elif spaced and sign in _BINARY:
            alone = not last or last in RELATIONS | COMMAS | OPEN
            part = sign if alone else f" {sign} "
        elif sign in COMMAS and node.tag == "mo":
            part = f"{sign} " if spaced else sign
        parts.append(part)
        last = sign or last
    return "".join(parts)


def _plain(node, spaced):
    """Return what a node is in plain letters."""
    match node.tag:
        case "mspace":
            return " " if float(node.get("width", "0").removesuffix("em")) >= _WIDE else ""
        case "mi" | "mo" | "mn" | "mtext":
            # Without what only browsers need: the sign of an application, the choice of a letter.
            own = re.sub("[\u2061\ufe00\ufe01]", "", node.text or "")
            own = own.replace("∗", "*").replace("\xa0", " ")
            return f"{_SOFT}{own}{_SOFT}" if node.tag == "mi" and len(own) > 1 else own
        case "mfrac":
            above, below = (_row([child]).strip(f" {_SOFT}") for child in node)
            if node.get("linethickness") == "0":  # a binomial coefficient, in brackets already
                return f"{above} choose {below}"
            above = above if re.fullmatch(_PRODUCT, above) else f"({above})"
            below = below if re.fullmatch(_SYMBOL, below) else f"({below})"
            return f" {above}/{below} "
        case "msqrt":
            inside = _row(list(node)).strip(f" {_SOFT}")
            return f"√{inside}" if re.fullmatch(_SYMBOL, inside) else f"√({inside})"
        case "msub" | "munder":
            return _with(node[0], spaced, _script(node[1], _LOWERED, "_"))
        case "msup":
            return _with(node[0], spaced, _script(node[1], _RAISED, "^"))
        case "msubsup" | "munderover":
            low, high = _script(node[1], _LOWERED, "_"), _script(node[2], _RAISED, "^")
            return _with(node[0], spaced, low.rstrip(_SOFT) + high)
        case "mover":
            accent = _ACCENTS.get(_plain(node[1], spaced))
            base = _plain(node[0], spaced).strip(_SOFT)
            if accent and len(base) == 1:
                return normalize("NFC", base + accent)
            raise Unreadable(f"an accent on {base}")
        case "mrow" | "mstyle" | "mpadded" | "math":
            return _row(list(node), spaced)
        case _:
            raise Unreadable(f"<{node.tag}> has no plain letters")


def _with(base, spaced, scripts):
    """Return a base with its index and power; after a name a letter keeps its distance."""
    text = _plain(base, spaced)
    if scripts and base.tag in ("mfrac", "msqrt"):
        text = f"({text.strip()})"
    bare = text.strip(_SOFT)
    return (
        text
        if not scripts
        else f"{_SOFT}{bare}{scripts}{_SOFT}"
        if bare != text
        else bare + scripts
    )


def _script(node, small, mark):
    """Return an index or a power: in small letters where there are such."""
    inside = _row([node], spaced=False).replace(_SOFT, "").strip()
    if set(inside) <= small.keys():
        return "".join(map(small.__getitem__, inside))
    # An index may be a word, a power of several letters is a product.
    bare = inside.isalnum() if mark == "_" else re.fullmatch(r"\d+|[^\W\d]", inside)
    return f"{mark}{inside}{_SOFT}" if bare else f"{mark}({inside})"
