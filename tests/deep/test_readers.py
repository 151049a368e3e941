"""Files are written here as their authors write them, in miniature."""

import gzip
import json
import os
import pickle
import struct
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from linrep.deep import readers
from linrep.deep.readers import load

CIFAR10 = [*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"]


def pixels(count, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (count, 3072), dtype=np.uint8)


class Old:
    """Pickles as Python 2 writes them, in protocol 2: strings of bytes, arrays of numpy.core."""

    @staticmethod
    def string(text):
        return b"T" + struct.pack("<I", len(text)) + text

    @staticmethod
    def array(x):
        kind = b"cnumpy\ndtype\n" + Old.string(b"u1") + b"K\x00K\x01\x87R"
        kind += b"(K\x03" + Old.string(b"|") + b"NNN" + 2 * b"J\xff\xff\xff\xff" + b"K\x00tb"
        empty = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85"
        empty += Old.string(b"b") + b"\x87R"
        shape = b"".join(b"M" + struct.pack("<H", size) for size in x.shape) + b"\x86"
        return empty + b"(K\x01" + shape + kind + b"\x89" + Old.string(x.tobytes()) + b"tb"

    @staticmethod
    def batch(x, **labels):
        items = Old.string(b"data") + Old.array(x)
        for key, values in labels.items():
            numbers = b"".join(b"K" + bytes([value]) for value in values)
            items += Old.string(key.encode()) + b"](" + numbers + b"e"
        return b"\x80\x02}(" + items + b"u."


def write_cifar10(folder, dump):
    folder.mkdir(parents=True)
    for seed, file in enumerate(CIFAR10):
        (folder / file).write_bytes(dump(pixels(4, seed), labels=[seed, 9, 0, 1]))


def modern(protocol):
    return lambda x, **labels: pickle.dumps({"data": x, **labels}, protocol=protocol)


def one_line(error, call):
    with pytest.raises(error) as caught:
        call()
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_digits_are_split_by_class_and_seed():
    data = load("digits")
    assert data.x.shape == (1352, 1, 8, 8)
    assert data.x_test.shape == (445, 1, 8, 8)
    assert (data.x.dtype, data.x.max(), data.classes) == (np.uint8, 255, 10)
    counts, held = np.bincount(data.y), np.bincount(data.y_test)
    np.testing.assert_array_equal(held, (counts + held) // 4)
    np.testing.assert_array_equal(load("digits").x, data.x)
    assert not np.array_equal(load("digits", rng=1).x, data.x)


@pytest.mark.parametrize("dump", [Old.batch, *(modern(number) for number in range(6))])
def test_cifar10_python_batches_of_any_protocol(tmp_path, dump):
    write_cifar10(tmp_path / "cifar-10-batches-py", dump)
    data = load("cifar10", tmp_path)
    assert (data.name, data.classes, data.x.shape) == ("cifar10", 10, (20, 3, 32, 32))
    np.testing.assert_array_equal(data.x[4:8].reshape(4, -1), pixels(4, 1))
    np.testing.assert_array_equal(data.x_test.reshape(4, -1), pixels(4, 5))
    assert data.y[:5].tolist() == [0, 9, 0, 1, 1]
    assert data.y_test.tolist() == [5, 9, 0, 1]


def test_cifar10_binary_batches(tmp_path):
    for seed, file in enumerate(CIFAR10):
        records = np.c_[np.array([seed, 9, 0, 1], np.uint8), pixels(4, seed)]
        (tmp_path / f"{file}.bin").write_bytes(records.tobytes())
    write_cifar10(tmp_path / "python", Old.batch)
    binary, python = load("cifar10", tmp_path), load("cifar10", tmp_path / "python")
    for field in ("x", "y", "x_test", "y_test"):
        np.testing.assert_array_equal(getattr(binary, field), getattr(python, field))


@pytest.mark.parametrize("binary", [False, True])
def test_cifar100_has_coarse_classes(tmp_path, binary):
    folder = tmp_path / ("cifar-100-binary" if binary else "cifar-100-python")
    folder.mkdir()
    for seed, file in enumerate(["train", "test"]):
        fine, coarse = np.array([3, 99, 50, seed], np.uint8), np.array([7, 19, 0, 1], np.uint8)
        if binary:
            content = np.c_[coarse, fine, pixels(4, seed)].tobytes()
        else:
            content = Old.batch(pixels(4, seed), fine_labels=fine, coarse_labels=coarse)
        (folder / (f"{file}.bin" if binary else file)).write_bytes(content)
    data = load("cifar100", tmp_path)
    assert data.y.tolist() == [3, 99, 50, 0]
    assert data.y_test.tolist() == [3, 99, 50, 1]
    assert data.coarse[[3, 99, 50, 0, 1]].tolist() == [7, 19, 0, 1, 1]
    np.testing.assert_array_equal(data.x_test.reshape(4, -1), pixels(4, 1))


class Malicious:
    def __init__(self, function, *arguments):
        self.reduced = function, arguments

    def __reduce__(self):
        return self.reduced


@pytest.mark.parametrize("protocol", range(6))
def test_a_malicious_pickle_is_refused_and_does_nothing(tmp_path, protocol):
    folder, mark = tmp_path / "cifar-10-batches-py", tmp_path / "mark"
    write_cifar10(folder, Old.batch)
    for function, arguments in [
        (os.mkdir, (str(mark),)),
        (eval, (f"__import__('os').mkdir({str(mark)!r})",)),
        (np.load, (str(mark),)),
    ]:
        content = {"data": Malicious(function, *arguments), "labels": [0]}
        (folder / "data_batch_3").write_bytes(pickle.dumps(content, protocol=protocol))
        said = one_line(ValueError, lambda: load("cifar10", tmp_path))
        assert "data_batch_3 is no batch of CIFAR: it asks for" in said
        assert not mark.exists()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is no batch of CIFAR"),
        (b"\x00\x01nonsense", "is no batch of CIFAR"),
        (pickle.dumps([1, 2]), "it holds no dict"),
        (pickle.dumps({"labels": [1]}), "must hold 'data', it holds labels"),
        (pickle.dumps({"data": pixels(2)}), "must hold 'labels', it holds data"),
        (
            modern(2)(pixels(2), labels=[1]),
            r"uint8 of shape (1, 3072), got uint8 of shape (2, 3072",
        ),
        (modern(2)(pixels(1).astype(float), labels=[1]), "got float64"),
        (modern(2)(np.array([None]), labels=[1]), "arrays of type 'O8' are not taken"),
        (modern(2)(pixels(1), labels=[10]), "y must be between 0 and 9, got 10"),
    ],
)
def test_a_wrong_batch_is_refused_in_one_line(tmp_path, content, said):
    write_cifar10(tmp_path / "cifar-10-batches-py", Old.batch)
    (tmp_path / "cifar-10-batches-py" / "data_batch_1").write_bytes(content)
    assert said in one_line(ValueError, lambda: load("cifar10", tmp_path))


def test_a_cut_binary_batch_is_refused_in_one_line(tmp_path):
    for file in ("train.bin", "test.bin"):
        (tmp_path / file).write_bytes(bytes(3073))
    said = one_line(ValueError, lambda: load("cifar100", tmp_path))
    assert "records of 3074 bytes, it has 3073 bytes" in said


IDX = {
    "train-images-idx3-ubyte": np.arange(3 * 28 * 28, dtype=np.uint8).reshape(3, 28, 28),
    "train-labels-idx1-ubyte": np.array([9, 0, 3], np.uint8),
    "t10k-images-idx3-ubyte": np.arange(2 * 28 * 28, dtype=np.uint8)[::-1].reshape(2, 28, 28),
    "t10k-labels-idx1-ubyte": np.array([1, 2], np.uint8),
}


def idx(array):
    return (
        bytes((0, 0, 8, array.ndim))
        + struct.pack(f">{array.ndim}I", *array.shape)
        + bytes(array.tobytes())
    )


def write_idx(folder, zipped=False, dot=False):
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in IDX.items():
        name = name.replace("-idx", ".idx") if dot else name
        if zipped:
            (folder / f"{name}.gz").write_bytes(gzip.compress(idx(array)))
        else:
            (folder / name).write_bytes(idx(array))


def assert_is_idx(data):
    np.testing.assert_array_equal(data.x[:, 0], IDX["train-images-idx3-ubyte"])
    np.testing.assert_array_equal(data.x_test[:, 0], IDX["t10k-images-idx3-ubyte"])
    assert data.y.tolist() == [9, 0, 3]
    assert data.y_test.tolist() == [1, 2]
    assert data.classes == 10


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("dot", [False, True])
@pytest.mark.parametrize("inside", ["", "MNIST/raw"])
def test_mnist_in_idx_files(tmp_path, zipped, dot, inside):
    write_idx(tmp_path / inside, zipped, dot)
    assert_is_idx(load("mnist", tmp_path))


def test_fashion_mnist_is_found_where_debian_puts_it(tmp_path, monkeypatch):
    assert readers.DEBIAN_FASHION_MNIST == "/usr/share/datasets/fashion-mnist"
    write_idx(tmp_path, zipped=True)
    monkeypatch.setattr(readers, "DEBIAN_FASHION_MNIST", str(tmp_path))
    assert_is_idx(load("fashion-mnist"))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "must be an idx file of bytes with 1 axes"),
        (idx(IDX["train-images-idx3-ubyte"]), "must be an idx file of bytes with 1 axes"),
        (idx(np.zeros(3, np.uint8))[:-1], "must hold 3 bytes of shape (3,), it holds 2"),
        (idx(np.zeros(2, np.uint8)), "y must have shape (3,), got (2,)"),
    ],
)
def test_a_wrong_idx_file_is_refused_in_one_line(tmp_path, content, said):
    write_idx(tmp_path)
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(content)
    assert said in one_line(ValueError, lambda: load("mnist", tmp_path))


# Of a fixed time, as processes that share the tests have to name them alike.
@pytest.mark.parametrize("content", [b"plain", gzip.compress(bytes(99), mtime=0)[:-9]])
def test_a_broken_gzip_file_is_refused_in_one_line(tmp_path, content):
    write_idx(tmp_path, zipped=True)
    (tmp_path / "t10k-labels-idx1-ubyte.gz").write_bytes(content)
    assert "cannot be read" in one_line(ValueError, lambda: load("mnist", tmp_path))


def write_omniglot(folder, sets):
    for part, alphabets in sets.items():
        for alphabet, characters in alphabets.items():
            for character in range(1, characters + 1):
                path = folder / f"images_{part}" / alphabet / f"character{character:02}"
                path.mkdir(parents=True)
                for drawer in range(2):
                    image = np.full((105, 105), True)
                    image[:, 20 * character + 5 * drawer :] = False
                    Image.fromarray(image).save(path / f"{drawer:04}.png")


def test_omniglot_folders(tmp_path):
    write_omniglot(
        tmp_path, {"background": {"Latin": 2, "Greek": 3}, "evaluation": {"Atlantean": 1}}
    )
    data = load("omniglot", tmp_path)
    assert data.x.shape == (12, 1, 28, 28)
    assert data.y.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    assert data.owner.tolist() == [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2]
    assert data.classes == 6
    white = data.x[:, 0].mean(axis=(1, 2)) / 255.0
    columns = np.tile([20, 25, 40, 45, 60, 65], 2)[[0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 0, 1]]
    np.testing.assert_allclose(white, columns / 105.0, atol=0.002)


@pytest.mark.parametrize("part", ["background", "evaluation"])
def test_one_set_of_omniglot_is_enough(tmp_path, part):
    write_omniglot(tmp_path / "omniglot-py", {part: {"Greek": 2}})
    assert load("omniglot", tmp_path).y.tolist() == [0, 0, 1, 1]


def write_leaf(folder, **files):
    for file, users in files.items():
        part, _, number = file.partition("_")
        (folder / part).mkdir(parents=True, exist_ok=True)
        content = {
            "users": list(users),
            "num_samples": [len(samples["y"]) for samples in users.values()],
            "user_data": users,
        }
        (folder / part / f"{number}.json").write_text(json.dumps(content), encoding="utf-8")


def drawing(level):
    return [level / 255] * 784


def test_femnist_of_leaf(tmp_path):
    write_leaf(
        tmp_path / "data",
        train_0={"f1": {"x": [drawing(3), drawing(4)], "y": [61, 0]}},
        train_1={"f0": {"x": [drawing(5)], "y": [1]}},
        test_0={"f0": {"x": [drawing(6)], "y": [2]}, "f2": {"x": [drawing(255)], "y": [3]}},
    )
    data = load("femnist", tmp_path)
    assert data.x.shape == (3, 1, 28, 28)
    assert data.x[:, 0, 9, 9].tolist() == [3, 4, 5]
    assert data.x_test[:, 0, 9, 9].tolist() == [6, 255]
    assert (data.y.tolist(), data.y_test.tolist(), data.classes) == ([61, 0, 1], [2, 3], 62)
    assert (data.owner.tolist(), data.owner_test.tolist()) == ([0, 0, 1], [1, 2])


def test_leaf_files_that_are_not_split(tmp_path):
    write_leaf(tmp_path, all_data={"f1": {"x": [drawing(3)], "y": [4]}})
    data = load("femnist", tmp_path / "all")
    assert (data.y.tolist(), data.y_test.size) == ([4], 0)


TWEETS = {"x": [["7", "Mon", "NO_QUERY", "ann", "Good, GOOD day zzz"]], "y": [1]}


def write_sent140(folder):
    write_leaf(folder, train_0={"ann": TWEETS}, test_0={"ann": {"x": ["bad day"], "y": ["0"]}})
    (folder / "glove.txt").write_text(
        "the 1 2 3\nday 4 5 6\n. 0 0 1\n, 0.5 0 1\nat home 1 1 1\ngood 7 8 9\nbad -1 0 1e-2\n",
        encoding="utf-8",
    )


def test_sent140_becomes_tokens_with_vectors(tmp_path):
    write_sent140(tmp_path)
    data = readers.sent140(tmp_path, words=7)
    # day is 2, the comma 3, good 4, bad 5; zzz has no vector
    assert data.x.tolist() == [[4, 3, 4, 2, 1, 0, 0]]
    assert data.x_test.tolist() == [[5, 2, 0, 0, 0, 0, 0]]
    np.testing.assert_allclose(
        data.embedding, [[0, 0, 0], [0, 0, 0], [4, 5, 6], [0.5, 0, 1], [7, 8, 9], [-1, 0, 0.01]]
    )
    assert (data.y.tolist(), data.y_test.tolist(), data.owner.tolist()) == ([1], [0], [0])
    assert readers.sent140(tmp_path, words=2).x.tolist() == [[4, 3]]
    assert load("sent140", tmp_path).x.shape == (1, 25)


@pytest.mark.parametrize(
    ("glove", "said"),
    [
        ("the 1 2\n", "has none of them"),
        ("", "has none of them"),
        ("the 1 2\nday 1 x\n", "must hold a word and 2 numbers in line 2"),
    ],
)
def test_wrong_vectors_are_refused_in_one_line(tmp_path, glove, said):
    write_sent140(tmp_path)
    (tmp_path / "glove.txt").write_text(glove, encoding="utf-8")
    assert said in one_line(ValueError, lambda: load("sent140", tmp_path))


def test_missing_vectors_are_refused_in_one_line(tmp_path):
    write_sent140(tmp_path)
    said = one_line(FileNotFoundError, lambda: readers.sent140(tmp_path, tmp_path / "none.txt"))
    assert "none.txt" in said
    (tmp_path / "glove.txt").unlink()
    assert "glove*.txt" in one_line(FileNotFoundError, lambda: load("sent140", tmp_path))


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[]",
        "{}",
        '{"user_data": {"a": {"x": [[0.5]]}}}',
        json.dumps({"user_data": {"a": {"x": [[0.5, 0.5]], "y": [1]}}}),
        json.dumps({"user_data": {"a": {"x": [[2.0] * 784], "y": [1]}}}),
        json.dumps({"user_data": {"a": {"x": [drawing(1)], "y": [1, 2]}}}),
    ],
)
def test_wrong_leaf_files_are_refused_in_one_line(tmp_path, content):
    (tmp_path / "all.json").write_text(content, encoding="utf-8")
    assert "all.json must hold" in one_line(ValueError, lambda: load("femnist", tmp_path))


@pytest.mark.parametrize("shape", [(4, 5, 6), (4, 5, 6, 3), (4, 3, 5, 6)])
def test_npz_with_channels_anywhere(tmp_path, shape):
    x = np.arange(np.prod(shape), dtype=np.uint8).reshape(shape)
    path = tmp_path / "own.npz"
    np.savez(path, x_train=x, y_train=[[1], [0], [2], [0]], x_test=x[:2], y_test=[0, 3])
    data = load(str(path))
    assert (data.name, data.classes, data.y.tolist()) == ("own", 4, [1, 0, 2, 0])
    assert data.x.shape[2:] == (5, 6)
    assert data.x_test.shape == (2, *data.x.shape[1:])
    if shape[-1] == 3:
        np.testing.assert_array_equal(data.x[1, 2], x[1, :, :, 2])


def test_npz_with_other_fields_and_no_test_samples(tmp_path):
    path = tmp_path / "own.npz"
    np.savez(path, x_train=np.ones((3, 2)), y_train=[0, 1, 0], owner=[0, 0, 1], coarse=[1, 0])
    data = load(str(path))
    assert (data.owner.tolist(), data.coarse.tolist()) == ([0, 0, 1], [1, 0])
    assert data.x_test.shape == (0, 2)


def test_wrong_npz_files_are_refused_in_one_line(tmp_path):
    path = tmp_path / "own.npz"
    assert "own.npz is not there" in one_line(FileNotFoundError, lambda: load(str(path)))
    for content in (b"", b"nonsense"):
        path.write_bytes(content)
        assert "must be a file of numpy.savez" in one_line(ValueError, lambda: load(str(path)))
    np.savez(path, x_train=np.array([None]), y_train=[0])
    assert "with plain arrays" in one_line(ValueError, lambda: load(str(path)))
    np.savez(path, x=[1])
    assert "must hold x_train and y_train, it holds x" in one_line(
        ValueError, lambda: load(str(path))
    )
    np.savez(path, x_train=np.ones((2, 2)), y_train=[0])
    assert "y must have shape (2,)" in one_line(ValueError, lambda: load(str(path)))


def test_the_folder_comes_from_the_environment_with_a_subfolder_for_each_name(
    tmp_path, monkeypatch
):
    (tmp_path / "mnist").mkdir()
    write_idx(tmp_path / "mnist")
    monkeypatch.setenv("LINREP_DATA", str(tmp_path))
    assert_is_idx(load("mnist"))
    with pytest.raises(FileNotFoundError, match="cifar10 is not in"):
        load("cifar10")


@pytest.mark.parametrize("name", [name for name in readers._NAMES if name != "digits"])
def test_a_missing_folder_says_what_was_looked_for(tmp_path, name, monkeypatch):
    monkeypatch.delenv("LINREP_DATA", raising=False)
    said = one_line(FileNotFoundError, lambda: load(name, tmp_path / "nowhere"))
    assert f"{name} is not in {tmp_path / 'nowhere'}: looked there and in" in said
    if name != "fashion-mnist":
        assert f"folder must be given for {name!r}" in one_line(ValueError, lambda: load(name))


def test_an_unknown_name_is_refused():
    said = one_line(ValueError, lambda: load("imagenet"))
    assert "name must be one of 'digits', 'cifar10'" in said
    assert "or a path to one, got 'imagenet'" in said


def test_torchvision_downloads_into_the_folder(tmp_path, monkeypatch):
    def fetch(folder, download):
        assert download
        write_idx(folder / "FashionMNIST" / "raw")

    def draw(folder, background, download):
        assert download
        part = "background" if background else "evaluation"
        write_omniglot(folder / "omniglot-py", {part: {"Greek": 1}})

    fake = SimpleNamespace(FashionMNIST=fetch, Omniglot=draw)
    monkeypatch.setitem(sys.modules, "torchvision", SimpleNamespace(datasets=fake))
    monkeypatch.setitem(sys.modules, "torchvision.datasets", fake)
    assert_is_idx(load("fashion-mnist", tmp_path, download=True))
    assert load("omniglot", tmp_path, download=True).owner.tolist() == [0, 0, 1, 1]


def test_a_download_that_cannot_be_is_refused(tmp_path, monkeypatch):
    assert "torchvision has no such" in one_line(
        ValueError, lambda: load("femnist", tmp_path, download=True)
    )
    monkeypatch.setitem(sys.modules, "torchvision.datasets", None)
    assert "not installed" in one_line(ImportError, lambda: load("mnist", tmp_path, download=True))


def test_digits_without_scikit_learn_say_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    assert "scikit-learn" in one_line(ImportError, lambda: load("digits"))
