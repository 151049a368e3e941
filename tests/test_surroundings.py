"""linrep where the surroundings are hostile: interrupts, full disks, odd terminals, no home."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import linrep
from linrep.cli import main
from tests.tools import runner

ROOT = Path(linrep.__file__).parents[1]
CLAIMS = """
import time
from pathlib import Path
from linrep.claims import Identity, statement


def make(name):
    @statement(f"mine.{name}", place="here", latex="x", plain="Ψ ≤ Σ – yes.",
           negative_control={"x": 2})
    def check(budget, rng, *, x=1):
        if x == 1:  # not the negative control
            with open("computed", "a", encoding="utf-8") as file:
                file.write(f"{name}\\n")
            time.sleep(0.3)
        yield Identity([(abs(x - 1), {"x": x})], 1e-12)


for name in "abcdef":
    make(name)
"""
NOWHERE = {
    name: "/proc/nowhere"
    for name in ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "MPLCONFIGDIR", "NUMBA_CACHE_DIR")
}
posix_only = pytest.mark.skipif(os.name != "posix", reason="signals as on POSIX")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "own.py").write_text(CLAIMS, encoding="utf-8")
    return tmp_path


@pytest.fixture(autouse=True)
def _interruptible():
    """Let processes hear interrupts, also where the tests were started with these ignored.

    A child keeps what its parent ignores. (To change it in the child alone takes a fork, of which
    some packages with threads warn.)
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def start(folder, *arguments, package=ROOT, **variables):
    return subprocess.Popen(
        [sys.executable, "-m", "linrep.cli", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(package), **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def finish(process):
    """Return status, output and errors of a process."""
    output, errors = process.communicate(timeout=300)
    return process.returncode, output.decode(), errors.decode()


def computed(folder):
    path = folder / "computed"
    return path.read_text(encoding="utf-8").split() if path.exists() else []


def stored(folder):
    return len(list(folder.glob("runs/verify/*/*/parts/[!.]*.parquet")))


def stopped(folder, number, workers, whole_group):
    """Start a verification, stop it when a claim is stored, and return what it said.

    All workers have begun by then: one that is being started can still be ended by a signal.
    """
    process = start(folder, "verify", "own.py", "--workers", str(workers))
    while not stored(folder) or len(computed(folder)) < workers:
        assert process.poll() is None
        time.sleep(0.02)
    (os.killpg if whole_group else os.kill)(process.pid, number)
    return finish(process)


@posix_only
@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "workers", "status"),
    [
        (signal.SIGINT, 1, 130),
        (signal.SIGINT, 2, 130),
        (signal.SIGTERM, 1, 143),
        (signal.SIGTERM, 2, 143),
        (signal.SIGKILL, 1, -signal.SIGKILL),
        (signal.SIGKILL, 2, -signal.SIGKILL),
    ],
)
def test_verify_goes_on_where_it_was_stopped(folder, monkeypatch, number, workers, status):
    # Ctrl-C reaches all processes of a terminal. Both pipes are closed afterwards, for which
    # `stopped` waits: no worker is left that holds them, not even of a parent that was killed.
    code, output, errors = stopped(folder, number, workers, number == signal.SIGINT)
    assert code == status, errors
    assert output == ""
    done = stored(folder)
    if number == signal.SIGKILL:
        assert "Traceback" not in errors
    else:
        assert 1 <= done < 6
        assert errors.splitlines()[-1] == (
            f"runs/verify: stopped at {done} of 6 claims; the same command continues from there"
        )
        assert sorted(computed(folder)) == list("abcdef")[:done]
    before = computed(folder)
    monkeypatch.chdir(folder)
    again = runner().invoke(main, ["verify", "own.py", "--workers", "1"])
    assert again.exit_code == 0
    assert "6 of 6 claims hold" in again.stdout
    new = computed(folder)[len(before) :]
    assert len(new) <= 6 - done
    assert len(set(before) - set(new)) >= done


@posix_only
@pytest.mark.slow
def test_two_processes_at_once_on_one_store(folder):
    both = [start(folder, "verify", "own.py", "--workers", "1") for _ in range(2)]
    for status, output, errors in map(finish, both):
        assert (status, errors) == (0, "")
        assert "6 of 6 claims hold" in output


@pytest.mark.slow
def test_two_processes_at_once_on_one_figure(folder):
    shutil.copy(Path(__file__).with_name("toy_figure.py"), folder / "mine.py")
    both = [start(folder, "figures", "mine.py", "--workers", "1") for _ in range(2)]
    for status, output, errors in map(finish, both):
        assert (status, errors) == (0, "")
        assert "mine.figure: runs" in output
    names = {path.name for path in (folder / "runs" / "figures").iterdir()}
    assert names == {f"mine.figure.{kind}" for kind in ("json", "parquet", "png", "svg")}


@pytest.mark.slow
def test_nothing_can_be_written_but_here(folder):
    """Neither home, nor caches, nor the package; not as root either, who may write anywhere."""
    package = folder / "package"
    shutil.copytree(
        ROOT / "linrep", package / "linrep", ignore=shutil.ignore_patterns("__pycache__")
    )
    (package / "linrep" / "kernels" / "__pycache__").touch()  # a file in place of the folder
    variables = {**NOWHERE, "PYTHONDONTWRITEBYTECODE": "1"}
    status, output, errors = finish(
        start(folder, "verify", "own.py", "mine.a", "--figures", "drawn", "--workers", "1",
              package=package, **variables)
    )  # fmt: skip
    assert (status, "Traceback" in errors) == (0, False)
    assert "1 claim holds" in output
    reported = finish(start(folder, "--version", "-v", package=package, **variables))
    assert reported[0] == 0
    assert "not kept: no folder can be written" in reported[1]


SAID = "6 of 6 claims are unchecked; linrep show ID prints the reason\n"


def test_an_output_without_greek_letters(folder):
    variables = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    status, output, errors = finish(start(folder, "verify", "own.py", "--list", **variables))
    assert (status, errors) == (0, SAID)
    assert output.count(" yes.") == 6


@pytest.mark.parametrize("charset", ["ascii", "latin-1"])
def test_an_output_of_few_letters(folder, monkeypatch, charset):
    monkeypatch.chdir(folder)
    done = runner(charset=charset).invoke(main, ["verify", "own.py", "--list"])
    assert (done.exit_code, done.stderr) == (0, SAID)
    assert done.stdout.count(" yes.") == 6


@posix_only
def test_a_reader_that_has_seen_enough(folder):
    process = start(folder, "verify", "own.py", "--list")
    process.stdout.close()
    errors = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait(timeout=60) in (0, 1, -signal.SIGPIPE)
    assert errors == ""


FULL = Path("/dev/full")
full_disk = pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full")


@full_disk
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_behind_the_output(folder, unbuffered):
    surroundings = {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": unbuffered}
    with FULL.open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "linrep.cli", "verify", "own.py", "--list"],
            cwd=folder, env={**os.environ, **surroundings}, stdout=full,
            stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr == "Error: [Errno 28] No space left on device\n"


@full_disk
@pytest.mark.parametrize("arguments", [("--json", "/dev/full"), ("--store", "/dev/full/x")])
def test_a_full_disk_behind_a_file(folder, monkeypatch, arguments):
    monkeypatch.chdir(folder)
    done = runner().invoke(main, ["verify", "own.py", "mine.a", "--workers", "1", *arguments])
    assert done.exit_code == 2
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1


def test_a_device_is_written_to_and_not_replaced(folder, monkeypatch):
    monkeypatch.chdir(folder)
    arguments = ["verify", "own.py", "mine.a", "--workers", "1", "--json", os.devnull]
    assert runner().invoke(main, arguments).exit_code == 0
    assert not Path(os.devnull).is_file()
