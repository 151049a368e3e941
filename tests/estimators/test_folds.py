"""Folds within clients."""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("sklearn")

from linrep.estimators import ClientKFold

CLIENT = np.random.default_rng(0).permutation(
    np.repeat(["one", "two", "seven", "thirty"], [1, 2, 7, 30])
)


def test_every_row_but_a_clients_only_one_is_held_out_once():
    folds = list(ClientKFold(4, random_state=0).split(CLIENT, groups=CLIENT))
    assert len(folds) == ClientKFold(4).get_n_splits() == 4
    rows = np.arange(len(CLIENT))
    held_out = np.concatenate([test for _, test in folds])
    assert sorted(held_out) == rows[CLIENT != "one"].tolist()
    for train, test in folds:
        assert sorted([*train, *test]) == rows.tolist()
        assert set(CLIENT[train]) == set(CLIENT)
        counts = pd.Series(CLIENT[test]).value_counts()
        assert counts["thirty"] in (7, 8)
        assert counts["seven"] in (1, 2)


def test_folds_are_random_and_an_integer_repeats_them():
    def held_out(random_state):
        folds = ClientKFold(3, random_state=random_state).split(CLIENT, groups=CLIENT)
        return [test.tolist() for _, test in folds]

    assert held_out(1) == held_out(1) != held_out(2)
    rng = np.random.RandomState(0)
    assert held_out(rng) != held_out(rng)


@pytest.mark.parametrize(
    ("splits", "groups", "named"),
    [
        (3, None, "groups"),
        (3, CLIENT[1:], "groups"),
        (1, CLIENT, "n_splits"),
        (2.5, CLIENT, "n_splits"),
        (99, CLIENT, "n_splits"),
    ],
)
def test_what_cannot_be_divided(splits, groups, named):
    with pytest.raises((TypeError, ValueError), match=named):
        next(ClientKFold(splits).split(CLIENT, groups=groups))


def test_groups_in_another_order_are_refused():
    groups = pd.Series(list("aabbb"), index=[3, 1, 4, 0, 2])
    folds = ClientKFold(2, random_state=0)
    assert len(list(folds.split(groups.to_frame(), groups=groups))) == 2
    with pytest.raises(ValueError, match="groups has the rows of X in another order"):
        next(folds.split(groups.to_frame(), groups=groups.sort_index()))
