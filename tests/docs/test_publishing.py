"""What is published says the same everywhere: versions, requirements, commands."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

import linrep

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def read(name):
    return (ROOT / name).read_text("utf-8")


def required(requirements):
    """Return the lowest versions that some requirements name, with those of extras they include."""
    found = {}
    for each in requirements:
        nested = re.fullmatch(r"linrep\[(.+)\]", each)
        if nested:
            for extra in nested[1].split(","):
                found |= required(PROJECT["optional-dependencies"][extra])
        else:
            name, _, version = each.partition(">=")
            found[name] = version
    return found


def test_the_version_is_one():
    version = re.escape(linrep.__version__)
    assert re.search(rf"^version: {version}$", read("CITATION.cff"), re.M)
    assert re.search(rf'^  version: "{version}"$', read("recipe/recipe.yaml"), re.M)
    newest = re.search(r"^## \[([^]]+)\]", read("CHANGELOG.md"), re.M)[1]
    assert newest in (linrep.__version__, "Unreleased")


def test_the_recipe_needs_what_the_command_line_needs():
    text = read("recipe/recipe.yaml")
    run = text[text.index("  run:") : text.index("\ntests:")]
    found = re.findall(r"^    - (\S+) >=(\S+)$", run, re.M)
    listed = {name.replace("_", "-"): version for name, version in found}
    assert listed.pop("python") == PROJECT["requires-python"].removeprefix(">=")
    for name in ("matplotlib", "seaborn"):
        listed[name] = listed.pop(f"{name}-base")
    assert listed == required([*PROJECT["dependencies"], "linrep[cli]"])
    assert f"- linrep = {PROJECT['scripts']['linrep']}\n" in text


def test_workflows_run_what_the_makefile_has_on_the_versions_that_are_stated():
    targets = set(re.findall(r"^([a-z-]+):", read("Makefile"), re.M))
    text = "\n".join(path.read_text("utf-8") for path in WORKFLOWS)
    called = set(re.findall(r"run: make ([a-z-]+)", text))
    assert {"test", "lint", "floors", "docs", "dist"} <= called <= targets
    tested = set(re.findall(r'"(3\.\d+)"', text))
    stated = {each.rpartition(" ")[2] for each in PROJECT["classifiers"] if " :: 3." in each}
    assert stated <= tested
    assert PROJECT["requires-python"].removeprefix(">=") in tested


def test_workflows_have_no_more_rights_than_they_use():
    for path in WORKFLOWS:
        text = path.read_text("utf-8")
        assert re.search(r"^permissions:\n  contents: read\n", text, re.M), path.name
        assert "secrets." not in text


def test_the_papers_are_cited_alike():
    """Titles, authors and years of BibTeX are those of CITATION.cff."""
    cited = {}
    for text in read("CITATION.cff").partition("\nreferences:\n")[2].split("\n  - type: "):
        title = re.search(r'^    title: "?(.+?)"?$', text, re.M)[1]
        year = re.search(r"^    year: (\d+)$", text, re.M)[1]
        cited[title] = year, re.findall(r"family-names: (.+)", text)
    for path in sorted((ROOT / "linrep" / "papers").glob("*/paper.bib")):
        fields = dict(re.findall(r"^  (\w+) += \{(.+)\},$", path.read_text("utf-8"), re.M))
        authors = [name.partition(",")[0] for name in fields["author"].split(" and ")]
        assert cited.pop(re.sub("[{}]", "", fields["title"])) == (fields["year"], authors)
        assert fields["url"] in read("CITATION.cff")
    assert cited == {}


@pytest.mark.parametrize(
    ("url", "status", "written"),
    [("https://example.invalid/linrep", 1, "no release"), ("https://linrep.org", 0, "built by py")],
)
def test_a_release_is_built_only_with_addresses(url, status, written, tmp_path):
    for name in (".ci/release", "pyproject.toml", "CITATION.cff", "recipe/recipe.yaml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(re.sub(r"https://example\.invalid[^\"]*", url, read(name)))
    for name, text in ((".ci/release", None), (".ci/dist", '#!/bin/sh\necho "built by $1"\n')):
        if text:
            (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    done = subprocess.run([tmp_path / ".ci/release", "py"], capture_output=True, text=True)
    assert (done.returncode, written in done.stdout + done.stderr) == (status, True)


def test_addresses_stand_in_one_place():
    assert set(PROJECT["urls"]) == {"Homepage", "Documentation", "Repository", "Issues"}
    for name in ("CITATION.cff", "recipe/recipe.yaml"):
        urls = re.findall(r'^ *(?:url|repository-code|homepage|documentation|repository): "(.+)"$',
                          read(name).partition("\nreferences:")[0], re.M)  # fmt: skip
        assert len(urls) >= 2
        assert set(urls) <= set(PROJECT["urls"].values())
