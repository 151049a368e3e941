"""Statements of `linrep.papers.pflmf.sentences`."""

from fractions import Fraction

import numpy as np
import pytest

import linrep as lr
from linrep.algorithms import personalized
from linrep.papers.pflmf import sentences
from linrep.papers.pflmf.counterexamples import fedavg_uniform, table1_comparable
from linrep.papers.pflmf.table1_2 import TABLE_1


def test_fedavg_is_optimal_for_clients_whose_data_differ():
    assert fedavg_uniform.sides() == (1, 0)
    assert fedavg_uniform.sides((1, 0)) == (0, 0)
    assert fedavg_uniform.sides((1, 1)) == (1, Fraction(1, 2))
    data = lr.ClientData.from_list([([[1.0]], [0.0]), ([[2.0]], [0.0])])
    problem = lr.LeastSquaresObjectives(data)
    models = [run(problem).state["theta"] for run in (personalized.average, personalized.local)]
    np.testing.assert_allclose(models[0], models[1], atol=1e-12)


@pytest.mark.parametrize("coupled", [0, 1])
def test_the_objective_is_that_of_the_package(coupled):
    U, V = np.array([[1.0, 2.0], [3.0, 1.0]]), np.array([[1.0, 1.0], [2.0, -1.0], [1.0, 3.0]])
    H = np.broadcast_to([[1.0, coupled], [coupled, 1.0]], (3, 2, 2))
    problem = lr.QuadraticObjectives(np.zeros((3, 2)), np.array(H))
    assert problem.value(V @ U.T) == float(sentences.psi(U.tolist(), V.tolist(), coupled))


def test_only_uncoupled_coordinates_separate_rows():
    assert sentences.mixed("rows of U", 0) == 0 != sentences.mixed("rows of U", 1)
    assert sentences.mixed("v_i", 1) == 0


def test_the_accuracies_apart_are_the_printed_ones():
    spread = TABLE_1["r = 15"][0][0] - TABLE_1["FLUTE"][0][0]
    assert table1_comparable.sides() == (spread, 10)
