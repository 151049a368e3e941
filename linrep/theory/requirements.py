r"""What each paper's theorems ask for, in samples, rounds and step sizes, at one problem's numbers.

:func:`asked` lists them. What is *needed* is found by runs: the figure ``theorems.asked`` measures
it at the sizes of the papers' own figures, and :func:`standing` says how the two compare.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from inspect import signature
from math import comb
from typing import Any, Literal, NamedTuple

import numpy as np

from linrep._lib import display as show
from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep.problems.regression import SUBSETS_ENUMERATED, SharedRepresentation
from linrep.theory import fedrep, finite_bounds, flute_samples, perfedsi, pflmf
from linrep.theory._clients import require_spanning
from linrep.theory.flute import Spectrum, step_size_limits

#: Samples per client, or rounds, beyond which nobody has as many.
POSSIBLE = 1e15
#: Times what is needed up to which what is asked for counts as tight.
TIGHT = 10.0
#: The constant of Theorem 1 of FedRep to which its proof leads, 2 (125 c/16)^2 with c = 33, which
#: is enough in Lemmas 2 and 4 for normal covariates.
FEDREP_PROOF = 2.0 * (125.0 * 33.0 / 16.0) ** 2
#: FLUTE's c_1 with which Lemmas A.13 and A.14 are proved, and c' of the proof of Theorem 5.1.
FLUTE_PROOF = 1.0 / 144.0
FLUTE_ROUNDS = 1600.0

AT_LEAST, AT_MOST = "at least", "at most"
Standing = Literal["too little", "tight", "loose", "out of reach"]


class Asked(NamedTuple):
    """What one statement asks for.

    Attributes
    ----------
    paper, place : str
        Such as "FedRep" and "Theorem 1".
    quantity : str
        Such as "samples per client and round", "rounds" or "step size".
    bound : {"at least", "at most"}
        Of that quantity; a step size may be at most what is asked for.
    asked : float
        Not rounded.
    constant : float
        What was taken for the constant that the statement leaves open; NaN where it leaves none.
    source : {"given", "proof", ""}
        Where the constant comes from.
    function : str
        The function of :mod:`linrep.theory` that has the formula.
    """

    paper: str
    place: str
    quantity: str
    bound: str
    asked: float
    constant: float
    source: str
    function: str

    def __repr__(self):
        return show.line(self)

    @property
    def possible(self) -> bool:
        """Whether it can be had: of samples and rounds at most `POSSIBLE`."""
        return self.bound == AT_MOST or self.asked <= POSSIBLE


def asked(
    problem: SharedRepresentation | Spectrum | perfedsi.Setting | pflmf.Setting,
    *,
    tolerance: float = 0.1,
    constant: float | None = None,
    initial_distance: float | None = None,
    participants: int | None = None,
    step_size: float | None = None,
    failure: float | None = None,
    local_steps: int | None = None,
    gap: float | None = None,
) -> list[Asked]:
    """Return what the theorems of the paper that a problem belongs to ask for.

    Parameters
    ----------
    problem : SharedRepresentation, flute.Spectrum, perfedsi.Setting or pflmf.Setting
        The problem itself for FedRep, whose heads have to span R^k, and the numbers that the
        statements of FLUTE, PerFedSI and pFL^MF are about.
    tolerance : float, default 0.1
        What is to be reached, in (0, 1): a principal-angle distance for FedRep, the mean error per
        client for FLUTE, a share of the first loss for PerFedSI, and for pFL^MF the sum of the mean
        squared gradients in units of L times the first gap.
    constant : float, optional
        Of FedRep and FLUTE: in place of the constant that a statement leaves open, 1 by default.
    initial_distance : float, optional
        Of FedRep: principal-angle distance of the start, in [0, 1), 0.5 by default.
    participants : int, optional
        Of FedRep: clients in a round, all by default.
    step_size : float, optional
        Of FLUTE: by default the largest that Theorem 5.1 allows.
    failure : float, optional
        Of FedRep, where x is normal, and of FLUTE: probability of failure, 0.05 by default.
    local_steps : int, optional
        Of PerFedSI: steps of a participant in a round, 5 by default.
    gap : float, optional
        Of pFL^MF: the objective at the start less its infimum, 1 by default. With noise it decides
        on the rounds.

    Returns
    -------
    list of Asked
        ``pandas.DataFrame(...)`` makes a table. Rows whose source is "proof" have the constant to
        which the paper's proof leads, or, of FedRep with normal x, that of
        `fedrep.theorem1.gaussian`, where kappa is exact: for all clients, or few enough subsets to
        enumerate. "Theorem 1, finite sizes" is `fedrep.theorem1.finite` or `.moments`, without
        noise: with so many samples all rounds are proved to contract, but for the probability
        `failure`, at the printed step and from all angles of `initial_distance`. "Theorem 3.3,
        near" of PerFedSI is `perfedsi.theorem3.3.local`, of the mean squared distance to the
        nearest factors of M* and from within a ball around balanced ones. "Theorem 1, sharp" of
        pFL^MF is
        `pflmf.theorem1.sharp`, also at its best step: it bounds the sum in which the squared
        gradient in V has the weight p^2.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of range, or belongs to another paper.

    See Also
    --------
    linrep.theory.sample_sizes.sample_size_thresholds : papers side by side on one problem.
    """
    tolerance = check.real("tolerance", tolerance, above=0.0, below=1.0)
    given = {
        "constant": constant, "initial_distance": initial_distance, "participants": participants,
        "step_size": step_size, "failure": failure, "local_steps": local_steps, "gap": gap,
    }  # fmt: skip
    given = {name: value for name, value in given.items() if value is not None}
    rows = next(rows for kind, rows in _ROWS.items() if isinstance(problem, kind))
    for name in given:
        if name not in signature(rows).parameters:
            raise ValueError(f"{name} is not of the statements about {type(problem).__name__}")
    return list(rows(problem, tolerance, **given))


def standing(asked: float, needed: float, *, at_least: bool = True) -> Standing:
    """Say how what is asked for compares with what is needed.

    Parameters
    ----------
    asked, needed : float
        Positive; infinite where nothing is enough.
    at_least : bool, default True
        Whether so much is asked for at least, as of samples; of step sizes it is at most.

    Returns
    -------
    {"too little", "tight", "loose", "out of reach"}
        Too little: less than needed. Tight: at most `TIGHT` times as much. Out of reach: more
        samples or rounds than `POSSIBLE`.
    """
    for name, value in (("asked", asked), ("needed", needed)):
        if not value > 0.0:
            raise ValueError(f"{name} must be greater than 0, got {value:g}")
    if asked == needed:  # infinite, too
        return "out of reach" if at_least and asked > POSSIBLE else "tight"
    share = asked / needed if at_least else needed / asked
    if at_least and asked > POSSIBLE:
        return "out of reach"
    if share < 1.0:
        return "too little"
    return "tight" if share <= TIGHT else "loose"


def _fedrep(
    truth: SharedRepresentation,
    tolerance: float,
    *,
    constant: float = 1.0,
    initial_distance: float = 0.5,
    participants: int | None = None,
    failure: float = 0.05,
) -> Iterator[Asked]:
    require_spanning(truth)
    n, d, k = truth.n, truth.d, truth.k
    c = check.real("constant", constant, above=0.0)
    failure = check.real("failure", failure, above=0.0, maximum=1.0)
    start = check.real("initial_distance", initial_distance, minimum=0.0, below=1.0)
    q = n if participants is None else participants
    q = check.integer("participants", q, minimum=1, maximum=n)
    row = partial(Asked, "FedRep")
    kappa = fedrep.condition(truth, q)
    known = np.isfinite(kappa)  # else some clients do not span R^k, and nothing is enough
    step = float(fedrep.step_size_limit(truth.sigma_max(q)))
    factor = fedrep.contraction(truth.sigma_min(q), step_size=step, initial_distance=start)
    of_rounds = fedrep.rounds(tolerance, factor, start)
    yield row("Theorem 1", "step size", AT_MOST, step, np.nan, "", "fedrep.step_size_limit")
    yield row("(11)", "rounds", AT_LEAST, float(of_rounds), np.nan, "", "fedrep.rounds")
    for value, source in ((c, "given"), (FEDREP_PROOF, "proof")):
        options = {"condition": kappa if known else 1.0, "constant": value}
        round_, total = (
            float(samples) if known else np.inf
            for samples in (
                fedrep.sample_size(d, k, q, initial_distance=start, **options),
                fedrep.total_samples(tolerance, d, k, q, **options),
            )
        )
        yield row("Theorem 1", "samples per client and round", AT_LEAST, round_, value, source,
                  "fedrep.sample_size")  # fmt: skip
        yield row("(12)", "samples per client in all", AT_LEAST, total, value, source,
                  "fedrep.total_samples")  # fmt: skip
    if truth.design == "gaussian" and comb(n, q) <= SUBSETS_ENUMERATED:
        # At the largest step, 1/sigma_max^2, a round leaves a factor of 1 - E0/(2 kappa^2).
        T = fedrep.rounds(tolerance, 1.0 - (1.0 - start**2) / (2.0 * kappa**2), start)
        samples = np.inf if not (known and np.isfinite(T)) else fedrep.gaussian_sample_size(
            d, k, q, sigma_min=truth.sigma_min(q), condition=kappa, initial_distance=start,
            failure=failure, rounds=max(1.0, float(T)),
        )  # fmt: skip
        yield row("Theorem 1, normal x", "samples per client and round", AT_LEAST, float(samples),
                  900.0, "proof", "fedrep.gaussian_sample_size")  # fmt: skip
    if truth.design == "gaussian" and truth.noise == 0.0:
        finite = finite_bounds.least_samples(
            truth, step_size=step, initial_distance=start, failure=failure, participation=q / n
        )
        yield row("Theorem 1, finite sizes", "samples per client and round", AT_LEAST, finite,
                  np.nan, "", "finite_bounds.least_samples")  # fmt: skip
    first = fedrep.initial_sample_size(
        d, k, n, sigma_min=truth.sigma_min() / np.sqrt(k), condition=truth.condition, constant=c
    )
    yield row("Theorem 2", "samples per client of the start", AT_LEAST, float(first), c, "given",
              "fedrep.initial_sample_size")  # fmt: skip


def _flute(
    spectrum: Spectrum,
    tolerance: float,
    *,
    constant: float = 1.0,
    step_size: float | None = None,
    failure: float = 0.05,
) -> Iterator[Asked]:
    c = check.real("constant", constant, above=0.0)
    failure = check.real("failure", failure, above=0.0, maximum=1.0)
    row = partial(Asked, "FLUTE")
    limit = step_size_limits(spectrum)["theorem_5_1"]
    eta = limit if step_size is None else check.real("step_size", step_size, above=0.0)
    samples = flute_samples.theorem_5_1(
        spectrum, tolerance, step_size=eta, failure=failure, constant=c
    )
    yield row("Theorem 5.1", "step size", AT_MOST, limit, np.nan, "", "flute.step_size_limits")
    yield row("Theorem 5.1", "samples per client", AT_LEAST, float(samples), c, "given",
              "flute_samples.theorem_5_1")  # fmt: skip
    for value, source in ((c, "given"), (FLUTE_ROUNDS, "proof")):
        rounds = flute_samples.theorem_5_1_rounds(
            spectrum, tolerance, step_size=eta, constant=value
        )
        t = max(1.0, float(rounds))
        yield row("Theorem 5.1", "rounds", AT_LEAST, t, value, source,
                  "flute_samples.theorem_5_1_rounds")  # fmt: skip
    # What the proof takes in every one of these rounds, (34) at the last.
    proof = flute_samples.proposition_A12(
        spectrum, eta, t - 1.0, failure=failure / t, constant=FLUTE_PROOF
    )
    yield row("Theorem 5.1", "samples per client", AT_LEAST, float(proof), FLUTE_PROOF, "proof",
              "flute_samples.proposition_A12")  # fmt: skip


def _perfedsi(
    setting: perfedsi.Setting, tolerance: float, *, local_steps: int = 5
) -> Iterator[Asked]:
    forms: tuple[tuple[str, dict[str, Any], dict[str, Any]], ...] = (
        ("Theorem C.4", {}, {"with_p": True}),
        ("Theorem C.4, corrected", {"c_power": 7.0, "condition_power": 1.0},
         {"c_power": 2.0, "condition_power": 1.0}),
    )  # fmt: skip
    row = partial(Asked, "PerFedSI")
    for place, of_step, of_rate in forms:
        step = perfedsi.step_size_limit(setting, local_steps, **of_step)
        share = perfedsi.decrease(setting, step_size=step, local_steps=local_steps, **of_rate)
        with np.errstate(divide="ignore"):
            rounds = 1.0 + np.log(tolerance) / np.log1p(-share) if share > 0.0 else np.inf
        yield row(place, "step size", AT_MOST, step, np.nan, "", "perfedsi.step_size_limit")
        yield row(place, "rounds", AT_LEAST, float(rounds), np.nan, "", "perfedsi.decrease")
    near, of = perfedsi.near_truth(setting, local_steps), "perfedsi.near_truth"
    rounds = np.log(tolerance) / np.log1p(-near.share)
    yield row("Theorem 3.3, near", "step size", AT_MOST, near.step_size, np.nan, "", of)
    yield row("Theorem 3.3, near", "rounds", AT_LEAST, float(rounds), np.nan, "", of)


def _pflmf(setting: pflmf.Setting, tolerance: float, *, gap: float = 1.0) -> Iterator[Asked]:
    gap, L = check.real("gap", gap, above=0.0), setting.largest
    row = partial(Asked, "pFL^MF")
    limit = pflmf.step_size_limit(L)
    yield row("Theorem 1", "step size", AT_MOST, limit, np.nan, "", "pflmf.step_size_limit")
    if setting.step_size < limit:
        # Without noise; what noise leaves is not below any tolerance.
        unit = pflmf.theorem1(
            gap, smoothness=L, step_size=setting.step_size, rounds=1, noise=setting.noise
        )
        room = tolerance * L * gap - float(unit.noise)
        rounds = float(unit.start) / room if room > 0.0 else np.inf
        yield row("Theorem 1", "rounds", AT_LEAST, rounds, np.nan, "", "pflmf.theorem1")
    if setting.noise == 0.0:
        rounds = float(pflmf.corollary2(gap, smoothness=L, rounds=1).total) / (tolerance * L * gap)
    else:  # (4 L gap + sigma^2)/(sqrt T - 1)
        start = float(pflmf.corollary2(gap, smoothness=L, rounds=4, noise=setting.noise).total)
        rounds = (1.0 + start / (tolerance * L * gap)) ** 2
    yield row("Corollary 2", "rounds", AT_LEAST, rounds, np.nan, "", "pflmf.corollary2")
    sharp, of = partial(row, "Theorem 1, sharp"), "pflmf.sharp_stationarity_bound"
    shares = {"participation": setting.participation, "local_steps": setting.local_steps}
    c, omega = pflmf.sharp_constants(**shares)
    yield sharp("step size", AT_MOST, float(1.0 / (c * L)), np.nan, "", of)
    given = {"smoothness": L, "step_size": setting.step_size, "rounds": 1, "noise": setting.noise}
    unit = pflmf.sharp_stationarity_bound(gap, **given, **shares)
    room = tolerance * L * gap - float(unit.noise)
    rounds = float(unit.start) / room if room > 0.0 else np.inf
    yield sharp("rounds", AT_LEAST, rounds, np.nan, "", of)
    # 2 c (1 + s) L gap/T at the best step, s^2 = 1 + omega sigma^2 T/(c^2 L gap).
    rounds = 4.0 * c / tolerance
    rounds += 4.0 * omega * setting.noise**2 / (tolerance**2 * L * gap)
    yield row("Theorem 1, sharp, best step", "rounds", AT_LEAST, float(rounds), np.nan, "",
              "pflmf.sharp_step_size")  # fmt: skip


_ROWS: dict[type, Callable[..., Iterator[Asked]]] = {
    SharedRepresentation: _fedrep,
    Spectrum: _flute,
    perfedsi.Setting: _perfedsi,
    pflmf.Setting: _pflmf,
}

checked(globals(), nan=False, large=False)
