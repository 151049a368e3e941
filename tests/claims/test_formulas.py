"""Formulas in plain letters."""

import doctest

import pytest

from linrep.claims import claims, formulas
from linrep.claims.formulas import text


def test_every_statement_is_plain_text():
    lines = {item.id: text(item.latex) for item in claims().values()}
    foreign = ("\\", "{,", "\0", "\n", "\xa0", "\u2061", "  ")
    wrong = {
        name: line
        for name, line in lines.items()
        if not line or any(piece in line for piece in foreign)
    }
    assert wrong == {}


@pytest.mark.parametrize(
    ("latex", "plain"),
    [
        (r"\frac{2(F^0 - F^\star)}{\eta T}", "(2(F⁰ − F⋆))/(ηT)"),
        (r"\frac{a + b}c d", "(a + b)/c d"),
        (r"0 < \frac{\sqrt{\lambda_1}}{10}", "0 < √λ₁/10"),
        (r"\sqrt{mn}, -x \le -1", "√(mn), −x ≤ −1"),
        (r"\sigma_{\min,*}^2 \bar\sigma_{k+1}", "σ_(min,*)²σ̄ₖ₊₁"),
        (r"A^\top B^T x^{-1}", "AᵀB^T x⁻¹"),
        (r"\log k + \log(rn)", "log k + log(rn)"),
        (r"\sum_{t<T} \|\nabla_U\|^2", "∑_(t<T)‖∇_U‖²"),
        (r"\text{if } x \in \mathbb R^d", "if x ∈ ℝᵈ"),
        (r"\nosuchcommand", r"\nosuchcommand"),
        (r"\binom{m}{m'}", "(m choose m′)"),
        (r"e^{v^\top x}", "e^(vᵀx)"),
        (r"e^{s\xi} x^{T^2}", "e^(sξ)x^(T²)"),
        (r"{\frac ab}^2 \sqrt{x}^2", "(a/b)²(√x)²"),
        (r"\sqrt[3]{n}", r"\sqrt[3]{n}"),
        (r"\overline{XY}", r"\overline{XY}"),
        (r"\begin{pmatrix}1 & 0\end{pmatrix}", r"\begin{pmatrix}1 & 0\end{pmatrix}"),
    ],
)
def test_formulas_are_read_in_one_line(latex, plain):
    assert text(latex) == plain


def test_the_example():
    assert doctest.testmod(formulas).failed == 0
