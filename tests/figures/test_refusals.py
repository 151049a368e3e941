"""What figures refuse: one line that names the argument, before anything is written."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from linrep.figures import experiment, plotting
from linrep.figures.drawing import make_figure
from linrep.figures.reproduction import check_figures
from linrep.figures.sizes import Sizes, size
from linrep.papers.fedrep import settings as fedrep
from linrep.papers.flute import settings as flute
from linrep.papers.perfedsi import settings as perfedsi
from linrep.papers.pflmf import settings as pflmf
from linrep.stats import scaling_exponents
from tests.figures import test_plotting, test_record
from tests.figures.test_experiment import SIZED, TOY
from tests.figures.test_settings import Toy
from tests.tools import complaint

D = np.array([10.0, 20.0, 40.0, 80.0])
LAW = scaling_exponents(D, {"d": D, "k": [1, 3, 2, 1]})
CELLS = test_plotting.grid((1, 2), (1, 2), lambda x, y, r: x)
TWICE = pd.DataFrame({"method": ["A", "A"], "accuracy": [0.7, 0.8]})
MANY = pd.DataFrame({"a": 1, "c": range(25), "v": 1.0, "replicate": 0})


@dataclass(frozen=True)
class Limited(Sizes):
    """Sizes with limits of which not all say why."""

    k: tuple[int, ...] = size((1, 4), "Ranks.", maximum=8, because={"maximum": "as m = 10"})
    step: float = size(0.5, "Step.", above=0.0, below=1.0, because={"below": "runs diverge"})


def curves(**options):
    settings = {"x": "round", "y": "value", "by": "method", **options}
    return lambda: plotting.curves(Figure().subplots(), test_plotting.rows(), **settings)


def scaling(*arguments):
    return lambda: plotting.scaling(Figure().subplots(), *arguments)


def heat_map(table=CELLS, **options):
    settings = {"x": "m", "y": "d", "value": "value", **options}
    return lambda: plotting.heat_map(Figure().subplots(), table, **settings)


def on_axes(function, table):
    return lambda: function(Figure().subplots(), table)


def changed(sizes, **given):
    return lambda: sizes().changed(given)


def made(item, **options):
    return lambda: make_figure(item, **options)


def recorded(table, summary=test_record.summary):
    return lambda: test_record.record.result(
        table, summary, caption="", settings={}, comparable=True
    )


#: A call, its exception, and words of that.
CALLS = [
    # pictures
    (curves(x="m"), ValueError, "rows column 'm' replicate, round, method, value"),
    (curves(by=None), ValueError, "rows one value replicate and round"),
    (curves(by="replicate"), ValueError, "replicate and round of replicate 0"),
    (curves(quantiles=(0.9, 0.1)), ValueError, "quantiles increase (0.9, 0.1)"),
    (curves(quantiles=(0.1, 0.5, 0.9)), ValueError, "quantiles (2) (3,)"),
    (curves(quantiles=(0.1, 0.9), geometric=True), ValueError, "geometric quantiles"),
    (heat_map(x="n"), ValueError, "rows column 'n' m, d, replicate, value"),
    (heat_map(CELLS[:0]), ValueError, "rows empty"),
    (heat_map(boundary=[1, 2, 3]), ValueError, "boundary (any, 2) (3,)"),
    (on_axes(plotting.dots, TWICE), ValueError, "one row for each method A has several"),
    (on_axes(plotting.dots, TWICE[["method"]]), ValueError, "'accuracy'"),
    (scaling(-D, D), ValueError, "x positive -80"),
    (scaling(D, D[:3]), ValueError, "y (4,) (3,)"),
    (scaling(D, D, None, D), ValueError, "low and high together"),
    (scaling(D, D, None, D, D[:2]), ValueError, "high (4,) (2,)"),
    (scaling(D, D, LAW), ValueError, "fit one exponent d, k"),
    (lambda: plotting.evidence(TWICE), ValueError, "'panel'"),
    (
        lambda: plotting.panels(MANY, x="a", value="v", label="v", facet="c"),
        ValueError,
        "c has 25 values 24",
    ),
    # sizes
    (changed(Toy, x=1), ValueError, "has no size 'x' n, d, share, kind"),
    (changed(Toy, d=(1, 2)), ValueError, "d must be one value 1, 2"),
    (changed(Toy, d=5, n=(6, 4)), ValueError, "d must be at most n = 4"),
    (changed(Toy, d=0), ValueError, "d must be at least 1"),
    (changed(Toy, d=2.5), TypeError, "d must be an integer"),
    (changed(Toy, d=True), TypeError, "d must be an integer"),
    (changed(Toy, d="many"), TypeError, "d must be an integer 'many'"),
    (changed(Toy, n=()), ValueError, "n must have at least one value"),
    (changed(Toy, n=(6, 6)), ValueError, "n must not repeat"),
    (changed(Toy, n=(6, 7, 8, 9)), ValueError, "n must have at most 3 values"),
    (changed(Toy, share=0.0), ValueError, "share must be greater than 0"),
    (changed(Toy, share=float("nan")), ValueError, "share must be finite"),
    (changed(Toy, kind="three"), ValueError, "kind must be one of 'three'"),
    (changed(Limited, k=9), ValueError, "between 1 and 8, got 9: as m = 10"),
    (changed(Limited, step=1.0), ValueError, "below 1, got 1.0: runs diverge"),
    (changed(fedrep.Figure1, k=21), ValueError, "k must be at most d = 20"),
    (changed(fedrep.Figure3, k=3, d=2), ValueError, "k must be at most d = 2"),
    (changed(fedrep.Figure3, n=(9, 100)), ValueError, "participation at least 1/n n = 9"),
    (changed(fedrep.Figure4, n=1), ValueError, "k must be at most n = 1"),
    (changed(fedrep.Figure7, n=(1, 10)), ValueError, "k must be at most n = 1"),
    (changed(flute.Figure1, k=(2, 11)), ValueError, "k must be at most d = 10 11"),
    (changed(flute.Figure4, n=5), ValueError, "k must be at most n = 5"),
    (changed(perfedsi.Figure3, per_client=17), ValueError, "per_client at most d = 16"),
    (changed(perfedsi.Figure3, k=5), ValueError, "k must be at most p = 4"),
    (changed(perfedsi.Figure3, p=21), ValueError, "p must be at most n = 20"),
    (changed(pflmf.Figure1, shift=(0, 1, 2, 3)), ValueError, "shift must have at most 3"),
    # scripts
    (lambda: experiment.load("fedrep.figure99"), ValueError, "unknown experiment fedrep.figure3"),
    (lambda: experiment.load("empty.py"), ValueError, "empty.py must define EXPERIMENT"),
    (lambda: experiment.matching(["nothing.*"]), ValueError, "'nothing.*' fedrep.figure1"),
    *(
        ((lambda name=name: replace(TOY, id=name)), ValueError, "id must be of letters")
        for name in ("../toy", "toy/one", "toy one", "", "--quick", ".toy", "to\ny")
    ),
    # figures and records
    (made(SIZED.with_sizes({"b": 1}), out="here"), ValueError, "has no size 'b' a, more"),
    (made(SIZED.with_sizes({"more": 20.0}), out="here"), ValueError, "more must be below"),
    (lambda: SIZED.with_sizes({"replicates": 0}), ValueError, "replicates must be at least 1"),
    (made(TOY.with_sizes({"a": 1}), out="here"), ValueError, "a is no size none"),
    (
        made(SIZED.with_sizes({"more": 2.0}), out="here", recorded=True),
        ValueError,
        "toy.sized default sizes more = 2",
    ),
    (
        lambda: check_figures([SIZED.with_sizes({"more": 2.0})]),
        ValueError,
        "default sizes more = 2",
    ),
    (recorded(test_record.rows(replicates=1)), ValueError, "two replicates"),
    (recorded(test_record.rows(), lambda rows: rows.set_index("m")), ValueError, "lines apart"),
]


def test_what_cannot_be_is_refused_in_one_line_and_nothing_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.py").write_text("x = 1\n")
    for place, (call, kind, words) in enumerate(CALLS):
        try:
            with complaint(kind, *words.split()):
                call()
        except (Exception, pytest.fail.Exception) as error:
            raise AssertionError(f"call {place}: {kind.__name__}, {words}") from error
    assert {path.name for path in tmp_path.iterdir()} <= {"empty.py", "__pycache__"}
