"""Wrong calls of everything public: an error in one line that names the argument, and soon.

Values of a wrong kind have to be refused; whatever else is put in the place of an argument may be
taken, but what is raised then is raised by linrep, in its own words.
"""

import dis
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import linrep as lr
from linrep.deep.data import FederatedData
from tests.tools import complaint

PACKAGE = str(Path(lr.__file__).parent)
#: Functions that a call may call before it is refused.
MOST_WORK = 1_000_000
pytestmark = pytest.mark.compiled


@pytest.fixture(scope="module")
def wrong_calls():
    """The module of calls, which runs an algorithm when it is loaded."""
    from tests import wrong_calls

    return wrong_calls


@pytest.fixture
def _in_a_folder(wrong_calls, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    wrong_calls.SWEEP.run("run")


def outcome(mistake):
    """Return what a wrong call raises, None if it returns."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", UserWarning)  # linrep's own
        try:
            found = mistake.call(**{mistake.key: mistake.value})
            if isinstance(found, Iterator):
                next(found, None)
        except Exception as error:
            return error


def fault(mistake):
    """Return what is wrong with how a wrong call is answered, None if nothing is."""
    error = outcome(mistake)
    if error is None:
        return "is taken" if mistake.certain else None
    message = str(error)
    if not is_linreps(error):
        return f"raises {type(error).__name__} of others: {message:.90}"
    if not isinstance(error, ValueError | TypeError | KeyError | OSError | FloatingPointError):
        return f"raises {type(error).__name__}"
    if "\n" in message:
        return f"says more than a line: {message:.90}"
    if isinstance(error, FloatingPointError) and not mistake.certain:
        return None  # of kernels, where all arguments are finite
    if mistake.key in re.findall(r"\w+", message) or str(mistake.value) in message:
        return None
    # Of values that do not go together one or the other is named.
    names = [*mistake.call.parameters, mistake.call.name.rpartition(".")[2]]
    if mistake.certain or not any(name in message for name in names):
        return f"does not name it: {message:.90}"
    return None


def is_linreps(error):
    """Tell whether an error was raised by linrep, or by the system on a path that is named."""
    if isinstance(error, OSError) and error.filename is not None:
        return True
    last = error.__traceback__
    while last.tb_next:
        last = last.tb_next
    code = last.tb_frame.f_code
    deliberate = code.co_code[last.tb_lasti] == dis.opmap["RAISE_VARARGS"]
    return deliberate and code.co_filename.startswith(PACKAGE)


def with_work(mistake):
    """Return what is wrong with the answer, and how many functions were called for it."""
    count = 0

    def profile(frame, event, argument):
        nonlocal count
        count += event == "call"

    sys.setprofile(profile)
    try:
        return fault(mistake), count
    finally:
        sys.setprofile(None)


def faults(mistakes):
    """Return those of wrong calls that are not answered as they should be, or after much work."""
    found = {}
    for mistake in mistakes:
        wrong, work = with_work(mistake)
        if work > MOST_WORK:  # once more: it may have compiled something
            wrong, work = with_work(mistake)
            wrong = wrong or (f"calls {work} functions" if work > MOST_WORK else None)
        if wrong:
            found[repr(mistake)] = wrong
    return found


@pytest.mark.usefixtures("_in_a_folder")
def test_right_calls_are_right(wrong_calls):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for call in wrong_calls.calls():
            try:
                call()
            except Exception as error:
                error.add_note(f"in the right call of {call.name}")
                raise


@pytest.mark.usefixtures("_in_a_folder")
@pytest.mark.parametrize("share", [50, pytest.param(1, marks=pytest.mark.slow)])
def test_wrong_calls_are_refused_in_a_line_that_names_the_argument(wrong_calls, share):
    """One of fifty in the quick pass, all 24,000 in the slow one."""
    mistakes = wrong_calls.all_mistakes()
    assert len(mistakes) > 20_000
    chosen = np.random.default_rng(0).permutation(len(mistakes))[: len(mistakes) // share]
    assert faults([mistakes[place] for place in sorted(chosen)]) == {}


@pytest.mark.usefixtures("_in_a_folder")
def test_masked_entries_texts_and_dates_are_no_numbers_anywhere(wrong_calls):
    """Of every array that is taken anywhere; without a masked entry it is its data."""
    wanted, seen = {"masked", "rows with a mask", "texts", "dates", "times", "objects"}, 0
    for call in wrong_calls.calls():
        for key in filter(call.takes_array, call.parameters):
            kinds = [each for each in wrong_calls.mistakes(call, key) if each.what in wanted]
            assert faults([each for each in kinds if each.certain]) == {}
            seen += 1
            right = call.right.get(key)
            if isinstance(right, np.ndarray) and not call.name.startswith("kernels."):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", UserWarning)
                    call(**{key: np.ma.masked_array(right)})
    assert seen > 250


def test_data_of_networks_have_no_masks():
    x, y = np.random.default_rng(0).standard_normal((6, 3)), np.array([0, 1] * 3)
    given = {"x": x, "y": y, "train": [[0, 1], [3, 4]], "test": [[2], [5]], "side": np.ones((2, 1))}
    for name in ("x", "y", "side"):
        masked = np.ma.masked_array(given[name].copy())
        masked[(0,) * masked.ndim] = np.ma.masked
        with complaint(ValueError, name, "masked"):
            FederatedData(**{**given, name: masked})
        whole = FederatedData(**{**given, name: np.ma.masked_array(given[name])})
        assert whole.digest == FederatedData(**given).digest
    with complaint(TypeError, "x ", "datetime64"):
        FederatedData(**{**given, "x": x.astype("M8[s]")})


@pytest.mark.parametrize(
    ("value", "kind", "word"),
    [
        (pd.Series([1.0, None], dtype="Float64"), ValueError, "NaN"),
        (pd.DataFrame({"a": pd.array([1, None], dtype="Int64"), "b": 1.5}), TypeError, "missing"),
        (pd.Series(["a", "b"]), TypeError, "str"),
        (pd.to_datetime(pd.Series(["2020-01-01"])), TypeError, "dates"),
        ([[1.0], [2.0, 3.0]], TypeError, "several lengths"),
        (np.array([(1.0,)], dtype=[("a", float)]), TypeError, "records"),
    ],
)
def test_tables_say_what_is_missing(value, kind, word):
    with complaint(kind, "theta", word):
        lr.theory.fedrep.best_single_model(value)


def test_indicators_are_numbers():
    """As pandas makes them: 0 and 1. A truth value by itself is an option in the wrong place."""
    table = pd.get_dummies(pd.Series(["a", "b", "a"])).assign(x=1.5)
    data = lr.ClientData.from_arrays(table, [True, False, True], [0, 0, 1])
    assert data.X.tolist() == [[1.0, 0.0, 1.5], [0.0, 1.0, 1.5], [1.0, 0.0, 1.5]]
    assert data.y.tolist() == [1.0, 0.0, 1.0]
    with complaint(TypeError, "step_size", "bool"):
        lr.theory.fedrep.contraction(0.5, step_size=True)


def kept(value, depth=3):
    """Yield the arrays that an object holds."""
    if isinstance(value, np.ndarray):
        yield value
    elif depth and isinstance(value, dict | list | tuple):
        for each in value.values() if isinstance(value, dict) else value:
            yield from kept(each, depth - 1)
    elif depth and hasattr(value, "__dict__") and type(value).__module__.startswith("linrep"):
        yield from kept(vars(value), depth - 1)


def arrays_of(call):
    """Return arguments of a call with arrays that may be written to, and those arrays."""
    copies = {key: np.array(x) for key, x in call.right.items() if isinstance(x, np.ndarray)}
    pairs = call.right.get("samples")
    if pairs is not None:
        copies["samples"] = [tuple(map(np.array, pair)) for pair in pairs]
    return copies, list(kept(copies))


def test_what_was_made_of_arrays_stays_as_it_is_when_they_change(wrong_calls):
    """Containers and truths, and what is made of them."""
    made = 0
    for call in wrong_calls.calls():
        if not call.name.startswith("problems.") or call.name.count(".") > 2:
            continue
        builds = isinstance(call.function, type) or call.name.partition("from_")[1]
        copies, given = arrays_of(call)
        if not builds or not given:
            continue
        thing = call(**copies)
        assert not any(np.shares_memory(x, y) for x in kept(thing) for y in given), call.name
        before = [x.copy() for x in kept(thing)]
        for x in given:
            x[...] = 3
        for x, same in zip(kept(thing), before, strict=True):
            np.testing.assert_array_equal(x, same, err_msg=call.name)
        made += 1
    assert made >= 9


@pytest.mark.parametrize("rng", [True, 1.5, "seed", [1.5], -1, np.random.RandomState(0), object()])
def test_what_is_no_seed_is_refused_by_name(rng):
    for draw in (
        lambda: lr.streams(rng, "data"),
        lambda: lr.SharedRepresentation.random(n=3, d=2, k=1, rng=rng),
        lambda: lr.statements["fedrep.definition1"].claim.verify("quick", rng),
    ):
        with complaint(TypeError, "rng must be", "SeedSequence"):
            draw()


SCALED = [
    *(pytest.param(power, which, id=f"{which} 1e{power}") for which in "Xy" for power in
      (-200, -160, -80, -60, 60, 80, 90, 160)),
]  # fmt: skip


@pytest.mark.parametrize(("power", "which"), SCALED)
def test_units_work_or_the_data_are_named(power, which):
    """Neither other libraries' texts nor their warnings: no squares that overflow, or vanish."""
    data = lr.SharedRepresentation.random(n=5, d=4, k=2, noise=0.1, rng=0).draw(9, rng=1)
    X, y = (
        part * 10.0 ** (power * (which == name)) for name, part in (("X", data.X), ("y", data.y))
    )
    scaled = lr.ClientData(X, y, data.offsets)
    for name in ("fedrep", "flute", "pflmf", "altgdmin", "erm", "local_only", "ridge", "anil"):
        settings = {} if name in ("local_only", "ridge") else {"k": 2, "rng": 0}
        if name not in ("local_only", "ridge", "erm"):
            settings["rounds"] = 5
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", lr.RunWarning)
            if abs(power) < 75:
                getattr(lr, name)(scaled, **settings)
                continue
            with complaint(ValueError, f"{which} of ", "take other units"):
                getattr(lr, name)(scaled, **settings)
