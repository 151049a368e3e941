"""Commands in a folder of somebody else: nothing that lies there runs, or decides what runs."""

import os
import subprocess
import sys
from importlib.metadata import packages_distributions
from itertools import chain
from pathlib import Path

import pytest

from linrep.cli import main

#: Says that it was run, by what Python has built in: all else may be poisoned, too.
POISON = """
import posix
file = posix.open({marker!r}, posix.O_WRONLY | posix.O_CREAT | posix.O_APPEND)
posix.write(file, (__name__ + "\\n").encode())
posix.close(file)
raise ImportError(__name__ + " was taken from the current folder")
"""
#: What libraries read in the current folder: each would run or write something here.
SETTINGS = {
    ".numba_config.yaml": "cache_dir: obeyed\ndisable_jit: 1\n",
    "matplotlibrc": "backend: module://backend\ntext.usetex: True\n",
}
NAMES = {
    *sys.stdlib_module_names, *packages_distributions(), "linrep", "tests", "backend",
    "sitecustomize", "usercustomize", "fedrep", "mine",
}  # fmt: skip
TRUTH = ("--n", "6", "--d", "4", "--k", "2", "--m", "5", "--rounds", "2")
SWEEP = ("fedrep", *TRUTH, "--replicates", "2")
#: Of every command what makes it do its work, in other processes where it has some.
CALLS = {
    "certify": ["certify fedrep.eq67"],
    "figures": ["figures --list", "figures pflmf.figure1 --quick", "figures fedrep.figure1 --help"],
    "merge": ["merge merged run"],
    "new": ["new claim", "new paper other"],
    "plot": ["plot run distance --x round"],
    "report": ["report fedrep.lemma1"],
    "reproduce": ["reproduce --help"],
    "show": ["show fedrep.lemma5 fedrep.figure1 fedrep", "show --cite"],
    "summary": ["summary run distance --by m", "summary run"],
    "sweep": [
        f"sweep {' '.join(SWEEP)} --out other-run",
        f"sweep {' '.join(SWEEP)} --out third-run --processes --workers 2",
        f"sweep {' '.join(SWEEP)} --out portable-run --portable",
        f"sweep {' '.join(SWEEP)} --only m=5 0",
        f"sweep {' '.join(SWEEP)} --out no-run --dask tcp://127.0.0.1:1",
    ],
    "verify": [
        "verify fedrep.lemma1",
        "verify fedrep.figure1 --workers 2",
        "verify --list",
        "verify --sensitivity fedrep.definition1",
    ],
}
#: Statuses that calls end with: no scheduler is there.
ENDED = {"--dask": (2,)}
QUICK = ("show", CALLS["sweep"][1])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("others")
    marker = folder / "marker"
    assert call(folder, f"sweep {' '.join(SWEEP)} --out run --keep trace").returncode == 0
    for name in NAMES:
        (folder / f"{name}.py").write_text(POISON.format(marker=str(marker)))
    for name, text in SETTINGS.items():
        (folder / name).write_text(text)
    return folder


def call(folder, words):
    # What a console script is: its folder, and not the current one, is where Python looks first.
    script = [sys.executable, "-P", "-c", "from linrep.__main__ import main; main()"]
    installed = Path(sys.executable).with_name("linrep")
    return subprocess.run(
        [*([installed] if installed.exists() else script), *words.split()],
        cwd=folder,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        capture_output=True,
        text=True,
    )


def test_every_command_is_called_here():
    assert set(CALLS) == set(main.commands)


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(words, marks=() if words.startswith(QUICK) else pytest.mark.slow)
        for words in chain.from_iterable(CALLS.values())
    ],
)
def test_nothing_in_the_folder_runs(folder, words):
    done = call(folder, words)
    expected = next((statuses for part, statuses in ENDED.items() if part in words), (0,))
    assert done.returncode in expected, done.stderr
    assert "Traceback" not in done.stderr
    assert not (folder / "marker").exists(), (folder / "marker").read_text()
    assert not (folder / "obeyed").exists()
    for name in SETTINGS:
        assert done.stderr.count(f"{name} in this folder is not obeyed") == 1


def test_the_poison_works(folder):
    """Python called as nobody should call it here."""
    done = subprocess.run([sys.executable, "-c", "import colorsys"], cwd=folder)
    assert done.returncode == 1
    assert (folder / "marker").read_text() == "colorsys\n"
    (folder / "marker").unlink()
