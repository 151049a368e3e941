"""Data, partitions and names that are refused, each in a line that says what is wrong."""

from functools import partial

import numpy as np
import pytest

from linrep.deep.data import Dataset, FederatedData
from linrep.deep.partitions import (
    affine_shifts,
    alphabets,
    dirichlet,
    hold_out,
    log_normal,
    natural,
    partition,
    permuted_labels,
    shards,
    super_groups,
)
from linrep.deep.readers import load
from tests.deep.test_data import IMAGES, LABELS, federated
from tests.deep.test_partitions import COARSE, characters, dataset, pictures, written
from tests.tools import complaint

WRONG = (ValueError, TypeError)


def samples(**others):
    return partial(Dataset, **{"x": IMAGES, "y": LABELS, **others})


def clients(**others):
    return partial(federated, **others)


def lists(*clients):
    return partial(FederatedData.from_lists, clients)


CALLS = [
    (samples(x=IMAGES[:, 0]), "x must have shape (N, C, H, W)"),
    (samples(x=np.arange(6)), "x must have shape (N, ...)"),
    (samples(x=np.full((6, 1), np.nan)), "x must be finite"),
    (samples(x=np.full((6, 1), -1)), "negative tokens"),
    (samples(x=np.ones((6, 1, 1), int)), "x must have shape (N, L)"),
    (samples(x=np.ones((6, 0))), "empty samples"),
    (samples(x=np.full((6, 1), "a")), "uint8 images, integer tokens or floats"),
    (samples(y=LABELS[:5]), "y must have shape (6,)"),
    (samples(y=np.ones(6)), "y must be a list of integers"),
    (samples(y=[-1] * 6), "y must be between 0 and"),
    (samples(classes=2), "y must be between 0 and 1, got 2"),
    (samples(x_test=IMAGES), "y_test must have shape (6,), got (0,)"),
    (samples(y_test=LABELS), "y_test must have shape (0,), got (6,)"),
    (samples(x_test=IMAGES[:, :1], y_test=LABELS), "x_test must hold uint8 samples of shape"),
    (samples(owner_test=LABELS), "only together with owner"),
    (samples(owner=LABELS[:2]), "owner must have shape (6,)"),
    (samples(coarse=[0, 0]), "coarse must have shape (3,)"),
    (samples(embedding=np.ones((3, 2))), "embedding is for integer tokens"),
    (partial(samples()().restrict, [0, 3]), "between 0 and 2, got 3"),
    (partial(samples()().restrict, [1, 1]), "a class twice"),
    (partial(clients()().batches, 0), "batch_size"),
    (clients(test=([4],)), "one array for each client, got 2 and 1"),
    (clients(train=(), test=()), "one array for each client, got 0 and 0"),
    (clients(train=([0], [])), "client 1 has none"),
    (clients(train=([0], [6])), "train and test must be between 0 and 5, got 6"),
    (clients(train=([0], [0.5])), "list of integers for each client"),
    (clients(train=([0, 1], [1])), "sample 1 occurs 2 times"),
    (clients(test=([0], [])), "sample 0 occurs 2 times"),
    (clients(mean=[0.0] * 3), "mean and std must be given together"),
    (clients(mean=[0.0], std=[1.0]), "mean must have shape (3)"),
    (clients(mean=[0.0] * 3, std=[1.0, 1.0, 0.0]), "std must be greater than 0"),
    (clients(x=np.ones((6, 1)), mean=[0.0], std=[1.0]), "for images of type uint8"),
    (clients(side=np.ones((3, 1))), "side must have shape (2, any)"),
    (clients(groups=[0]), "groups must have shape (2,)"),
    (clients(x=np.full((6, 1), 3), embedding=np.ones((3, 2))), "got 3 rows and token 3"),
    (lists(), "one shape and type, got none"),
    (lists((IMAGES, LABELS)), "client 0 has 2 parts"),
    (lists((IMAGES, LABELS[:2], [], [])), "got 6 samples and labels of shape (2,)"),
    (lists((IMAGES, np.ones((6, 2)), [], [])), "got 6 samples and labels of shape (6, 2)"),
    (lists((IMAGES, LABELS, IMAGES[:, :1], LABELS)), "one shape and type, got uint8"),
    (lists(([], [], IMAGES, LABELS)), "client 0 has none"),
    (lambda: shards(dataset([5, 5]), 6, 2), "there are 2 classes of 5 to 5 samples"),
    (lambda: shards(dataset([5, 0]), 1, 2), "2 shards cannot be cut: there are 1 classes"),
    (lambda: shards(dataset([5, 5]), 2, 3), "classes_per_client must be between 1 and 2"),
    (lambda: shards(dataset([5, 5]), 0, 2), "n must be at least 1"),
    (lambda: shards(dataset([9, 9], [3, 9]), 4, 2), "a class has 4 shards"),
    (lambda: partition(dataset([9]), "halves", 3), "partition must be one of 'shards'"),
    (lambda: dirichlet(dataset([2], [0]), 3, 1.0), "n must be at most 2"),
    (lambda: dirichlet(dataset([9]), 3, 0.0), "alpha must be greater than 0"),
    (lambda: dirichlet(dataset([9]), 3, 1.0, train_share=1.5), "train_share must be at most 1"),
    (lambda: permuted_labels(dataset([9]), 3, 4), "groups must be between 1 and 3, got 4"),
    (lambda: super_groups(dataset([9, 9]), 3), "without coarse classes"),
    (lambda: super_groups(dataset([9, 9]), 3, 3), "groups must be between 1 and 2, got 3"),
    (lambda: super_groups(COARSE, 2), "n must be at least 3, the number of groups, got 2"),
    (lambda: super_groups(dataset([1, 1], [0, 0]), 4, 2), "each of its 2 clients, it has 1"),
    (lambda: alphabets(dataset([9]), 3), "must have an owner for each sample"),
    (lambda: alphabets(characters(), 2), "n must be at least 3, the number of alphabets"),
    (lambda: alphabets(characters(), 6), "must be at most 10 with 2 clients for an alphabet"),
    (lambda: affine_shifts(dataset([9]), 3), "must hold square uint8 images"),
    (lambda: affine_shifts(pictures(), 25), "n must be between 1 and 24"),
    (lambda: log_normal(dataset([60] * 5), 3, smallest=200), "lower n, location or smallest"),
    (lambda: hold_out(shards(dataset([9]), 1, 1), -0.1), "share must be at least 0"),
    (lambda: natural(dataset([9])), "must have an owner for each sample"),
    (lambda: natural(written([4, 4]), min_samples=5), "min_samples = 5 leaves no client"),
    (lambda: natural(written([4, 4]), 3), "n must be between 1 and 2, got 3"),
    (lambda: load("femnist", "somewhere", download=True), "torchvision has no such"),
    (lambda: load("imagenet"), "'digits', 'cifar10'"),
    (lambda: load("imagenet"), "or a path to one, got 'imagenet'"),
    *((partial(load, name), f"folder must be given for {name!r}") for name in (
        "cifar10", "cifar100", "mnist", "omniglot", "femnist", "sent140",
    )),
]  # fmt: skip


@pytest.mark.parametrize(("call", "words"), CALLS, ids=range(len(CALLS)))
def test_a_call_is_refused_in_a_line(call, words, monkeypatch):
    monkeypatch.delenv("LINREP_DATA", raising=False)
    with complaint(WRONG, words):
        call()
