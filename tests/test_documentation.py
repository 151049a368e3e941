"""Code in the documentation runs, commands parse, and what it lists is complete."""

import importlib
import inspect
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import click
import matplotlib
import pytest
from click.testing import CliRunner

import linrep
from linrep.claims import HOLDS, UNDECIDED, claims, findings, ledger
from linrep.cli import main

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
ALONE = findings.PATHS


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


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=named)
def test_a_page_runs_from_top_to_bottom(page, monkeypatch, tmp_path):
    for package, sign in (
        ("torch", "linrep import deep"),
        ("distributed", "from distributed"),
        ("sklearn", "from sklearn"),
    ):
        if any(sign in block for block in blocks(page, "python")):
            pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "page", "__file__": str(tmp_path / "page.py")}
    write_files(page)
    for block in blocks(page, "python"):
        exec(compile(block, named(page), "exec"), names)


@pytest.mark.slow
def test_the_page_on_choosing_prints_what_it_says(capsys):
    pytest.importorskip("sklearn")
    text = (DOCS / "choosing.md").read_text("utf-8")
    pairs = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", text, re.DOTALL)
    assert len(pairs) == len(blocks(DOCS / "choosing.md", "python")) == 2
    names, printed = {"__name__": "page"}, ""
    for code, output in pairs:
        exec(compile(code, "choosing.md", "exec"), names)
        lines = capsys.readouterr().out.splitlines()
        assert [line.rstrip() for line in lines] == output.splitlines()
        printed += output
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    quoted = re.findall(r"\d+\.\d(?= %)", prose)
    assert len(quoted) > 5
    assert set(quoted) <= set(re.findall(r"\d+\.\d", printed))


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


@pytest.mark.parametrize(
    ("page", "words"),
    [
        pytest.param(page, words, id=f"{named(page)}: {' '.join(words)}")
        for page in PAGES
        for words in command_lines(page)
    ],
)
def test_a_command_is_one(page, words, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    # Run directories and data that it expects are not what is tested.
    monkeypatch.setattr(click.Path, "convert", lambda self, value, param, ctx: value)
    context = click.Context(main)
    name, command, rest = main.resolve_command(context, words)
    command.make_context(name, list(rest), parent=context)
    if name == "sweep":  # which makes sense of its options by itself
        if "deep." in words[1]:
            pytest.importorskip("torch")

        def run(*args, **kwargs):
            raise Reached

        write_files(page)
        monkeypatch.undo()
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr("linrep.sweeps.run", run)
        words = [word for word in words if word != "--dry-run"]
        if "--dask" in words:
            place = words.index("--dask")
            words = words[:place] + words[place + 2 :]
        result = CliRunner().invoke(main, words)
        assert isinstance(result.exception, Reached), result.output


def test_every_shell_block_is_of_commands_that_are_known():
    known = {"linrep", "make", "python", "pip", "bash", "eval", "for", "done", "source"}
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
    for target in targets:
        command = ["make", "-C", str(ROOT), "--dry-run", "--always-make", target]
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        done = subprocess.run(["sh", "-n"], input=lines, capture_output=True, text=True)
        assert done.returncode == 0, f"{target}: {done.stderr}"


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


@pytest.mark.parametrize("name", documented())
def test_public_names_have_texts(name):
    if name.startswith("linrep.deep"):
        pytest.importorskip("torch")
    module = importlib.import_module(name)
    for item in public(module):
        summary = (inspect.getdoc(item) or "").partition("\n")[0]
        assert summary.endswith((".", ":")), f"{name}.{item.__name__}: {summary!r}"


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


@pytest.mark.parametrize("name", documented())
def test_texts_name_exactly_the_parameters(name):
    if name.startswith("linrep.deep"):
        pytest.importorskip("torch")
    for item in public(importlib.import_module(name)):
        for each in callables(item):
            names, section = described(each)
            assert len(set(names)) == len(names), f"{name}.{each.__qualname__}"
            takes = set(parameters(each))
            missing, unknown = takes - set(names), set(names) - takes
            if inspect.isclass(each):  # what it has from others is in their texts
                missing -= {known for base in bases(each) for known in described(base)[0]}
            if section == "Attributes":  # not all of which are given
                unknown -= {*dir(each), *inspect.get_annotations(each)}
            assert not missing | unknown, f"{name}.{each.__qualname__}: {missing}, {unknown}"


def test_the_names_of_the_front_page_are_documented():
    pytest.importorskip("torch")
    known = {item for name in documented() for item in public(importlib.import_module(name))}
    for package in (linrep, linrep.problems, linrep.algorithms, linrep.deep, linrep.sweeps):
        missing = [item.__name__ for item in public(package) if item not in known]
        assert not missing, package.__name__


def test_pages_of_the_ledger_have_every_claim():
    pages = ledger.pages(claims(), ledger.recorded())
    for name in ledger.recorded():
        assert f"## `{name}`" in pages[f"ledger/{name.partition('.')[0]}.md"]


def test_findings_have_headline_severity_and_reason_for_all_that_fails():
    found = findings.findings()
    verdicts = {name: entry["verdict"] for name, entry in ledger.recorded().items()}
    wrong = {name for name, verdict in verdicts.items() if verdict not in (HOLDS, UNDECIDED)}
    assert set(found) == wrong
    for finding in found.values():
        assert finding.headline
        assert finding.severity in findings.SEVERITIES, finding.ids
        assert finding.reason
        assert finding.text.startswith(finding.reason[:20])


@pytest.mark.slow
def test_tables_of_statements_know_theory_and_figures(monkeypatch):
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(DOCS / "_ext")
    pages = importlib.import_module("claim_pages")
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


def test_the_readme_counts_as_the_ledger_does():
    words = " ".join(README.split())
    found = re.search(
        r"Of the (\d+) claims .*? (\d+) hold, (\d+) fail, (\d+) are vacuous and (\d+) (?:is|are) "
        "undecided",
        words,
    )
    verdicts = [entry["verdict"] for entry in ledger.recorded().values()]
    counts = [verdicts.count(name) for name in (HOLDS, "fails", "vacuous", UNDECIDED)]
    assert list(map(int, found.groups())) == [len(verdicts), *counts]


@pytest.mark.compiled
def test_the_readmes_first_lines_print_what_it_says(capsys):
    code, output = re.search(
        r"```python\n(.*?)```\n\n```text\n(.*?)```", README, re.DOTALL
    ).groups()
    assert len([line for line in code.splitlines() if line]) <= 6
    exec(compile(code, "README", "exec"), {})
    assert capsys.readouterr().out == output


@pytest.mark.compiled
def test_the_readmes_verdicts_are_printed_as_it_says(tmp_path):
    command, rows = re.search(
        r"```sh\n(linrep verify .*?)\n.*?```text\n(claim .*?)\n\.\.\.\n", README, re.DOTALL
    ).groups()
    result = CliRunner().invoke(main, [*command.split()[1:], "--store", str(tmp_path)])
    assert result.exit_code == 0, result.output
    first, last = (re.sub(r" +", " ", text) for text in (rows, result.output))
    for line in first.splitlines():
        at_the_end = re.fullmatch(r"(.*) \d+\.\d", line)  # seconds
        assert (at_the_end.group(1) if at_the_end else line) in last


def test_the_readmes_picture_is_of_the_record(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(DOCS / "_ext")
    front = importlib.import_module("front_picture")
    picture = front.PICTURE.read_text("utf-8")
    assert f"<dc:description>{front.description()}</dc:description>" in picture
    # Another version of Matplotlib puts the same points elsewhere on the page.
    if f"Matplotlib v{matplotlib.__version__}," in picture:
        front.draw(tmp_path / "again.svg")
        assert (tmp_path / "again.svg").read_text("utf-8") == picture
    p, ratio = front.ratios()
    words = " ".join(README.split())
    for share in (0.02, 0.1, 0.5, 1.0):
        (value,) = ratio[p == share]
        assert f"{value:.3g} at {share:g}" in words
