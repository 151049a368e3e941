"""Algorithms in sweeps: the same truth and data for all that are compared, and what is kept."""

import sys

import numpy as np
import pytest

import linrep
from linrep import simulation
from linrep.simulation import family_of, find_algorithm, replicates, simulate
from linrep.simulation.parameters import known_parameters, of_samples
from linrep.sweeps import Grid, Sweep, generator, run
from tests.tools import complaint

SMALL = {"n": 6, "d": 4, "k": 2, "m": 8}
OWN = '''
import numpy as np
import linrep

seen = []

def first(problem, *, m, rng, step_size=1.0):
    """Remember what it met."""
    data = problem.draw(m, rng=linrep.streams(rng, "data", "participation", "start")[0])
    seen.append((problem.B.tobytes(), problem.W.tobytes(), data.X.tobytes(), data.y.tobytes()))
    return {"distance": [1.0, step_size], "other": [0.0, 3.0]}

def second(problem, *, rng, **settings):
    return first(problem, rng=rng, m=settings["m"])

def power(problem, *, p, rng):
    """Have a parameter of the name that a size of completion has."""
    return {"given": [float(p)], "is_completion": [float(hasattr(problem, "Z"))]}

def crooked(problem, *, rng):
    return {"distance": [1.0], "other": [1.0, 2.0]}

def number(problem, *, rng):
    return {"last": 0.5}
'''


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A module with algorithms of one's own, in the current folder."""
    (tmp_path / "own_algorithms.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    yield __import__("own_algorithms")
    del sys.modules["own_algorithms"]
    replicates._found.cache_clear()


def one_cell(**cell):
    return {"algorithm": "fedrep", **SMALL, "rounds": 5, **cell}


# --- the same truth and data ---


def test_algorithms_meet_the_same_truth_and_data(tmp_path, own):
    both = ["own_algorithms:first", "own_algorithms:second"]
    axes = {**SMALL, "d": [4, 5], "step_size": [0.1, 0.2]}
    run(simulation.sweep(both, axes, replicates=2), tmp_path / "run")
    # first and second with two step sizes each, two dimensions, two replicates
    assert len(own.seen) == 16
    assert len(set(own.seen)) == 4


def test_flute_and_others_meet_the_same_samples_of_models_that_share_nothing(own):
    """Rank k is what is fitted; the models have as many directions as there can be."""
    cell = {**SMALL, "models": "decaying", "noise": 0.1, "rounds": 3}
    truth_rng, _ = generator(7, 0).spawn(2)
    values = 2 * 4 / (np.arange(1, 5) + 1)
    drawn = {"n": 6, "d": 4, "singular_values": values, "noise": 0.1, "rng": truth_rng}
    truth = linrep.LowRankRegression.random(**drawn)
    data = truth.draw(8, rng=truth_rng)
    settings = {"start": (np.eye(4, 2), np.ones((6, 2))), "step_size": 0.01}
    for name in ("flute", "fedrep"):
        trace = getattr(linrep, name)(data, k=2, rounds=3, **settings)
        found = simulate({**cell, "algorithm": name, **settings}, generator(7, 0))
        assert found["truth_error"] == trace["truth_error"][-1]
    alone = simulate({**SMALL, "models": "decaying", "algorithm": "local_only"}, generator(7, 0))
    assert alone["loss"] < 1e-12  # without noise, m > d


def test_flute_meets_a_shared_representation_and_the_population():
    cell = {"n": 6, "d": 4, "k": 2, "algorithm": "flute", "step_size": 0.05, "rounds": 3000}
    found = simulate({**cell, "batches": "population"}, generator(7, 0))
    assert found["error"] < 1e-8
    found = simulate({**cell, "batches": "population", "models": "normal"}, generator(7, 0))
    assert found["truth_error"] > 0.1  # rank 2 is not enough


def test_pflmf_meets_least_squares_of_a_shared_representation_and_of_others():
    cell = {**SMALL, "algorithm": "pflmf", "step_size": 0.2, "head_step_size": 1.0, "rounds": 30}
    found = simulate(cell, generator(7, 0))
    truth_rng, run_rng = generator(7, 0).spawn(2)
    truth = linrep.SharedRepresentation.random(n=6, d=4, k=2, rng=truth_rng)
    settings = {"step_size": 0.2, "head_step_size": 1.0, "rounds": 30}
    expected = linrep.pflmf(truth, m=SMALL["m"], rng=run_rng, **settings)
    assert found["truth_error"] == expected["truth_error"][-1]
    assert "truth_error" in simulate({**cell, "models": "normal"}, generator(7, 0))


def test_pflmf_and_what_it_stands_beside_meet_the_same_clusters():
    cell = {"n": 9, "d": 3, "clusters": 2, "m": 4, "loss": "logistic", "ridge": 0.1, "rounds": 5}
    problem = linrep.problems.personal.clustered(
        n=9, d=3, clusters=2, m=4, loss="logistic", ridge=0.1, rng=generator(7, 0).spawn(2)[0]
    )
    own = {"k": 2, "step_size": 0.5}
    found = simulate({**cell, "algorithm": "pflmf", **own}, generator(7, 0), problem="clustered")
    run_rng = generator(7, 0).spawn(2)[1]
    expected = linrep.pflmf(problem, rounds=5, **own, rng=run_rng)
    assert found["objective"] == expected["objective"][-1]
    path = "linrep.algorithms.personalized:oracle_clusters"
    found = simulate({**cell, "algorithm": path}, generator(7, 0))
    expected = linrep.algorithms.personalized.oracle_clusters(problem, rounds=5)
    assert found["objective"] == expected["objective"][-1]
    axes = {**cell, "k": 1, "step_size": [0.1, 0.2]}
    several = simulation.sweep(["pflmf", path], axes, problem="clustered", replicates=1)
    assert len(several.grid) == 4


def test_the_package_meets_the_data_that_an_algorithm_of_ones_own_does(own):
    """Fixed batches of fedrep and local_only are the draw from the first of three children."""
    cell = {**SMALL, "algorithm": "own_algorithms:first"}
    simulate(cell, generator(7, 0))
    truth_rng, run_rng = generator(7, 0).spawn(2)
    truth = linrep.SharedRepresentation.random(n=6, d=4, k=2, rng=truth_rng)
    data = truth.draw(8, rng=run_rng.spawn(3)[0])
    (met,) = own.seen
    assert met == tuple(item.tobytes() for item in (truth.B, truth.W, data.X, data.y))
    alone = simulate({**SMALL, "algorithm": "local_only"}, generator(7, 0))
    assert alone["loss"] == linrep.local_only(data)["loss"][-1]
    fixed = simulate(one_cell(batches="fixed", start="moments"), generator(7, 0))
    direct = linrep.fedrep(data, rounds=5, start="moments", rng=0)
    assert fixed["distance"] == direct["distance"][-1]


def test_settings_of_the_method_are_paired_and_those_of_the_problem_are_not():
    sweep = simulation.sweep(
        ["fedrep", "fedsgd"],
        {**SMALL, "m": [8, 9], "noise": [0.0, 0.1], "step_size": [0.1, 0.2], "rounds": [1, 2],
         "participation": [0.5, 1.0]},
        replicates=1,
    )  # fmt: skip
    keys = {}
    for cell in sweep.grid:
        (key,) = sweep.keys(cell).values()
        keys.setdefault((cell["m"], cell["noise"]), set()).add(key)
    assert [len(some) for some in keys.values()] == [1] * 4
    assert len(set.union(*keys.values())) == 4


def test_a_run_does_not_depend_on_what_it_is_compared_with(tmp_path):
    axes = {**SMALL, "step_size": [0.05, 0.1], "rounds": 4}
    both = run(simulation.sweep(["fedrep", "fedsgd"], axes, replicates=2, seed=3), tmp_path / "b")
    alone = run(simulation.sweep("fedrep", axes, replicates=2, seed=3), tmp_path / "a")
    rows, mine = both.read(), alone.read()
    rows = rows[rows["algorithm"] == "fedrep"]
    assert len(mine) == len(rows) == 4
    for name in ("distance", "loss", "population_risk", "stream", "rounds_done"):
        assert rows[name].tolist() == mine[name].tolist()


# --- what is kept ---


def test_the_final_metrics_are_those_of_the_last_round():
    truth_rng, run_rng = generator(1, 0).spawn(2)
    truth = linrep.SharedRepresentation.random(n=6, d=4, k=2, heads="qr", rng=truth_rng)
    trace = linrep.fedrep(truth, m=8, rounds=5, step_size=0.1, rng=run_rng)
    row = simulate(one_cell(heads="qr", step_size=0.1), generator(1, 0))
    assert row == {
        **{name: values[-1] for name, values in trace.metrics.items()},
        "rounds_done": 5,
        "stop_reason": "rounds",
        "sampling": "fresh",
        "settings": "start=moments, step_size_rule=given, normalization=theorem",
    }
    assert row["samples"] == 6 * 8 * 6  # five rounds and the start


def test_estimators_of_samples_meet_those_of_fedrep_and_have_errors():
    cell = {**SMALL, "noise": 0.1, "batches": "fixed"}
    one = simulate({"algorithm": "fedrep", **cell, "rounds": 0, "start": "truncated"},
                   generator(1, 0))  # fmt: skip
    other = simulate({"algorithm": "altgdmin", **cell, "rounds": 0}, generator(1, 0))
    assert one["distance"] == other["distance"]
    assert (one["sampling"], other["sampling"]) == ("fixed", "fixed")
    assert one["samples"] == other["samples"] == 48
    estimators = [
        name
        for name, function in simulation.ALGORITHMS.items()
        if of_samples(function) and simulation.family_of(name).data == ("m",)
    ]
    assert len(estimators) > 7
    for name in estimators:
        row = simulate({"algorithm": name, **cell}, generator(1, 0))
        assert row["population_risk"] > 0.0
        assert ("distance" in row) == (name != "pooled")


def test_how_algorithms_of_ones_own_sample_is_seen(own):
    once = simulate({"algorithm": "own_algorithms:first", **SMALL}, generator(1, 0))
    assert (once["sampling"], once["samples"]) == ("fixed", 48.0)


def test_the_rate_comes_on_top_of_the_final_metrics():
    cell = one_cell(rounds=60)
    final = simulate(cell, generator(1, 0))
    row = simulate(cell, generator(1, 0), keep="rate")
    assert set(row) - set(final) == {"rate", "rate_low", "rate_high", "plateau", "level"}
    assert {name: row[name] for name in final} == final
    assert 0 < row["rate_low"] <= row["rate"] <= row["rate_high"] < 1


@pytest.mark.parametrize(("rounds", "step"), [(0, 1), (5, 1), (199, 1), (410, 2), (1001, 5)])
def test_a_trace_is_thinned_to_about_200_rounds(rounds, step):
    rows = simulate(one_cell(rounds=rounds), generator(1, 0), keep="trace")
    kept = [row["round"] for row in rows]
    assert kept == sorted({*range(0, rounds + 1, step), rounds})
    assert len(kept) <= 210
    final = simulate(one_cell(rounds=rounds), generator(1, 0))
    assert rows[-1]["distance"] == final["distance"]
    assert set(rows[0]) == {*final, "round"} - {"rounds_done"}


def test_an_algorithm_of_ones_own_returns_arrays_or_numbers(own):
    row = simulate({**SMALL, "algorithm": "own_algorithms:first"}, generator(0, 0))
    assert (row["distance"], row["other"], row["rounds_done"]) == (1.0, 3.0, 1)
    few = {name: SMALL[name] for name in "ndk"}
    row = simulate({**few, "algorithm": "own_algorithms:number"}, generator(0, 0))
    assert (row["last"], row["rounds_done"]) == (0.5, 0)
    with complaint(ValueError, "equal length"):
        simulate({**few, "algorithm": "own_algorithms:crooked"}, generator(0, 0))


# --- parameters ---


def test_an_algorithm_has_only_the_parameters_that_it_knows():
    sweep = simulation.sweep(
        ["fedrep", "local_only"], {**SMALL, "rounds": [1, 2], "start": "random"}, replicates=1
    )
    assert [cell["algorithm"] for cell in sweep.grid] == ["fedrep", "fedrep", "local_only"]
    assert [cell.get("rounds") for cell in sweep.grid] == [1, 2, None]
    assert sweep.grid.cells[2].keys() == {"algorithm", *SMALL}


def test_known_parameters_are_those_of_problem_and_method(own):
    family = family_of("fedrep")
    known = known_parameters(find_algorithm("fedrep"), family)
    assert {"n", "d", "k", "m", "noise", "heads", "rounds", "step_size"} <= set(known)
    assert not {"rng", "problem", "cls"} & set(known)
    found = set(known_parameters(linrep.fedsgd, family))
    assert found == set(known_parameters(linrep.fedavg, family)) - {"local_steps"}
    assert known_parameters(own.second, family) is None


def test_zipped_derived_and_constraints_reach_the_grid():
    sweep = simulation.sweep(
        "fedrep",
        {"n": [5, 10, 20], "d": [4, 8, 16], "k": [2, 6]},
        zipped=[("n", "d")],
        derived={"m": "3 * k"},
        constraints={"n > 5": "too few"},
        replicates=1,
    )
    found = [tuple(cell[name] for name in ("n", "d", "k", "m")) for cell in sweep.grid]
    assert found == [(10, 8, 2, 6), (10, 8, 6, 18), (20, 16, 2, 6), (20, 16, 6, 18)]
    assert sum(sweep.grid.left_out.values()) == 2
    assert sweep.grid.left_out["too few"] == 1


def test_an_axis_that_only_one_algorithm_has_is_zipped_for_that_one():
    sweep = simulation.sweep(
        ["fedrep", "local_only"],
        {**SMALL, "m": [8, 9], "rounds": [1, 2]},
        zipped=iter([iter(["m", "rounds"])]),
        replicates=1,
    )
    found = [(cell["algorithm"], cell["m"], cell.get("rounds")) for cell in sweep.grid]
    assert found == [
        ("fedrep", 8, 1), ("fedrep", 9, 2), ("local_only", 8, None), ("local_only", 9, None),
    ]  # fmt: skip


COMPLETION = {"n": 20, "d": 12, "p": 4, "k": 2}
_CLUSTERS = {"n": 9, "d": 3, "clusters": 2, "m": 4, "k": 1, "step_size": 0.1}
_SOLVER = {**COMPLETION, "algorithm": "gauss_newton"}
_FLUTE = {**SMALL, "algorithm": "flute", "step_size": 0.05, "models": "normal"}


def swept(algorithms, axes=SMALL, **options):
    return lambda: simulation.sweep(algorithms, axes, **{"replicates": 1, **options})


def simulated(cell, **options):
    return lambda: simulate(cell, generator(0, 0), **options)


#: A call, and words of what it raises.
REFUSED = [
    (swept("fedprox"), "unknown algorithm 'fedprox'"),
    (swept("nowhere:f"), "no module 'nowhere'"),
    (swept("fedrep", {**SMALL, "q": 1}), "unknown parameter 'q'"),
    (swept("fedsgd", {**SMALL, "local_steps": 2}), "unknown parameter 'local_steps'"),
    (swept("fedrep", {**SMALL, "rng": 2}), "unknown parameter 'rng'"),
    (swept("fedrep", derived={"q": "n"}), "unknown parameter 'q'"),
    (swept("fedrep", {"d": 4}), "n, k, m must be given"),
    (swept("fedrep", {**SMALL, "m": []}), "'m' is empty"),
    (swept("fedrep", {**SMALL, "n": 2.5}), "n must be an integer"),
    (swept("fedrep", {**SMALL, "k": 7}), "no cell is left: k > d"),
    (swept("fedrep", keep="all"), "keep must be"),
    (swept("fedrep", zipped=[("n", "mm")]), "'mm' did you mean m?"),
    (swept(["fedrep", "fedsgd"], zipped=["nm"]), "zipped at least two"),
    (swept("fedrep", replicates=0), "replicates at least 1"),
    (swept([]), "algorithms at least one"),
    (swept("fedrep", {}), "axes at least one"),
    (swept(["fedrep", "perfedsi"], COMPLETION), "not run on the same problems give problem"),
    (swept("perfedsi", {"n": 5, "d": 5, "k": 1}), "p must be given"),
    (swept("pflmf", _CLUSTERS), "unknown parameter 'clusters'"),
    (swept("pflmf", _CLUSTERS, problem="squares"), "problem 'squares' regression"),
    (simulated(SMALL), "cell must name an algorithm"),
    (simulated(one_cell(), keep="all"), "keep 'all'"),
    (simulated({**_FLUTE, "condition": 2.0}), "condition 'normal'"),
    (simulated({**_FLUTE, "models": "nothing"}), "models 'nothing'"),
    (simulated({name: value for name, value in _FLUTE.items() if name != "m"}), "m must be given"),
    (simulated({**SMALL, "algorithm": "altgdmin", "batches": "fresh"}), "batches fixed"),
    (simulated({"algorithm": "ridge", "n": 6, "d": 4, "k": 2}), "m must be given"),
    (simulated(_SOLVER), "per_client, entries or oversampling must be given"),
    (simulated({**_SOLVER, "per_client": 2, "entries": 9}), "only one of per_client, entries"),
    (simulated({**_SOLVER, "oversampling": 100.0}), "oversampling at most n d = 240"),
    (simulated({**_SOLVER, "entries": 20, "with_side": 1}), "with_side true or false"),
    (simulated({**_SOLVER, "entries": 20, "kappa": 0.5}), "kappa at least 1"),
]


def test_what_cannot_be_swept_is_refused_in_one_line():
    for call, words in REFUSED:
        with complaint((ValueError, TypeError), *words.split()):
            call()


def test_a_grid_of_ones_own_can_be_simulated(tmp_path):
    sweep = Sweep(simulate, Grid.of([one_cell(), one_cell(k=9)]), 2)
    rows = run(sweep, tmp_path / "run").read()
    assert rows["status"].tolist() == ["ok", "ok", "failed", "failed"]
    assert rows["exception"][2].startswith("ValueError: k must be between 1 and 4")


def test_completion_is_fresh_or_seen_with_or_without_side_information():
    cell = {**COMPLETION, "algorithm": "perfedsi", "step_size": 0.1, "rounds": 3, "side": "unit"}
    rows = [
        simulate({**cell, **change}, np.random.default_rng(0))
        for change in ({}, {"per_client": 3}, {"entries": 60}, {"with_side": False})
    ]
    assert len({row["error"] for row in rows}) == 4
    assert all(row["rounds_done"] == 3 for row in rows)
    # (d + p) k numbers a round; without side information p = n.
    assert [row["floats_up"] for row in rows] == [96.0, 96.0, 96.0, 192.0]


def test_solvers_of_a_cell_meet_the_same_entries(tmp_path):
    sweep = simulation.sweep(
        ["gauss_newton", "alternating", "least_squares"],
        {**COMPLETION, "oversampling": [1.5, 7.0], "kappa": 10.0},
        replicates=2,
    )
    rows = run(sweep, tmp_path / "run").read()
    assert (rows.groupby(["oversampling", "replicate"])["stream"].nunique() == 1).all()
    final = rows[rows["oversampling"] == 7.0]
    assert (final["error"] < 1e-6).all()


def test_names_of_parameters_do_not_choose_the_problem(own, tmp_path):
    sizes, name = {"n": 6, "d": 4, "k": 2}, "own_algorithms:power"
    sweep = simulation.sweep(name, {**sizes, "p": [1, 3]}, replicates=1)
    rows = run(sweep, tmp_path / "regression").read()
    assert rows["given"].tolist() == [1.0, 3.0]
    assert rows["is_completion"].tolist() == [0.0, 0.0]
    cell = {"algorithm": name, **sizes, "p": 3, "entries": 9}
    with pytest.raises(TypeError, match="'p'"):  # there it is the problem's
        simulate(cell, generator(0, 0), problem="completion")
