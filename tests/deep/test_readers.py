"""Files are written here as their authors write them, in miniature."""

import json
import pickle
import struct
import sys
from pathlib import Path
from types import SimpleNamespace
from urllib.error import URLError

import numpy as np
import pytest
from PIL import Image

from linrep.deep import readers
from linrep.deep.readers import load


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


def write_idx(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in IDX.items():
        (folder / name).write_bytes(idx(array))


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


def write_cifar100(folder):
    folder.mkdir(parents=True)
    for part, seed in (("train", 0), ("test", 1)):
        pixels = np.random.default_rng(seed).integers(0, 256, (100, 3072), dtype=np.uint8)
        labels = {"fine_labels": list(range(100)), "coarse_labels": [k // 5 for k in range(100)]}
        (folder / part).write_bytes(pickle.dumps({"data": pixels, **labels}))
    (folder / "meta").write_bytes(pickle.dumps({"fine_label_names": [str(k) for k in range(100)]}))


class StandIn:
    """What linrep asks of torchvision's data sets, in few words."""

    class Of:
        def __init__(self, root, train=True, background=True, download=False):
            self.root = root
            name = "train" if train else "test"
            if type(self).__name__ == "Omniglot":
                part = "background" if background else "evaluation"
                self.target_folder = str(Path(root) / "omniglot-py" / f"images_{part}")
                if not Path(self.target_folder).is_dir():
                    raise RuntimeError("Dataset not found or corrupted.\nTry download=True")
            elif type(self).__name__ == "CIFAR100":
                file = Path(root) / self.base_folder / name
                if not file.is_file():
                    raise RuntimeError("Dataset not found or corrupted.\nTry download=True")
                content = pickle.loads(file.read_bytes())
                images = content["data"].reshape(-1, 3, 32, 32)
                self.data, self.targets = images.transpose(0, 2, 3, 1), content["fine_labels"]
                self.classes = range(100)
            else:
                raw = Path(root) / type(self).__name__ / "raw"
                name = "train" if train else "t10k"
                if not raw.is_dir():
                    raise RuntimeError("Dataset not found.\nTry download=True")
                self.data = IDX[f"{name}-images-idx3-ubyte"]
                self.targets = IDX[f"{name}-labels-idx1-ubyte"]
                self.classes = range(10)

    CIFAR100 = type("CIFAR100", (Of,), {"base_folder": "cifar-100-python"})
    MNIST = type("MNIST", (Of,), {})
    Omniglot = type("Omniglot", (Of,), {})


@pytest.fixture
def torchvision(monkeypatch):
    monkeypatch.setitem(sys.modules, "torchvision", SimpleNamespace(datasets=StandIn))


@pytest.mark.usefixtures("torchvision")
def test_images_of_mnist(tmp_path):
    write_idx(tmp_path / "MNIST" / "raw")
    data = load("mnist", tmp_path)
    np.testing.assert_array_equal(data.x[:, 0], IDX["train-images-idx3-ubyte"])
    np.testing.assert_array_equal(data.x_test[:, 0], IDX["t10k-images-idx3-ubyte"])
    assert data.y.tolist() == [9, 0, 3]
    assert data.y_test.tolist() == [1, 2]
    assert data.classes == 10


@pytest.mark.usefixtures("torchvision")
def test_cifar100_has_coarse_classes(tmp_path):
    write_cifar100(tmp_path / "cifar-100-python")
    data = load("cifar100", tmp_path)
    assert data.x.shape == data.x_test.shape == (100, 3, 32, 32)
    pixels = np.random.default_rng(0).integers(0, 256, (100, 3072), dtype=np.uint8)
    np.testing.assert_array_equal(data.x.reshape(100, -1), pixels)
    assert data.coarse.tolist() == [k // 5 for k in range(100)]


@pytest.mark.usefixtures("torchvision")
def test_omniglot_folders(tmp_path):
    write_omniglot(
        tmp_path / "omniglot-py",
        {"background": {"Latin": 2, "Greek": 3}, "evaluation": {"Atlantean": 1}},
    )
    data = load("omniglot", tmp_path)
    assert data.x.shape == (12, 1, 28, 28)
    assert data.y.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    assert data.owner.tolist() == [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2]
    assert data.classes == 6
    white = data.x[:, 0].mean(axis=(1, 2)) / 255.0
    columns = np.tile([20, 25, 40, 45, 60, 65], 2)[[0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 0, 1]]
    # A box takes whole pixels only: an edge may be half a pixel off.
    np.testing.assert_allclose(white, columns / 105.0, atol=0.5 / 105.0 + 0.002)


@pytest.mark.usefixtures("torchvision")
@pytest.mark.parametrize("part", ["background", "evaluation"])
def test_one_set_of_omniglot_is_enough(tmp_path, part):
    write_omniglot(tmp_path / "omniglot-py", {part: {"Greek": 2}})
    assert load("omniglot", tmp_path).y.tolist() == [0, 0, 1, 1]


@pytest.mark.usefixtures("torchvision")
@pytest.mark.parametrize("name", ["cifar100", "mnist", "omniglot"])
def test_missing_images_are_said_in_one_line(tmp_path, name):
    said = one_line(FileNotFoundError, lambda: load(name, tmp_path))
    assert said.startswith(f"{name} is not in {tmp_path}: Dataset not found")


@pytest.mark.usefixtures("torchvision")
def test_images_of_which_some_files_are_missing_are_not_called_absent(tmp_path):
    (tmp_path / "cifar-100-python").mkdir()
    damaged = lambda *args, **_: (_ for _ in ()).throw(RuntimeError("not found or corrupted"))  # noqa: E731
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules["torchvision"].datasets, "CIFAR100", damaged)
        said = one_line(ValueError, lambda: load("cifar100", tmp_path))
    assert said == f"cifar100 in {tmp_path} is damaged or incomplete: not found or corrupted"


@pytest.mark.parametrize("name", ["cifar100", "omniglot"])
def test_a_download_without_a_network_is_said_in_one_line(tmp_path, monkeypatch, name):
    def offline(*arguments, **options):
        raise URLError("Name or service not known")

    kinds = SimpleNamespace(CIFAR100=offline, Omniglot=offline)
    monkeypatch.setitem(sys.modules, "torchvision", SimpleNamespace(datasets=kinds))
    said = one_line(FileNotFoundError, lambda: load(name, tmp_path, download=True))
    assert said.startswith(f"{name} is not in {tmp_path}: ")
    assert "Name or service not known" in said


def test_images_without_torchvision_say_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torchvision", None)
    said = one_line(ImportError, lambda: load("cifar10", tmp_path))
    assert "pip install torchvision" in said
    assert "cifar10.npz" in said


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
        ("the\nday\n", "has none of them"),
        ("the 1 2\nday 1 x\n", "must hold a word and numbers in each line"),
    ],
)
def test_wrong_vectors_are_refused_in_one_line(tmp_path, glove, said):
    write_sent140(tmp_path)
    (tmp_path / "glove.txt").write_text(glove, encoding="utf-8")
    assert said in one_line(ValueError, lambda: load("sent140", tmp_path))


def test_lines_of_vectors_may_end_in_blanks_and_words_hold_any_sign(tmp_path):
    write_sent140(tmp_path)
    (tmp_path / "glove.txt").write_bytes(b"x\ry 1 2 3\r\nday 4 5 6 \ngood 7 8 9\n\xc2\x85 1 1 1\n")
    data = readers.sent140(tmp_path)
    np.testing.assert_allclose(data.embedding[2:], [[4, 5, 6], [7, 8, 9]])


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


@pytest.mark.usefixtures("torchvision")
def test_the_folder_comes_from_the_environment_with_a_subfolder_for_each_name(
    tmp_path, monkeypatch
):
    write_idx(tmp_path / "mnist" / "MNIST" / "raw")
    monkeypatch.setenv("LINREP_DATA", str(tmp_path))
    assert len(load("mnist").y) == 3


@pytest.mark.parametrize("name", ["femnist", "sent140"])
def test_a_missing_folder_says_what_was_looked_for(tmp_path, name):
    said = one_line(FileNotFoundError, lambda: load(name, tmp_path / "nowhere"))
    assert f"{name} is not in {tmp_path / 'nowhere'}: looked there and in" in said


@pytest.mark.parametrize("name", [name for name in readers._NAMES if name != "digits"])
def test_the_folder_has_to_be_given(name, monkeypatch):
    monkeypatch.delenv("LINREP_DATA", raising=False)
    assert f"folder must be given for {name!r}" in one_line(ValueError, lambda: load(name))


def test_an_unknown_name_is_refused():
    said = one_line(ValueError, lambda: load("imagenet"))
    assert "name must be one of 'digits', 'cifar10'" in said
    assert "or a path to one, got 'imagenet'" in said


def test_a_download_that_cannot_be_is_refused(tmp_path):
    assert "torchvision has no such" in one_line(
        ValueError, lambda: load("femnist", tmp_path, download=True)
    )


def test_digits_without_scikit_learn_say_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    assert "scikit-learn" in one_line(ImportError, lambda: load("digits"))
