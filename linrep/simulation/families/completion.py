"""Inductive matrix completion: a matrix of which entries are seen, with side information."""

from __future__ import annotations

from linrep._lib.outlines import outline
from linrep.simulation.families import Family, parameters_of, takes

_PROBLEM = "linrep.problems.completion:SideInformationCompletion"
_DRAWN = outline(f"{_PROBLEM}.random")


def _completion(parameters, settings, algorithm, rng):
    """Return a matrix of which every step sees a fresh entry, or entries of it."""
    import numpy as np

    from linrep._lib import validation as check
    from linrep.problems import SideInformationCompletion

    n, d, p, k = (parameters[name] for name in FAMILY.sizes)
    k = check.integer("k", k, minimum=1, maximum=min(d, p))
    kappa = check.real("kappa", parameters.pop("kappa", 1.0), minimum=1.0, maximum=check.LARGEST)
    truth = SideInformationCompletion.random(
        **parameters, singular_values=np.geomspace(kappa, 1.0, k), rng=rng
    )
    given = {name: settings[name] for name in FAMILY.data if name in settings}
    with_side = settings.get("with_side", True)
    if not isinstance(with_side, bool):
        raise TypeError(f"with_side must be true or false, got {with_side!r}")
    used = (*FAMILY.data, "with_side")
    settings = {name: value for name, value in settings.items() if name not in used}
    if takes(algorithm, "k"):
        settings["k"] = k
    if not given:
        if not takes(algorithm, "local_steps"):
            raise ValueError("per_client, entries or oversampling must be given")
        return truth if with_side else truth.without_side_information(), settings
    if len(given) > 1:
        raise ValueError(f"only one of {', '.join(given)} may be given")
    if "oversampling" in given:
        rate = check.real("oversampling", given.pop("oversampling"), above=0.0)
        given["entries"] = max(1, round(rate * k * (d + p - k)))
        if given["entries"] > n * d:
            raise ValueError(f"oversampling must leave at most n d = {n * d} entries, got {rate:g}")
    seen = truth.observe(**given, rng=rng)
    return seen if with_side else seen.without_side_information(), settings


FAMILY = Family(
    parameters=tuple(
        "kappa" if name == "singular_values" else name for name in parameters_of(_DRAWN)
    ),
    data=("per_client", "entries", "oversampling"),
    options=("with_side",),
    sizes=("n", "d", "p", "k"),
    constraints={
        "k <= d": "k > d: the matrix cannot have this rank",
        "k <= p": "k > p: side information of fewer dimensions than the rank",
    },
    make=_completion,
    documented=(_DRAWN, outline(f"{_PROBLEM}.observe"), outline(_PROBLEM)),
    descriptions={
        "kappa": "Ratio of the matrix's largest and smallest singular value",
        "oversampling": "Entries over degrees of freedom, k(d + p - k)",
        "with_side": "false hides the side information of the same entries",
    },
)
