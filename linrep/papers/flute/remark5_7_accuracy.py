"""Remark 5.7: the accuracy that tells neighbouring singular values apart."""

from fractions import Fraction as Q

from linrep.claims import Readings, statement
from linrep.claims.evidence import PROVED
from linrep.claims.laws import at_most, measured


@statement(
    "flute.remark5.7.accuracy",
    place="Remark 5.7",
    latex=r"|\hat\sigma_k - \sigma_k|, |\hat\sigma_{k+1} - \sigma_{k+1}| \le \tfrac\Delta2"
    r" \Rightarrow \hat\sigma_{k+1} \le \hat\sigma_k;\quad \text{not with more}",
    plain="Estimates within Delta/2 preserve the order of the k-th and the next singular value, "
    "and less accurate ones may not.",
    negative_control={"share": Q(6, 10)},
    stronger={"share": 0},
)
def accuracy(budget, rng, *, share=Q(1, 2)):
    """Move both values towards each other as far as allowed, and by 1 % more, exactly.

    Delta is twice the gap between singular values of Phi, and the gap between eigenvalues lambda*.
    """

    def found():
        for upper in (Q(1), Q(3, 2), Q(100)):
            for lower in (Q(0), upper / 2, upper * Q(99, 100)):
                for name, over in (("eigenvalues lambda*", 1), ("singular values of Phi", 2)):
                    moved = share * over * (upper - lower)
                    where = {"sigma_k": float(upper), "sigma_k+1": float(lower)}
                    yield name, at_most(lower + moved, upper - moved), where
                    more = at_most(upper - moved * Q(101, 100), lower + moved * Q(101, 100))
                    yield "order lost with more", more, {**where, "gap": name}

    eigenvalues, lost, values = measured(found(), strength=PROVED).values()
    phrase = "to distinguish sigma_k and sigma_{k+1}, Delta/2 accurate"
    yield Readings([eigenvalues, values], name="order kept", phrase=phrase)
    yield lost
