"""Rows know the code that made them: what other code made is said, and not taken for the same."""

import importlib
import json
import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from linrep.cli import main
from linrep.sweeps import MixedCode, OtherCode, Sweep, codes, merge, open_run, run
from tests._lib import edits
from tests._lib.test_fingerprint import forget, write
from tests.sweeps import functions
from tests.sweeps.support import content, toy
from tests.tools import complaint, sampled

CHANGING, UNCHANGING = edits.read(edits.CHANGING), edits.read(edits.UNCHANGING)
ACTIONS = ("again", "retry", "merge", "extend")
CELLS = [{"a": 1}, {"a": 2}]

pytestmark = pytest.mark.filterwarnings("ignore::linrep.sweeps.Overlapping")


class Python:
    """Sweeps and merges in this process, after each edit with modules that are imported anew."""

    def __init__(self, folder):
        self.folder = folder

    def load(self):
        importlib.invalidate_caches()
        return importlib.import_module("m").g

    def run(self, out, replicates=2, **options):
        """Return what is said, an empty text if nothing is."""
        try:
            run(Sweep(self.load(), CELLS, replicates, name="g"), out, progress=False, **options)
        except OtherCode as error:
            return str(error)
        return ""

    def merge(self, out, sources, **options):
        try:
            merge(out, sources, **options)
        except OtherCode as error:
            return str(error)
        return ""


class Shell(Python):
    """The same by commands."""

    def call(self, *words, **options):
        flags = [f"--{name.replace('_', '-')}" for name, value in options.items() if value]
        words = [*map(str, words), *flags]
        result = CliRunner().invoke(main, words)
        assert result.exit_code in (0, 1, 2), result.output
        assert (result.exit_code == 2) == result.output.startswith("Error: ")
        return result.output.removeprefix("Error: ") if result.exit_code == 2 else ""

    def run(self, out, replicates=2, **options):
        words = ("--a", "1,2", "--replicates", replicates, "--out", out)
        return self.call("sweep", "--function", "m.py:g", *words, **options)

    def merge(self, out, sources, **options):
        return self.call("merge", out, *sources, **options)


class Script(Python):
    """The same in a process of its own, whose main module has the function."""

    footer = """
import sys
from linrep.sweeps import OtherCode, Sweep, merge
out, replicates, options = sys.argv[1], int(sys.argv[2]), dict.fromkeys(sys.argv[3:], True)
try:
    Sweep(g, [{"a": 1}, {"a": 2}], replicates, name="g").run(out, progress=False, **options)
except OtherCode as error:
    print(error)
"""

    def start(self, words):
        return [sys.executable, "m.py", *words], None

    def run(self, out, replicates=2, **options):
        words = [str(out), str(replicates), *(name for name, value in options.items() if value)]
        text = (self.folder / "m.py").read_text("utf-8")
        if self.footer not in text:
            (self.folder / "m.py").write_text(text + self.footer, "utf-8")
        command, stdin = self.start(words)
        done = subprocess.run(
            command, cwd=self.folder, input=stdin, capture_output=True, text=True, check=True,
            env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
        )  # fmt: skip
        return done.stdout


class Notebook(Script):
    """A main module that has no file."""

    def start(self, words):
        return [sys.executable, "-", *words], (self.folder / "m.py").read_text("utf-8")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of a user's files, which are imported anew after each edit."""
    home = tmp_path / "here"
    home.mkdir()
    monkeypatch.chdir(home)
    monkeypatch.setattr(sys, "path", [str(home), *sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = set(sys.modules)

    def put(files):
        forget(before)
        write(files, home)
        return home

    yield put
    forget(before)


def act(way, action, out, **options):
    """Return what is said when a sweep is run again, extended, retried or merged."""
    if action == "merge":
        fresh = out.with_name("fresh")
        assert way.run(fresh) == ""
        said = way.merge(out.with_name("all"), [out, fresh], **options)
        assert (out.with_name("all").exists()) == (said == "")
        return said
    more = {"extend": {"replicates": 3, "extend": True}, "retry": {"retry_failed": True}}
    return way.run(out, **more.get(action, {}), **options)


def check(way, edit, folder, out, actions=ACTIONS):
    """Check what is said of an edit."""
    assert way.run(out) == ""
    assert way.run(out) == ""
    before = content(out)
    folder(edit.after())
    for action in actions:
        said = act(way, action, out)
        named = said.partition("changed: ")[2].partition(")")[0].split(", ")
        assert set(edit.said) <= set(named) if edit.said else said == ""
        assert ("--same-code" in said) == bool(edit.said)
        if edit.said or action in ("again", "retry"):
            assert content(out) == before
        assert act(way, action, out, same_code=True) == ""
        before = content(out)


def by_name(table, step):
    """Return every so-and-so-many-th edit; tests/_lib/test_fingerprint.py has them all."""
    return [pytest.param(edit, id=edit.what.replace(" ", "_")) for edit in table[::step]]


@pytest.mark.parametrize("edit", by_name(CHANGING, 4))
def test_what_changed_is_said_and_refused(edit, folder, tmp_path):
    check(Python(folder(edit.files)), edit, folder, tmp_path / "run")


@pytest.mark.parametrize("edit", by_name(UNCHANGING, 3))
def test_what_changes_nothing_is_not_said(edit, folder, tmp_path):
    check(Python(folder(edit.files)), edit, folder, tmp_path / "run")


@pytest.mark.parametrize("kind", sampled([Script, Notebook], 1))
def test_a_main_module_is_known_in_another_process(kind, folder, tmp_path):
    (edit,) = (
        edit for edit in CHANGING if edit.what == "a number that a function of a module takes"
    )
    check(kind(folder(edit.files)), edit, folder, tmp_path / "run", ("again", "extend"))


def test_a_file_may_be_moved_and_renamed(folder, tmp_path):
    (edit,) = (edit for edit in UNCHANGING if edit.what == "the folder of the file")
    shell = Shell(folder(edit.files))
    assert shell.run(tmp_path / "run") == ""
    write({"other/name.py": edit.files["m.py"]}, tmp_path)
    words = ("--function", tmp_path / "other" / "name.py:g", "--a", "1,2", "--replicates", "3")
    assert shell.call("sweep", *words, "--out", tmp_path / "run", "--extend") == ""


@pytest.mark.parametrize("options", [{}, {"processes": True}, {"workers": 2}, {"timeout": 60.0}])
def test_it_is_the_same_code_wherever_it_runs(tmp_path, options):
    stored = run(toy(functions.walk, [{"steps": 3, "scale": 1}]), tmp_path / "run", **options)
    threads = run(toy(functions.walk, [{"steps": 3, "scale": 1}]), tmp_path / "threads")
    assert stored.codes().keys() == threads.codes().keys()
    (code,) = stored.codes()
    assert json.loads(code)["names"].keys() == {"walk"}


def test_what_the_work_itself_changes_is_no_edit(tmp_path):
    """A dictionary that is filled is the same code, but one that somebody else fills is not."""
    known: dict = {}

    def function(cell, rng):
        known[len(known)] = rng.random()
        return known[len(known) - 1]

    for replicates in (2, 3, 3):
        run(toy(function, replicates=replicates), tmp_path / "run", extend=True)
    known["by hand"] = 0.0
    with complaint(OtherCode, "(changed: function)"):
        run(toy(function), tmp_path / "run")


def test_other_code_is_said_once_and_kept(tmp_path, capsys):
    run(toy(functions.uniform, name="toy"), tmp_path / "run")
    run(toy(functions.normal, name="toy"), tmp_path / "run", same_code=True)
    said = capsys.readouterr().err
    which = "6 of 6 replicates (a=1: 0 to 2, and 1 more cell)"
    changed = "are of other code (changed: normal, uniform); they are kept"
    assert said == f"{tmp_path / 'run'}: {which} {changed}\n"


def test_another_python_is_said_to_be_one(tmp_path, monkeypatch):
    with monkeypatch.context() as other:
        other.setattr(codes, "_PYTHON", "3.99")
        other.setattr(codes, "fingerprint", lambda *things: {"normal": "0" * 16})
        run(toy(), tmp_path / "run")
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    with complaint(
        OtherCode, f"are of other code (Python 3.99, not {here}: code cannot be compared)"
    ):
        run(toy(), tmp_path / "run")


FAILING = """
def g(cell, rng):
    if cell["a"] in BAD:
        raise ValueError("bad")
    return 1.0

BAD = (1, 2)
"""


def test_after_a_fix_failed_replicates_are_computed_again(folder, tmp_path):
    """Without a word where no other is kept: nothing is mixed then."""
    for bad, asked in (("(1, 2)", False), ("(2,)", True)):
        shell, out = Shell(folder({"m.py": FAILING.replace("(1, 2)", bad)})), tmp_path / bad
        assert shell.run(out) == ""
        shell = Shell(folder({"m.py": FAILING.replace("(1, 2)", "()")}))
        said = shell.run(out)
        assert "(changed: BAD); " in said
        assert "retry_failed=True (--retry-failed) to compute failed ones again" in said
        said = shell.run(out, retry_failed=True)
        if asked:
            assert "2 of 4 replicates (a=1: 0 to 1) are of other code (changed: BAD)" in said
            assert shell.run(out, retry_failed=True, same_code=True) == ""
        else:
            assert said == ""
        assert open_run(out).failed() == 0


ALGORITHMS = """
def one(problem, *, rng):
    return {"x": scaled(1.0)}

def two(problem, *, rng):
    return {"x": 2.0}

def scaled(x):
    return x
"""


def test_algorithms_of_ones_own_have_codes_of_their_own(folder, tmp_path):
    """One more is no other code; which cells an edit concerns is said."""
    shell, out = Shell(folder({"m.py": ALGORITHMS})), tmp_path / "run"
    sizes = ("--n", 5, "--d", 4, "--k", 2, "--replicates", 2, "--out", out)
    assert shell.call("sweep", "m.py:one", *sizes) == ""
    assert shell.call("sweep", "m.py:one,m.py:two", *sizes, "--extend") == ""
    assert codes.mixture(open_run(out)) == ""
    assert len(open_run(out).codes()) == 2
    folder({"m.py": ALGORITHMS.replace("return x", "return 2.0 * x")})
    from linrep.simulation import replicates

    replicates._found.cache_clear()  # as in a new process
    said = shell.call("sweep", "m.py:one,m.py:two", *sizes)
    assert "2 of 4 replicates (algorithm=m:one,d=4,k=2,n=5: 0 to 1) are of other code" in said
    assert "(changed: scaled)" in said
    assert shell.call("sweep", "m.py:two", *sizes[:-1], tmp_path / "two") == ""


def test_cells_that_mix_codes_are_named_wherever_they_are_read(folder, tmp_path, recwarn):
    shell, out = Shell(folder({"m.py": FAILING.replace("(1, 2)", "()")})), tmp_path / "run"
    assert shell.run(out) == ""
    assert codes.mixture(open_run(out)) == ""
    assert len(open_run(out).read()) == 4
    folder({"m.py": FAILING.replace("(1, 2)", "()").replace("1.0", "2.0")})
    more = ("--a", "1:3", "--replicates", 2, "--out", out, "--extend", "--same-code")
    shell.call("sweep", "--function", "m.py:g", *more)
    assert codes.mixture(open_run(out)) == "a=1 and a=3 are of several codes (changed: g)"
    shell.call("sweep", "--function", "m.py:g", *more[:3], 3, *more[4:])
    mixed = "a=1, and 1 more cell: replicates are of several codes (changed: g)"
    assert codes.mixture(open_run(out)) == mixed
    assert not recwarn.list
    with pytest.warns(MixedCode, match="of several codes"):
        open_run(out).read()
    with pytest.warns(MixedCode, match="of several codes"):
        open_run(out).to_xarray()
    for words in (
        ("summary", out, "value"),
        ("plot", out, "value", "--x", "a"),
        ("summary", out),
        ("merge", tmp_path / "all", out, "--same-code"),
    ):
        assert mixed in CliRunner().invoke(main, list(map(str, words))).output, words
    with complaint(OtherCode, f"{out}: 5 of 9 replicates", "(changed: g)"):
        merge(tmp_path / "again", [out])


def test_parts_that_are_put_together_keep_their_code(tmp_path):
    for replicates, function in enumerate((functions.uniform, functions.normal), 2):
        sweep = toy(function, replicates=replicates, name="toy")
        run(sweep, tmp_path / "run", extend=True, same_code=True, chunk_seconds=1e-6)
    found = {
        code: sum(map(len, segments))
        for code, segments in open_run(tmp_path / "run").codes().items()
    }
    assert sorted(found.values()) == [2, 4]
    assert len(list((tmp_path / "run" / "parts").glob("*"))) == 2
