"""What no estimator of the representation can be better than, and one that is nearer to it."""

import linrep as lr
from linrep.claims import Fact, Mean, Paired, statement
from linrep.theory import minimax
from linrep_tjj.theorem3 import squared_sines, tasks

ESTIMATORS = (lr.method_of_moments, lr.cross_moments, lr.alternating_least_squares, lr.altgdmin)


@statement(
    "tjj.lower_bound",
    place="Derived here",
    latex=r"\inf_{\hat B}\sup_{B, W} \mathbb{E}\,\mathrm{dist}_F^2(\hat B, B) \ge "
    r"c\,\frac{\sigma^2 (d - k) k}{\nu N}",
    plain="No estimator on a list has a mean squared distance below the one that every estimator "
    "has in its worst case.",
    negative_control={"factor": 4.0},
    stronger={"factor": 1},
)
def lower_bound(budget, rng, *, factor=1.0):
    """Compare four estimators, none of which prefers a representation to its rotations."""
    truth, m = tasks(40, 10, 2, 0.5, rng), 40
    bound = minimax.squared_chordal(truth, m)
    draws = [truth.draw(m, rng=rng) for _ in range(budget(30, 200))]
    means = {}
    for estimator in ESTIMATORS:
        found = [squared_sines(truth, estimator(data, k=2).state["B"]) for data in draws]
        means[estimator.__name__] = sum(found) / len(found)
        yield Mean(found, at_least=factor * bound, name=estimator.__name__.replace("_", " "))
    best = min(means, key=means.get)
    yield Fact(f"mean error of {best.replace('_', ' ')} over the bound", means[best] / bound)


@statement(
    "tjj.comparison",
    place="Derived here",
    latex=r"\mathrm{median}\,\frac{\mathrm{dist}_F^2(\hat B_{\mathrm{ALS}}, B)}"
    r"{\mathrm{dist}_F^2(\hat B_{\mathrm{MoM}}, B)} < 1",
    plain="On the same samples alternating least squares is mostly nearer to the representation "
    "than the method of moments.",
    negative_control={"swapped": True},
)
def comparison(budget, rng, *, swapped=False):
    """Pair both by tasks and samples."""
    pairs = []
    for _ in range(budget(30, 100)):
        truth = tasks(40, 10, 2, 0.5, rng)
        data = truth.draw(40, rng=rng)
        ends = [
            squared_sines(truth, method(data, k=2).state["B"])
            for method in (lr.alternating_least_squares, lr.method_of_moments)
        ]
        pairs.append(ends[::-1] if swapped else ends)
    yield Paired(*zip(*pairs, strict=True))
