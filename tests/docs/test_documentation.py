"""Code in the documentation runs, commands parse, and what it lists is complete."""

import importlib
import inspect
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tomllib
from fractions import Fraction
from io import StringIO
from pathlib import Path
from unicodedata import category

import click
import matplotlib
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from llvmlite.binding import get_host_cpu_features

import linrep
from linrep._lib import papers
from linrep._lib.display import number
from linrep._lib.scripts import available
from linrep.claims import HOLDS, UNDECIDED, claims, ledger, pages, prose
from linrep.claims.contents import counts
from linrep.claims.evidence import LOWER
from linrep.cli import main
from tests.tools import quoted

ROOT = Path(linrep.__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(
    path
    for path in [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]
    # The ledger is generated; notebooks are run when the site is built.
    if not path.is_relative_to(DOCS / "ledger")
    and not {"_build", "jupyter_execute", "notebooks"} & set(path.parts)
)
#: Findings are reproductions that stand alone; all other pages read from top to bottom.
ALONE = papers.files(prose.FINDINGS, papers.own())
#: Categories of characters beside letters and marks that stay in GitHub's anchors.
NAME = ("Nd", "Pc")


def blocks(path, language):
    """Return a page's blocks of code in a language."""
    return re.findall(rf"```{language}\n(.*?)```", path.read_text("utf-8"), re.DOTALL)


def named(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize(
    "block", [block for page in ALONE for block in blocks(page, "python")], ids=lambda block: None
)
def test_a_finding_is_reproduced(block):
    exec(compile(block, "findings", "exec"), {})


#: Pages on one's own data, which show what each block prints.
PRINTED = ("choosing.md", "data.md")


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=named)
def test_a_page_runs_from_top_to_bottom(page, monkeypatch, tmp_path, capsys):
    text, printed = page.read_text("utf-8"), 0
    pairs = re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", text, re.DOTALL)
    for package, sign in (
        ("torch", "linrep import deep"),
        ("distributed", "from distributed"),
        ("sklearn", "from sklearn"),
    ):
        if page.name in PRINTED or any(sign in code for code, _ in pairs):
            pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "page", "__file__": str(tmp_path / "page.py")}
    write_files(page)
    for code, output in pairs:
        exec(compile(code, named(page), "exec"), names)
        lines = capsys.readouterr().out.splitlines()
        if output and page.name in PRINTED:
            assert [line.rstrip() for line in lines] == output.splitlines()
            printed += 1
    assert printed >= 2 or page.name not in PRINTED


def test_the_table_of_real_tables_is_what_was_stored():
    pytest.importorskip("sklearn")
    names = runpy.run_path(DOCS / "notebooks" / "data" / "real_tables.py")
    rows = pd.read_csv(DOCS / "notebooks" / "data" / "real_tables.csv")
    text = (DOCS / "choosing.md").read_text("utf-8")
    assert names["summary"](rows) in text
    assert names["findings"](rows) in text
    assert list(rows["table"].unique()) == list(names["TABLES"])


def command_lines(page):
    """Return the words of each linrep command on a page, comments left out, variables as 1."""
    for block in blocks(page, "sh"):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(re.sub(r"\$\w+", "1", line), comments=True)
            if words and words[0] == "linrep":
                yield words[1:]


def write_files(page):
    """Write the blocks that begin with a file's name, as a reader would."""
    for language in ("python", "toml"):
        for block in blocks(page, language):
            if file := re.match(r"# (\w+\.\w+)\n", block):
                Path(file[1]).write_text(block, encoding="utf-8")


class Reached(Exception):
    """A command got as far as the work."""


#: Pages and the words of a command on them.
COMMANDS = [(page, words) for page in PAGES for words in command_lines(page)]


def test_a_command_is_one(monkeypatch):
    # Run directories and data that it expects are not what is tested.
    monkeypatch.setattr(click.Path, "convert", lambda self, value, param, ctx: value)
    wrong = {}
    for page, words in COMMANDS:
        try:
            context = main.make_context("linrep", list(words))  # --version ends there
            name, command, remaining = main.resolve_command(context, list(words))
            command.make_context(name, list(remaining), parent=context)
        except click.exceptions.Exit:
            pass
        except click.ClickException as error:
            wrong[f"{named(page)}: {' '.join(words)}"] = error.format_message()
    assert len(COMMANDS) > 50
    assert wrong == {}


@pytest.mark.parametrize("deep", [False, True], ids=["linear", "deep"])
def test_a_sweep_on_a_page_gets_as_far_as_its_first_cell(deep, monkeypatch, tmp_path):
    """The command makes sense of its options by itself."""
    if deep:
        pytest.importorskip("torch")

    def run(*args, **kwargs):
        raise Reached

    monkeypatch.setattr("linrep.sweeps.run", run)
    sweeps = [
        (page, [word for word in words if word != "--dry-run"])
        for page, words in COMMANDS
        if words[0] == "sweep" and ("deep." in words[1]) == deep
    ]
    wrong = {}
    for count, (page, words) in enumerate(sweeps):
        folder = tmp_path / str(count)
        folder.mkdir()
        monkeypatch.chdir(folder)
        write_files(page)
        for option, end in (("--dask", 2), ("--only", 3)):
            if option in words:
                index = words.index(option)
                words = words[:index] + words[index + end :]
        result = CliRunner().invoke(main, words)
        if not isinstance(result.exception, Reached):
            wrong[f"{named(page)}: {' '.join(words)}"] = result.output
    assert sweeps
    assert wrong == {}


def test_the_tour_has_every_command_and_every_figure():
    page = DOCS / "tour.md"
    shown = {words[0] for words in command_lines(page) if not words[0].startswith("-")}
    assert shown == set(main.commands)
    rows = re.findall(r"^\| (`.*?`) \|", page.read_text("utf-8"), re.MULTILINE)
    drawn = re.findall(r"`([^`]+)`", " ".join(rows))
    assert sorted(drawn) == available()


def test_the_gallery_has_every_recorded_figure():
    (lines,) = re.findall(r"```{gallery}\n(.*?)```", (DOCS / "gallery.md").read_text("utf-8"), re.S)
    shown = [line.split(" | ")[0] for line in lines.splitlines()]
    assert sorted(shown) == sorted(path.stem for path in (ROOT / "figures").glob("*.svg"))


def test_every_shell_block_is_of_commands_that_are_known():
    known = {"linrep", "make", "python", "pip", "pytest", "sphinx-build"}
    known |= {"bash", "cd", "eval", "for", "done", "source"}
    for page in PAGES:
        for block in blocks(page, "sh"):
            for line in block.replace("\\\n", " ").splitlines():
                words = shlex.split(line, comments=True)
                assert not words or words[0] in known, f"{named(page)}: {line}"


@pytest.mark.skipif(not shutil.which("make"), reason="there is no make")
def test_what_make_runs_is_shell_and_pages_name_targets_that_are_there():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([a-z][a-z-]*):", makefile, re.MULTILINE))
    for page in PAGES:
        for block in blocks(page, "sh"):
            assert targets.issuperset(re.findall(r"^make ([a-z][a-z-]*)", block, re.MULTILINE))
    command = ["make", "-C", str(ROOT), "--dry-run", "--always-make", *sorted(targets)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    done = subprocess.run(["sh", "-n"], input=lines, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def documented():
    """Return the modules of which the reference documents all public names."""
    pages = sorted((DOCS / "api").glob("*.md"))
    found = [
        name for page in pages for name in re.findall(r"{public} (\S+)", page.read_text("utf-8"))
    ]
    assert len(set(found)) == len(found)
    return found


def public(module):
    """Return the functions and classes that a module is for: its `__all__`, or all of its own."""
    if hasattr(module, "__all__"):
        named = [getattr(module, name) for name in module.__all__]
        return [item for item in named if inspect.isclass(item) or inspect.isfunction(item)]
    return [
        item
        for name, item in vars(module).items()
        if not name.startswith("_")
        and (inspect.isclass(item) or inspect.isfunction(inspect.unwrap(item)))
        and item.__module__ == module.__name__
    ]


#: The adapter is a test of its own, skipped without torch.
ROOMS = pytest.mark.parametrize("adapter", [False, True], ids=["linear", "deep"])


def documented_callables(adapter):
    """Yield the documented functions and classes, by dotted name: the adapter's, or all others."""
    if adapter:
        pytest.importorskip("torch")
    for name in documented():
        if name.startswith("linrep.deep") == adapter:
            for item in public(importlib.import_module(name)):
                yield f"{name}.{item.__qualname__}", item


def described(item):
    """Return the names in the section on a function's parameters or a class's attributes."""
    text = inspect.getdoc(item) or ""
    found = re.search(r"(?ms)^(Parameters|Attributes)\n-+\n(.*?)(?=\n\n\S[^\n]*\n---|\Z)", text)
    heads = re.findall(r"^\S.*", found[2], re.MULTILINE) if found else []
    names = [name.lstrip("*") for head in heads for name in head.partition(" :")[0].split(", ")]
    return names, found and found[1]


def parameters(item):
    """Return the names of what a function takes, or what makes a class."""
    try:
        takes = inspect.signature(item).parameters
    except ValueError:  # a class of warnings, which takes what they all do
        return []
    names = [name for name in takes if name not in ("self", "cls")]
    # Torch's modules say so where they take nothing.
    return [] if inspect.isclass(item) and names == ["args", "kwargs"] else names


def bases(item):
    """Return the classes of this package that a class derives from."""
    return [base for base in item.__mro__[1:] if base.__module__.startswith("linrep")]


def callables(item):
    """Yield a public function; or a class and its methods, those that it overrides apart."""
    yield item
    if not inspect.isclass(item):
        return
    for name, member in vars(item).items():
        member = getattr(member, "__func__", member)
        new = not any(name in vars(base) for base in bases(item))
        if inspect.isfunction(member) and new and not name.startswith("_"):
            yield member


def misdescribed(item):
    """Return the names that a text lacks, has too many of or has twice."""
    names, section = described(item)
    takes = set(parameters(item))
    missing, unknown = takes - set(names), set(names) - takes
    if inspect.isclass(item):  # what it has from others is in their texts
        missing -= {known for base in bases(item) for known in described(base)[0]}
    if section == "Attributes":  # not all of which are given
        unknown -= {*dir(item), *inspect.get_annotations(item)}
    return missing | unknown | {name for name in names if names.count(name) > 1}


@ROOMS
def test_public_names_have_texts_that_name_exactly_the_parameters(adapter):
    summaries = {
        name: (inspect.getdoc(item) or "").partition("\n")[0]
        for name, item in documented_callables(adapter)
    }
    assert summaries
    assert {name: line for name, line in summaries.items() if not line.endswith((".", ":"))} == {}
    wrong = {
        f"{name} ({each.__qualname__})": misdescribed(each)
        for name, item in documented_callables(adapter)
        for each in callables(item)
    }
    assert {name: names for name, names in wrong.items() if names} == {}


def test_a_text_that_names_other_parameters_is_found():
    def described_otherwise(first, second):
        """Add.

        Parameters
        ----------
        first, third : float
            Summands.
        first : float
            Once more.
        """

    assert misdescribed(described_otherwise) == {"first", "second", "third"}


def test_the_names_of_the_front_page_are_documented():
    pytest.importorskip("torch")
    known = {item for name in documented() for item in public(importlib.import_module(name))}
    for package in (linrep, linrep.problems, linrep.algorithms, linrep.deep, linrep.sweeps):
        missing = [item.__name__ for item in public(package) if item not in known]
        assert not missing, package.__name__


def test_pages_of_the_ledger_have_every_claim():
    texts = pages.pages(ledger.recorded())
    for name in ledger.recorded():
        assert f"## `{name}`" in texts[f"ledger/{name.partition('.')[0]}.md"]


def test_findings_have_headline_severity_and_reason_for_all_that_fails():
    found = prose.findings()
    verdicts = {name: entry.verdict for name, entry in ledger.recorded().items()}
    wrong = {name for name, verdict in verdicts.items() if verdict not in (HOLDS, UNDECIDED)}
    assert set(found) == wrong
    for finding in found.values():
        assert finding.headline
        assert finding.severity in prose.SEVERITIES, finding.ids
        assert finding.reason
        assert finding.text.startswith(finding.reason[:20])


@pytest.mark.slow
def test_tables_of_statements_know_theory_and_figures(extension):
    pages = extension("claim_pages")
    known = claims()
    theory = pages.theory_of(known["fedrep.theorem1"].check)
    assert {"linrep.theory.fedrep.contraction", "linrep.theory.fedrep.sample_size"} <= set(theory)
    assert pages.theory_of(known["fedrep.definition1"].check) == []
    # Through a helper of another module.
    assert "linrep.theory.flute.step_size_limits" in pages.theory_of(known["flute.lemmaA16"].check)
    for paper in ("fedrep", "flute", "perfedsi", "pflmf"):
        figures = pages.figures_of(paper)
        assert {name for name in pages.ABOUT if name.startswith(f"{paper}.")} <= set(figures)
        assert any(pages.figure_of(name, figures) for name in known)
    assert set(pages.ABOUT.values()) <= set(known)
    assert pages.figure_of("fedrep.figure3.clients", ["fedrep.figure3"]) == "fedrep.figure3"
    assert pages.figure_of("fedrep.figure30", ["fedrep.figure3"]) is None


def test_the_page_on_citing_names_this_version():
    assert f"{{{linrep.__version__}}}" in (DOCS / "cite.md").read_text("utf-8")


README = (ROOT / "README.md").read_text("utf-8")
LINKS = re.findall(r"\]\((?!https?:)([^)\s]+)\)", README)


def slug(heading):
    """Return the anchor that GitHub gives a heading."""
    kept = (
        c for c in heading.lower() if c in "- " or category(c)[0] in "LM" or category(c) in NAME
    )
    return "".join(kept).replace(" ", "-")


def leads_somewhere(link):
    path, _, anchor = link.partition("#")
    if not (ROOT / path).exists():
        return False
    headings = re.findall(r"^#+ (.*)$", (ROOT / path).read_text("utf-8"), re.M) if anchor else []
    return not anchor or anchor in [slug(heading.replace("`", "")) for heading in headings]


def test_the_readme_fits_two_screens_and_names_links_and_extras_that_there_are():
    assert len(README.splitlines()) <= 120
    assert len(LINKS) > 10
    assert [link for link in LINKS if not leads_somewhere(link)] == []
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    extras = set(re.findall(r"pip install '(?:linrep|\.)\[(\w+)\]'", README))
    assert extras
    assert extras <= set(settings["project"]["optional-dependencies"])


def test_the_readme_counts_as_the_ledger_does():
    """Printed statements by verdict, on linear settings and on networks; what is not, apart."""
    rows = re.findall(r"^\| \[.*\]\(docs/(\w+)\.md\).*? \| ([\d |–a-z]+) \|$", README, re.MULTILINE)
    assert [paper for paper, _ in rows] == list(
        dict.fromkeys(each.paper for each in claims().values())
    )
    for paper, cells in rows:
        own = [item for item in ledger.recorded().values() if item.paper == paper]
        assert [cell.strip() for cell in cells.split("|")] == counts(own).cells()


def test_the_changelog_counts_the_notebooks():
    words = ("six", "seven", "eight", "nine", "ten", "eleven", "twelve")
    notebooks = [
        path for path in (ROOT / "docs" / "notebooks").glob("*.md") if path.stem != "index"
    ]
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert re.findall(r"- (\w+) notebooks", changes) == [words[len(notebooks) - 6]]


def test_the_readmes_failures_are_findings_that_change_a_conclusion():
    found = prose.findings()
    lines = re.findall(r"^- .*?, (.*) \(\[`(.*)`\]\((.*)\)\): (.*)\.$", README, re.MULTILINE)
    assert {name.partition(".")[0] for _, name, *_ in lines} == {page.parent.name for page in ALONE}
    for place, name, link, text in lines:
        assert place in claims()[name].place
        finding = found[name]
        heading = f"{', '.join(finding.ids)}: {finding.headline}"
        page = f"linrep/papers/{name.partition('.')[0]}/findings.md#{slug(heading)}"
        assert (text, link) == (finding.headline, page)
        assert finding.severity == "conclusion", name


def first_lines():
    return re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", README, re.DOTALL).groups()


@pytest.mark.compiled
def test_the_readmes_first_lines_print_what_it_says(capsys):
    code, output = first_lines()
    assert len([line for line in code.splitlines() if line]) <= 6
    exec(compile(code, "README", "exec"), {})
    assert capsys.readouterr().out == output


@pytest.mark.slow
@pytest.mark.parametrize("processor", ["Prescott", "Haswell", "SkylakeX"])
def test_the_readmes_first_lines_print_that_elsewhere(processor):
    if processor == "SkylakeX" and not get_host_cpu_features().get("avx512f"):
        pytest.skip("the processor has no AVX-512")
    code, output = first_lines()
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True,
        env={**os.environ, "OPENBLAS_CORETYPE": processor},
    )  # fmt: skip
    assert done.stdout == output


def plain(text):
    """Return lines without the seconds that end some, and as if columns had no width."""
    lines = (re.sub(r" +", " ", line).rstrip() for line in text.splitlines())
    return [re.sub(r" \d+\.\d$", "", line) for line in lines if line]


@pytest.mark.compiled
def test_the_readmes_shell_prints_what_it_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    commands, output = re.search(
        r"```sh\n(linrep verify .*?)```\n\n```text\n(.*?)```", README, re.DOTALL
    ).groups()
    assert len(commands.splitlines()) <= 3
    printed = []
    for command in commands.splitlines():
        result = CliRunner().invoke(main, shlex.split(command)[1:])
        assert result.exit_code == 0, result.output
        printed += plain(result.output)
    rest = iter(printed)
    for line in plain(output):  # in this order
        assert line == "..." or line in rest, f"{line} is not in {printed}"


@pytest.mark.compiled
def test_the_readmes_own_bound_is_checked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_files(ROOT / "README.md")
    (command,) = re.findall(r"`linrep (verify my_bound\.py)`", README)
    result = CliRunner().invoke(main, shlex.split(command))
    assert result.exit_code == 0, result.output
    assert re.search(r"^mine\.start +holds .* rejected ", result.output, re.MULTILINE)


def test_the_readme_calls_what_there_is():
    calls = re.findall(r"`(lr\.[^`]+)`", README)
    assert len(calls) == 3
    for call in calls:
        assert repr(eval(call, {"lr": linrep}))


@pytest.fixture
def front(monkeypatch):
    monkeypatch.syspath_prepend(DOCS / "_ext")
    return importlib.import_module("front_picture")


@pytest.mark.parametrize("name", ["front.svg", "front-dark.svg"])
def test_the_readmes_picture_is_of_the_record(name, front, tmp_path):
    assert name in front.THEMES
    assert f"docs/_static/{name}" in README
    picture = (front.STATIC / name).read_text("utf-8")
    assert f"<dc:description>{front.description()}</dc:description>" in picture
    # Another version of Matplotlib puts the same points elsewhere on the page.
    if f"Matplotlib v{matplotlib.__version__}," in picture:
        front.draw(tmp_path / name, front.THEMES[name])
        assert (tmp_path / name).read_text("utf-8") == picture


@pytest.mark.parametrize("path", [ROOT / "README.md", DOCS / "index.md"], ids=named)
def test_a_front_page_says_of_the_picture_what_it_shows(path, front):
    (p, ratio), (rounds, draws) = front.ratios(), front.setting()
    words = " ".join(path.read_text("utf-8").split())
    points = [
        number for share in (0.02, 0.1, 0.5, 1) for number in (f"{ratio[p == share][0]:.3g}", share)
    ]
    pictures = re.findall(r"(?:alt=\"|:alt: )(Measured squared gradient.*?)\.(?:\"| )", words)
    assert pictures
    # "Theorem 1" stands before them.
    assert all(quoted([1, rounds, draws, *points], each) for each in pictures)
    assert quoted([rounds, draws, f"{max(ratio):.0f}"], words)


def test_the_readme_says_why_a_verdict_and_the_picture_have_two_numbers(front):
    p, ratio = front.ratios()
    found = ledger.recorded()["pflmf.theorem1"]
    p_of, eta, rounds = (found.counterexample[name] for name in ("p", "eta", "T"))
    share, step = (float(Fraction(number)) for number in (p_of, eta))
    limit = (1 - 2 * step) / (share**2 * (2 - share * step))  # L = 1, K = 1
    assert found.measured_is == LOWER
    simulated = _simulated(found.measured, share, step, rounds)
    numbers = [number(found.measured, -1), f"{simulated:.1f}", p_of, rounds, f"{limit:.3g}"]
    assert quoted([*numbers, f"{ratio[p == share][0]:.3g}"], README)


def _simulated(bound, p, eta, rounds):
    """Return Theorem 1's left side over the right one for (uv)^2/2, a client in some rounds.

    The lower bound has the same right side, and this left one, in which u hardly moves::

        (1 - d)^4 v^2 (1 - (T - 1)/2 p (1 - (1 - p eta)^2)),  d = T eta v^2
    """
    rng, v_0 = np.random.default_rng(0), 0.01
    u, v, total = np.ones(200_000), np.full(200_000, v_0), 0.0
    for _ in range(rounds):
        slope_u, slope_v = u * v**2, u**2 * v
        total += float(np.mean(slope_u**2 + slope_v**2)) / rounds
        v -= p * eta * slope_v * (rng.random(v.size) < p)
        u -= eta * slope_u
    still = (1 - rounds * eta * v_0**2) ** 4
    least = still * v_0**2 * (1 - (rounds - 1) / 2 * p * (1 - (1 - p * eta) ** 2))
    assert total > least
    return bound * total / least


def test_the_readme_lists_the_corrected_versions():
    (words,) = re.findall(r"`linrep (verify --list --corrected)`", README)
    result = CliRunner().invoke(main, shlex.split(words))
    corrected = [name for name, item in claims().items() if item.form == "corrected"]
    assert result.output.splitlines()[-1].startswith(f"{len(corrected)} claims: ")
    assert all(name in result.output for name in corrected)


def test_docstrings_of_checks_are_text_that_the_site_can_set():
    core = pytest.importorskip("docutils.core")
    quiet = {"report_level": 2, "warning_stream": StringIO()}
    problems = {}
    for name, item in claims().items():
        tree = core.publish_doctree(inspect.getdoc(item.check), settings_overrides=quiet)
        found = [node.astext() for node in tree.findall() if node.tagname == "system_message"]
        problems[name] = [each for each in found if "INFO" not in each]
    assert {name: found for name, found in problems.items() if found} == {}
