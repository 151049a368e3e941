"""Calls of everything public: one that is right, and wrong ones made of it."""

import importlib
import inspect
import re

import numpy as np
import pandas as pd

import linrep as lr
from linrep import simulation, sweeps
from linrep._lib.extras import installed
from linrep.theory import (
    flute,
    flute_lift,
    flute_limit,
    perfedsi,
    perfedsi_rounds,
    pflmf,
    pflmf_rounds,
)
from tests.docs.test_documentation import callables, documented, public

#: Not called here: what trains networks, draws, or does not look at what it is given at its door.
APART = ("claims", "deep", "estimators", "figures", "stats", "testing", "trace")
RNG = np.random.default_rng(0)

SHARED = lr.SharedRepresentation.random(n=6, d=4, k=2, noise=0.1, rng=0)
DATA = SHARED.draw(8, rng=1)
SIGNS = lr.ClientData(DATA.X, np.sign(DATA.y), DATA.offsets)
LOW_RANK = lr.LowRankRegression.random(n=6, d=4, singular_values=[3, 2, 0.5], noise=0.1, rng=0)
SIDES = lr.SideInformationCompletion.random(n=6, d=5, p=3, k=2, rng=0)
ENTRIES = SIDES.observe(4, rng=0)
BIASED = lr.BiasedRegression.random(n=6, d=4, p=2, rng=0)
CENTRES = lr.QuadraticObjectives(RNG.standard_normal((6, 4)), clusters=[0, 0, 0, 1, 1, 1])
FITTED = lr.fedrep(DATA, k=2, rounds=9, start="random", step_size=0.1, rng=0)
FRESH = lr.fedrep(SHARED, m=8, rounds=2, start=0.5, rng=0)
SPECTRUM = flute.Spectrum.of(LOW_RANK, 2)
CHOSEN = pflmf.Setting(0.5, 2, 0.1, 1.0, 1.0)
LIMITS = perfedsi_rounds.Limits(9.0, 9.0, 9.0)
STATE = perfedsi_rounds.State(SIDES, SIDES.U + 0.1, SIDES.V + 0.1)
WALKS = perfedsi_rounds.Walks(STATE, perfedsi_rounds.sequences(5, 2), 0.1)
ROWS = pd.DataFrame({"x": [1.0, 2.0, 4.0] * 4, "y": RNG.random(12), "b": [0, 1] * 6})
ROWS["success"] = ROWS["x"] > 1.5
THETA, PAIR = RNG.standard_normal((10, 2)), (RNG.standard_normal((4, 2)), SHARED.W)
ROUND = pflmf_rounds.expected_round(CHOSEN, CENTRES, *PAIR)


def measured(cell, rng):
    """Measure nothing in particular."""
    return {"value": rng.random()}


GRID = sweeps.Grid.product({"a": [1, 2]})
SWEEP = sweeps.Sweep(measured, GRID, replicates=1)

#: Arguments by what they are called, where OWN says nothing else.
USUAL = {
    "data": DATA, "truth": SHARED, "problem": SHARED, "observations": ENTRIES, "trace": FITTED,
    "spectrum": SPECTRUM, "setting": perfedsi.Setting.of(SIDES, c=2.0, mu=2.0), "s": CHOSEN,
    "limits": LIMITS, "state": STATE, "walks": WALKS, "r": ROUND,
    "family": simulation.family_of("fedrep"), "n": 6, "d": 4, "k": 2, "p": 2, "m": 8, "rounds": 3,
    "rank": 2, "i": 0, "j": 1, "participants": 3, "participation": 0.5, "local_steps": 2,
    "step_size": 0.05, "steps": 2, "tolerance": 0.1, "initial_distance": 0.5, "sigma_max": 1.0,
    "sigma_min": 0.5, "delta": 0.1, "delta_prime": 0.1, "distance": 0.5, "contraction": 0.9,
    "heads_norm": 1.0, "condition": 1.0, "noise": 0.1, "outside": 0.1, "dimension": 2,
    "theta": RNG.standard_normal((6, 4)), "t": 3, "Theta": THETA, "size": 0.5, "rest": 0.1,
    "leading": 0.5, "gap": 1.0, "sampling_variance": 0.1, "grown": 1.0,
    "smoothness": 1.0, "B": SHARED.B, "W": SHARED.W, "U": PAIR[0],
    "V": PAIR[1], "X": DATA.X, "y": DATA.y, "Z": SIDES.Z, "Phi": LOW_RANK.Phi,
    "offsets": DATA.offsets, "A": CENTRES.A, "loss": 0.5, "c": 2.0, "mu": 2.0, "share": 0.5,
    "record": np.array([0, 1]), "failure": 0.05, "eigenvalues": np.linspace(2, -1, 10),
    "scale": 1.0, "trials": 2, "rng": 0, "clusters": 2, "design": "gaussian", "purposes": "data",
    "biases": BIASED.biases, "rows": ROWS, "x": "x", "items": ENTRIES.items,
    "clients": ENTRIES.clients, "values": ENTRIES.values, "name": "fedrep", "success": "success",
    "algorithm": lr.fedrep, "replicates": 8, "level": 0.05, "path": "run", "metric": "distance",
    "model": np.zeros(4), "lemma": 5, "alpha": 0.5, "grid": GRID, "seed": 0,
    "id": "fedrep.theorem1", "function": measured, "sweep": SWEEP, "text": "a + 1", "by": ["b"],
    "B1": PAIR[0],
    "cell": {"a": 1}, "axes": {"a": [1, 2]}, "reference": "os.path:join", "B2": SHARED.B,
    "value": "y", "radius_U": 1.0,
    "radius_V": 1.0,
}  # fmt: skip

#: Arguments of some only: of a module, a class or a function, the latter ones' before.
OWN = {
    "algorithms.driver.run_rounds": {
        "step": lambda state, t: state, "measure": lambda state: {"x": 1.0},
        "state": {"B": np.ones(2)},
    },
    "simulation.comparison.compare": {"algorithms": ["local_only"], "m": [4]},
    "algorithms": {"m": 8, "batches": "fixed", "rounds": 3},
    "algorithms.altmin_gd": {"k": 2},
    "algorithms.fedavg": {"step_size": 0.1},
    "algorithms.fedsgd": {"step_size": 0.1, "m": 8, "batches": "fixed"},
    "algorithms.run_trials": {"m": 8, "batches": "fixed"},
    "algorithms.perfedsi": {"problem": SIDES, "step_size": 0.1},
    "algorithms.imc": {"iterations": 3},
    "algorithms.imc.nuclear_norm": {"levels": 2},
    "algorithms.biases": {"side": "one"},
    "algorithms.personalized": {"problem": CENTRES, "penalty": 0.1},
    "kernels": {
        "B": SHARED.B.copy(), "B1": PAIR[0], "B2": SHARED.B.copy(), "item": 1, "z": np.ones(2),
        "value": 0.5,
    },
    "kernels.perfedsi_epoch": {
        "items": ENTRIES.items, "offsets": ENTRIES.offsets, "U": STATE.U, "V": STATE.V,
    },
    "kernels.perfedsi_step": {"U": np.ones((4, 2)), "V": np.ones((2, 2))},
    "problems.BiasedRegression": {"theta": np.ones(4), "Z": BIASED.Z},
    "problems.ClientData.from_arrays": {"client": np.arange(6).repeat(8)},
    "problems.ClientData.from_frame": {"frame": ROWS, "y": "y", "client": "b"},
    "problems.ClientData.from_list": {"samples": [(np.ones((2, 3)), np.ones(2))]},
    "problems.CustomObjectives": {
        "value_and_grad": lambda i, model: (model @ model, 2 * model), "n": 6,
    },
    "problems.LogisticObjectives": {"data": SIGNS},
    "problems.Observations.split": {"held_out": 0.3},
    "problems.SampleObjectives.resample": {"rng": np.random.default_rng(0), "size": 2},
    "problems.SharedRepresentation.random": {"n": 6},
    "problems.SideInformationCompletion": {"U": SIDES.U, "V": SIDES.V},
    "problems.SideInformationCompletion.deviation": {"heads": SHARED.W},
    "problems.SideInformationCompletion.observe": {"per_client": 2},
    "problems.SoftmaxObjectives": {
        "classes": 2, "data": lr.ClientData(DATA.X, DATA.y > 0, DATA.offsets),
    },
    "problems.personal": {"m": 8, "ratings": np.ones((3, 2)), "mask": np.eye(3, 2, dtype=bool)},
    "sweeps.Grid": {"cells": [{"a": 1}], "middle": {"a": 1}},
    "sweeps.Grid.find": {"selection": {"a": 1}},
    "sweeps.Sweep.only": {"selection": {"a": 1}, "replicate": 0},
    "sweeps.Sweep.run": {"directory": "run"},
    "sweeps.generator": {"key": 3, "replicate": 0},
    "sweeps.merge": {"sources": ["run"], "path": "merged"},
    "sweeps.power_laws": {"table": ROWS.rename(columns={"y": "estimate"}), "x": ["x"]},
    "sweeps.run": {"directory": "run"},
    "sweeps.stream_key": {"purpose": "", "parameters": {"a": 1}},
    "simulation.simulate": {
        "cell": {"algorithm": "local_only", "n": 3, "d": 2, "k": 1, "m": 3},
        "rng": np.random.default_rng(0),
    },
    "simulation.sweep": {
        "algorithms": "local_only", "axes": {"n": [3], "d": [2], "k": [1], "m": [3]},
    },
    "theory.flute_lift": {"truth": LOW_RANK},
    "theory.flute_limit": {
        "truth": LOW_RANK, "k": 2, "perturbation": flute_limit.Perturbation(0.01, 0.02, 0.02),
    },
    "theory.fedrep_limits": {"C": np.eye(2), "Phi": 0.1 * np.eye(2), "covariance": np.eye(2)},
    "theory.asymptotics": {
        "C": np.sqrt(0.75) * np.eye(2), "E": 0.25 * np.eye(2), "P": 0.25 * np.eye(2),
        "inside": np.eye(2), "outside": 0.1 * np.eye(2), "fluctuation": 0.01 * np.eye(2), "m": 8,
        "inner_step_size": 0.5, "step_size": 0.1, "rounds": 2, "start": 0.5, "particles": 20,
        "gamma": 1.0, "step": 0.2, "kurtosis": 3.0, "noise": 0.1, "goal": 0.1,
        "settings": FRESH.settings,
    },
    "theory.asymptotics.learning_curves.curve_of": {"states": [0.25 * np.eye(2)]},
    "theory.finite": {
        "C": np.sqrt(0.75) * np.eye(2), "E": 0.25 * np.eye(2), "start": 0.5,
        "settings": FRESH.settings,
    },
    "theory.finite_bounds": {"within": 0.5},
    "theory.finite_bounds.least_samples": {"truth": lr.SharedRepresentation(SHARED.B, SHARED.W)},
    "theory.asymptotics.flute": {
        "truth": LOW_RANK, "k": 2, "m": 50, "tolerance": 0.1, "step_size": 0.1,
    },
    "theory.asymptotics.perfedsi": {
        "truth": lr.SideInformationCompletion.random(
            n=6, d=4, p=2, k=1, side="isometric", rng=0
        ),
        "step_size": 0.1, "local_steps": 2, "participants": 2,
    },
    "theory.asymptotics.pflmf": {"problem": CENTRES, "k": 2, "step_size": 0.1},
    "theory.flute.Spectrum": {"singular_values": [3.0, 2.0, 0.5], "truth": LOW_RANK},
    "theory.flute_lift.lower": {"Theta": flute_lift.lift(LOW_RANK, *PAIR)},
    "theory.flute_lift.product_error": {"Theta": flute_lift.lift(LOW_RANK, *PAIR)},
    "theory.perfedsi": {"truth": SIDES, "U": STATE.U, "V": STATE.V},
    "theory.perfedsi.regularity": {"U": np.stack([STATE.U] * 6), "V": np.stack([STATE.V] * 6)},
    "theory.perfedsi.local_regularity": {
        "star_U": SIDES.U, "star_V": SIDES.V, "Z": SIDES.Z, "values": SIDES.singular_values,
        "U": np.stack([STATE.U] * 6), "V": np.stack([STATE.V] * 6),
    },
    "theory.perfedsi.contraction": {"step_size": 0.1, "local_steps": 2},
    "theory.perfedsi_rounds": {
        "truth": SIDES, "U": STATE.U, "V": STATE.V, "in_U": np.zeros((1, 5, 2)),
        "in_V": np.zeros((1, 3, 2)), "items": perfedsi_rounds.sequences(5, 1), "copies": 2, "s": 1,
        "values": np.ones((6, 25)), "kept": np.ones((6, 25)), "future": False,
    },
    "theory.pflmf": {
        "problem": CENTRES, "in_U": 1.0, "in_V": 1.0, "step_size_times_L": 0.1, "X": PAIR[0],
        "Y": PAIR[0],
    },
    "theory.pflmf_rounds": {
        "problem": CENTRES, "variance": 0.1, "new_U": PAIR[0], "curvature": 1.0, "square": 1.0,
        "path": pflmf_rounds.local_path(CHOSEN, CENTRES, *PAIR),
    },
    "theory.requirements.standing": {"asked": 100.0, "needed": 20.0},
}  # fmt: skip
#: What methods are called on.
INSTANCES = (SHARED, DATA, LOW_RANK, SIDES, ENTRIES, BIASED, CENTRES, WALKS, STATE, SWEEP, GRID)
INSTANCES += (lr.LogisticObjectives(SIGNS),)
#: Records that linrep makes, and methods of its own machinery.
RECORDS = re.compile(
    r"sweeps\.(Completeness|Deviation|PowerLaw|Run\b|Grid$|note|scratch)"
    r"|comparison\.Comparison|problems\.BestModel|plot$|to_parquet$"
)


#: Where NaN stands for something.
NAN = re.compile("distance_or_nan")
#: What takes long because it is asked to, by the name of the argument.
LONG = re.compile("rounds|iterations|trials|restarts|steps|boxes|levels|workers|count|copies")
HUGE = 10**12


class Call:
    """A function, a class or a method with arguments that are right."""

    def __init__(self, name, function):
        self.name, self.function = name, function
        taken = inspect.signature(function).parameters
        several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        self.parameters = {key: one for key, one in taken.items() if one.kind not in several}
        own = {}
        for where, given in OWN.items():
            if f"{name}.".startswith(f"{where}."):
                own.update(given)
        self.right = {
            key: own.get(key, USUAL.get(key))
            for key, one in self.parameters.items()
            if key in own or one.default is one.empty
        }
        if len(self.parameters) < len(taken):  # some settings are handed on
            self.right |= OWN.get(name, {})

    def __call__(self, **changed):
        given = {**self.right, **changed}
        return self.function(*[given.pop(key) for key in self._by_place()], **given)

    def _by_place(self):
        return [key for key, one in self.parameters.items() if one.kind == one.POSITIONAL_ONLY]

    def annotation(self, key):
        """Return what is said of an argument, as a text, and the words in it."""
        text = str(self.parameters[key].annotation)
        return text, {*re.findall(r"\w+", text)}

    def takes_array(self, key):
        """Tell whether an argument is an array of numbers."""
        text, words = self.annotation(key)
        arrays = words & {"ArrayLike", "Values", "NDArray", "ndarray", "Places", "Items"}
        return bool(arrays) and not _RNG & words and not _INSIDE.match(text)

    def array(self, key):
        """Return an array of the shape that is right for an argument."""
        right = self.right.get(key)
        if np.size(right) and np.asarray(right).dtype.kind in "iufb" and np.ndim(right):
            return np.array(right, dtype=np.float64)
        return np.ones(3)


_RNG = {"RNGLike", "BitGenerator", "Generator"}
_INSIDE = re.compile(r"(dict|Mapping|Sequence|Iterable|tuple|Callable|Collection)\b")


def calls():
    """Return a call of every public function, class and method."""
    found = []
    for module in documented():
        place = module.removeprefix("linrep.")
        if place.startswith(APART):
            continue
        for item in public(importlib.import_module(module)):
            if inspect.isclass(item) and issubclass(item, tuple | Exception):
                continue
            name = f"{place}.{item.__name__}"
            found.append(Call(name, item))
            if not inspect.isclass(item):
                continue
            there = [each for each in INSTANCES if isinstance(each, item)]
            for method in [*callables(item)][1:] if there else ():
                called = method.__name__
                found.append(Call(f"{name}.{called}", getattr(there[0], called)))
    left_out = () if installed("xarray") else ("to_xarray",)
    return [
        call
        for call in found
        if not RECORDS.search(call.name) and call.name.rpartition(".")[2] not in left_out
    ]


class Mistake:
    """A value that is wrong for an argument of a call, or may be."""

    def __init__(self, call, key, what, value, certain):
        self.call, self.key, self.what, self.value, self.certain = call, key, what, value, certain

    def __repr__(self):
        return f"{self.call.name}({self.key}={self.what})"


def mistakes(call, key):
    """Yield mistakes in an argument."""
    default, right = call.parameters[key].default, call.right.get(key)
    text, words = call.annotation(key)
    anything = bool(words & {"Hashable", "empty"}) or "Any" in (text, text[12:-2])
    inside, rng, array = bool(_INSIDE.match(text)), bool(words & _RNG), call.takes_array(key)
    number = array or (bool(words & {"float", "int"}) and not inside and not rng)

    def one(value, certain=False, what=None):
        what = " ".join((what or repr(value)).split())
        return Mistake(call, key, what, value, certain and not anything)

    optional = "None" in words or default is None or rng or NAN.search(call.name)
    if default is not None:
        yield one(None, not optional and right is not None)
    yield one(object(), True, "object()")
    yield one("abc", not words & {"str", "Path", "Number"})
    others = (each for each in (CENTRES, BIASED, SWEEP) if not _kinds(each) & words)
    yield one(next(others), True, "of another class")
    yield one({}, not inside and not words & {"Mapping", "dict", "Instance", "Iterable"})
    yield one([])
    yield one(10**400, what="10**400")
    if rng:
        for value in (True, 1.5, -1, [1.5], np.ma.masked_array([1, 2], [0, 1])):
            yield one(value, True)
        yield one(np.random.RandomState(0))
    if number:
        yield one(True, "bool" not in words)
        yield one(1j, True)
        unknown = isinstance(default, float) and np.isnan(default)
        yield one(np.nan, not array and not unknown)
        for value in (-0.5, 1e300, np.inf):
            yield one(value, "float" not in words and not array)
        for value in (0, -1, [1.0, 2.0, 3.0, 4.0, 5.0]):
            yield one(value)
        if not LONG.search(key):
            yield one(HUGE)
    if array:
        yield from (one(value, certain, what) for what, value, certain in arrays(call, key))


def _kinds(value):
    return {kind.__name__ for kind in type(value).__mro__}


def arrays(call, key):
    """Yield what arrays of a right shape may hold that is wrong, or another shape."""
    full = call.array(key)
    first = (0,) * full.ndim
    masked, holed = np.ma.masked_array(full.copy()), full.copy()
    masked[first], holed[first] = np.ma.masked, np.nan
    yield "masked", masked, True
    yield "rows with a mask", [*masked], full.ndim > 1
    yield "texts", full.astype(str), True
    yield "dates", np.full(full.shape, "2020-01-01", "M8[D]"), True
    yield "times", np.full(full.shape, 1, "m8[s]"), True
    yield "objects", np.full(full.shape, object()), True
    words = call.annotation(key)[1]
    yield "NaN", holed, "ArrayLike" in words and not NAN.search(call.name)
    missing = pd.DataFrame(pd.array([*full.ravel(), pd.NA], dtype="Float64"))
    yield "missing", missing, False
    for what, value in (
        ("too short", full[1:]), ("one more axis", full[None]), ("empty", full[:0]),
        ("large", full * 1e160), ("small", full * 1e-200), ("negative", -full),
    ):  # fmt: skip
        yield what, value, False


def all_mistakes():
    """Return every mistake in every argument of everything."""
    return [each for call in calls() for key in call.parameters for each in mistakes(call, key)]
