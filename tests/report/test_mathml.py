"""Formulas: of the statements, and of the sentences that checks write."""

from xml.etree import ElementTree

import pytest

from linrep.claims import claims
from linrep.report import mathml
from tests.tools import complaint


def texts(markup):
    """Return the text of each piece of a formula."""
    root = ElementTree.fromstring(f"<all>{markup}</all>")
    assert {piece.tag for piece in root} <= {"math", "span"}
    return ["".join(piece.itertext()) for piece in root.iter("math")]


def test_every_statement_converts():
    converted = {
        item.id: "".join(texts(mathml.formula(item.latex))).strip() for item in claims().values()
    }
    # A command that is not known would stand there as it is.
    wrong = {name: text for name, text in converted.items() if not text or "\\" in text}
    assert wrong == {}


@pytest.mark.parametrize(
    ("latex", "pieces"),
    [
        (r"a \le b", ["a≤b"]),
        (r"abcd \le b", ["abcd", "≤b"]),
        (r"a,\ b", ["a,\xa0", "b"]),
        (r"a, b", ["a,b"]),
        (r"a \qquad b", ["a", "b"]),
        (r"(a \le b)", ["(a≤b)"]),
        (r"\|abcd \le b\|_2 = c", ["‖abcd≤b‖2", "=c"]),
        (r"[0, 1) = x", ["[0,1)", "=x"]),
        (r"|A|^2 = a", ["|A|2", "=a"]),
        (r"abcd + efgh = -c - (d + e)", ["abcd", "+efgh", "=−c−(d", "+e)"]),
        (r"x \Big(abcd + (e + f)\Big)^2 < c", ["x(abcd", "+(e+f))2", "<c"]),
    ],
)
def test_a_line_breaks_before_relations_and_after_spaces(latex, pieces):
    assert texts(mathml.formula(latex)) == pieces


def test_what_stands_in_brackets_rather_stays_together_and_a_sign_in_front_keeps_its_room():
    root = ElementTree.fromstring(f"<all>{mathml.formula(r'x (abcd + e) < c')}</all>")
    assert [piece.tag for piece in root] == ["span", "math"]
    assert ["".join(piece.itertext()) for piece in root[0]] == ["x(abcd", "+e)"]
    assert root[0][1][0].get("form") == "infix"


@pytest.mark.parametrize(
    ("latex", "parts"),
    [
        (r"\mathcal L + \mathbb E", "ℒ 𝔼"),
        (r"\text{if } x < 1 \text{ \emph{or} } y", "if < or"),
        (r"\begin{cases} a & x > 0 \\ b & \text{else} \end{cases}", "{ a else"),
        (r"\begin{aligned} a &= b \\ c &= d \end{aligned}", "a b c d"),
        (r"\arg\min_x f", "arg min"),
    ],
)
def test_constructs(latex, parts):
    text = "".join(texts(mathml.formula(latex))).replace("\xa0", " ")
    for part in parts.split():
        assert part in text


def test_a_bracket_of_given_size_keeps_it_under_an_index():
    root = ElementTree.fromstring(mathml.formula(r"\Big\|x\Big\|_2"))
    base = root.find("msub")[0]
    assert base.tag == "mrow"
    assert base[0].get("minsize")


def test_what_cannot_be_converted_is_said():
    for latex, word in ((r"\nosuchcommand", "nosuchcommand"), (r"\frac{1", "")):
        with complaint(mathml.Unreadable, word, "cannot be converted"):
            mathml.formula(latex)


@pytest.mark.parametrize(
    ("plain", "html"),
    [
        ("eta <= Delta^2/(16 lambda*_1^3)", "η ≤ Δ<sup>2</sup>/(16 λ*<sub>1</sub><sup>3</sup>)"),
        ("‖F‖_F² ≤ k", "‖F‖<sub>F</sub><sup>2</sup> ≤ k"),
        ("sigma_min^2 > 0", "σ<sub>min</sub><sup>2</sup> &gt; 0"),
        ("delta'_k, 10^-6, rn^0.378.", "δ′<sub>k</sub>, 10<sup>−6</sup>, rn<sup>0.378</sup>."),
        ("lambda*_{k+1} and 1_G", "λ*<sub>k+1</sub> and 1<sub>G</sub>"),
        ("A_(0,0), x^(1/2)", "A<sub>0,0</sub>, x<sup>1/2</sup>"),
        ("kappa~^2, 1/sqrt T, eps", "κ\N{COMBINING TILDE}<sup>2</sup>, 1/√T, ε"),
        ("(1 - x)^2, sqrt(k)", "(1 − x)<sup>2</sup>, √k"),
        ("scaled_qr, lemma_A8, step_size", "scaled_qr, lemma_A8, step_size"),
        ("beta, theta; metadata, eta2", "β, θ; metadata, eta2"),
        (
            "σ_r²/(c²σ₁), κ⁶",
            "σ<sub>r</sub><sup>2</sup>/(c<sup>2</sup>σ<sub>1</sub>), κ<sup>6</sup>",
        ),
        ("sqrt(sigma_1) √(mn)", "√σ<sub>1</sub> √(mn)"),
        ("m⁻¹Bᵀ", "m<sup>−1</sup>B<sup>T</sup>"),
        ("e^(-110(d+k)) of", "e<sup>−110(d+k)</sup> of"),
        ("2.5e+13, 1e-05, -3", "2.5×10<sup>13</sup>, 10<sup>−5</sup>, −3"),
        ("(11)-(12), GD-GD, [-1, 1]", "(11)–(12), GD-GD, [−1, 1]"),
        ("<b>|a| & b</b>", "&lt;b&gt;|a| &amp; b&lt;/b&gt;"),
        ("x_{<i>}", "x<sub>&lt;i&gt;</sub>"),
    ],
)
def test_formulas_in_sentences(plain, html):
    assert mathml.prose(plain) == html
