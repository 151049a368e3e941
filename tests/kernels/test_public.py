"""What the public calls have in common: memory, threads, and what they do with what is wrong."""

import inspect
import re
import threading

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from linrep import kernels
from tests.strategies import completion
from tests.tools import (
    COMPILED,
    complaint,
)

# What the calls have in common. Each entry makes arguments that fit, from sizes and a stream; then
# come the axes of which another length fits nothing, and what outputs may replace.


def samples(rng, n, d, k):
    offsets = np.concatenate([[0], np.cumsum(rng.integers(1, 6, n))])
    X, y = rng.standard_normal((offsets[-1], d)), rng.standard_normal(offsets[-1])
    B = np.ascontiguousarray(np.linalg.qr(rng.standard_normal((d, k)))[0])
    return {"X": X, "y": y, "offsets": offsets}, B, rng.standard_normal((n, k))


def a_round(rng, n, d, k):
    data, B, W = samples(rng, n, d, k)
    return {
        **data, "B": B, "W": W, "step_size": 0.1, "head_steps": (2, 0.1),
        "participants": rng.permutation(n)[: max(1, n - 1)], "out": (B.copy(), W.copy()),
    }  # fmt: skip


def some_heads(rng, n, d, k):
    data, B, W = samples(rng, n, d, k)
    return {**data, "B": B, "out": W}


def a_gradient(rng, n, d, k):
    data, B, W = samples(rng, n, d, k)
    return {**data, "B": B, "W": W, "out": B.copy()}


def a_distance(rng, n, d, k):
    return {"B1": rng.standard_normal((d, k)), "B2": rng.standard_normal((d, k))}


def a_start(rng, n, d, k):
    data, B, _ = samples(rng, n, d, k)
    return {**data, "k": k, "out": B}


def a_theta(rng, n, d, k):
    Theta, R = rng.standard_normal((d, k)), rng.standard_normal((d, k))
    eigenvalues = rng.standard_normal(d)
    return {"Theta": Theta, "eigenvalues": eigenvalues, "step_size": 0.05, "R": R, "out": R.copy()}


def an_orbit(rng, n, d, k):
    return {**a_theta(rng, n, d, k), "record": np.array([0, 1, 4]), "out": np.zeros((3, d, k))}


def entries(rng, n, d, k):
    names = ("items", "values", "offsets", "Z", "U", "V")
    return dict(zip(names, completion((n, d, 3, k, rng)), strict=True))


def an_epoch(rng, n, d, k):
    found = entries(rng, n, d, k)
    return {**found, "step_size": 0.05, "out": (found["U"].copy(), found["V"].copy())}


def a_step(rng, n, d, k):
    found = entries(rng, n, d, k)
    return {
        "item": int(found["items"][0]), "value": 0.5, "z": found["Z"][0], "U": found["U"],
        "V": found["V"], "step_size": 0.05, "out": (found["U"].copy(), found["V"].copy()),
    }  # fmt: skip


def in_U_and_V(found):
    return {{"B": "U", "W": "V"}.get(name, name): value for name, value in found.items()}


def samples_round(rng, n, d, k):
    return in_U_and_V(a_round(rng, n, d, k))


def quadratic_round(rng, n, d, k):
    found = samples_round(rng, n, d, k)
    for name in ("X", "y", "offsets"):
        del found[name]
    return {"A": rng.standard_normal((n, d)), "H": np.eye(d), **found}


FACTORS = {"out[0]": "U", "out[1]": "V"}
OF_SAMPLES = {"X": (0, 1), "y": (0,)}
OF_MODELS = {**OF_SAMPLES, "B": (0, 1), "W": (0, 1)}
CALLS = {
    kernels.fedrep_round: (a_round, OF_MODELS, {"out[0]": "B", "out[1]": "W"}),
    kernels.fit_heads: (some_heads, {**OF_SAMPLES, "B": (0,)}, {}),
    kernels.gradient: (a_gradient, OF_MODELS, {}),
    kernels.distance: (a_distance, {"B1": (0, 1), "B2": (0, 1)}, {}),
    kernels.moments_start: (a_start, {"X": (0,), "y": (0,)}, {}),
    kernels.theta_step: (
        a_theta, {"Theta": (0, 1), "eigenvalues": (0,), "R": (0, 1)}, {"out": "Theta"},
    ),
    kernels.theta_orbit: (an_orbit, {"Theta": (0, 1), "eigenvalues": (0,), "R": (0, 1)}, {}),
    kernels.perfedsi_epoch: (
        an_epoch, {"items": (0,), "values": (0,), "Z": (0, 1), "U": (1,), "V": (0, 1)}, FACTORS,
    ),
    kernels.perfedsi_step: (a_step, {"z": (0,), "U": (1,), "V": (0, 1)}, FACTORS),
    kernels.pflmf_round: (samples_round, {**OF_SAMPLES, "U": (0, 1), "V": (0, 1)}, FACTORS),
    kernels.pflmf_quadratic_round: (
        quadratic_round, {"A": (0, 1), "H": (0, 1), "U": (0, 1), "V": (0, 1)}, FACTORS,
    ),
}  # fmt: skip
every_call = pytest.mark.parametrize("call", CALLS, ids=lambda call: call.__name__)


def flat(arguments):
    """Yield arguments by name, the two of a pair of outputs apart."""
    for name, value in arguments.items():
        if name == "out" and isinstance(value, tuple):
            yield from ((f"out[{place}]", one) for place, one in enumerate(value))
        else:
            yield name, value


def with_value(arguments, name, value):
    """Return arguments with another value, also of one of a pair of outputs."""
    if name.startswith("out["):
        pair = list(arguments["out"])
        pair[int(name[4])] = value
        name, value = "out", tuple(pair)
    return {**arguments, name: value}


def arrays_in(result):
    parts = result if isinstance(result, tuple) else (result,)
    return [np.asarray(part) for part in parts]


def fitting(call, seed=0, n=4, d=5, k=2):
    return CALLS[call][0](np.random.default_rng(seed), n, d, k)


@every_call
def test_outputs_and_workspace_change_no_bit(call):
    """Nor does what the workspace held, or an output that replaces what it was computed from."""
    work = kernels.Workspace()
    for seed, (n, d, k) in enumerate([(4, 5, 2), (1, 1, 1), (2, 3, 3), (3, 2, 1)]):
        given_out = fitting(call, seed, n, d, k)
        without = {name: value for name, value in given_out.items() if name != "out"}
        held = {name: value.copy() for name, value in flat(without) if hasattr(value, "copy")}
        expected = arrays_in(call(**without))
        for name, value in held.items():
            np.testing.assert_array_equal(without[name], value)
        runs = [without, {**without, "work": work}] if call is not kernels.moments_start else []
        if "out" in given_out:
            runs.append(given_out)
            replaced = dict(CALLS[call][2])
            if replaced:
                new = {name: given_out[name].copy() for name in replaced.values()}
                out = tuple(new.values()) if len(new) == 2 else next(iter(new.values()))
                runs.append({**given_out, **new, "out": out})
        for run in runs:
            work._numbers[:] = np.nan
            found = call(**run)
            for one, another in zip(arrays_in(found), expected, strict=True):
                np.testing.assert_array_equal(one, another)
            outputs = [value for name, value in flat(run) if name.startswith("out")]
            results = found if isinstance(found, tuple) else (found,)
            assert all(one is result for one, result in zip(outputs, results, strict=False))


LAYOUTS = {
    "columns": np.asfortranarray,
    "every other": lambda A: np.repeat(A, 2, axis=-1)[..., ::2],
    "backwards": lambda A: A[::-1].copy()[::-1],
    "unaligned": lambda A: unaligned(None, A, ()),
    "read-only": lambda A: np.frombuffer(A.tobytes(), A.dtype).reshape(A.shape),
    "of a data frame": lambda A: pd.DataFrame(A.reshape(len(A), -1)).to_numpy().reshape(A.shape),
}


@every_call
@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_is_only_read_may_lie_in_memory_in_any_order(call, layout):
    """By position and by name, one argument and all of them: the same bits, nothing changed."""
    arguments = fitting(call)
    expected = [value.copy() for value in arrays_in(call(**arguments))]
    laid_out = {
        name: LAYOUTS[layout](value)
        for name, value in arguments.items() if isinstance(value, np.ndarray) and name != "out"
    }  # fmt: skip
    runs = [{**arguments, name: value} for name, value in laid_out.items()]
    for run in [*runs, {**arguments, **laid_out}]:
        for one, another in zip(arrays_in(call(**run)), expected, strict=True):
            np.testing.assert_array_equal(one, another)
    named = list(inspect.signature(call).parameters.values())
    first = [each.name for each in named if each.kind is each.POSITIONAL_OR_KEYWORD]
    others = {name: value for name, value in arguments.items() if name not in first}
    found = call(*({**arguments, **laid_out}[name] for name in first), **others)
    for one, another in zip(arrays_in(found), expected, strict=True):
        np.testing.assert_array_equal(one, another)
    for name, value in laid_out.items():
        np.testing.assert_array_equal(value, fitting(call)[name])


@every_call
def test_outputs_share_no_memory_with_what_lies_in_another_order(call):
    """Though compiled code would write beside it, to the memory of the copy's original."""
    if "out" not in fitting(call):
        return
    for output, out in flat({"out": fitting(call)["out"]}):
        for name, value in fitting(call).items():
            if not isinstance(value, np.ndarray) or name == "out":
                continue
            memory = np.zeros(2 * value.size + out.size)
            strided = memory.view(value.dtype)[: 2 * value.size : 2].reshape(value.shape)
            assert np.shares_memory(strided, memory)
            if strided.flags.c_contiguous:
                continue  # of one entry
            strided[:] = value
            shared = memory[2 * value.size - 2 :][: out.size].reshape(out.shape)
            arguments = with_value({**fitting(call), name: strided}, output, shared)
            before = memory.copy()
            with complaint(ValueError, output, f"must not share memory with {name}"):
                call(**arguments)
            np.testing.assert_array_equal(memory, before)


def test_frames_are_refused_with_a_hint():
    X = pd.DataFrame(np.ones((4, 2)))
    with complaint(TypeError, "B1 must be a numpy.ndarray", "DataFrame", "to_numpy()"):
        kernels.distance(X, X.to_numpy())
    assert kernels.distance(X[[0]].to_numpy(), X[[1]].to_numpy()) < 1e-15


def test_threads_with_workspaces_of_their_own_do_not_meet():
    arguments = fitting(kernels.fedrep_round)
    del arguments["out"]
    expected, found = kernels.fedrep_round(**arguments), [None] * 4

    def loop(place):
        work = kernels.Workspace()
        for _ in range(50):
            found[place] = kernels.fedrep_round(**arguments, work=work)

    threads = [threading.Thread(target=loop, args=(place,)) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one in found:
        np.testing.assert_array_equal(one.B, expected.B)


@every_call
def test_a_call_that_is_lost_writes_nothing(call):
    """Numbers so large that what is computed from them is not finite."""
    if call in (kernels.distance, kernels.theta_orbit):
        return  # which scale their arguments, and end
    arguments = fitting(call)
    name = next(name for name in ("values", "value", "y", "Theta", "A") if name in arguments)
    arguments[name] = arguments[name] * 0.0 + 1e300
    if "step_size" in arguments:
        arguments["step_size"] = 1e300
    if call is kernels.fit_heads:
        arguments["B"] *= 1e-20
    held = [(value, value.copy()) for _, value in flat(arguments) if isinstance(value, np.ndarray)]
    with complaint(FloatingPointError, "finite", "nothing was written"):
        call(**arguments)
    for array, before in held:
        np.testing.assert_array_equal(array, before)


def test_a_last_step_that_loses_the_factor_of_the_side_information_alone_is_noticed():
    U, V, z = np.full((1, 1), 1e200), np.zeros((1, 1)), np.ones(1)
    with complaint(FloatingPointError, "finite"):
        kernels.perfedsi_step(0, 1e150, z, U, V, step_size=1.0)
    one, offsets = np.zeros(1, np.int64), np.array([0, 1])
    with complaint(FloatingPointError, "finite"):
        kernels.perfedsi_epoch(one, np.array([1e150]), offsets, z[None], U, V, step_size=1.0)


def test_dependent_columns_have_no_distance():
    B, dependent = np.eye(4, 2), np.ones((4, 2))
    with complaint(ValueError, "B2 must have full column rank"):
        kernels.distance(B, dependent)


def test_more_columns_than_rows_are_refused():
    arguments = fitting(kernels.fedrep_round, d=2)
    arguments |= {"B": np.ones((2, 3)), "W": np.ones((4, 3)), "out": None}
    with complaint(ValueError, "B must have at most as many columns as rows"):
        kernels.fedrep_round(**arguments)


def test_matrices_of_quadratic_functions_are_symmetric():
    arguments = fitting(kernels.pflmf_quadratic_round)
    arguments["H"][0, 1] = 1e-3
    with complaint(ValueError, "H must be symmetric"):
        kernels.pflmf_quadratic_round(**arguments)


def test_names_are_where_they_say():
    for name in kernels.__all__:
        assert getattr(kernels, name).__name__ == name
    assert set(CALLS) | {kernels.Workspace} <= {getattr(kernels, name) for name in kernels.__all__}
    with pytest.raises(AttributeError, match="no attribute 'fedprox_round'"):
        kernels.fedprox_round  # noqa: B018


# Wrong calls. Each of these returns a wrong value for an argument that fitted.


def no_array(draw, value, axes):
    wrong = [value.tolist(), "array", 3.0, object(), np.ma.array(value), memoryview(b"ab")]
    return draw(st.sampled_from(wrong))


def other_type(draw, value, axes):
    kinds = ["f4", "c16", "?", "i4", "u8", "O", "S8", value.dtype.newbyteorder("S")]
    kinds.append("i8" if value.dtype == np.float64 else "f8")
    return np.nan_to_num(value).astype(draw(st.sampled_from(kinds)))


def other_number_of_axes(draw, value, axes):
    fewer = value.reshape(-1) if value.ndim > 1 else value.reshape(-1)[0].reshape(())
    return draw(
        st.sampled_from([value[None, None], value[..., None, None], fewer, fewer[..., None, None]])
    )


def other_length(draw, value, axes):
    assume(axes)
    axis = draw(st.sampled_from(axes))
    more = np.concatenate([value, np.take(value, [0], axis)], axis)
    fewer = np.delete(value, 0, axis)
    return draw(st.sampled_from([more, fewer, np.delete(value, slice(None), axis)]))


def other_order(draw, value, axes):
    wide = np.repeat(value, 2, axis=-1)
    strided, backwards = wide[..., ::2], value[::-1]
    found = draw(st.sampled_from([np.asfortranarray(value), strided, backwards]))
    assume(not found.flags.c_contiguous)
    return found


def unaligned(draw, value, axes):
    raw = np.zeros(value.nbytes + 1, np.uint8)
    found = raw[1:].view(value.dtype).reshape(value.shape)
    found[:] = value
    return found


def not_finite(draw, value, axes):
    assume(value.dtype == np.float64)
    found = value.copy()
    place = draw(st.integers(0, value.size - 1))
    found.reshape(-1)[place] = draw(st.sampled_from([np.nan, np.inf, -np.inf]))
    return found


READ_ONLY, SHARED = "read-only", "shared"
OF_OUTPUTS = (other_length, other_order, unaligned, READ_ONLY, SHARED)
SHAPELESS = (no_array, other_type, other_number_of_axes)


def wrong_offsets(draw, value, axes):
    found, end = value.copy(), value[-1]
    place = draw(st.integers(0, len(found) - 1))
    found[place] = draw(st.sampled_from([-1, -(2**62), 2**62, end + 1, found[place - 1]]))
    assume((np.diff(found) <= 0).any() or found[0] != 0 or found[-1] != end)
    return draw(st.sampled_from([found, found[::-1].copy(), value[1:].copy(), value[:1].copy()]))


def wrong_indices(size):
    def wrong(draw, value, axes):
        found = value.copy()
        far = [-1, size, size + 1, 2**62, -(2**62)]
        found[draw(st.integers(0, len(found) - 1))] = draw(st.sampled_from(far))
        return found

    return wrong


def no_entries(draw, value, axes):
    return value[:0].copy()


def wrong_record(draw, value, axes):
    wrong = [[1, 1, 2], [0, 3, 2], [-1, 0, 1], [-(2**62), 0, 5], []]
    return np.array(draw(st.sampled_from(wrong)), np.int64)


def one_of(*values):
    return lambda draw, value, axes: draw(st.sampled_from(values))


NOT_NUMBERS = (None, "1", [0.1], 1j, np.ones(2), object())
SCALARS = {
    "step_size": one_of(np.nan, np.inf, -np.inf, 0.0, -0.1, True, *NOT_NUMBERS),
    "value": one_of(np.nan, np.inf, -np.inf, False, *NOT_NUMBERS),
    "item": one_of(-1, 5, 2**70, 1.0, np.nan, True, *NOT_NUMBERS),
    "k": one_of(0, -1, 6, 2**70, 1.5, True, *NOT_NUMBERS),
    "head_steps": one_of(
        1, (1,), (1, 0.1, 2), "ab", (0, 0.1), (-1, 0.1), (1.5, 0.1), (True, 0.1), (2**70, 0.1),
        (1, np.nan), (1, 0.0), (1, -1.0), (1, None), ("1", 0.1), [1, 0.1], np.ones(2),
    ),
    "work": one_of({}, np.empty(10**4), 1.0, "work", kernels.Workspace),
}  # fmt: skip


def faults(call):
    """Return what can be wrong with a call: pairs of an argument's name and what makes it so."""
    _, axes, _ = CALLS[call]
    found = [] if call is kernels.moments_start else [("work", SCALARS["work"])]
    for name, value in flat(fitting(call)):
        if name in SCALARS:
            found.append((name, SCALARS[name]))
            continue
        found += [(name, fault) for fault in SHAPELESS]
        if name.startswith("out"):
            found += [(name, fault) for fault in OF_OUTPUTS]
        elif value.dtype == np.float64:
            found += [(name, not_finite)] + [(name, other_length)] * (name in axes)
        elif name == "offsets":
            found.append((name, wrong_offsets))
        elif name == "record":
            found.append((name, wrong_record))
        else:
            size = 5 if name == "items" else 4
            found += [(name, wrong_indices(size)), (name, no_entries)]
    if isinstance(fitting(call).get("out"), tuple):
        found.append(
            ("out", one_of((), 1.0, [np.ones(2)] * 2, np.ones((5, 2)), (np.ones((5, 2)),)))
        )
    return found


def make_shared(draw, call, arguments, name):
    """Let an output share memory with another argument; return the memory, too."""
    out = dict(flat(arguments))[name]
    others = {
        other: value for other, value in flat(arguments)
        if other != name and isinstance(value, np.ndarray)
    }  # fmt: skip
    other = draw(st.sampled_from(sorted(others)))
    value, may_replace = others[other], CALLS[call][2].get(name) == other
    shift = draw(st.integers(1 - out.size, value.size - 1))
    assume(shift or not may_replace)
    memory = np.zeros(value.size + 2 * out.size)
    first = memory[out.size :][: value.size].view(value.dtype).reshape(value.shape)
    first[:] = value
    second = memory[out.size + shift :][: out.size].reshape(out.shape)
    return with_value(with_value(arguments, other, first), name, second), memory


def make_wrong(draw, call, name, fault):
    """Return the arguments of a wrong call, and arrays that must stay as they are."""
    arguments = fitting(call, draw(st.integers(0, 99)))
    kept = [value for _, value in flat(arguments) if isinstance(value, np.ndarray)]
    if fault is SHARED:
        arguments, memory = make_shared(draw, call, arguments, name)
        return arguments, [*kept, memory]
    value = dict(flat(arguments)).get(name)
    if fault is READ_ONLY:
        wrong = value.copy()
        wrong.flags.writeable = False
    else:
        axes = CALLS[call][1].get(name, ())
        if name.startswith("out") and value is not None:
            axes = range(value.ndim)
        wrong = fault(draw, value, tuple(axes))
    if fault is not_finite:  # where it is read: by all clients, and in the row of an item
        if "participants" in arguments:
            arguments["participants"] = None
        if call is kernels.perfedsi_step and name == "U":
            wrong[:] = wrong[~np.isfinite(wrong)][0]
    if isinstance(wrong, np.ndarray):
        kept.append(wrong)
    return with_value(arguments, name, wrong), kept


FAULTS = [(call, name, fault) for call in CALLS for name, fault in faults(call)]


def check_a_wrong_call(data):
    call, name, fault = data.draw(st.sampled_from(FAULTS))
    arguments, kept = make_wrong(data.draw, call, name, fault)
    before = [array.tobytes() for array in kept]
    with pytest.raises((TypeError, ValueError)) as caught:
        call(**arguments)
    message = str(caught.value)
    assert "\n" not in message
    assert re.search(rf"\b{re.escape(name)}(?!\w)", message), (call.__name__, name, message)
    assert [array.tobytes() for array in kept] == before, (call.__name__, name, message)


@given(st.data())
@settings(max_examples=400 if COMPILED else 100)
def test_a_wrong_call_is_an_error_that_names_the_argument_and_writes_nothing(data):
    check_a_wrong_call(data)


@pytest.mark.slow
def test_ten_thousand_wrong_calls():
    refused = []

    @given(st.data())
    @settings(max_examples=10_000)
    def check(data):
        check_a_wrong_call(data)
        refused.append(True)

    check()
    assert len(refused) >= 10_000
