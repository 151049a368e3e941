"""Formulas mean what pandas makes of them, and reach nothing else."""

import ast
import string

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from linrep._lib.formulas import FUNCTIONS, Expression
from tests.tools import complaint

ROWS = pd.DataFrame(
    {
        "n": [1, 2, 3, 40],
        "x": [0.5, -1.0, 2.0, 1e-3],
        "done": [True, False, True, True],
        "method": ["a", "b", "a", "c"],
    }
)
GAPS = pd.DataFrame(
    {
        "y": pd.Series([1.0, None, 3.0], dtype=object),
        "good": pd.Series([True, None, False], dtype=object),
    }
)

numbers = st.sampled_from(["n", "x", "2", "0.5", "3"])
arithmetic = st.recursive(
    numbers,
    lambda part: st.one_of(
        st.builds("({} {} {})".format, part, st.sampled_from(["+", "-", "*", "/"]), part),
        st.builds("(-{})".format, part),
        st.builds("{}({})".format, st.sampled_from(["abs", "sqrt", "exp", "floor"]), part),
    ),
    max_leaves=5,
)
comparisons = st.builds(
    "({} {} {})".format, arithmetic, st.sampled_from(["<", "<=", "==", "!=", ">", ">="]), arithmetic
)
conditions = st.recursive(
    st.one_of(comparisons, st.just("done"), st.just('method == "a"'), st.just("n in [1, 40]")),
    lambda part: st.one_of(
        st.builds("({} {} {})".format, part, st.sampled_from(["and", "or"]), part),
        st.builds("(not {})".format, part),
    ),
    max_leaves=4,
)


def constants(text):
    """Yield the parts without a column, of which pandas makes something else, such as not 1 < 2."""
    for node in ast.walk(ast.parse(text, mode="eval")):
        if isinstance(node, ast.UnaryOp | ast.BinOp | ast.BoolOp | ast.Compare | ast.Call):
            names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
            if not names & set(ROWS):
                yield ast.unparse(node)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@given(st.one_of(arithmetic, conditions))
def test_it_is_what_pandas_makes_of_it(text):
    assume(not any(constants(text)))
    expected = ROWS.eval(text, engine="python")
    found = Expression(text).value(ROWS)
    np.testing.assert_allclose(
        np.asarray(found, dtype=float), np.asarray(expected, dtype=float), rtol=1e-13
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("n > 1 and x < 1", [False, True, False, True]),
        ("0 < x <= 0.5", [True, False, False, True]),
        ("n not in (1, 2)", [False, False, True, True]),
        ("not done or method == 'c'", [False, True, False, True]),
        ("2 ** n", [2, 4, 8, 2**40]),
        ("n // 2 + n % 2", [1, 1, 2, 20]),
        ("maximum(n, 3)", [3, 3, 3, 40]),
        ("n * 2 ** 62", [2.0**62, 2.0**63, 3 * 2.0**62, 40 * 2.0**62]),
        ("(n > 1) + (x < 1) + done", [2, 2, 2, 3]),
        ("-(n > 1)", [0, -1, -1, -1]),
        ("n ** 20", [1.0, 2.0**20, 3.0**20, 40.0**20]),
    ],
)
def test_values(text, expected):
    found = Expression(text).value(ROWS)
    assert found.tolist() == expected
    assert all(type(a) is type(b) for a, b in zip(found.tolist(), expected, strict=True))


def test_gaps_stay_gaps_among_numbers_and_are_no_condition():
    np.testing.assert_array_equal(Expression("y + 1").value(GAPS), [2.0, np.nan, 4.0])
    assert Expression("y < 2").value(GAPS).tolist() == [True, False, False]
    assert Expression("good or y > 2").value(GAPS).tolist() == [True, False, True]


def test_every_function_is_one_of_so_many_numbers():
    for name in FUNCTIONS:
        for arguments in ("", "x, n, x", "x" if name in {"maximum", "minimum"} else "x, n"):
            with complaint(ValueError, f"{name} takes"):
                Expression(f"{name}({arguments})")
        arguments = "x, 1" if name in {"maximum", "minimum"} else "x"
        assert len(Expression(f"{name}({arguments})").value(ROWS)) == len(ROWS)


def test_columns_are_named():
    assert Expression("n + x * n > 1").names == ("n", "x")
    with complaint(ValueError, "'q > 1'", "no column 'q'", "n, x, done"):
        Expression("q > 1").value(ROWS)


ATTACKS = (
    "@pd.io.common.os.system('touch here')",
    "__import__('os').system('touch here')",
    "n.__class__.__base__.__subclasses__()",
    "x.to_csv('here')",
    "open('here', 'w')",
    "lambda: 1",
    "[i for i in n]",
    "(n := 5)",
    "f'{n.__class__}'",
    "n[0]",
    "`n`.__class__",
    "x if done else n",
    "n > 1 & done",
    "~done",
    "abs(n, out=x)",
    "abs(*n)",
    "__class__ == 1",
    "yield n",
    "import os",
    "n; import os",
    "n = 1",
    "method * 10 ** 9",
    "'a' * 10 ** 9",
    "b'a'",
    "1j",
    "None",
    "n is done",
    "n in method",
    "9 ** 9 ** 9 ** 9 in method",
    "(" * 300 + "n" + ")" * 300,
    "abs(" * 60 + "n" + ")" * 60,
    "-" * 999 + "n",
    "n +" * 400 + "n",
    "n" * 1001,
    "",
    "n\x00",
    "'\\ud800' + n",
)


def test_nothing_else_can_be_reached(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    taken = []
    for text in ATTACKS:
        try:
            Expression(text).value(ROWS)
        except ValueError as error:
            if "\n" not in str(error):
                continue
        taken.append(text)
    assert taken == []
    assert not list(tmp_path.iterdir())


def test_powers_of_large_numbers_end_at_once():
    assert Expression("9 ** 9 ** 9 ** 9").value(ROWS) == np.inf
    assert Expression("n ** 9 ** 9").value(ROWS).tolist() == [1.0, np.inf, np.inf, np.inf]


def refusal(text):
    """Return why a text is refused, nothing if it is not."""
    try:
        Expression(text).value(ROWS)
    except ValueError as error:
        return str(error)
    return ""


@given(st.text(alphabet=string.printable + "`@·é", max_size=40))
def test_any_text_is_a_formula_or_refused_in_one_line(text):
    assert "\n" not in refusal(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x.values", ["'.values'", "no attributes"]),
        ("x.__class__", ["'.__class__'", "no attributes"]),
        ("__builtins__", ["'__builtins__'", "Python's"]),
        ("sqrtt(n)", ["no function 'sqrtt'", "did you mean sqrt"]),
    ],
)
def test_what_is_refused_is_refused_when_it_is_read(text, words):
    with complaint(ValueError, *words):
        Expression(text)
