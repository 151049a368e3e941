import numpy as np
import pytest

from linrep.papers.perfedsi import rounds
from linrep.problems import SideInformationCompletion
from linrep.theory import perfedsi as theory
from tests.reference import perfedsi as naive


def some_runs(rng, count=3, n=5, d=4, p=3, k=2):
    truths = [SideInformationCompletion.random(n=n, d=d, p=p, k=k, rng=rng) for _ in range(count)]
    starts = [
        rounds.start(kind, truth, rng) for kind, truth in zip(rounds.STARTS, truths, strict=True)
    ]
    return truths, rounds.Runs.of(truths, starts)


def test_walkers_take_the_naive_steps(fresh_rng):
    truths, runs = some_runs(fresh_rng)
    who, items = rounds.draw(fresh_rng, runs, 4, 3)
    ends = [(U.copy(), V.copy()) for U, V in rounds.walk(runs, who, items, 0.2)]
    assert len(ends) == 4
    for run, truth in enumerate(truths):
        for walker, client in enumerate(who[run]):
            U, V, z = runs.U[run], runs.V[run], truth.Z[client]
            for s, item in enumerate(items[run, walker]):
                np.testing.assert_allclose(ends[s][0][run, walker], U, atol=1e-12)
                np.testing.assert_allclose(ends[s][1][run, walker], V, atol=1e-12)
                U, V = naive.local_step(U, V, item, truth.M[item] @ z, z, 0.2)
            np.testing.assert_allclose(ends[-1][0][run, walker], U, atol=1e-12)


def test_participants_walk_as_their_clients_do_unless_drawn_twice(fresh_rng):
    _, runs = some_runs(fresh_rng, n=2)
    who, items = rounds.draw(fresh_rng, runs, 6, 100)  # so long are no two walks alike by chance
    assert (who[:, :2] == [0, 1]).all()
    for clients, walks in zip(who[:, 2:], items, strict=True):
        for j, client in enumerate(clients):
            same = (walks[2 + j] == walks[client]).all()
            assert same == (client not in clients[:j])


def test_rounds_are_the_naive_ones_with_what_they_need(fresh_rng):
    truths, runs = some_runs(fresh_rng)
    seed = int(fresh_rng.integers(2**31))
    end, needs = rounds.play(
        runs, np.random.default_rng(seed), rounds=1, step_size=0.2, participants=2, local_steps=3
    )
    who, items = rounds.draw(np.random.default_rng(seed), runs, 2, 3)
    assert needs.norms.shape == (1, 4, 3)
    for run, truth in enumerate(truths):
        seen = [
            [(item, truth.M[item] @ truth.Z[client]) for item in walk]
            for client, walk in zip(who[run, 5:], items[run, 5:], strict=True)
        ]
        U, V, _ = naive.round_of(runs.U[run], runs.V[run], who[run, 5:], seen, truth.Z, 0.2)
        np.testing.assert_allclose(end.U[run], U, atol=1e-12)
        np.testing.assert_allclose(end.V[run], V, atol=1e-12)
        loss = naive.loss(runs.U[run], runs.V[run], truth.M, truth.Z)
        everyone = (np.repeat(A[None], 5, axis=0) for A in (runs.U[run], runs.V[run]))
        first = theory.regularity(truth, *everyone, loss=loss, c_0=np.inf)
        for name in first._fields:
            assert getattr(needs, name)[0, 0, run] == pytest.approx(getattr(first, name))


def test_rounds_that_are_not_looked_at_are_the_same(fresh_rng):
    _, runs = some_runs(fresh_rng)
    settings = {"rounds": 7, "step_size": 0.1, "participants": 3, "local_steps": 2}
    end, needs = rounds.play(runs, np.random.default_rng(3), **settings)
    other, some = rounds.play(runs, np.random.default_rng(3), every=3, **settings)
    for found, expected in zip(
        (*other, *some), (*end, *(part[::3] for part in needs)), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
