"""Clients' functions of which each belongs to a cluster."""

from __future__ import annotations

from linrep.problems import personal
from linrep.simulation.families import Family, parameters_of


def _clustered(parameters, settings, algorithm, rng):
    """Return clients' functions of which each belongs to a cluster."""
    others = {name: value for name, value in settings.items() if name != "m"}
    return personal.clustered(**parameters, m=settings.get("m"), rng=rng), others


FAMILY = Family(
    parameters=tuple(name for name in parameters_of(personal.clustered) if name != "m"),
    data=("m",),
    sizes=("n", "d", "clusters"),
    constraints={"clusters <= n": "clusters > n: a cluster without clients"},
    make=_clustered,
    documented=(personal.clustered,),
)
