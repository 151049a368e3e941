"""Files are written here as their authors write them, in miniature."""

import json
import pickle
import sys
from pathlib import Path
from types import SimpleNamespace
from urllib.error import URLError

import numpy as np
import pytest
from PIL import Image

from linrep.deep import readers
from linrep.deep.readers import load
from tests.tools import complaint


def test_digits_are_split_by_class_and_seed():
    data = load("digits")
    assert data.x.shape == (1352, 1, 8, 8)
    assert data.x_test.shape == (445, 1, 8, 8)
    assert (data.x.dtype, data.x.max(), data.classes) == (np.uint8, 255, 10)
    counts, held = np.bincount(data.y), np.bincount(data.y_test)
    np.testing.assert_array_equal(held, (counts + held) // 4)
    np.testing.assert_array_equal(load("digits").x, data.x)
    assert not np.array_equal(load("digits", rng=1).x, data.x)


#: Of MNIST: training and test images, and labels.
PIXELS = np.arange(5 * 28 * 28, dtype=np.uint8).reshape(5, 28, 28)
IDX = {True: (PIXELS[:3], np.array([9, 0, 3])), False: (PIXELS[3:], np.array([1, 2]))}


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


MISSING = "Dataset not found or corrupted.\nTry download=True"


class CIFAR100:
    """What linrep asks of torchvision's data sets, in few words; so are those that follow."""

    base_folder, classes = "cifar-100-python", range(100)

    def __init__(self, root, train=True, download=False):
        self.root, file = root, Path(root, self.base_folder, "train" if train else "test")
        if not file.is_file():
            raise RuntimeError(MISSING)
        content = pickle.loads(file.read_bytes())
        self.data = content["data"].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        self.targets = content["fine_labels"]


class MNIST:
    classes = range(10)

    def __init__(self, root, train=True, download=False):
        if not Path(root, "MNIST", "raw").is_dir():
            raise RuntimeError(MISSING)
        self.data, self.targets = IDX[train]


class Omniglot:
    def __init__(self, root, background=True, download=False):
        part = "background" if background else "evaluation"
        self.target_folder = str(Path(root, "omniglot-py", f"images_{part}"))
        if not Path(self.target_folder).is_dir():
            raise RuntimeError(MISSING)


@pytest.fixture
def torchvision(monkeypatch):
    kinds = SimpleNamespace(CIFAR100=CIFAR100, MNIST=MNIST, Omniglot=Omniglot)
    monkeypatch.setitem(sys.modules, "torchvision", SimpleNamespace(datasets=kinds))


@pytest.mark.usefixtures("torchvision")
def test_images_of_mnist(tmp_path):
    (tmp_path / "MNIST" / "raw").mkdir(parents=True)
    data = load("mnist", tmp_path)
    np.testing.assert_array_equal(data.all_x[:, 0], PIXELS)
    assert (data.y.tolist(), data.y_test.tolist(), data.classes) == ([9, 0, 3], [1, 2], 10)


@pytest.mark.usefixtures("torchvision")
def test_cifar100_has_coarse_classes(tmp_path):
    folder = tmp_path / "cifar-100-python"
    folder.mkdir()
    pixels = np.random.default_rng(0).integers(0, 256, (2, 100, 3072), dtype=np.uint8)
    labels = {"fine_labels": list(range(100)), "coarse_labels": [k // 5 for k in range(100)]}
    for name, rows in zip(("train", "test"), pixels, strict=True):
        (folder / name).write_bytes(pickle.dumps({"data": rows, **labels}))
    data = load("cifar100", tmp_path)
    assert data.all_x.shape == (200, 3, 32, 32)
    np.testing.assert_array_equal(data.all_x.reshape(2, 100, -1), pixels)
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
    columns = np.array([20, 25, 40, 45, 60, 65, 20, 25, 40, 45, 20, 25])
    # A box takes whole pixels only: an edge may be half a pixel off.
    np.testing.assert_allclose(white, columns / 105.0, atol=0.5 / 105.0 + 0.002)


@pytest.mark.usefixtures("torchvision")
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
    write_leaf(tmp_path, all_data={"f1": {"x": [drawing(3)], "y": [4]}})  # one that is not split
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
    with complaint(FileNotFoundError, "none.txt"):
        readers.sent140(tmp_path, tmp_path / "none.txt")
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


def test_lines_of_vectors_may_end_in_blanks_and_words_hold_any_sign(tmp_path):
    write_sent140(tmp_path)
    (tmp_path / "glove.txt").write_bytes(b"x\ry 1 2 3\r\nday 4 5 6 \ngood 7 8 9\n\xc2\x85 1 1 1\n")
    data = readers.sent140(tmp_path)
    np.testing.assert_allclose(data.embedding[2:], [[4, 5, 6], [7, 8, 9]])


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


@pytest.mark.usefixtures("torchvision")
def test_the_folder_comes_from_the_environment_with_a_subfolder_for_each_name(
    tmp_path, monkeypatch
):
    (tmp_path / "mnist" / "MNIST" / "raw").mkdir(parents=True)
    monkeypatch.setenv("LINREP_DATA", str(tmp_path))
    assert len(load("mnist").y) == 3


def leaf(**samples):
    return {"all.json": json.dumps({"user_data": {"a": samples}})}


ABSENT = (FileNotFoundError, " is not in ")
LEAF = (ValueError, "all.json must hold")
NUMPY = (ValueError, "own.npz must ")
#: Name, files that are there, and what is said of them: texts, bytes, arrays, or a folder.
WRONG = [
    *((name, {}, *ABSENT, "Dataset not found") for name in ("cifar100", "mnist", "omniglot")),
    *((name, {}, *ABSENT, "looked there and in") for name in ("femnist", "sent140")),
    ("cifar100", {"cifar-100-python": None}, ValueError, "is damaged or incomplete: "),
    *(
        ("sent140", {"glove.txt": text}, ValueError, "has none of them")
        for text in ("the 1 2\n", "", "the\nday\n")
    ),
    ("sent140", {"glove.txt": "the 1 2\nday 1 x\n"}, ValueError, "and numbers in each line"),
    ("sent140", {"other.txt": ""}, FileNotFoundError, "glove*.txt"),
    *(("femnist", {"all.json": text}, *LEAF) for text in ("{", "[]", "{}")),
    ("femnist", leaf(x=[[0.5]]), *LEAF),
    ("femnist", leaf(x=[[0.5, 0.5]], y=[1]), *LEAF),
    ("femnist", leaf(x=[[2.0] * 784], y=[1]), *LEAF),
    ("femnist", leaf(x=[drawing(1)], y=[1, 2]), *LEAF),
    ("own.npz", {}, FileNotFoundError, "own.npz is not there"),
    *(("own.npz", {"own.npz": text}, *NUMPY, "be a file of numpy") for text in ("", "nonsense")),
    ("own.npz", {"own.npz": {"x_train": [None], "y_train": [0]}}, *NUMPY, "with plain arrays"),
    ("own.npz", {"own.npz": {"x": [1]}}, *NUMPY, "hold x_train and y_train, it holds x"),
    ("own.npz", {"own.npz": {"x_train": np.ones((2, 2)), "y_train": [0]}}, ValueError, "y must"),
]


@pytest.mark.usefixtures("torchvision")
@pytest.mark.parametrize("row", WRONG, ids=range(len(WRONG)))
def test_what_cannot_be_read_is_refused_in_a_line(row, tmp_path):
    name, files, error, *words = row
    if name == "sent140" and files:
        write_sent140(tmp_path)
        (tmp_path / "glove.txt").unlink()
    for file, content in files.items():
        if content is None:
            (tmp_path / file).mkdir()
        elif isinstance(content, str):
            (tmp_path / file).write_text(content, encoding="utf-8")
        else:
            np.savez(tmp_path / file, **content)
    with complaint(error, *words):
        load(str(tmp_path / name)) if name.endswith(".npz") else load(name, tmp_path)


@pytest.mark.parametrize("name", ["cifar100", "omniglot"])
def test_a_download_without_a_network_is_said_in_one_line(tmp_path, monkeypatch, name):
    def offline(*arguments, **options):
        raise URLError("Name or service not known")

    kinds = SimpleNamespace(CIFAR100=offline, Omniglot=offline)
    monkeypatch.setitem(sys.modules, "torchvision", SimpleNamespace(datasets=kinds))
    with complaint(*ABSENT, f"{name} is not in {tmp_path}: ", "Name or service not known"):
        load(name, tmp_path, download=True)


@pytest.mark.parametrize(
    ("package", "name", "words"),
    [
        ("torchvision", "cifar10", ("pip install torchvision", "cifar10.npz")),
        ("sklearn.datasets", "digits", ("scikit-learn",)),
    ],
)
def test_what_is_not_installed_is_named(package, name, words, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with complaint(ImportError, *words):
        load(name, tmp_path)
