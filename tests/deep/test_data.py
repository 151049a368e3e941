import dataclasses

import numpy as np

from linrep.deep.data import Dataset, FederatedData, channels_first
from linrep.figures.networks import most_common

IMAGES = np.arange(6 * 3 * 2 * 2, dtype=np.uint8).reshape(6, 3, 2, 2)
LABELS = [0, 1, 2, 0, 1, 2]


def federated(**others):
    fields = {"x": IMAGES, "y": LABELS, "train": ([0, 2], [1]), "test": ([4], []), "classes": 3}
    return FederatedData(**{**fields, **others})


def test_a_dataset_keeps_its_samples_in_one_type_each():
    assert Dataset(IMAGES, LABELS).x.dtype == np.uint8
    for kind in (np.float32, np.float64):
        assert Dataset(np.ones((2, 5), kind), [0, 0]).x.dtype == kind
    assert Dataset(np.ones((2, 5), np.float16), [0, 0]).x.dtype == np.float32
    assert Dataset(np.ones((2, 5), np.float32), [0, 0], np.ones((1, 5)), [0]).all_x.dtype == float
    assert Dataset(np.ones((2, 5), np.int32), [0, 0]).x.dtype == np.int64
    data = Dataset(IMAGES, np.array(LABELS, np.uint8))
    assert (data.y.dtype, data.classes, data.x_test.shape) == (np.int64, 3, (0, 3, 2, 2))


def test_the_number_of_classes_counts_test_labels_too():
    assert Dataset(IMAGES, LABELS, IMAGES[:1], [6]).classes == 7


def test_classes_are_kept_in_the_order_given():
    data = Dataset(
        IMAGES, LABELS, IMAGES[:2], [2, 1], owner=[5, 6, 7, 8, 9, 0], owner_test=[1, 2],
        coarse=[0, 1, 0],
    )  # fmt: skip
    kept = data.restrict([2, 0])
    np.testing.assert_array_equal(kept.x, IMAGES[[0, 2, 3, 5]])
    assert (kept.y.tolist(), kept.y_test.tolist(), kept.classes) == ([1, 0, 1, 0], [0], 2)
    assert (kept.owner.tolist(), kept.owner_test.tolist()) == ([5, 7, 8, 0], [1])
    assert kept.coarse.tolist() == [0, 0]


def test_batches_are_those_of_an_average_client():
    data = FederatedData(np.zeros((9, 2)), np.zeros(9, int), [range(8), [8]], [[], []])
    assert [data.batches(size) for size in (1, 2, 4, 5, 100)] == [5, 3, 2, 1, 1]


def test_clients_have_sizes_and_places():
    data = federated()
    assert data.n == 2
    assert data.sizes.tolist() == [2, 1]
    assert all(part.dtype == np.int64 for part in (*data.train, *data.test))


def test_images_are_normalised_by_the_moments_of_training_images():
    data = federated()
    pixels = IMAGES[[0, 2, 1]] / 255.0
    np.testing.assert_allclose(data.mean, pixels.mean(axis=(0, 2, 3)), rtol=1e-6)
    np.testing.assert_allclose(data.std, pixels.std(axis=(0, 2, 3)), rtol=1e-6)
    assert data.mean.dtype == data.std.dtype == np.float32


def test_a_constant_channel_is_not_divided_by_nothing():
    data = federated(x=np.full((6, 1, 2, 2), 7, np.uint8))
    assert data.std.tolist() == [1.0]


def test_moments_given_stay_and_other_kinds_have_none():
    data = federated(mean=[0.5] * 3, std=[1.0, 2.0, 3.0])
    assert dataclasses.replace(data, train=([0], [1])).std.tolist() == [1.0, 2.0, 3.0]
    assert federated(x=np.ones((6, 4))).mean is None


def test_lists_of_clients_are_put_together():
    clients = [
        (IMAGES[:2], LABELS[:2], IMAGES[2:3], LABELS[2:3]),
        (IMAGES[3:], LABELS[3:], [], []),
    ]
    data = FederatedData.from_lists(clients, name="own")
    assert (data.n, data.classes, data.name) == (2, 3, "own")
    for client, (x_train, y_train, x_test, y_test) in enumerate(clients):
        np.testing.assert_array_equal(data.x[data.train[client]], x_train)
        np.testing.assert_array_equal(data.y[data.train[client]], y_train)
        assert data.test[client].size == len(x_test)
        np.testing.assert_array_equal(data.y[data.test[client]], y_test)


def test_channels_come_first():
    images = np.arange(2 * 4 * 5 * 3, dtype=np.uint8).reshape(2, 4, 5, 3)
    first = channels_first(images)
    assert first.shape == (2, 3, 4, 5)
    np.testing.assert_array_equal(first[1, 2], images[1, :, :, 2])
    assert channels_first(first) is first
    assert channels_first(images[..., 0]).shape == (2, 1, 4, 5)
    assert channels_first(np.ones((2, 4, 5))).shape == (2, 4, 5)


def test_the_largest_classes_are_those_with_most_samples_of_both_kinds():
    data = Dataset(np.ones((6, 1)), [0, 1, 1, 3, 3, 3], np.ones((3, 1)), [0, 0, 2], classes=5)
    assert most_common(data, range(5), 2).tolist() == [0, 3]
    assert most_common(data, [4, 2, 1], 2).tolist() == [1, 2]
    assert data.restrict(most_common(data, range(5), 3)).classes == 3
