"""LaTeX as MathML, which browsers show without a script, and formulas of plain text as HTML."""

from __future__ import annotations

import re
from functools import cache
from html import unescape
from xml.etree import ElementTree

from markupsafe import Markup, escape
from math_core import LatexError, LatexToMathML

_RELATIONS = frozenset("=≤≥<>∈∼≈≪≫→⇒⟹⟺⇔≠∝⪯")
_BINARY = frozenset("+−")
_COMMAS = frozenset(",;:")
_OPEN, _CLOSE, _EITHER = frozenset("([{⌈⟨"), frozenset(")]}⌉⟩"), frozenset("|‖")
_SCRIPTS = frozenset(("msub", "msup", "msubsup", "munder", "mover", "munderover"))

_GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "eta": "η",
    "theta": "θ", "kappa": "κ", "lambda": "λ", "mu": "μ", "xi": "ξ", "rho": "ρ", "sigma": "σ",
    "tau": "τ", "phi": "φ", "psi": "ψ", "Gamma": "Γ", "Delta": "Δ", "Theta": "Θ", "Lambda": "Λ",
    "Phi": "Φ", "Psi": "Ψ", "Omega": "Ω", "eps": "ε",
}  # fmt: skip
_SIGNS = (("<=", "≤"), (">=", "≥"), ("->", "→"), ("sqrt(", "√("), ("sqrt ", "√"))
_NAMES = "|".join(_GREEK)
_SCRIPT = r"(?:\{[^{}]+\}|\([^()]+\)|-?\d+\.\d+|-?[A-Za-z0-9*]+)"
# A Greek letter; or a letter, a number or a bracket with an index, a power or both. What is left
# are names: scaled_qr, lemma_A8.
_SYMBOL = re.compile(
    rf"(?P<base>(?<![\w.])(?:{_NAMES}|dist|NC|[A-Za-z0-9]|\w+(?=\^))[*'~]?|[)|\]])"
    rf"(?:_(?P<index>{_SCRIPT})(?:\^(?P<power>{_SCRIPT}))?|\^(?P<only>{_SCRIPT}))(?!\w)"
    rf"|(?<![\w.])(?P<letter>(?:{_NAMES})[*'~]?)(?![\w])"
)


class Unreadable(ValueError):
    """LaTeX that cannot be converted."""


@cache
def _converter():
    return LatexToMathML(fancy_error=False)


def formula(latex: str) -> Markup:
    """Return a displayed formula as pieces of MathML, between which a line may be broken.

    Browsers break no line within one. As in a paper, breaks are allowed after relations, plus
    and minus, after commas that a space follows, and after wide spaces, outside all brackets.

    Parameters
    ----------
    latex : str

    Raises
    ------
    Unreadable
        If it is not LaTeX, or has commands that are not known.
    """
    try:
        text = _converter().convert_with_local_state(latex, displaystyle=True)
    except LatexError as error:
        raise Unreadable(f"{latex!r} cannot be converted: {error}") from None
    root = ElementTree.fromstring(re.sub(r"&(?!amp;|lt;|gt;|#)\w+;", _character, text))
    _loosen(root)
    pieces = []
    for nodes in _pieces(list(root)):
        piece = ElementTree.Element("math", {"displaystyle": "true"})
        piece.extend(nodes)
        pieces.append(ElementTree.tostring(piece, encoding="unicode"))
    return Markup("".join(pieces))


def _character(match):
    return unescape(match.group())


def _loosen(root):
    """Put brackets of a given size that have an index into a row: browsers size them only there."""
    for node in root.iter():
        if node.tag in _SCRIPTS and node[0].get("minsize"):
            row = ElementTree.Element("mrow")
            row.append(node[0])
            node[0] = row


def _pieces(nodes):
    depth, sign = 0, ""
    inside: set[str] = set()
    piece: list[ElementTree.Element] = []
    for node in nodes:
        piece.append(node)
        before, sign = sign, _sign(node)
        depth += (sign in _OPEN) - (sign in _CLOSE)
        if sign in _EITHER:
            inside ^= {sign}
        space = node.tag in ("mspace", "mtext") and not (node.text or "").strip()
        wide = float(node.get("width", "0").removesuffix("em")) >= 1.0
        gap = space and (wide or before in _COMMAS)
        binary = sign in _BINARY and len(piece) > 1  # else it is a sign
        if depth == 0 and not inside and (gap or binary or sign in _RELATIONS):
            yield piece
            piece = []
    if piece:
        yield piece


def _sign(node):
    """Return the operator that a node is, with or without scripts; empty if it is none."""
    while node.tag in _SCRIPTS or (node.tag == "mrow" and len(node) == 1):
        node = node[0]
    return (node.text or "") if node.tag == "mo" else ""


def prose(text: str) -> Markup:
    """Return a sentence as HTML, formulas in it with Greek letters, indices and powers.

    Checks write formulas in plain letters: ``eta <= Delta^2/(16 lambda*_1^3)``. Names with an
    underscore stay as they are, and markup in the text is shown, not followed.
    """
    for written, sign in _SIGNS:
        text = text.replace(written, sign)
    found, end = [], 0
    for match in _SYMBOL.finditer(text):
        found += [escape(text[end : match.start()]), _symbol(match)]
        end = match.end()
    return Markup("").join([*found, escape(text[end:])])


def _symbol(match):
    base = match["letter"] or match["base"]
    name = base.rstrip("*'~")
    marks = base[len(name) :].replace("'", "′").replace("~", "\N{COMBINING TILDE}")
    html = escape(_GREEK.get(name, name) + marks)
    for tag, script in (("sub", match["index"]), ("sup", match["power"] or match["only"])):
        if script:
            inner = prose(script.strip("{}()").replace("-", "−"))
            html += Markup("<{0}>{1}</{0}>").format(Markup(tag), inner)
    return html
