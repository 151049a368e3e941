"""Names that are known without loading what they stand for, and wrong ones answered at once."""

import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from linrep import experiment, simulation
from linrep.claims import claims
from linrep.cli import main, names
from linrep.cli.group import GROUPS
from tests.test_import import HEAVY, ROOT
from tests.tools import complaint


def test_algorithms_and_their_axes_are_those_there_are():
    assert list(names.AXES) == list(simulation.ALGORITHMS)
    for name, function in simulation.ALGORITHMS.items():
        known = simulation.known_parameters(function, simulation.family_of(name))
        assert set(names.AXES[name]) == set(known), name
        assert len(set(names.AXES[name])) == len(names.AXES[name])


def test_claims_are_those_there_are():
    assert set(names.claims()) == set(claims())
    assert set(names.papers()) == {item.paper for item in claims().values()}


@pytest.mark.parametrize("name", experiment.available())
def test_sizes_are_those_of_the_figure(name):
    sizes = experiment.load(name).sizes
    assert names.SIZES.get(name, ()) == (() if sizes is None else tuple(vars(sizes)))


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
    ("verfy", "did you mean verify?"),
    ("verify --budgt quick", "--budget"),
    ("verify fedrep.lema5", "did you mean fedrep.lemma5"),
    ("verify nowhere.py", "no such file: nowhere.py"),
    ("verify --paper fedrap", "no paper 'fedrap'; did you mean fedrep?"),
    ("show fedrep.lema5", "did you mean fedrep.lemma5"),
    ("show fedrep.figur3", "fedrep.figure3"),
    ("show altgdmn", "did you mean altgdmin?"),
    ("report fedrep.lema5", "did you mean fedrep.lemma5"),
    ("constants fedrap", "no paper 'fedrap'; did you mean fedrep?"),
    ("new clam", "clam"),
    ("reproduce --claims some", "'numbered', 'all'"),
    ("figures fedrep.figur3", "did you mean fedrep.figure3"),
    ("figures fedrep.figure3 --round 4", "has no size 'round'; did you mean --rounds?"),
    ("figures nowhere.py", "no such file: nowhere.py"),
    ("networks fedrep.figur3", "did you mean fedrep.figure3"),
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
    ("sweep fedrep --participation 0", "--participation must be above 0"),
    ("sweep fedrep --n 5 --where n.x", "'.x' is not allowed"),
    ("sweep fedrep --n 5 --where 3", "--where must be a condition"),
    ("sweep fedrep --n 5 --derive d=__import__", "are Python's"),
    ("sweep fedrep --n 5 --replicates 99999999999", "--replicates"),
    ("sweep fedrep --n 5 --workers 99999", "1<=x<=1024"),
    ("sweep", "no algorithm is given"),
    ("sweep fedrep --n 5 --d 4", "k, m must be given"),
    ("sweep fedrep --n five", "--n must be an integer, got 'five'"),
    ("sweep fedrep flute", "several algorithms are one word: fedrep,flute"),
    ("sweep fedrep -n 5", "did you mean --n?"),
    ("sweep nowhere.py:f --n 5", "no such file: nowhere.py"),
    ("sweep --function nowhere.py:f --n 5", "no such file: nowhere.py"),
    ("sweep fedrep --problem regresion", "regression"),
    ("sweep fedrep --n 5 --d 4 --k 2 --m 5 --shard 9/3", "between 1 and 3, got 9"),
    ("verify fedrep", "'fedrep' is a paper"),
    ("plot nowhere x --x n --out no/such.png", "not a run directory"),
    ("compare fedrap", "did you mean fedrep"),
    ("compare fedrep --round 3", "did you mean --rounds"),
    ("compare fedrep --n 3", "--d must be given"),
    ("runs nowhere", "nowhere"),
    ("summary nowhere x", "not a run directory"),
    ("plot nowhere x --x n", "not a run directory"),
    ("merge out nowhere", "not a run directory"),
    ("replay nowhere --replicate 0", "not a run directory"),
    ("bench fedrp", "fedrp"),
    ("info --jsn", "--json"),
]


def test_wrong_input_of_every_command_is_answered_without_loading_anything_heavy(tmp_path):
    """In one process: what one of them loads would be loaded from then on."""
    assert {line.split()[0] for line, _ in WRONG[1:]} == set(main.commands)
    script = (
        "import sys\nfrom linrep.cli import main\n"
        "for line in sys.argv[1:]:\n"
        "    try:\n        main(line.split(), prog_name='linrep')\n"
        "    except SystemExit as ended:\n"
        "        loaded = {name.partition('.')[0] for name in sys.modules}\n"
        f"        print(ended.code, *(loaded & {HEAVY - {'click'}}), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *(line for line, _ in WRONG)],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=tmp_path, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    lines = done.stderr.splitlines()
    assert len(lines) == 2 * len(WRONG), done.stderr
    for (line, words), said, ended in zip(WRONG, lines[::2], lines[1::2], strict=True):
        assert said.startswith("Error: "), line
        assert words in said, f"{line}: {said}"
        assert ended == "2", f"{line} loads {ended}"
    assert not list(tmp_path.iterdir())
