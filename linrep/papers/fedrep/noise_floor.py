"""The distance at which runs on noisy labels settle."""

import math

import numpy as np

from linrep import algorithms
from linrep.claims import Exponent, Fact, statement
from linrep.problems import SharedRepresentation


def plateaus(rng, runs, batches, *, s, d, m, n):
    """Return the distances that runs with label noise settle at, kappa = 1."""
    fixed, found = batches == "fixed", []
    for _ in range(runs):
        truth = SharedRepresentation.random(
            n=n, d=d, k=2, condition=1.0, noise=s, store=fixed, rng=rng
        )
        trace = algorithms.fedrep(
            truth, m=m, rounds=60 if fixed else 120, batches=batches, start=min(0.5, 20.0 * s),
            rng=rng,
        )  # fmt: skip
        late = trace["distance"][-1:] if fixed else trace["distance"][60:]
        found.append(float(np.sqrt(np.mean(late**2))))
    return np.array(found)


def typical_norm(rows, columns, rng):
    """Return the mean largest singular value of standard normal matrices, about sqrt + sqrt."""
    return float(np.mean(np.linalg.norm(rng.standard_normal((100, rows, columns)), 2, axis=(1, 2))))


@statement(
    "fedrep.noise_floor",
    own=True,
    place="Section 5.1 (noise); no statement, derived here",
    latex=r"\text{fresh batches: } \mathrm{dist} \approx s\,\frac{\|N\|_2}{\sqrt{nm}}"
    r"\sqrt{\frac{\eta}{2 - \eta(1 - k/m)}}; \quad\text{fixed data: } "
    r"\mathrm{dist} \approx s\,\frac{\|N\|_2}{\sqrt{n(m - k)}}, \quad N \in"
    r" \mathbb R^{(d-k)\times k} \text{ normal, } \|N\|_2 \approx \sqrt{d - k} + \sqrt k",
    plain="With label noise s the distance settles at a value of the order of s sqrt(d/(nm)).",
    stronger={"noise_power": 0, "dimension_power": 0, "sample_power": 0, "client_power": 0},
    negative_control={"noise_power": 2.0},
)
def noise_floor(
    budget, rng, *, noise_power=1.0, dimension_power=0.5, sample_power=-0.5, client_power=-0.5
):
    """Measure plateaus against noise, d, m (m - k on fixed data) and n.

    kappa = 1 and s small. Each coordinate of B outside span(B*) follows b <- (1 - eta') b + e,
    eta' = eta (1 - k/m), and e of variance eta^2 s^2 (1 - k/m)/(nm): on fresh batches its
    stationary variance is eta s^2/(nm (2 - eta')). On fixed data e is the same every round, and b
    settles at e/eta', of variance s^2/(n (m - k)).
    """
    powers = {"s": noise_power, "d": dimension_power, "m": sample_power, "n": client_power}
    noises, over = (1e-6, 1e-4, 1e-2), []
    for batches, label, centre, lines in (
        (
            "gram", "fresh batches", {"s": 1e-3, "d": 1000, "m": 10000, "n": 20},
            {"s": (noises, {}), "d": ((100, 1000, 10000), {}),
             "m": ((4, 20, 100), {"n": 400, "d": 20}), "n": ((10, 40, 160), {})},
        ),
        (
            "fixed", "fixed data", {"s": 1e-3, "d": 10, "m": 10, "n": 100},
            {"s": (noises, {}), "d": ((10, 40, 160), {"n": 400, "m": 20}),
             "m": ((4, 10, 34), {"n": 200}), "n": ((50, 200, 800), {})},
        ),
    ):  # fmt: skip
        for name, (values, changed) in lines.items():
            samples, x = [], []
            for value in values:
                cell = centre | changed | {name: value}
                d, m, n = cell["d"], cell["m"], cell["n"]
                cost = 60 * n * (m * d if batches == "fixed" else 20)
                runs = int(np.clip(budget(4e7, 8e8, 8e9) / cost, 20, budget(20, 200, 600)))
                samples.append(plateaus(rng, runs, batches, **cell))
                spread = typical_norm(d - 2, 2, rng)
                formula = cell["s"] * spread / math.sqrt(n * (m - 2))
                if batches == "gram":
                    formula *= math.sqrt((1 - 2 / m) * 0.25 / (2.0 - 0.25 * (1 - 2 / m)))
                over.append(np.mean(samples[-1]) / formula)
                x.append({"d": spread**2, "m": m - 2.0 * (batches == "fixed")}.get(name, value))
            yield Exponent(
                x, samples, equals=powers[name], along=name, of="plateau", name=f"{label}, {name}",
                setting=centre,
            )  # fmt: skip
    yield Fact("smallest plateau over its formula", min(over))
    yield Fact("largest plateau over its formula", max(over))
