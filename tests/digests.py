"""Digests of what every public algorithm, start, estimator and round on arrays returns.

For the time in which linrep is made smaller: code that is rewritten has to give the same digits.
``python tests/digests.py`` writes digests.json beside this file, ``--check`` compares with it and
lists the settings whose digits differ. Both run in the portable mode, in which the same seed gives
the same bits on many processors. This is no test: where digits change for a reason, they are
written anew, and the commit says why.
"""

from __future__ import annotations

import json
import re
import sys
import warnings
from hashlib import sha256
from pathlib import Path

from linrep._lib import portable

if __name__ == "__main__":
    portable.enter()

import numpy as np

import linrep as lr
from linrep import algorithms
from linrep.estimators import FederatedRegressor, MatrixCompletion

RECORDED = Path(__file__).with_suffix(".json")

SHARED = lr.SharedRepresentation.random(n=30, d=12, k=2, noise=0.1, rng=0)
SIZES = 3 + np.arange(30) % 7
UNEVEN = SHARED.draw(SIZES, rng=1)
DATA = SHARED.draw(40, rng=1)
IMPLICIT = lr.SharedRepresentation.random(n=30, d=500, k=2, noise=0.1, store=False, rng=0)


def without_truth(data):
    """Return the same samples, of which nobody knows the truth."""
    return lr.ClientData(data.X, data.y, data.offsets)


def edge(n, d, k, **options):
    """Return a small truth."""
    return lr.SharedRepresentation.random(n=n, d=d, k=k, noise=0.1, rng=0, **options)


OWN, FEW = without_truth(DATA), without_truth(UNEVEN)
SCALED = lr.ClientData(DATA.X * np.logspace(-3, 3, 12), DATA.y, DATA.offsets)
COLLINEAR = lr.ClientData(np.column_stack([DATA.X, DATA.X[:, :2]]), DATA.y, DATA.offsets)
LOW_RANK = lr.LowRankRegression.random(
    n=30, d=8, singular_values=[3.0, 2.0, 1.0, 0.5], noise=0.1, rng=0
)
LOW_DATA = LOW_RANK.draw(20, rng=1)
WIDE = lr.LowRankRegression.random(n=12, d=15, singular_values=[3.0, 2.0, 0.5], noise=0.1, rng=0)
WIDER = lr.LowRankRegression.random(n=4, d=101, singular_values=[3.0, 2.0], noise=0.1, rng=0)
LARGE = lr.LowRankRegression(np.outer(np.ones(4200), np.arange(1.0, 6.0)) / 100.0, noise=0.1)
ONE = lr.LowRankRegression.random(n=1, d=3, singular_values=[2.0], noise=0.1, rng=0)
CENTRES = np.random.default_rng(1).standard_normal((12, 5)) + 1.0
ROOTS = np.random.default_rng(2).standard_normal((12, 5, 5))
QUADRATIC = lr.QuadraticObjectives(CENTRES, clusters=np.arange(12) % 3)
CURVED = lr.QuadraticObjectives(CENTRES, ROOTS @ ROOTS.swapaxes(1, 2) / 5.0)
WEIGHTED = lr.QuadraticObjectives(CENTRES, weights=0.5 + np.random.default_rng(3).random((12, 5)))
SIGNS = lr.ClientData(DATA.X, np.sign(DATA.y), DATA.offsets)
CLASSES = lr.ClientData(DATA.X, np.digitize(DATA.y, [-0.5, 0.5]).astype(float), DATA.offsets)
LOGISTIC = lr.LogisticObjectives(SIGNS, ridge=0.1)
SOFTMAX = lr.SoftmaxObjectives(CLASSES, 3, ridge=0.1)
CUSTOM = lr.CustomObjectives(
    lambda i, x: (np.sum((x - CENTRES[i]) ** 4), 4.0 * (x - CENTRES[i]) ** 3), n=12, d=5
)
SIDES = lr.SideInformationCompletion.random(n=20, d=12, p=4, k=2, side="unit", rng=0)
ENTRIES = SIDES.observe(6, rng=1)
GENEROUS = SIDES.without_side_information().observe(8, rng=1)
RATED = lr.BiasedRegression.random(n=20, d=5, p=3, noise=0.3, rng=0).draw(12, rng=1)
FRAME = lr.random_start(30, 12, 2, 3)


def continued(algorithm, *arguments, rounds, first=4, rng=1, **settings):
    """Run some rounds, and go on from there."""
    begun = algorithm(*arguments, rounds=first, rng=rng, **settings)
    return algorithm(*arguments, rounds=rounds - first, **{**settings, "start": begun})


def regressor(samples, **settings):
    """Return what the regressor predicts for rows that it learned from."""
    rows = np.column_stack([np.repeat(np.arange(samples.n), samples.m), samples.X])
    return FederatedRegressor(client=0, **settings).fit(rows, samples.y).predict(rows)


def ratings(seen, **settings):
    """Return what the completion predicts for pairs that it learned from, and its objective."""
    owner = np.repeat(np.arange(seen.n), np.diff(seen.offsets))
    pairs = np.column_stack([owner, seen.items])
    model = MatrixCompletion(rank=2, ridge=0.5, **settings).fit(pairs, seen.values)
    return model.predict(pairs), model.objective_


def size(B, W):
    """Measure something of one's own."""
    return {"size": float(np.abs(B).max())}


#: Calls, with {one|another} where there is one of each. Indented lines go on with the line before.
CALLS = """
fedrep(SHARED, m=25, rounds=30, rng=1, batches='{fresh|fixed|split|gram|gram_split}'{|
    , participation=0.4|, local_steps=3|, record=[0, 3, 17]|, tolerance=0.1|
    , local_steps=1, head_step_size=0.05, participation=0.5|
    , normalization='published', step_size=5e-3|, start='random', step_size=0.1})
fedrep(SHARED, {m=1|m=2, local_steps=2}, rounds=5, rng=1, start=0.5,
    batches='{fresh|fixed|split|gram|gram_split}')
fedrep({edge(1, 6, 1)|edge(5, 6, 1)|edge(4, 3, 3)|edge(1, 1, 1)}, m=7, rounds=5, start='random',
    rng=1, batches='{fresh|fixed|split|gram|gram_split}')
continued(fedrep, SHARED, m=25, rounds=12, start='random', participation={1.0|0.5},
    batches='{fresh|fixed|split|gram|gram_split}')
fedrep(SHARED, m=25, rounds=10, rng=1, batches='{fresh|fixed}', normalization='published',
    orthonormal=False, step_size=1e-3{|, local_steps=2})
fedrep(DATA, k=2, rounds=60, start='random', orthonormal=False, local_steps=2, head_step_size=0.1,
    step_size=80.0, rng=1)
fedrep(edge(8, 6, 2, design='{rademacher|uniform|sphere|student_t}'), m=9, rounds=5, rng=1,
    batches='{fresh|split}')
fedrep(SHARED, m=25, rounds=4, rng=1, start={'moments'|'models'|'random'|'projected_gradient'|
    'truncated'|0.5|FRAME[0]|FRAME})
fedrep(IMPLICIT, m=25, rounds=10, batches='gram', rng=1, start={'random'|0.5, participation=0.5})
continued(fedrep, IMPLICIT, m=25, rounds=10, batches='gram', start='random')
fedrep(UNEVEN, k=2, rounds=20, rng=1{|, participation=0.5|, local_steps=2|, step_size='adaptive'|
    , step_size='smoothness'})
fedrep(SHARED, m=SIZES, batches='fixed', rounds=3, rng=1)
fedrep(DATA, k=2, rounds=3000, record=500, rng=1{|, participation=0.5})
fedrep({OWN|SCALED|COLLINEAR|FEW}, rng=1, {k=2, rounds=25{|, participation=0.5|, local_steps=2|
    , step_size='smoothness'|, start='moments'|
    , start='moments', step_size='adaptive', participation=0.5|, start='random', step_size=0.1}|
    k=2, rounds=3000, record=500|k=1, rounds=25})
continued(fedrep, OWN, k=2, rounds=12{|, participation=0.5|, local_steps=2|
    , start='moments', step_size='adaptive'})
fedrep(LOW_DATA, k=2, rounds=20, rng=1{|, record=7|, start='random', step_size=0.05|
    , step_size='adaptive'|, participation=0.5})
continued(fedrep, LOW_DATA, k=2, rounds=12)
fedrep(edge(200, 100, 10), m=100, rounds=2, start=0.5, rng=1, batches='{fresh|
    fixed|fixed', step_size='adaptive}')
fedrep(edge(17_000, 9, 2, store=False), m=9, batches='gram', start=0.5, rounds=2, rng=1{|
    , local_steps=1})

altgdmin(OWN, k=2, rounds=20, rng=1{|, start='moments'|, step_size=0.05|, truncation=0.5|
    , multiplier=0.3, start='random'})
altgdmin(DATA, k=2, rounds=20, rng=1, tolerance=1e-2)
altmin_gd({OWN|DATA}, k=2, rounds=6, rng=1{|, disjoint=True|, step_size=0.05|, start='random'})
altmin_gd(DATA, k=2, rounds=2000, record=500, rng=1)
continued(altmin_gd, DATA, k=2, rounds=8)
run_trials({fedrep|fedavg}, SHARED, trials=3, m=9, step_size=0.1, rounds=4, rng=1,
    batches='{fixed|fresh}')

flute(LOW_RANK, m=20, k=2, rounds=30, scale=0.2, rng=1{|, participation=0.5}{|, step_size=0.02|
    , step_size=0.02, regularizer_step_size=0.05|, regularizer_step_size=0.0|
    , step_size=0.02, gamma1=0.1, gamma2=0.3, loss='full'|, step_size=0.3, aggregate='mean'|
    , aggregate='mean', loss='full'|, step_size=0.02, record=[0, 3, 17], spectrum=True|
    , step_size=0.02, tolerance=0.2|, tolerance=1e-2})
flute(LOW_RANK, {m=20, batches='fresh'{|, participation=0.5}|batches='population'}, k=2, rounds=30,
    scale=0.2, rng=1, step_size={0.02|0.02, regularizer_step_size=0.05|
    0.02, gamma1=0.1, gamma2=0.3, loss='full'|0.3, aggregate='mean'|
    0.02, record=[0, 3, 17], spectrum=True|0.02, tolerance=0.2})
flute(LOW_RANK, batches='population', k=2, rounds=30, scale=0.2, rng=1{|, tolerance=1e-2|
    , regularizer_step_size=0.0|, aggregate='mean', loss='full'})
flute(LARGE, batches='population', step_size=0.05, k=1, rounds=5, rng=1)
continued(flute, {LARGE|LOW_RANK}, batches='population', step_size=0.02, k=1, rounds=12)
flute({LOW_RANK, m=40|WIDE, m=60|WIDER, m=300|WIDE, m=9}, record=300, k=2, rng=1, {rounds=1500{
    |, step_size=0.01{|, participation=0.5}}|rounds=200, participation=0.5})
continued(flute, LOW_RANK, m=40, k=2, rounds=1500, first=500, step_size=0.01, record=300)
continued(flute, LOW_RANK, m=20, k=2, rounds=20{|, step_size=0.02}{|, participation=0.5})
continued(flute, LOW_RANK, m=20, k=2, rounds=20, step_size=0.02, batches='fresh')
flute(LOW_RANK, k=2, step_size=9.0, rounds=50, rng=1, {m=20|m=20, batches='fresh'|
    batches='population'})
flute(LOW_RANK, k=2, step_size='theorem', rounds=20, rng=1, {m=20|batches='population'})
flute(SHARED, rounds=20, rng=1, {m=25{|, step_size=0.02|, batches='fresh', step_size=0.02|
    , start=FRAME}|batches='population', step_size=0.02})
flute({OWN|SCALED|FEW|UNEVEN|LOW_DATA}, k=2, rounds=25, rng=1{|, participation=0.5|
    , step_size=1e-3})
continued(flute, OWN, k=2, rounds=12)
flute(OWN, k=2, rounds=50, step_size=9.0, rng=1)
flute(LOW_RANK, m=20, k=2, rounds=9, rng=1, measure=size)
flute({ONE, k=1|LOW_RANK, k=1|LOW_RANK, k=8}, rounds=9, rng=1, {m=20|m=2, step_size=0.02|
    batches='population', step_size=0.02})

pflmf({QUADRATIC|DATA}, k=2, rounds=20, rng=1{|, step_size=0.3}{|, stationarity=False|
    , tolerance=0.1|, local_steps=3|, order='alternating'|, order='alternating', local_steps=2|
    , gradient_noise=0.1, local_steps=2})
pflmf({QUADRATIC|DATA}, k=2, rounds=20, rng=1, step_size=0.3, head_step_size={2.0|'theorem',
    local_steps=3})
pflmf({QUADRATIC|DATA}, k=2, rounds=20, rng=1, participation=0.4{|, step_size=0.3}{|
    , sampling='fixed'|, aggregate='full'|, aggregate='unbiased'|, local_steps=2|
    , sampling='fixed', local_steps=2|, order='alternating', local_steps=2|
    , order='alternating', aggregate='full'|, gradient_noise=0.1, stationarity=False})
pflmf({LOGISTIC|SOFTMAX|CURVED|WEIGHTED|OWN|UNEVEN|LOW_DATA}, k=2, rounds=20, rng=1{
    |, local_steps=3|, participation=0.4}{|, step_size=0.3})
pflmf({CUSTOM|SCALED}, k=2, rounds=20, rng=1{|, local_steps=3|, participation=0.4}{
    |, step_size=0.02})
pflmf({DATA|LOGISTIC|SOFTMAX}, k=2, rounds=20, rng=1, batch=3{|
    , step_size=0.3, gradient_noise=0.1|, step_size=0.3, participation=0.4, local_steps=2})
pflmf(SHARED, m=25, rounds=20, rng=1{|, step_size=0.3})
pflmf(DATA, k=2, rounds=3000, record=500, rng=1{|, step_size=0.3{|, participation=0.4}})
pflmf(DATA, k=2, rounds=20, rng=1, start={'balanced'|'zero'|'spectral'|FRAME}{|, step_size=0.3})
continued(pflmf, {QUADRATIC|DATA}, k=2, rounds=12{|, step_size=0.3}{|, local_steps=3|
    , participation=0.4})
continued(pflmf, DATA, k=2, rounds=12, batch=3, step_size=0.3, gradient_noise=0.1)
pflmf({QUADRATIC|DATA}, k=2, rounds=60, step_size=200.0, rng=1{|, participation=0.4|
    , order='alternating'})
pflmf({lr.QuadraticObjectives(CENTRES[:1]), k=1|lr.QuadraticObjectives(CENTRES[:, :3]), k=3|
    lr.QuadraticObjectives(CENTRES[:2, :1]), k=1}, rounds=9, rng=1{|
    , step_size=0.3, participation=0.5})

perfedsi({SIDES|ENTRIES|GENEROUS}, k=2, rounds=40, participants=3, rng=1, step_size={0.3|
    0.3, replacement=False|0.3, local_steps=1|0.3, privacy=0.05|0.3, scale=0.3, record=7|60.0})
perfedsi({ENTRIES|GENEROUS}, k=2, rounds=40, participants=3, rng=1, replacement={True|False})
continued(perfedsi, {SIDES|ENTRIES|GENEROUS}, k=2, rounds=40, participants=3, step_size=0.3,
    replacement={True|False})
imc.{gauss_newton|alternating|balanced_gradient}({ENTRIES|GENEROUS}, 2{|, iterations=3|
    , tolerance=1e-2})
imc.nuclear_norm({ENTRIES|GENEROUS}, levels=4, iterations=100)
imc.least_squares({ENTRIES|GENEROUS})
imc.balanced_gradient(ENTRIES, 2, iterations=50, {step_size=0.01|balance=0.1})
biases.least_squares(RATED, side='{given|one|each}')
biases.fedavg(RATED, side='{given|one|each}', step_size=0.1, rounds=9, rng=1{|
    , participation=0.4, local_steps=2})
biases.local_only(RATED)

personalized.{local(|average(|distance_regularized(penalty=0.3, problem=|
    hard_thresholding(k=2, problem=}{QUADRATIC|CURVED|LOGISTIC|CUSTOM|DATA}, rounds=12{|
    , step_size=0.02})
personalized.oracle_clusters({QUADRATIC|DATA, clusters=np.arange(30) % 3}, rounds=12)
personalized.{constrained(delta=0.5|nuclear_norm(penalty=0.05}, problem={QUADRATIC|CURVED|LOGISTIC|
    DATA}, rounds=4{|, step_size=0.02})
personalized.{constrained(delta=0.5|nuclear_norm(penalty=0.05}, problem=CUSTOM, rounds=4,
    step_size=0.02)
personalized.penalties({QUADRATIC|CURVED|LOGISTIC|CUSTOM|DATA})
personalized.{local|average}(QUADRATIC, local_steps=3, rounds=20)
personalized.distance_regularized(CURVED, penalty=0.3, center='global', rounds=40)

fedavg(SHARED, m=25, rounds=20, rng=1, batches={'fresh', step_size=0.1|'fixed'}{
    |, start='random'}{|, participation=0.4}{|, local_steps=3})
fedsgd(SHARED, m=25, rounds=20, rng=1, batches={'fresh', step_size=0.1|'fixed'|
    'gram', step_size=0.1}{|, participation=0.4|, start='random'})
fedavg(SHARED, m=25, rounds=20, rng=1, batches='gram', step_size=0.1)
{fedavg|fedsgd}({OWN|UNEVEN|SCALED}, k=2, rounds=20, rng=1{|, participation=0.4})
{fedavg|fedsgd}(DATA, k=2, rounds=3000, record=500, rng=1)
{fedavg|fedsgd}(DATA, k=2, rounds=60, step_size=80.0, start='random', rng=1)
continued({fedavg|fedsgd}, SHARED, m=25, rounds=9, start='random', batches={
    'fresh', step_size=0.1|'fixed'|'gram', step_size=0.1})
{anil|maml}({SHARED, m=26, batches='{fixed|fresh|split}'|OWN, k=2}, rounds=15, rng=1{|
    , first_order=True|, participation=0.4|, step_size=0.02|, inner_step_size=0.02})
continued({anil|maml}, SHARED, m=26, rounds=9)
alternating_least_squares({DATA|OWN|UNEVEN|SCALED}, k=2, rounds=9, rng=1{|, ridge=0.1|
    , start='random'})
{linear_factorization|erm}({DATA|OWN|UNEVEN|SCALED}, k=2, rng=1)
{method_of_moments|cross_moments}({DATA|OWN|UNEVEN|SCALED}, k=2)
{pooled|local_only}({DATA|OWN|UNEVEN|SCALED})
local.fit_models({DATA|UNEVEN|SCALED})
local_only(SHARED, m=25, rng=1, batches='{fixed|gram}')
ridge({DATA|OWN|UNEVEN|SCALED}{|, penalty=0.5|, per_client=True})
ridge_to_mean({DATA|OWN|UNEVEN|SCALED}{|, penalty=0.5})
ridge_penalty({DATA|UNEVEN|SCALED}{|, per_client=True|, FRAME[0]})
empirical_risk_minimizer({DATA|UNEVEN|SCALED}, 2, restarts=2, rng=1)
fit_heads({DATA|UNEVEN|SCALED}, FRAME[0]{|, ridge=0.1})
fit_new_clients(fedrep(SHARED, m=25, rounds=3, rng=1), DATA{|, ridge=0.1})
simulate_heads(SHARED, FRAME[0], m={25|1}, rng=1)
{moments|truncated|models|projected_gradient}_start({DATA|UNEVEN|SCALED}, 2)
truncated_start(DATA, 2, truncation=0.5)
projected_gradient_start(DATA, 2, rounds=3, step_size=0.1)
random_start(8, 5, 2, 3)
gaussian_start(8, 5, 2, 0.1, 3)

regressor({DATA|UNEVEN|SCALED}{|, k=2|, rounds=1|, ridge=0.5|, fit_intercept=False|
    , method='{flute|pflmf|als|altgdmin|ridge_to_mean|local|pooled}'})
ratings({ENTRIES|GENEROUS}, sweeps=20{|, biases=False|, bias_ridge=1.0})

lr.kernels.{fedrep|pflmf}_round(OWN.X, OWN.y, OWN.offsets, *FRAME, step_size=0.1{|
    , participants=np.array([0, 3])|, head_steps=(2, 0.1)})
lr.kernels.pflmf_quadratic_round(CENTRES, CENTRES[:5, :2].copy(), CENTRES[:, :2].copy(),
    step_size=0.1{|, participants=np.array([0, 3])|, head_steps=(2, 0.1)|
    , H=np.tile(2.0 * np.eye(5), (12, 1, 1))})
lr.kernels.gradient(OWN.X, OWN.y, OWN.offsets, *FRAME)
lr.kernels.fit_heads(OWN.X, OWN.y, OWN.offsets, FRAME[0])
lr.kernels.moments_start(OWN.X, OWN.y, OWN.offsets, 2)
lr.kernels.theta_step(FRAME[0], np.linspace(1.0, 0.2, 12), step_size=0.2{|, R=0.1 * FRAME[0]})
lr.kernels.theta_orbit(FRAME[0], np.linspace(1.0, 0.2, 12), np.array([0, 3, 200]), step_size=0.2)
lr.kernels.perfedsi_epoch(ENTRIES.items, ENTRIES.values, ENTRIES.offsets, SIDES.Z, SIDES.U + 0.1,
    SIDES.V + 0.1, step_size=0.1)
"""
_ONE_OF = re.compile(r"{([^{}]*)}")  # innermost


def expanded(text):
    """Return the calls that a line stands for."""
    choice = _ONE_OF.search(text)
    if choice is None:
        return [text]
    before, after = text[: choice.start()], text[choice.end() :]
    return [
        call for part in choice[1].split("|") for call in expanded(before + part.strip() + after)
    ]


def parts(result):
    """Yield what a result holds, each part with a name."""
    if isinstance(result, lr.Trace):
        yield from (result.metrics | result.state).items()
        yield "recorded", result.recorded
        yield result.stop_reason, []
    elif isinstance(result, tuple | list):
        for place, each in enumerate(result):
            yield from ((f"{place} {name}", values) for name, values in parts(each))
    else:
        yield (result, []) if isinstance(result, str) else ("", result)


def digest(result):
    """Return a digest of the bytes of what an algorithm returns."""
    found = sha256()
    for name, values in sorted(parts(result), key=lambda part: part[0]):
        array = np.ascontiguousarray(values)
        assert array.dtype.kind in "fib", f"{name} is {array.dtype}"
        found.update(f"{name} {array.dtype} {array.shape} ".encode() + array.tobytes())
    return found.hexdigest()[:16]


def measure():
    """Return digests by their calls."""
    names = vars(algorithms) | globals()
    lines = re.sub(r"\n +", " ", CALLS).replace(" {|", "{|").split("\n")
    wanted = dict.fromkeys(call for line in lines if line for call in expanded(line))
    return {call: digest(eval(call, names)) for call in wanted}


def main():
    """Write the digests, or compare with those that were written."""
    warnings.simplefilter("ignore")
    found = measure()
    print(f"{len(found)} digests, {portable.mode()} mode")
    if "--check" not in sys.argv[1:]:
        text = json.dumps(found, indent=0, ensure_ascii=False)
        RECORDED.write_text(f"{text}\n", encoding="utf-8")
        return 0
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    names = [name for name in recorded | found if recorded.get(name) != found.get(name)]
    for name in names:
        print("differs:", name)
    return 1 if names else 0


if __name__ == "__main__":
    sys.exit(main())
