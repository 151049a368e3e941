"""Names that are known without loading what they stand for, and wrong ones answered at once."""

import inspect
import json
import os
import re
import runpy
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner

from linrep import SharedRepresentation, SideInformationCompletion, simulation
from linrep._lib.scripts import available, sizes_of
from linrep.claims import claims
from linrep.cli import main, names
from linrep.cli.axes import described
from linrep.cli.group import GROUPS
from linrep.cli.output import PICTURES
from linrep.figures import experiment
from linrep.simulation import families, parameters
from tests.test_import import HEAVY, ROOT
from tests.tools import complaint


def test_the_lists_of_names_are_those_that_follow_from_the_sources():
    files = runpy.run_path(str(ROOT / ".ci" / "names.py"))["files"]()
    stale = [path.name for path, text in files.items() if path.read_text("utf-8") != text]
    assert stale == [], "make names writes them"


def test_claims_are_those_there_are():
    assert set(names.claims()) == set(claims())
    assert set(names.papers()) == {item.paper for item in claims().values()}


def test_what_is_not_recorded_is_a_claim_though_a_figure_has_its_name(monkeypatch):
    monkeypatch.setattr(names, "claims", list)
    assert names.is_claim("flute.figure1")
    assert not names.is_claim("fedrep.learning_curves")


def test_what_is_read_of_algorithms_is_what_they_are():
    assert names.algorithms() == list(simulation.ALGORITHMS)
    for name, (family, outline) in parameters.outlines().items():
        function, of = simulation.ALGORITHMS[name], families.find(family)
        assert simulation.family_of(name) is of
        assert outline.__doc__ == inspect.getdoc(function), name
        assert outline.__module__ == function.__module__
        for told in (parameters.known_parameters, parameters.required):
            assert told(outline, of) == told(function, of), name


def test_what_is_read_of_problems_is_what_they_are():
    for family, kind in (
        ("regression", SharedRepresentation), ("completion", SideInformationCompletion)
    ):  # fmt: skip
        own = families.parameters_of(kind.random)
        axes = [
            name for name in families.find(family).parameters if name not in ("kappa", "models")
        ]
        assert axes == [name for name in own if name != "singular_values"]
        assert inspect.getdoc(kind) in [each.__doc__ for each in families.find(family).documented]


def test_what_is_read_of_figures_are_their_sizes():
    for name in available():
        own = experiment.load(name).sizes
        assert sizes_of(name) == ([] if own is None else list(vars(own))), name
    assert sizes_of("no.such") == []


#: Of the axes that have to be given.
VALUES = {"n": 6, "d": 5, "k": 2, "p": 4, "m": 8, "per_client": 3, "step_size": 0.1}


@pytest.mark.parametrize("name", names.algorithms())
def test_words_that_are_proposed_are_those_that_are_taken(name):
    """The library lists them where it refuses another."""
    found, needed = described([name])
    given = {axis: VALUES[axis] for axis in ("step_size", *(group[0] for group in needed.values()))}
    given = {axis: value for axis, value in given.items() if axis in found}
    for axis, item in found.items():
        if axis in needed and axis != "step_size":
            continue
        cell = {"algorithm": name, **given, axis: "no such word"}
        try:
            simulation.simulate(cell, np.random.default_rng(0))
            taken = []
        except (TypeError, ValueError) as error:
            taken = re.findall(r"'([^']+)'", str(error).partition("got")[0])
            taken += ["true", "false"] * ("True or False" in str(error))
        assert set(item.words) == set(taken), axis


def test_the_command_alone_prints_its_help(capfd):
    with pytest.raises(SystemExit) as ended:
        main([], prog_name="linrep")
    out, err = capfd.readouterr()
    assert ended.value.code == 0
    assert out.startswith("Usage: linrep")
    assert "verify" in out
    assert err == ""


def test_a_cell_that_a_run_does_not_have_is_refused_before_anything_is_loaded(tmp_path):
    cells = [{"algorithm": "fedrep", "n": n, "k": 2} for n in (6, 8)]
    described = {"cells": cells, "replicates": 3}
    (tmp_path / "sweep.json").write_text(json.dumps(described), encoding="utf-8")
    lines = {
        "--cell n=7 --replicate 0": "no cell with n=7 in .; there are 6, 8",
        "--cell nn=7 --replicate 0": "no parameter 'nn'",
        "--cell n=6 --replicate 3": "--replicate must be between 0 and 2, got 3",
    }
    said = _answers([f"replay . {line}" for line in lines], tmp_path)
    for (found, ended), words in zip(said, lines.values(), strict=True):
        assert words in found
        assert ended == "2"


def test_a_statement_that_is_not_recorded_yet_is_known(monkeypatch):
    monkeypatch.setattr(names, "claims", lambda: ["fedrep.lemma1"])
    names.check_claims(["fedrep.theorem1", "fedrep.lemma*"])
    with complaint(ValueError, "no claim 'fedrep.lemma1x'", "did you mean fedrep.lemma1?"):
        names.check_claims(["fedrep.lemma1x"])


def test_every_command_is_in_one_group_of_the_help():
    grouped = [name for group in GROUPS.values() for name in group]
    assert sorted(grouped) == sorted(main.commands)
    lines = CliRunner().invoke(main, ["--help"], terminal_width=80).output.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line for line in lines if line in {f"{name}:" for name in GROUPS}] == [
        f"{name}:" for name in GROUPS
    ]
    for name in main.commands:
        assert any(line.startswith(f"  {name} ") for line in lines)


WRONG = [
    ("verfy", "did you mean verify"),
    ("verify --budgt quick", "--budget"),
    ("verify fedrep.lema5", "did you mean fedrep.lemma5"),
    ("verify nowhere.py", "no such file: nowhere.py"),
    ("verify --paper fedrap", "no paper 'fedrap'; did you mean fedrep?"),
    ("show fedrep.lema5", "did you mean fedrep.lemma5"),
    ("show fedrep.figur3", "fedrep.figure3"),
    ("show altgdmn", "did you mean altgdmin?"),
    ("report fedrep.lema5", "did you mean fedrep.lemma5"),
    ("certify fedrep.lema5", "did you mean fedrep.lemma5"),
    ("sensitivity fedrep.lema5", "did you mean fedrep.lemma5"),
    ("constants fedrap", "no paper 'fedrap'; did you mean fedrep?"),
    ("new clam", "clam"),
    ("reproduce --claims some", "'numbered', 'all'"),
    ("figures fedrep.figur3", "did you mean fedrep.figure3"),
    ("figures fedrep.figure3 --round 4", "has no size 'round'; did you mean --rounds?"),
    ("figures nowhere.py", "no such file: nowhere.py"),
    ("networks deep.flute_tabl1", "did you mean deep.flute_table1"),
    ("networks foo", "there are deep.digits, deep.fedrep_figure5"),
    ("verify fedrep.figure3", "did you mean fedrep.figure3.clients or fedrep.figure3.scaling"),
    ("new figur", "linrep new claim"),
    ("verify --portable --native", "give one of --portable and --native"),
    ("figures --native --portable", "give one of --portable and --native"),
    ("report --claims", "linrep report --help lists the options"),
    ("networks --where n.x", "'.x' is not allowed"),
    ("sweep fedrap --n 1", "did you mean fedrep"),
    ("sweep fedrep --round 1", "did you mean --rounds"),
    ("sweep fedrep --replicats 4", "did you mean --replicates?"),
    ("sweep fedrep --n 1:1000000000", "1,000,000,000 values; at most 1,000,000 are allowed"),
    ("sweep fedrep --n 1:1000 --m 1:1000 --d 1:9", "9,000,000 cells (n 1,000 x m 1,000 x d 9)"),
    ("sweep fedrep --n -5", "--n must be at least 1 and at most 10,000,000, got -5"),
    ("sweep fedrep --n 5.5", "--n must be an integer, got 5.5"),
    ("sweep fedrep --step_size 1e300", "--step_size must be above 0 and at most 1e+12"),
    ("sweep fedrep --rounds 1e300", "--rounds must be at least 0 and at most 1,000,000,000"),
    ("sweep fedrep --n 9 --d 4 --k 2 --m 3 --rounds 999999999", "GiB are free: take fewer rounds"),
    ("figures fedrep.figure1 --rounds 999999999", "GiB are free: take fewer rounds"),
    ("figures fedrep.figure3 --n -5", "--n must be at least 1 and at most 10,000,000, got -5"),
    ("figures FedRep.Figure3 --round 4", "fedrep.figure3: this figure has no size 'round'"),
    ("figures fedrep.figure3 --n abc", "--n must be an integer, got 'abc'"),
    ("sweep fedrep --step_size nan", "--step_size must be finite, got nan"),
    ("sweep fedrep --participation 0", "--participation must be above 0"),
    ("sweep fedrep --n 5 --where n.x", "'.x' is not allowed"),
    ("sweep fedrep --n 5 --where 3", "--where must be a condition"),
    ("sweep fedrep --n 5 --derive d=__import__", "are Python's"),
    ("sweep fedrep --n 5 --replicates 99999999999", "--replicates"),
    ("sweep fedrep --n 5 --workers 99999", "1<=x<=1024"),
    ("sweep", "no algorithm is given"),
    ("sweep s.toml --n 5", "unknown algorithm 's.toml'; did you mean --from s.toml?"),
    ("sweep own.py --n 5", "unknown algorithm 'own.py'; did you mean own.py:FUNCTION?"),
    ("sweep fedrep --n 5", "--d, --k and --m must be given"),
    ("sweep fedrep --n 5 --d 4 --m 3", "Error: --k must be given"),
    (
        "sweep nuclear_norm --n 5 --d 4 --p 3 --k 2",
        "--per_client or --entries or --oversampling must",
    ),
    (
        "sweep fedrep --heads spherre --dry-run",
        "--heads: no such value 'spherre'; did you mean sphere?",
    ),
    ("sweep fedrep --n 9 --d 4 --k 5,6 --m 3", "--k must be at most d = 4, got 5"),
    ("sweep fedrep --n 4 --d 9 --k 5 --m 3", "--k must be at most n = 4, got 5"),
    ("sweep perfedsi --n 3 --d 9 --p 4 --k 5", "--k must be at most p = 4, got 5"),
    ("sweep fedrep --n five", "--n must be an integer, got 'five'"),
    ("sweep fedrep flute", "several algorithms as one word: fedrep,flute"),
    ("sweep fedrep -n 5", "did you mean --n?"),
    ("sweep nowhere.py:f --n 5", "no such file: nowhere.py"),
    ("sweep --function nowhere.py:f --n 5", "no such file: nowhere.py"),
    ("sweep fedrep --problem regresion", "regression"),
    ("sweep fedrep --n 5 --d 4 --k 2 --m 5 --shard 9/3", "between 1 and 3, got 9"),
    ("verify fedrep", "'fedrep' is a paper"),
    ("plot nowhere x --x n --out no/such.png", "not a run directory"),
    ("compare fedrap", "did you mean fedrep"),
    ("compare fedrep --round 3", "did you mean --rounds"),
    ("compare fedrep --n 3", "--d, --k and --m must be given"),
    ("compare fedrep --n 9 --d 9 --k 2", "Error: --m must be given"),
    ("compare fedrep --n 9 --d 4 --k 5 --m 3", "--k must be at most d = 4, got 5"),
    (
        "compare fedrep --start momnts --n 3",
        "--start: no such value 'momnts'; did you mean moments?",
    ),
    ("compare fedrep --n 9 --d 4 --k 2 --m 3 --out x.foo", "--out: no picture ends in .foo"),
    ("runs nowhere", "nowhere"),
    ("summary nowhere x", "not a run directory"),
    ("plot nowhere x --x n", "not a run directory"),
    ("merge out nowhere", "not a run directory"),
    ("replay nowhere --replicate 0", "not a run directory"),
    ("cite fedrap", "no paper or claim 'fedrap'; did you mean fedrep?"),
    ("cite fedrap.*", "no paper or claim 'fedrap.*'; did you mean fedrep.*?"),
    ("verify fedrap", "no claim 'fedrap'; did you mean fedrep.*?"),
    ("report flut.lemma*", "did you mean flute.lemma*?"),
    ("certify pflmff", "did you mean pflmf.*?"),
    ("sensitivity perfedsii.lemma*", "did you mean perfedsi.lemma*?"),
    ("show pflmff", "did you mean pflmf or"),
    ("show fedrap.*", "did you mean fedrep.*?"),
    ("figures fedrap.*", "unknown experiment 'fedrap.*'; did you mean fedrep.*?"),
    ("verify fedrep.lemma5 --at-most 4", "--at-most needs --until-decided"),
    ("verify fedrep.lemma5 --until-decided --at-most x", "seconds or a factor"),
    ("verify fedrep.lemma5 --record --level 0.1", "leave --level out"),
    ("verify fedrep.lemma5 --record --until-decided", "leave --until-decided out"),
    ("verify fedrep.lemma5 --json nowhere/x", "--json: there is no folder nowhere"),
    ("verify fedrep.lemma5 --ledger x.json", "--ledger is for claims of your own"),
    ("report fedrep.lemma5 --ledger x.json", "--ledger is for claims of your own"),
    ("show fedrep.lemma5 --ledger x.json", "--ledger is for claims of your own"),
    ("compare fedrep --n 9 --d 4 --k 2 --m 3 --rounds x", "--rounds must be an integer, got 'x'"),
    ("compare fedrep --n 9 --d 4 --k 2 --m 3 --metric risk", "'risk' is not one of"),
    ("figures fedrep.figure3 --rounds x", "--rounds must be an integer, got 'x'"),
    ("info --jsn", "--json"),
]


def test_wrong_input_of_every_command_is_answered_without_loading_anything_heavy(tmp_path):
    """In one process: what one of them loads would be loaded from then on."""
    assert {line.split()[0] for line, _ in WRONG[1:]} == set(main.commands)
    said = _answers([line for line, _ in WRONG], tmp_path)
    for (line, words), (found, ended) in zip(WRONG, said, strict=True):
        assert found.startswith("Error: "), line
        assert words in found, f"{line}: {found}"
        assert ended == "2", f"{line} loads {ended}"
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_no_python_or_empty_is_answered_without_loading_anything(tmp_path):
    (tmp_path / "bad.py").write_text("x = 1\ndef\n")
    (tmp_path / "empty.py").write_text("# nothing yet\n")
    bad, empty = _answers(["verify bad.py", "report empty.py"], tmp_path)
    assert bad[0].startswith("Error: bad.py cannot be loaded: SyntaxError: invalid syntax")
    assert bad[0].rstrip().endswith("(bad.py, line 2): def")
    assert "empty.py contains no claim" in empty[0]
    assert bad[1] == empty[1] == "2"


def test_endings_of_pictures_are_those_that_matplotlib_knows():
    from matplotlib.backend_bases import FigureCanvasBase

    assert set(FigureCanvasBase.get_supported_filetypes()) <= set(PICTURES)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("FedRep.Theorem2", ["fedrep.theorem2"]),
        ("fedrep.a1_w", ["fedrep.A1_W"]),
        ("PFLMF.Lemma?", [f"pflmf.lemma{number}" for number in range(3, 8)]),
        ("fedrep.lema5", ["fedrep.lema5"]),
        ("fedrep.*", ["fedrep.*"]),
    ],
)
def test_ids_have_any_capitals(given, found):
    assert names.match_spelling([given], names.claims()) == found


def test_commands_take_ids_and_papers_with_any_capitals():
    def say(*words):
        return CliRunner().invoke(main, list(words)).output

    assert say("show", "FedRep.Theorem2") == say("show", "fedrep.theorem2")
    assert say("show", "FedRep.Figure3") == say("show", "fedrep.figure3")
    listed = say("verify", "--list", "--paper", "FedRep")
    assert listed == say("verify", "--list", "--paper", "fedrep")
    assert "fedrep.theorem2" in listed


def _answers(lines, folder):
    """Return what each call says, and its exit status with the heavy modules that it loads."""
    script = (
        "import sys\nfrom linrep.cli import main\n"
        "for line in sys.argv[1:]:\n"
        "    try:\n        main(line.split(), prog_name='linrep')\n"
        "    except SystemExit as ended:\n"
        "        loaded = {name.partition('.')[0] for name in sys.modules}\n"
        f"        print(ended.code, *(loaded & {HEAVY - {'click'}}), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *lines],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=folder, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    said = done.stderr.splitlines()
    assert len(said) == 2 * len(lines), done.stderr
    return list(zip(said[::2], said[1::2], strict=True))
