"""Generated invocations of every command: never a traceback, never a stray file.

Those that are wrong by construction end with status 2 and one line; whatever else comes out of
putting arguments together ends in the statuses that are documented.
"""

import os
import shutil
import sys
from pathlib import Path

import click
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linrep._lib import scripts
from linrep.cli import main
from linrep.cli.group import BadInput, bad_input
from tests.cli.test_figures import SCRIPT
from tests.tools import runner

CLAIMS = """
from linrep.claims import Identity, statement

@statement("mine.one", place="here", latex="x", plain="One.",
           negative_control={"x": 2})
def one(budget, rng, *, x=1):
    yield Identity([(abs(x - 1), {"x": x})], 1e-12)
"""
#: What is said beside the answer where a cache of kernels is cold.
COMPILING = "compiling kernels"
SWEPT = "def measure(cell, rng):\n    return {'x': rng.random()}\n"
#: What stands in the folder in which everything is called.
FILES = {
    "mine.py": SCRIPT,
    "claims.py": CLAIMS,
    "swept.py": SWEPT,
    "empty.py": "",
    "syntax.py": "def\n",
    "raises.py": "raise KeyError('no\\nsuch')\n",
    "leaves.py": "raise SystemExit(3)\n",
    "needs.py": "import no_such_module\n",
    "notes.txt": "notes\n",
    "binary.bin": b"\x00\xff\xfePAR1",
    "binary.py": b"\x00\xff\xfe",
    "bad.toml": "algorithm = ",
    "latin.toml": b'where = "\xff"',
    "other.toml": 'algorithm = "fedrep"\n[axes]\nn = [[1]]\nk = "x"\nd = {}\n',
    "list.json": "[1, 2]",
    "broken/sweep.json": "{",
    "foreign/sweep.json": '{"format": 2, "cells": [], "name": 3}',
    "binary/sweep.json": b"\xff\xfe",
    "theirs/notes.txt": "notes\n",
    "torn/parts/a.parquet": b"PAR1\x00\x00\x00\x00PAR1",
    "empty/.keep": "",
}
#: Texts that mean something somewhere, and nothing in most places.
TEXTS = (
    "", " ", "-", "--", "0", "-1", "1", "2", "nan", "inf", "-inf", "1e400", "1e9", "0.5", "1/0",
    "9" * 40, "1,2", ",", "1,,2", "1:", "1:2:3:4", "2:1", "1:9:log2", "true", "none", "x", "x < 1",
    "x <", "a", "a=1", "a=1,", "=", "a=nan", 'a="', "a:b", ":", "swept.py:", "swept.py:nothing",
    "swept:measure", "notes.txt:f", "swept.py:measure", "*", "[", "?", "{}", "%s", "ü∞–", "a\nb",
    "\udcff", "\u202e", "a" * 300, "nowhere", "/proc/nowhere/x", "notes.txt/below", "run", "torn",
    "__import__('os')", "x.__class__", "@x", "1 if x else 2", "n", "round", "status",
    "mean", "quick", "fedrep", "nobody", "1/2", "0/1", "3/2", "tcp://127.0.0.1:1",
    "fedrep.lemma*", *FILES, *{name.partition("/")[0] for name in FILES},
)  # fmt: skip
#: Sweep files that would take a parser long, or too deep.
NESTED = (
    "[" * 5000, "a = " + "[" * 5000, "a" + ".a" * 5000 + " = 1", "seed = " + "9" * 5000,
    "[axes]\nn = " + "[" * 300 + "]" * 300,
)  # fmt: skip
anything = st.one_of(st.sampled_from(TEXTS), st.text(max_size=8).filter(lambda t: "\0" not in t))


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """A folder with files of all kinds, and runs that are as they should be, or not."""
    folder = tmp_path_factory.mktemp("template")
    for name, content in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    before = Path.cwd()
    os.chdir(folder)
    try:
        done = invoke("sweep", "--function", "swept.py:measure", "--a", "1,2", "--replicates", "2",
                      "--workers", "1", "--out", "run")  # fmt: skip
    finally:
        os.chdir(before)
    assert done.exit_code == 0, done.output
    shutil.copy(folder / "run" / "sweep.json", folder / "torn")
    return folder


def invoke(*arguments):
    return runner().invoke(main, list(arguments))


def listing(folder):
    """Return what is in a folder: names, kinds and sizes."""
    return {
        str(path.relative_to(folder)): path.stat().st_size if path.is_file() else None
        for path in folder.rglob("*")
        if "__pycache__" not in path.parts and path.name != ".lock"
    }


@pytest.fixture
def place(template, tmp_path, monkeypatch):
    """Call commands in a copy of the template, made anew whenever a call has changed it."""
    folder = tmp_path / "place"
    expected = listing(template)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(scripts, "record", lambda: None)  # all of it would be made again

    def call(*arguments):
        if not folder.exists() or listing(folder) != expected:
            os.chdir(tmp_path)
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(template, folder)
        monkeypatch.chdir(folder)
        done = invoke(*arguments)
        return done, listing(folder) == expected

    return call


def is_answered(done):
    """Assert that a result is one of those documented."""
    __tracebackhide__ = True
    error = done.exception
    if error is not None and not isinstance(error, SystemExit):
        raise error
    assert done.exit_code in (0, 1, 2)
    if done.exit_code == 2:
        said = [line for line in done.stderr.splitlines() if not line.startswith(COMPILING)]
        assert len(said) == 1, done.stderr
        assert said[0].startswith("Error: ")
        assert len(done.stderr) < 1000
    assert "Traceback" not in done.stderr


def is_refused(done, unchanged):
    """Assert that an invocation is answered with one line and status 2, and leaves nothing."""
    __tracebackhide__ = True
    is_answered(done)
    assert done.exit_code == 2, done.output
    assert unchanged


#: How each command is called so that it does something quickly; the last two do nothing quick.
CALLS = {
    "figures": ("mine.py", "--quick", "--workers", "1"),
    "report": ("fedrep.lemma1", "--out", "page.html"),
    "summary": ("run", "x"),
    "plot": ("run", "x", "--x", "a"),
    "sweep": ("--function", "swept.py:measure", "--a", "1", "--replicates", "1", "--workers", "1"),
    "reproduce": (),  # which finds no record here
    "merge": ("new", "run"),
    "new": ("claim",),
    "verify": ("claims.py", "--workers", "1"),
    "certify": ("flute.eq3",),  # which has nothing for solvers
    "show": ("fedrep.lemma1",),
}
#: Options that are not put together at random: they start processes, wait, or ask back.
APART = {"--workers", "--processes", "--dask", "--pdb", "--help"}


def test_every_command_is_called_here():
    assert set(CALLS) == set(main.commands)


def wrong_for(kind):
    """Return texts that are no values of a kind of option, None where any text may be one."""
    if isinstance(kind, click.Choice):
        return anything.filter(lambda text: text not in kind.choices)
    if isinstance(kind, click.IntRange):
        texts = st.sampled_from(("", "x", "0.5", "nan", "1e3", "ü", "1 2", "--quick"))
        return texts | st.integers(max_value=kind.min - 1).map(str)
    if isinstance(kind, click.types.IntParamType):
        return st.sampled_from(("", "x", "0.5", "nan", "inf", "-1", "1e3", "9" * 40, "ü", "1 2"))
    if isinstance(kind, click.Path):
        wrong = ["notes.txt/below", "/proc/nowhere/x", "a" * 300]
        if not kind.file_okay:
            wrong += ["notes.txt", "binary.bin"]
        if not kind.dir_okay:
            wrong += ["empty", "run", "."]
        if kind.exists:
            wrong += ["nowhere", "\udcff", "a\nb", ""]
        return st.sampled_from(wrong)
    return None


TYPED = [
    pytest.param(name, option.opts[-1], wrong, id=f"{name}{option.opts[-1]}")
    for name, command in main.commands.items()
    for option in command.params
    if isinstance(option, click.Option)
    and not option.is_flag
    and (wrong := wrong_for(option.type)) is not None
]
#: Three examples of each in the quick pass, a hundred in the slow one.
amounts = pytest.mark.parametrize("examples", [3, pytest.param(100, marks=pytest.mark.slow)])


def bounded(examples):
    checks = [HealthCheck.function_scoped_fixture]
    return settings(max_examples=examples, suppress_health_check=checks)


@amounts
@pytest.mark.parametrize(("name", "option", "wrong"), TYPED)
def test_a_value_that_is_none_is_refused(place, name, option, wrong, examples):
    @bounded(examples)
    @given(wrong)
    def refused(text):
        is_refused(*place(name, *CALLS[name], option, text))

    refused()


def not_refused(place, invocations, names=None):
    """Return those invocations that are not answered by one line and status 2, and why."""
    wrong = {}
    for words in invocations:
        done, unchanged = place(*words)
        try:
            is_refused(done, unchanged)
            assert names is None or names[" ".join(words)] in done.stderr.partition(": ")[2]
        except AssertionError as error:
            wrong[" ".join(words)] = f"{done.stderr}{error}"
    return wrong


def test_an_unknown_option_is_refused(place):
    unknown = (("--no-such-option",), ("-q",), ("-", "--"))
    invocations = [(name, *words, *extra) for name, words in CALLS.items() for extra in unknown]
    assert not_refused(place, invocations) == {}


@amounts
@pytest.mark.parametrize("name", CALLS)
def test_whatever_is_put_together_is_answered(place, name, examples):
    options = [
        option.opts[-1]
        for option in main.commands[name].params
        if isinstance(option, click.Option) and option.opts[-1] not in APART
    ]
    quick = anything.filter(lambda text: "*" not in text and ":" not in text[1:2])
    pairs = st.tuples(st.sampled_from(options or ["--x"]), quick)
    parts = st.lists(st.one_of(pairs, quick.map(lambda text: (text,))), max_size=4)

    # What takes long for all there is; of the report it is a matter of the slow pass.
    named = {"certify", "figures", "verify", *(["report"] if examples < 100 else [])}

    @bounded(examples)
    @given(parts, st.booleans())
    def answered(parts, base):
        before = CALLS[name] if base or name in named else ()
        dry = ("--dry-run",) if name == "sweep" else ()
        arguments = (name, *dry, *before, *(text for part in parts for text in part))
        done, unchanged = place(*arguments)
        is_answered(done)
        assert unchanged or done.exit_code != 2

    answered()


FEDREP = "sweep fedrep --n 6 --d 4 --k 2 --m 8 --rounds 3"
SWEEP = "sweep --function swept.py:measure --a 1,2 --replicates 2"
#: What is seen to be wrong once something is loaded, and what the answer names.
REFUSED = {
    "figures mine.py --out mine.py/below": "mine.py",
    "figures mine.py --check --quick": "--quick",
    "figures mine.py --record --caption": "--caption",
    "figures mine.py --check": "no record",
    "figures --check": "no such figure has a record",
    "figures mine.py --n 3": "n is no size",
    "figures mine.py --replicates 3 --record": "default sizes",
    "figures fedrep.figure3 --k 11": "k must be at most d = 10, got 11",
    "figures deep.digits --data nowhere": "--data",
    f"{FEDREP} more": "'more'",
    f"{FEDREP} --noise": "--noise needs values",
    f"{FEDREP} --n 7": "--n is given twice",
    f"{FEDREP} --noise 5:1": "--noise",
    f"{FEDREP} --where n>99": "n>99",
    f"{FEDREP} --where 3": "--where",
    f"{FEDREP} --derive noise": "--derive",
    f"{FEDREP} --zip n,q": "'q'",
    f"{FEDREP} --shard 3/2": "shard",
    f"{FEDREP} --paired n": "--paired",
    f"{FEDREP} --out swept.py/below": "swept.py",
    f"{FEDREP} --out .": "not a run directory",
    f"{FEDREP} --function swept.py:measure": "one of",
    f"{FEDREP} --record 3 --keep rate": "rate",
    f"{FEDREP} --condition 0.5 --dry-run": "condition",
    "sweep fedrep --n 9 --d 4 --k 2 --m 8 --rounds -3": "rounds",
    "sweep fedrep --n five --d 4 --k 2 --m 8": "n must be an integer",
    "sweep fedrep --n 9 --d 4 --k 5,6 --m 3": "k > d",
    "sweep fedrep,fedavg --n 9 --d 4 --k 2 --m 5": "fedavg: step_size",
    "sweep nowhere.py:f --n 5 --d 4 --k 2": "no such file",
    "sweep --function swept.py:nothing --a 1": "nothing",
    "sweep --function swept.py:measure": "no axis",
    "sweep --function swept.py:measure --a 1 --keep rate": "--keep",
    f"{SWEEP} --out run --seed 1": "seed: 0 there, 1 here",
    f"{SWEEP} --out run --only a=1 9": "2 replicates",
    f"{SWEEP} --out run --only a=7 0": "a=7",
    "sweep --from nowhere.toml": "nowhere.toml",
    "sweep --from bad.toml": "bad.toml",
    "summary": "no run directory",
    "summary theirs": "no run directory",
    "summary theirs x": "not a run directory",
    "summary run y": "'y'",
    "summary run x --threshold a": "true or false",
    "plot run x --x a --where a>9": "no row is left",
    "plot run x --x a --y a --by a": "--by",
    "plot run x --x a --log z": "--log",
    "plot run x --x a --boundary a": "--boundary",
    "plot run x --x a --out no/such.png": "no folder",
    "plot run x --x a --out x.foo": "foo",
    "merge all theirs": "not a run directory",
    "merge theirs run": "not empty",
    "verify claims.py swept.py": "one file",
    "verify claims.py --record": "--ledger",
    "verify claims.py --ledger book.json": "book.json",
    "verify syntax.py": "SyntaxError",
    "verify fedrep.eq85 --json x --figures ./x": "--figures",
    "verify fedrep.lemma1 --list --verdict fails": "no claim meets",
    "show pflmf.lemma1 --store missing": "missing",
    "show fedrep --ledger mine.json": "--ledger",
    "report claims.py --store nowhere": "nowhere",
    "reproduce --native": "no recorded figures",
    "new claim mine.txt": ".py",
    "new claim nowhere/mine.py": "no folder",
}


def test_what_is_wrong_is_refused_in_a_line_that_names_it(place):
    assert not_refused(place, map(str.split, REFUSED), REFUSED) == {}


TOML = {
    "worker = 3": "'worker'",
    "algorithm = 3": "algorithm",
    'replicates = "ten"': "replicates",
    "seed = 1.5": "seed",
    "where = 3": "where",
    'keep = "all"\nalgorithm = "fedrep"\n[axes]\nn = 3\nd = 3\nk = 2\nm = 3': "keep",
    'algorithm = "fedrep"\nfunction = "a:b"': "not both",
    'algorithm = "fedrep"\n[axes]\nn = "5:1"': "--n",
    'algorithm = "fedrep"\n[axes]\nn = inf\nd = 3\nk = 2\nm = 3': "n must be",
    'algorithm = "fedrep"\n[axes]\nn = {a = 1}\nd = 3\nk = 2\nm = 3': "n must be",
    **dict.fromkeys(NESTED, ""),
}


def test_a_sweep_file_that_says_nothing_sensible_is_refused(place):
    place("summary", "run")
    for text, word in TOML.items():
        Path("sweep.toml").write_text(text)
        done = invoke("sweep", "--from", "sweep.toml")
        is_answered(done)
        assert done.exit_code == 2
        assert word in done.stderr, text[:99]


def test_a_closed_output_is_no_bad_input():
    with pytest.raises(BrokenPipeError), bad_input(OSError):
        raise BrokenPipeError
    with pytest.raises(BadInput, match="no file"), bad_input(OSError):
        raise FileNotFoundError("no file")
