"""Laws: one relation that is searched, compared in fractions, and asked of solvers."""

from dataclasses import replace
from fractions import Fraction as Q

import numpy as np
import pytest

from linrep.claims import Budget, Cases, Identity, Search, decide
from linrep.claims.certificates import certificates
from linrep.claims.evidence import CERTIFIED, EXACT, SEARCHED
from linrep.claims.laws import (
    Arrays,
    Grid,
    Open,
    Region,
    Root,
    at_most,
    equal,
    law,
    lines,
    measured,
    printed,
)
from linrep.claims.ledger import by_solvers
from linrep.claims.mutants import Mutant, ask_solvers
from linrep.claims.record import Record
from linrep.claims.solvers import SOLVERS
from linrep.claims.verdict import judge
from tests.tools import complaint

BUDGET = Budget("quick")
UNIT = Region(x=(Open(0), 1), y=lambda x: (0, x), z=lambda *, most=1: (0, most))


def rng():
    return np.random.default_rng(0)


# Relations and what they come to.


def test_fractions_are_compared_as_they_are_and_floats_up_to_rounding():
    hair = Q(1, 10**20)
    assert decide(measured([("", at_most(1 + hair, Q(1)))])[""]).verdict == "fails"
    assert decide(measured([("", equal(1 + hair, Q(1)))])[""]).verdict == "fails"
    assert decide(measured([("", at_most(1 + 1e-15, 1.0))])[""]).verdict == "holds"
    assert decide(measured([("", equal(0.1 + 0.2, 0.3))])[""]).verdict == "holds"
    assert decide(measured([("", equal(0.3001, 0.3))])[""]).verdict == "fails"


def test_parts_have_the_names_of_their_relations_and_say_where_they_fail():
    relations = [("a", at_most(1, Q(2)), {"n": 1}), ("b", equal(1.0, 2.0))]
    found = measured([*relations, ("a", at_most(3, Q(2)), {"n": 2})])
    assert [type(each) for each in found.values()] == [Cases, Identity]
    assert decide(found["a"]).counterexample["n"] == 2


# Where instances come from.


def test_a_grid_has_all_combinations_and_what_is_drawn_at_them():
    seen = []

    def relation(rng, n, p):
        seen.append((n, p))
        yield "one", at_most(n * p, 10.0), {"drawn": float(rng.random())}

    grid = Grid(n=lambda budget: range(budget(2, 5)), p=(0.5, 1.0))
    found = grid.measure(relation, BUDGET, rng())
    assert seen == [(0, 0.5), (0, 1.0), (1, 0.5), (1, 1.0)]
    assert set(found["one"].cases[0][2]) == {"n", "p", "drawn"}


def test_arrays_have_the_shapes_of_their_letters_and_are_searched():
    def relation(A, x, c):
        assert A.shape[1:] == x.shape
        assert np.shape(c) == ()
        return {"true": at_most(np.linalg.norm(A @ x), np.linalg.norm(A) * np.linalg.norm(x))}

    found = Arrays({"l": 2, "m": 2}, A="lm", x="m", c="").measure(relation, BUDGET, rng())
    assert [type(each) for each in found.values()] == [Cases, Search]
    assert {decide(each).verdict for each in found.values()} == {"holds"}


def test_a_search_finds_what_random_arrays_do_not():
    """A narrow violation, near x = y."""

    def relation(x, y):
        return at_most(abs(x), abs(y) + 1e3 * abs(x - y) + 0.9 * abs(x) * (abs(x - y) > 1e-3))

    found = Arrays({"n": 1}, x="", y="").measure(relation, BUDGET, rng())
    assert decide(found["searched"]).verdict == "holds"
    worse = Arrays({"n": 1}, x="", y="").measure(
        lambda x, y: at_most(x * y, 0.499 * (x**2 + y**2)), BUDGET, rng()
    )
    assert decide(worse["searched"]).verdict == "fails"


def test_instances_that_do_not_satisfy_the_hypotheses_are_left_out():
    found = Arrays(x="").measure(lambda x: at_most(-1.0, 0.0) if x > 0 else None, BUDGET, rng())
    assert 0 < decide(found["drawn"]).n_trials < 500


# Regions.


def test_points_of_a_region_satisfy_its_hypotheses_whatever_the_constants():
    region = Region(
        x=(Open(0), 1), y=lambda x, *, most=1: (Open(0), most * x), z=lambda y: (y, None),
        w=(None, Open(0)), v=(None, None),
    )  # fmt: skip
    for most in (1, Q(1, 3)):
        points = list(region.points(most=most))
        assert len(points) == 3**5
        assert next(iter(Region(x=(0, 1), y=lambda x: (x, Q(1, 2))).points())) == {"x": 0, "y": 0}
        assert all(all(region.given(point, most=most)) for point in points)
        assert {type(value) for point in points for value in point.values()} == {Q}
    assert not all(region.given({"x": Q(1), "y": Q(1)}, most=Q(1, 2)))


def test_a_root_is_known_by_its_square():
    region = Region(root=Root(2))
    (point, *_) = region.points()
    assert point["root"] == 2**0.5
    assert [all(region.given({"root": value})) for value in (Q(3, 2), -Q(2))] == [False, False]


def test_an_interval_depends_on_earlier_numbers_alone():
    with complaint(ValueError, "y", "z", "before it"):
        Region(x=(0, 1), y=lambda z: (0, z), z=(0, 1))


# Lines of a proof.


def test_a_question_holds_only_the_numbers_it_needs():
    @lines("mine.needed", Region(x=(Open(0), 1), y=lambda x: (0, x), other=(0, 1)))
    def two(x, y, other):
        return {"x alone": at_most(x, 1), "y": at_most(y, 1)}

    alone, both = (item.smtlib() for item in two.certificates)
    assert alone.count("declare-const") == 1
    assert both.count("declare-const") == 2  # the interval of y depends on x
    assert "other" not in alone + both


def test_lines_with_other_constants_than_solvers_were_asked_with_are_not_asked():
    """As a corrected statement has others, and is no changed version of itself."""

    @lines("mine.constants", UNIT)
    def bounded(x, z, *, factor=2):
        return {"x + z": at_most(x + z, factor)}

    assert bounded.measure().asked == ("x + z",)
    assert bounded.measure(factor=2.0, other=7).asked == ("x + z",)
    for changed in ({"factor": 3}, {"most": Q(1, 2)}):
        other = bounded.measure(**changed)
        assert (other.asked, other.strength) == ((), "")
        assert decide(other).verdict == "holds"
    assert decide(bounded.measure(factor=1)).strength == EXACT


def test_a_false_step_of_a_proof_does_not_refute_what_it_serves():
    @lines("mine.steps", UNIT, steps=["a step"])
    def proof(x, *, factor=1):
        return {"a step": at_most(2 * x, factor), "what it serves": at_most(x, 1)}

    found = decide(proof.measure())
    assert (found.verdict, found.name) == ("holds", "what it serves")
    assert set(found.asked) == {"a step", "what it serves"}  # without the step it is not certified
    with complaint(ValueError, "stop", "a step"):
        lines("mine.steps2", UNIT, steps=["stop"])(proof.function)


def test_steps_alone_are_those_of_the_statement_s_own_constants():
    """They are compared at corners, and refute no version that has others."""

    def steps(x, *, factor=1):
        return {"a step": at_most(x, factor), "another": at_most(0, x)}

    proof = lines("mine.steps_alone", UNIT, steps=True)(steps)
    assert decide(proof.measure()).verdict == "holds"
    assert decide(proof.measure(factor=Q(1, 2))).verdict == "holds"
    assert proof.measure().asked == ("a step", "another")
    assert proof.measure(factor=Q(1, 2)).asked == ()
    wrong = lines("mine.wrong_steps", UNIT, steps=True)(lambda x: {"a step": at_most(2 * x, 1)})
    assert decide(wrong.measure()).verdict == "fails"


BOTH = lines("mine.both", UNIT)(lambda x: {"one": at_most(x, 2), "two": at_most(x, 3)})


@pytest.mark.parametrize(
    ("proved", "strength"), [({"one", "two"}, CERTIFIED), ({"one"}, SEARCHED), ((), SEARCHED)]
)
def test_a_part_is_certified_where_solvers_prove_all_its_lines(proved, strength):
    found = judge([replace(BOTH.measure(), strength="")])
    asked = {name: {"sha256": "", "whole": True} for name in ("one", "two")}
    result = Record(verdict="holds", parts=found.parts, id="a.b", budget="quick", lines=asked)
    again = Record.from_json(result.as_json())
    assert again.parts[0].asked == ("one", "two")
    assert by_solvers(again, proved).parts[0].strength == strength
    assert by_solvers(again, proved).strength == strength


def test_what_is_changed_or_fails_is_not_asked():
    true = lines("mine.true", UNIT)(lambda x: {"one": at_most(x, 2)}).measure()
    assert (decide(true).asked, decide(true.underived()).asked) == (("one",), ())
    assert decide(lines("mine.false", UNIT)(lambda x: {"one": at_most(2, x)}).measure()).asked == ()


def test_solvers_are_asked_first_of_a_version_that_says_more(monkeypatch):
    """They see what corners do not; lines of the statement refute it, a step does not."""
    for name in SOLVERS:
        pytest.importorskip(name)
    square = Region(x=(0, 1))

    @lines("mine.mutants", square, steps=["step"], suffice=True)
    def parabola(x, *, top=Q(1, 4) + Q(1, 100), low=1, free=2):
        return {
            "top": at_most(x * (1 - x) - x**2 * (x - Q(1, 2)) ** 2 * (1 - x), top),
            "step": at_most(x, low),
            "free": at_most(x**3 - x, free),
        }

    monkeypatch.setattr("linrep.claims.mutants.certificates", lambda _: {
        item.name: item for item in parabola.certificates
    })  # fmt: skip

    def said(constant, value):
        return ask_solvers(Mutant("mine.mutants", constant, Q(1), value))

    assert said("top", Q(1, 5)) == "refuted"
    assert said("low", Q(1, 2)) == ""  # a step alone has it
    assert said("free", 1) == "true as well"
    assert said("free", Q(-1, 10)) == "refuted"


def test_lines_and_corners_are_of_one_text():
    """Of all papers: what solvers prove holds at corners."""
    for item in certificates().values():
        if item.lines is not None:
            assert decide(item.lines.measure()).verdict == "holds", item.name


# Statements.


def _bound(power=1.0):
    @law(
        f"mine.sum{power}", "(1)", r"|\sum x| \le n^<power> \max|x|", over=Arrays({"n": 3}, x="n"),
        wrong={"power": 0.5}, stronger={"power": -1},
    )  # fmt: skip
    def total(x, *, power=power):
        """A sum is at most
        so many times its largest term.
        """
        return at_most(abs(x.sum()), len(x) ** power * abs(x).max())

    return total


def test_a_law_is_a_statement():
    total = _bound()
    assert total.plain == "A sum is at most so many times its largest term."
    assert total.latex == r"|\sum x| \le n \max|x|"
    found = total.verify("quick", 0)
    assert (found.verdict, [part.name for part in found.parts]) == ("holds", ["drawn", "searched"])
    assert total.negative_control("quick", 0).verdict == "fails"
    assert total.value_of("power") == 1.0


def test_a_corrected_law_prints_its_own_constants_and_shares_the_check():
    total = _bound(0.5)
    right = total.corrected(
        "mine.sum.corrected",
        plain="It is.",
        constants={"power": 1.0},
        negative_control={"power": 0.5},
    )
    assert (total.latex, right.latex) == (
        r"|\sum x| \le n^{\tfrac{1}{2}} \max|x|",
        r"|\sum x| \le n \max|x|",
    )
    assert (total.verify("quick", 0).verdict, right.verify("quick", 0).verdict) == (
        "fails",
        "holds",
    )


def test_a_law_has_where_both_sides_are_equal_and_what_else_is_measured():
    total = _bound()

    @total.attained("all terms are equal", x="", n="n")
    def _same(x, n):
        return {"x": np.full(len(n), x)}

    @total.also
    def _more(budget, rng, *, power=1.0):
        yield Identity([(0.0, {"power": power})], name="more")

    names = [part.name for part in total.verify("quick", 0).parts]
    assert names == ["drawn", "searched", "equality: all terms are equal", "more"]


def test_a_law_over_a_region_is_asked_of_solvers():
    @law("mine.region", "(2)", "x^2 <= <most>", over=Region(x=(0, 1)), wrong={"most": Q(1, 2)})
    def square(x, *, most=1):
        """Squares are at most 1."""
        return at_most(x**2, most)

    (part,) = square.verify("quick", 0).parts
    assert part.asked == ("square",)
    assert square.negative_control("quick", 0).strength == EXACT


def test_readings_are_of_parts():
    @law(
        "mine.read", "(3)", "", over=Grid(n=(1, 2)), wrong={"factor": 0.1},
        reads={"each": {"every n": ["every"], "the sum": ["sum"]}}, underived=["sum"],
    )  # fmt: skip
    def each(n, *, factor=1.0):
        """Each is at most 1."""
        yield "every", at_most(float(n), factor)
        yield "sum", at_most(float(n), 2 * factor)

    found = each.verify("quick", 0)
    assert found.verdict == "holds"
    assert [(item["reading"], item["verdict"]) for item in found.readings] == [
        ("every n", "fails"), ("the sum", "holds"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("<a> x", r"\tfrac{1}{4} x"), ("x^<a>", r"x^{\tfrac{1}{4}}"), ("<1/a>", "4"),
        ("x^<one> <one>y", "x y"), ("<minus>", r"-\tfrac{3}{2}"),
        (r"\|x\| < 3 > y", r"\|x\| < 3 > y"),
    ],
)  # fmt: skip
def test_constants_are_printed_in_their_places(template, text):
    assert printed(template, {"a": 0.25, "one": 1.0, "minus": -1.5}) == text


def test_a_constant_that_there_is_not_is_named():
    with complaint(ValueError, "facter", "factor"):
        printed("<facter>", {"factor": 1})


def test_an_interval_without_a_number_has_no_points():
    region = Region(x=(0, 1), y=lambda x: (Open(x), Q(1, 2)))
    points = list(region.points())
    assert all(all(region.given(point)) for point in points)
    assert max(point["x"] for point in points) < Q(1, 2)


def test_equations_and_inequalities_of_one_name_are_refused():
    with complaint(ValueError, "'one'", "equations and inequalities"):
        measured([("one", equal(1, 1)), ("one", at_most(1, 2))])


def test_an_equation_is_searched_both_ways():
    found = Arrays({"n": 1}, x="n").measure(
        lambda x: equal(float(np.sum(x**2)), 2.0 * float(np.sum(x**2)) + 1e-3), BUDGET, rng()
    )
    assert decide(found["searched"]).verdict == "fails"


def test_where_both_sides_are_equal_a_weaker_version_holds_and_a_stronger_one_fails():
    total = _bound()

    @total.attained("all terms are equal", x="", n="n")
    def _same(x, n):
        return {"x": np.full(len(n), x)}

    def part(power):
        return total.verify("quick", 0, power=power).parts[-1].verdict

    assert (part(1.0), part(1.1), part(0.9)) == ("holds", "holds", "fails")


def test_only_lines_that_suffice_prove_a_version(monkeypatch):
    for name in SOLVERS:
        pytest.importorskip(name)

    def made(**options):
        id = "_".join(["mine.suffice", *options])

        @lines(id, Region(x=(0, 1)), **options)
        def top(x, *, bound=2, other=1):
            return {"top": at_most(x, bound)}

        return id, {item.name: item for item in top.certificates}

    for options, said in (
        ({}, ""),
        ({"suffice": True}, "true as well"),
        ({"whole": True}, "true as well"),
    ):
        id, found = made(**options)
        monkeypatch.setattr("linrep.claims.mutants.certificates", lambda _, found=found: found)
        assert ask_solvers(Mutant(id, "bound", Q(1, 2), Q(1))) == said
        assert ask_solvers(Mutant(id, "other", Q(1, 2), Q(1, 2))) == ""  # no line has it


@pytest.mark.parametrize(
    ("template", "value", "text"),
    [(r"\alpha \le <c>", 1, r"\alpha \le 1"), ("<c>x", 1, "x"), ("<c>", 1e-7, "1e-07"),
     ("<c>", 2**0.5, "1.414"), ("x^<c>", 1, "x"), ("<c>", 1 / 3, r"\tfrac{1}{3}")],
)  # fmt: skip
def test_constants_that_are_one_or_no_fractions_are_printed(template, value, text):
    assert printed(template, {"c": value}) == text
