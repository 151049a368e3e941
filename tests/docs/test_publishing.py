"""What is published says the same everywhere: versions, requirements, commands."""

import re
import tomllib
from pathlib import Path

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
