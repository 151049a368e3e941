"""LaTeX as MathML, which browsers show without a script, and formulas of plain text as HTML."""

from __future__ import annotations

import re
from functools import partial
from unicodedata import normalize
from xml.etree import ElementTree

from markupsafe import Markup, escape

from linrep.claims.formulas import CLOSE, COMMAS, OPEN, RELATIONS, SIGNED, Unreadable, tree

_INFIX = RELATIONS | SIGNED
_EITHER = frozenset("|‖")
_SHORT = 4  # letters and signs that stay with the relation behind them
_SCRIPTS = frozenset(("msub", "msup", "msubsup", "munder", "mover", "munderover"))
__all__ = ["Unreadable", "formula", "prose"]

_GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "eta": "η",
    "theta": "θ", "kappa": "κ", "lambda": "λ", "mu": "μ", "xi": "ξ", "rho": "ρ", "sigma": "σ",
    "tau": "τ", "phi": "φ", "psi": "ψ", "Gamma": "Γ", "Delta": "Δ", "Theta": "Θ", "Lambda": "Λ",
    "Phi": "Φ", "Psi": "Ψ", "Omega": "Ω", "eps": "ε",
}  # fmt: skip
_SIGNS = (
    ("$^{", "^{"),
    ("}$", "}"),
    ("^½", "^{½}"),
    ("<=", "≤"),
    (">=", "≥"),
    ("->", "→"),
    ("sqrt(", "√("),
    ("sqrt ", "√"),
)
# Small letters and digits, which are set as those of formulas in plain letters are.
_SMALL = (("^", re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ᵀ]+")), ("_", re.compile("[₀₁₂₃₄₅₆₇₈₉₊₋ᵢⱼₖₘₙᵣₛₜ]+")))
_FLOAT = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)e([+-])0*(\d+)(?!\w)")
# Between two terms; before a number; after a bracket or a relation.
_MINUS = re.compile(
    r"(?<=[\w)\]}|*'+] )-(?= [\w(\[|√])|(?<![\w)\]}*'^_{(-])-(?=\d)"
    r"|(?<=[(\[])-(?=\w)|(?<=[=≤≥<>] )-(?=\w)"
)
_RANGE = re.compile(r"(?<=\d\))-(?=\(\d)")
_NAMES = "|".join(_GREEK)
_ROOT = re.compile(rf"√\(((?:{_NAMES}|\w)\*?(?:_\w+)?)\)")
_SCRIPT = (
    r"(?:\{(?:[^{}]|\{[^{}]*\})+\}|\((?:[^()]|\([^()]*\))+\)|[-−]?\d+\.\d+|[-−]?[A-Za-z0-9*]+"
    r"|[α-ωΑ-Ω](?!\w)|\+(?!\w))"
)
# A Greek letter; or a letter, a number or a bracket with an index, a power or both. What is left
# are names: scaled_qr, lemma_A8.
_SYMBOL = re.compile(
    rf"(?P<base>(?<![\w.])(?:{_NAMES}|dist|NC|[A-Za-z0-9]|[^\W_]+(?=\^))[*'~]?"
    r"|(?:[α-ωΑ-Ω∇]|(?<=[α-ωΑ-Ω\d√])[A-Za-z])[*'~]?|[)|\]‖]|(?<=\S)(?=[_^]\{))"
    rf"(?:_(?P<index>{_SCRIPT})(?:\^(?P<power>{_SCRIPT}))?|\^(?P<only>{_SCRIPT}))"
    r"(?:(?<=[})])|(?![A-Za-z0-9_]))"
    rf"|(?<![\w.])(?P<letter>(?:{_NAMES})[*'~]?)(?![\w])"
)


def formula(latex: str) -> Markup:
    """Return a displayed formula as pieces of MathML, between which a line may be broken.

    Browsers break no line within one. As in a paper, a line may begin with a relation, plus or
    minus, unless little stands before it, and end with a comma that a space follows, or with a wide
    space, outside all brackets.
    What is wider than a line by itself may also be broken within one pair of brackets.
    """
    root = tree(latex)
    _loosen(root)
    units = []
    for nodes in _pieces(list(root), most=0):
        pieces = [_math(piece) for piece in _pieces(nodes, most=1)]
        joined = "".join(pieces)
        units.append(f"<span>{joined}</span>" if len(pieces) > 1 else joined)
    return Markup("".join(units))


def _math(nodes):
    """Return nodes as MathML; an operator at the beginning still has something before it."""
    if _sign(nodes[0]) in _INFIX:
        _core(nodes[0]).set("form", "infix")
    piece = ElementTree.Element("math")  # displayed, as the page's style sheet says once for all
    piece.extend(nodes)
    return ElementTree.tostring(piece, encoding="unicode")


def _loosen(root):
    """Put brackets of a given size that have an index into a row: browsers size them only there."""
    for node in root.iter():
        if node.tag in _SCRIPTS and node[0].get("minsize"):
            row = ElementTree.Element("mrow")
            row.append(node[0])
            node[0] = row


def _pieces(nodes, most):
    """Yield nodes up to where a line may be broken, within at most so many pairs of brackets."""
    depth, last = 0, ""
    inside: set[str] = set()
    piece: list[ElementTree.Element] = []
    for node in nodes:
        sign = _sign(node)
        space = node.tag in ("mspace", "mtext") and not (node.text or "").strip()
        wide = float(node.get("width", "0").removesuffix("em")) >= 1.0
        free = depth <= most and not inside
        # After a relation, a comma or an opening bracket it is a sign.
        alone = sign in SIGNED and last in _INFIX | COMMAS | OPEN
        if free and sign in _INFIX and not alone and _length(piece) >= _SHORT:
            yield piece
            piece = []
        piece.append(node)
        if free and depth == 0 and space and (wide or last in COMMAS):
            yield piece
            piece = []
        depth += (sign in OPEN) - (sign in CLOSE)
        if sign in _EITHER:
            inside ^= {sign}
        if not space:
            last = sign or node.tag
    if piece:
        yield piece


def _length(nodes):
    """Return how many letters and signs some nodes have."""
    return sum(bool((leaf.text or "").strip()) for node in nodes for leaf in node.iter())


def _core(node):
    """Return what a node is without its scripts."""
    while node.tag in _SCRIPTS or (node.tag == "mrow" and len(node) == 1):
        node = node[0]
    return node


def _sign(node):
    """Return the operator that a node is, with or without scripts; empty if it is none."""
    core = _core(node)
    return (core.text or "") if core.tag == "mo" else ""


def prose(text: str) -> Markup:
    """Return a sentence as HTML, formulas in it with Greek letters, indices and powers.

    Checks write formulas in plain letters: ``eta <= Delta^2/(16 lambda*_1^3)``. Names with an
    underscore stay as they are, and markup in the text is shown, not followed.
    """
    for written, sign in _SIGNS:
        text = text.replace(written, sign)
    text = _FLOAT.sub(_power_of_ten, text)
    for mark, small in _SMALL:
        text = small.sub(partial(_full_size, mark), text)
    text = _RANGE.sub("–", _MINUS.sub("−", _ROOT.sub(r"√\1", text)))
    parts, end = [], 0
    for match in _SYMBOL.finditer(text):
        parts += [escape(text[end : match.start()]), _symbol(match)]
        end = match.end()
    return Markup("").join([*parts, escape(text[end:])])


def _full_size(mark, run):
    return f"{mark}{{{normalize('NFKC', run[0])}}}"


def _power_of_ten(match):
    factor = "" if match[1] == "1" else f"{match[1]}×"
    return f"{factor}10^{{{match[2].strip('+')}{match[3]}}}"


def _symbol(match):
    base = match["letter"] or match["base"]
    name = base.rstrip("*'~")
    marks = base[len(name) :].replace("'", "′").replace("~", "\N{COMBINING TILDE}")
    html = escape(_GREEK.get(name, name) + marks)
    for tag, script in (("sub", match["index"]), ("sup", match["power"] or match["only"])):
        if script:
            inside = script[1:-1] if script[0] in "{(" else script
            inner = prose(inside.replace("-", "−"))
            html += Markup("<{0}>{1}</{0}>").format(Markup(tag), inner)
    return html
