"""Names that are known without loading what they stand for, and wrong ones answered at once."""

import inspect
import os
import re
import runpy
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner

from linrep import SharedRepresentation, SideInformationCompletion, simulation
from linrep._lib import papers
from linrep._lib.scripts import available, sizes_of
from linrep.claims import claims, ledger
from linrep.cli import main, names
from linrep.cli.axes import axes_of
from linrep.cli.group import GROUPS
from linrep.figures import experiment
from linrep.simulation import families, parameters
from tests.test_import import HEAVY, ROOT
from tests.tools import complaint


def test_the_lists_of_names_are_those_that_follow_from_the_sources():
    files = runpy.run_path(str(ROOT / ".ci" / "names.py"))["files"]()
    stale = [path.name for path, text in files.items() if path.read_text("utf-8") != text]
    assert stale == [], "make names writes them"
    assert [id for name in papers.own() for id in ledger.stale(name)] == [], "make names"


def test_claims_are_those_there_are():
    assert set(names.claims()) == set(claims())
    assert set(names.papers()) == {item.paper for item in claims().values()}


def test_what_is_read_of_algorithms_is_what_they_are():
    assert list(parameters.outlines()) == list(simulation.ALGORITHMS)
    for name, (family, outline) in parameters.outlines().items():
        function, of = simulation.ALGORITHMS[name], families.find(family)
        assert simulation.family_of(name) is of
        assert outline.__doc__ == inspect.getdoc(function), name
        assert outline.__module__ == function.__module__
        for read in (parameters.known_parameters, parameters.required):
            assert read(outline, of) == read(function, of), name


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
        lines = {} if own is None else own.lines()
        assert list(sizes_of(name)) == list(lines), name
        for each, line in sizes_of(name).items():
            assert line.partition("  [")[0] == lines[each].partition("  [")[0]
    assert sizes_of("fedrep.figure3") == experiment.load("fedrep.figure3").sizes.lines()
    assert sizes_of("no.such") == {}


#: Of the axes that have to be given.
VALUES = {"n": 6, "d": 5, "k": 2, "p": 4, "m": 8, "per_client": 3, "step_size": 0.1}


@pytest.mark.parametrize("name", parameters.outlines())
def test_words_that_are_proposed_are_those_that_are_taken(name):
    """The library lists them where it refuses another."""
    axes = axes_of([name])
    needed = {group[0]: VALUES[group[0]] for group in axes.required}
    if "step_size" in axes.known:
        needed["step_size"] = VALUES["step_size"]
    for axis, (_, words) in axes.known.items():
        if not words or (axis in needed and axis != "step_size"):
            continue
        cell = {"algorithm": name, **needed, axis: "no such word"}
        with pytest.raises((TypeError, ValueError)) as refused:
            simulation.simulate(cell, np.random.default_rng(0))
        said = str(refused.value).partition("got")[0]
        taken = re.findall(r"'([^']+)'", said) + ["true", "false"] * ("True or False" in said)
        assert set(words) == set(taken), axis


def test_the_command_alone_prints_its_help(capfd):
    with pytest.raises(SystemExit) as ended:
        main([], prog_name="linrep")
    out, err = capfd.readouterr()
    assert ended.value.code == 0
    assert out.startswith("Usage: linrep")
    assert "verify" in out
    assert err == ""


def test_a_statement_that_is_not_recorded_yet_is_known(monkeypatch):
    monkeypatch.setattr(names, "claims", lambda: ["fedrep.lemma1"])
    names.check_claims(["fedrep.theorem1", "fedrep.lemma*"])
    with complaint(ValueError, "no claim 'fedrep.lemma1x'", "did you mean fedrep.lemma1"):
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


#: What is not the name of anything, or no word that an option takes, and what the answer names.
WRONG = {
    "verfy": "verify",
    "verify --budgt quick": "--budget",
    "verify fedrep.lema5": "fedrep.lemma5",
    "verify fedrap": "fedrep.*",
    "verify fedrep": "fedrep.*",
    "verify --paper fedrap": "fedrep",
    "verify --sensitivity perfedsii.lemma*": "perfedsi.",
    "verify nowhere.py": "nowhere.py",
    "verify fedrep.lemma5 --at-most 4": "--until-decided",
    "verify fedrep.lemma5 --until-decided --at-most x": "--at-most",
    "verify fedrep.lemma5 --record --level 0.1": "--level",
    "verify fedrep.lemma5 --record --until-decided": "--until-decided",
    "verify fedrep.lemma5 --json nowhere/x": "nowhere",
    "verify fedrep.lemma5 --ledger x.json": "--ledger",
    "show": "claim",
    "show fedrep.lema5": "fedrep.lemma5",
    "show fedrep.figur3": "fedrep.figure3",
    "show altgdmn": "altgdmin",
    "show pflmff": "pflmf",
    "show deep.digits --note": "--note",
    "show --constants fedrap": "fedrep",
    "show --cite fedrap": "fedrep",
    "certify fedrep.lema5": "fedrep.lemma5",
    "certify pflmff": "pflmf.*",
    "report fedrep.lema5": "fedrep.lemma5",
    "report --claims": "--help",
    "new clam": "linrep new claim",
    "new paper": "NAME",
    "new paper Toy": "small letters",
    "new paper fedrep": "fedrep",
    "new claim --title x": "--title",
    "reproduce --claims some": "numbered",
    "figures fedrep.figur3": "fedrep.figure3",
    "figures fedrap.*": "fedrep.*",
    "figures FedRep.Figure3 --round 4": "--rounds",
    "figures nowhere.py": "nowhere.py",
    "sweep": "fedrep",
    "sweep fedrap --n 1": "fedrep",
    "sweep fedrep --round 1": "rounds",
    "sweep fedrep --replicats 4": "replicates",
    "sweep fedrep --n 5": "d, k, m",
    "sweep nuclear_norm --n 5 --d 4 --p 3 --k 2": "per_client or entries or oversampling",
    "sweep fedrep --n 5 --d 4 --k 2 --m 3 --heads spherre": "sphere",
    "sweep fedrep --problem regresion": "regression",
    "sweep fedrep flute": "fedrep,flute",
    "sweep fedrep -n 5": "--n",
    "sweep fedrep --n 5 --workers 99999": "1024",
    "sweep fedrep --n 1:1000000000": "1,000,000",
    "sweep fedrep --n 1:1000 --m 1:1000 --d 1:9": "9,000,000",
    "sweep fedrep --n 5 --only n=5": "--only",
    "sweep s.toml --n 5": "--from s.toml",
    "summary nowhere": "nowhere",
    "summary nowhere x": "nowhere",
    "summary --by n": "VALUE",
    "plot nowhere x --x n": "nowhere",
    "merge out nowhere": "nowhere",
}


def test_wrong_input_of_every_command_is_answered_without_loading_anything_heavy(tmp_path):
    """In one process: what one of them loads would be loaded from then on."""
    assert {line.split()[0] for line in WRONG} == {"verfy", *main.commands}
    said = _answers(list(WRONG), tmp_path)
    for (line, word), (found, ended) in zip(WRONG.items(), said, strict=True):
        assert found.startswith("Error: "), line
        assert word in found.removeprefix("Error: "), f"{line}: {found}"
        assert ended == "2", f"{line} loads {ended}"
    assert not list(tmp_path.iterdir())


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
