"""The page on what theorems ask for says what the record has."""

import re

import numpy as np
import pandas as pd

import linrep as lr
from linrep.figures.record import read
from linrep.papers.flute.settings import NOISE, STEP_SIZE, draw_truth
from linrep.theory import finite, finite_bounds
from linrep.theory.flute_limit import limit, perturbation, sufficient_samples
from tests.docs.test_documentation import DOCS, ROOT

PAGE = (DOCS / "asked.md").read_text("utf-8")
LINES = read(ROOT / "figures" / "theorems.asked.json")["result"]["summary"]["lines"]
TABLE = pd.DataFrame(
    {key: value["value"] if isinstance(value, dict) else value for key, value in line.items()}
    for line in LINES
)
TABLE["asked"] = TABLE["asked"].astype(float)  # "inf" where no number is enough
SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")


def rows(paper, quantity, place=None):
    own = TABLE[(TABLE["paper"] == paper) & (TABLE["quantity"] == quantity)]
    return own if place is None else own[own["place"] == place]


def powers(low, high):
    """Tell whether the page names both ends of a range as powers of ten."""
    text = re.sub(r"10([⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+)", lambda at: f"1e{at[1].translate(SUPERSCRIPTS)}", PAGE)
    ends = (f"1e{int(np.floor(np.log10(end) + 0.35))}" for end in (low, high))
    return re.search(r"{}\s+to\s+{}\b".format(*ends), text) is not None


def test_fedrep_asks_for_what_the_page_says():
    own = rows("FedRep", "samples per client and round", "Theorem 1")
    ratio = own["asked"] / own["needed"]
    few = own["where"].str.startswith("Figure 3")
    assert f"is {ratio[~few].min():.0f} to {ratio[~few].max():.0f} times" in PAGE
    assert own["asked"][~few].min() > 20  # d of the paper's figures, at most
    assert powers(own["asked"][few].min(), own["asked"][few].max())
    assert {own["needed"][few].min(), own["needed"][few].max()} == {3.0, 5.0}
    assert (own["proof"] > 1e6).all()


def test_flute_asks_for_what_the_page_says():
    own = rows("FLUTE", "samples per client")
    ratio = own["asked"] / own["needed"]
    assert powers(ratio.min(), ratio.max())
    steps = STEP_SIZE / rows("FLUTE", "step size")["asked"]
    low, high = (f"{float(f'{end:.2g}'):,.0f}" for end in (steps.min(), steps.max()))
    assert f"is {low} to {high} times" in PAGE
    beyond = own["asked"] > 1e15
    assert (beyond == ~own["where"].str.endswith("k = 2")).all()
    assert (rows("FLUTE", "rounds")["asked"] > 1e6).all()


def test_the_theorem_on_flute_s_limits_asks_for_what_the_page_says():
    needed = rows("FLUTE", "samples per client").set_index("where")["needed"]
    for n in (15, 30):
        line = next(line for line in PAGE.splitlines() if line.startswith(f"| M = {n} |"))
        for k, cell in zip((2, 4, 6, 8), line.split("|")[2:], strict=False):
            number, power, ratio = re.fullmatch(r" (.*)·10(.*) \((.*)\) ", cell).groups()
            truths = [
                draw_truth("decaying", n, 10, NOISE, np.random.default_rng(seed))
                for seed in range(12)
            ]
            m = [sufficient_samples(truth, k, 0.1) for truth in truths]
            scale = 10.0 ** int(power.translate(SUPERSCRIPTS))
            assert f"{np.median(m) / scale:.1f}" == number
            assert f"{np.median(m) / needed[f'Figure 3, M = {n}, k = {k}']:.0f}" == ratio
            left = limit(truths[0], k, perturbation(truths[0], k, int(m[0]))).curvature
            assert 0.45 < left / (truths[0].gap(k) / 2) < 0.8


def test_perfedsi_asks_for_what_the_page_says():
    steps, rounds = (rows("PerFedSI", each).set_index("place") for each in ("step size", "rounds"))
    near = steps.index == "Theorem 3.3, near"
    assert (np.abs(np.log10(steps["asked"][~near]) + 11) < 0.75).all()
    assert 1e8 < steps["asked"][near].item() / steps["asked"]["Theorem C.4"] < 1e9
    assert (steps["needed"] > 1).all()
    assert (rounds["asked"][~near] > 1e15).all()
    assert 1e4 < rounds["asked"][near].item() < 3e4


def test_pflmf_asks_for_what_the_page_says():
    every = rows("pFL^MF", "rounds")
    own = every[every["place"] == "Theorem 1"].set_index("where")
    ratio = own["asked"] / own["needed"]
    assert abs(ratio["Figure 1, p = 1"] - 4) < 0.1
    assert (ratio[["Figure 1, p = 0.2", "Figure 1, p = 0.1"]] < 1).all()


def test_the_ledger_has_the_constants_that_the_table_takes(extension):
    claim_pages = extension("claim_pages")
    text = "\n".join(claim_pages.Asked.lines(None, "flute"))
    own = rows("FLUTE", "samples per client")
    assert f"c\u00a0=\u00a0{claim_pages._amount((own['needed'] / own['asked']).max())})" not in text
    text = "\n".join(claim_pages.Asked.lines(None, "fedrep"))
    own = rows("FedRep", "samples per client and round", "Theorem 1")
    least = claim_pages._amount((own["needed"] / own["asked"]).max())
    assert f"(c\u00a0=\u00a0{least})" not in text


def test_what_is_proved_of_fedrep_is_what_the_page_says():
    """Of the problems with 100 clients, of which single draws differ little."""
    line = next(line for line in PAGE.splitlines() if line.startswith("| 1 and 4, 100 |"))
    samples, factors = np.split(np.array(line.split("|")[2:-1], dtype=float), [5])
    found = []
    for seed in range(12):
        truth = lr.SharedRepresentation.random(n=100, d=20, k=2, store=False, rng=seed)
        step = float(lr.theory.fedrep.step_size_limit(truth.sigma_max(100)))
        proved = [
            finite_bounds.least_samples(truth, step_size=step, initial_distance=start)
            for start in (0.1, 0.3, 0.5, 0.9)
        ]
        needed = finite.least_samples(truth, step_size=step)
        rates = (
            finite_bounds.contraction(truth, m=10, step_size=step, within=0.5),
            finite.contraction(truth, m=10, step_size=step),
            finite.typical_contraction(truth, m=10, step_size=step),
        )
        found.append([*proved, needed, *rates])
    middle = np.median(found, axis=0)
    np.testing.assert_allclose(middle[:5], samples, rtol=0.1)
    np.testing.assert_allclose(middle[5:], factors[1:4], atol=0.003)
