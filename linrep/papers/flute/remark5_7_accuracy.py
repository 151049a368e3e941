"""Remark 5.7: the accuracy that tells neighbouring singular values apart."""

from __future__ import annotations

from fractions import Fraction

from linrep.claims import Cases, Readings, statement
from linrep.claims.evidence import PROVED


@statement(
    "flute.remark5.7.accuracy",
    place="Remark 5.7",
    latex=r"|\hat\sigma_k - \sigma_k|, |\hat\sigma_{k+1} - \sigma_{k+1}| \le \tfrac\Delta2"
    r" \Rightarrow \hat\sigma_{k+1} \le \hat\sigma_k;\quad \text{not with more}",
    plain="Estimates within Delta/2 preserve the order of the k-th and the next singular value, "
    "and less accurate ones may not.",
    negative_control={"share": Fraction(6, 10)},
    stronger={"share": 0},
)
def accuracy(budget, rng, *, share=Fraction(1, 2)):
    """Move both values towards each other as far as allowed, and by 1 % more, exactly.

    Delta is twice the gap between singular values of Phi, and the gap between eigenvalues lambda*.
    """
    names = {"eigenvalues lambda*": 1, "singular values of Phi": 2}
    parts: dict[str, list] = {name: [] for name in names}
    beyond: list = []
    for upper in (Fraction(1), Fraction(3, 2), Fraction(100)):
        for lower in (Fraction(0), upper / 2, upper * Fraction(99, 100)):
            for name, over in names.items():
                moved = share * over * (upper - lower)
                where = {"sigma_k": float(upper), "sigma_k+1": float(lower)}
                parts[name].append((lower + moved, upper - moved, where))
                more = moved * Fraction(101, 100)
                beyond.append((upper - more, lower + more, {**where, "gap": name}))
    yield Readings(
        [
            Cases(cases, name=name, quantity="estimate of sigma_k+1", strength=PROVED)
            for name, cases in parts.items()
        ],
        name="order kept",
        phrase="to distinguish sigma_k and sigma_{k+1}, Delta/2 accurate",
    )
    yield Cases(
        beyond, name="order lost with more", quantity="estimate of sigma_k", strength=PROVED
    )
